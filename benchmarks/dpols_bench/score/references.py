"""What a fit is compared with besides other methods: predicting zero, and a curator who knows almost everything."""

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


def mean_square_of_target(risk: Risk) -> float:
    """Return |y|^2 / n."""
    return math.fsum((zero_excess(risk), risk.loss / risk.n))
