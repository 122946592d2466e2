"""One Gaussian release, exactly, at any epsilon and down to the smallest delta.

With mu = 1 / multiplier = sensitivity / standard deviation, the privacy loss is N(mu^2/2, mu^2) and (Balle and Wang,
2018)

    delta(eps) = Phi(-eps/mu + mu/2) - exp(eps) Phi(-eps/mu - mu/2).

In this form nearly equal numbers are subtracted; the accountant's integral gives the same without loss.
"""

import math

from .accountant import log_delta_of
from .budget import PrivacyBudget
from .calibration import least_noise
from .releases import GaussianRelease


def gaussian_log_delta(multiplier: float, epsilon: float) -> float:
    """Return log delta(epsilon) of one Gaussian release, for epsilon >= 0."""
    return log_delta_of([GaussianRelease(multiplier)], epsilon)


def gaussian_delta(multiplier: float, epsilon: float) -> float:
    """Return the smallest delta at which one Gaussian release is (epsilon, delta)-private."""
    return math.exp(gaussian_log_delta(multiplier, epsilon))


def gaussian_multiplier(budget: PrivacyBudget) -> float:
    """Return the least noise multiplier that meets the budget (analytic Gaussian calibration).

    >>> round(gaussian_multiplier(PrivacyBudget(1.0, 1e-5)), 4)
    3.7306
    """
    return least_noise(lambda multiplier: [GaussianRelease(multiplier)], budget)
