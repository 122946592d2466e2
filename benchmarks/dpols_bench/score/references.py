"""What a fit is compared with besides other methods: predicting zero, and curators who know almost everything."""

import math

import numpy as np

from dpols.privacy import PrivacyBudget
from dpols.privacy.gaussian import gaussian_multiplier

from ..paper.risk import Risk

_PENALTIES = np.exp(np.linspace(-25.0, 20.0, 451))


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


def shaped_oracle_excess(risk: Risk, budget: PrivacyBudget) -> float:
    """Return the expected excess risk of one noisy gradient whose noise has the best shape, where X'X is known.

    Let A = X'X with eigenvalues a_j, and p > 0. In the coordinates v = (A + p I)^(-1/2) x the rows have the mean
    squared length d_p / n, where d_p = tr A (A + p I)^-1. If each row had just that length and a residual of R, the
    root mean square, then its gradient v r would have the length C = R sqrt(d_p / n), nothing would be clipped, and a
    Gaussian mechanism with multiplier m would add noise of standard deviation m C to every coordinate of the sum: a
    covariance of m^2 C^2 (A + p I) in the coordinates of x. Ridge regression with the penalty p turns noise z on X'y
    into (A + p I)^-1 z, whose expected contribution to the loss is
    tr A (A + p I)^-1 m^2 C^2 (A + p I) (A + p I)^-1 = m^2 C^2 d_p = m^2 R^2 d_p^2 / n: no condition number. The penalty
    itself costs sum_j a_j (p theta_j / (a_j + p))^2. R is that of the residuals of this ridge regression without noise,
    whose sum of squares is the loss of least squares plus the cost of the penalty. The best p is taken.

    A reference rather than a lower bound: rows have unequal lengths and residuals, which costs a method that clips
    nothing, and helps one that clips well.
    """
    eigenvalues = risk.singular**2
    left = _PENALTIES[:, None] / (eigenvalues + _PENALTIES[:, None])  # what the penalty leaves out of each direction
    bias = np.square(left * risk.target_coordinates).sum(axis=1)
    effective = (1.0 - left).sum(axis=1)
    noise = (gaussian_multiplier(budget) * effective) ** 2 * (risk.loss + bias) / risk.n**2
    return float((bias + noise).min() / risk.n)


def mean_square_of_target(risk: Risk) -> float:
    """Return |y|^2 / n."""
    return math.fsum((zero_excess(risk), risk.loss / risk.n))
