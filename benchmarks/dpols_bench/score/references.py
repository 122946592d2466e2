"""What a fit is compared with besides other methods: predicting zero, and curators who know almost everything."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dpols.data.threads import map_blocks
from dpols.privacy import PrivacyBudget
from dpols.privacy.calibration import gaussian_multiplier

from ..paper.preprocessing import Prepared
from ..paper.risk import Risk

Array = np.ndarray[Any, np.dtype[Any]]

_PENALTIES = np.exp(np.linspace(-25.0, 20.0, 451))
_SHAPES = np.geomspace(1e-7, 1e8, 121)  # fewer, since each needs products with all rows
_BLOCK = 1 << 13


def zero_excess(risk: Risk) -> float:
    """Return the excess risk of predicting zero, which costs no budget."""
    return float(np.square(risk.target_coordinates).sum() / risk.n)


def ridge_oracle_excess(risk: Risk, budget: PrivacyBudget) -> float:
    """Return the expected excess risk of one noisy X'y at the whole budget, where X'X and the best penalty are known.

    A reference rather than a lower bound: who clips residuals below the target's bound can go under it.
    """
    stddev = gaussian_multiplier(budget)
    eigenvalues = risk.singular**2
    signal = np.square(risk.target_coordinates / risk.singular)
    penalty = _PENALTIES[:, None]
    errors = eigenvalues * (penalty**2 * signal + stddev**2) / (eigenvalues + penalty) ** 2
    return float(errors.sum(axis=1).min() / risk.n)


def shaped_oracle(data: Prepared, risk: Risk) -> Callable[[PrivacyBudget], float]:
    """Return the expected excess risk, by budget, of one noisy gradient whose noise has the best shape.

    The curator knows A = X'X with eigenvalues a_j, and how large gradients are. For a penalty p > 0, rows become
    v = (A + p I)^(-1/2) x, and their residuals r are those of ridge regression with this penalty. Let C be the largest
    |v| |r|: nothing is clipped, so there is no bias by clipping. A Gaussian mechanism with multiplier m adds noise of
    standard deviation m C to every coordinate of the sum of v r, that is of covariance m^2 C^2 (A + p I) to X'r. Ridge
    regression turns noise z on X'r into (A + p I)^-1 z, whose expected contribution to the loss is
    tr A (A + p I)^-1 m^2 C^2 (A + p I) (A + p I)^-1 = m^2 C^2 d_p, where d_p = tr A (A + p I)^-1. The penalty itself
    costs sum_j a_j (p theta_j / (a_j + p))^2. The best p of a grid is taken.

    The mean of |v|^2 is d_p / n. Where all rows are alike, with residuals of one size R, C^2 is R^2 d_p / n, and the
    cost of privacy is m^2 R^2 d_p^2 / n, in which no condition number occurs.

    A reference rather than a lower bound: clipping the largest gradients can cost less than it saves.
    """
    eigenvalues = risk.singular**2
    left = _SHAPES[:, None] / (eigenvalues + _SHAPES[:, None])  # what the penalty leaves out of each direction
    bias = np.square(left * risk.target_coordinates).sum(axis=1)
    theta = (1.0 - left) * risk.target_coordinates / risk.singular
    largest = _largest_squared_gradients(data, risk.rotation, 1.0 / (eigenvalues + _SHAPES[:, None]), theta)
    noise = largest * (1.0 - left).sum(axis=1)

    def excess(budget: PrivacyBudget) -> float:
        return float((bias + gaussian_multiplier(budget) ** 2 * noise).min() / risk.n)

    return excess


def _largest_squared_gradients(data: Prepared, rotation: Array, weights: Array, theta: Array) -> Array:
    """Return the largest |v|^2 r^2 for each row of weights and coefficients, both in the eigenbasis."""

    def largest(start: int) -> Array:
        rows = data.features[start : start + _BLOCK] @ rotation.T
        residuals = data.target[start : start + _BLOCK, None] - rows @ theta.T
        return np.asarray((np.square(rows) @ weights.T * np.square(residuals)).max(axis=0))

    return np.asarray(np.max(list(map_blocks(largest, range(0, len(data.target), _BLOCK))), axis=0))


def mean_square_of_target(risk: Risk) -> float:
    """Return |y|^2 / n."""
    return math.fsum((zero_excess(risk), risk.loss / risk.n))
