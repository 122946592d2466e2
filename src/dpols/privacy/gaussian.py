"""One Gaussian release, exactly, at any epsilon and down to the smallest delta.

With mu = sensitivity / std, the privacy loss is N(mu^2/2, mu^2) and (Balle and Wang, 2018)

    delta(eps) = Phi(-x) - exp(eps) Phi(-x - mu),      x = eps/mu - mu/2.

Both terms share the factor phi(x), so delta = phi(x) (M(x) - M(x + mu)) with the Mills ratio M. For small mu the
difference is the integral of -M'(t) = 1 - t M(t) over [x, x + mu], whose integrand is positive: nothing cancels.
"""

import math

import numpy as np
from scipy.special import erfcx, log_ndtr

from ..errors import ParameterError
from .budget import PrivacyBudget
from .search import least_noise_for

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)


def gaussian_log_delta(multiplier: float, epsilon: float) -> float:
    """Return log delta(epsilon) of one Gaussian release, for every real epsilon."""
    if not multiplier > 0.0:
        raise ParameterError(f"multiplier={multiplier!r} must be positive.")
    mu = 1.0 / multiplier
    x = epsilon / mu - mu / 2.0
    if mu > 1.0 or x < -25.0:
        log_first = float(log_ndtr(-x))
        return log_first + _log1mexp(epsilon + float(log_ndtr(-x - mu)) - log_first)
    points = x + mu * 0.5 * (_NODES + 1.0)
    slope = mu * 0.5 * float(_WEIGHTS @ _minus_mills_slope(points))
    return -0.5 * x * x - _LOG_SQRT_2PI + math.log(slope)


def gaussian_delta(multiplier: float, epsilon: float) -> float:
    """Return the smallest delta at which one Gaussian release is (epsilon, delta)-private."""
    return math.exp(gaussian_log_delta(multiplier, epsilon))


def gaussian_multiplier(budget: PrivacyBudget) -> float:
    """Return the least noise multiplier that meets the budget (analytic Gaussian calibration)."""
    return least_noise_for(lambda multiplier: gaussian_log_delta(multiplier, budget.epsilon), budget, start=1.0)


def _minus_mills_slope(t: np.ndarray) -> np.ndarray:
    """Return 1 - t M(t) for the Mills ratio M, without cancellation for large t."""
    far = t > 30.0
    mills = math.sqrt(math.pi / 2.0) * erfcx(np.where(far, 0.0, t) / math.sqrt(2.0))
    u = 1.0 / np.where(far, t, 30.0) ** 2
    series = u * (1.0 - u * (3.0 - u * (15.0 - u * (105.0 - u * (945.0 - u * 10395.0)))))
    return np.where(far, series, 1.0 - t * mills)


def _log1mexp(x: float) -> float:
    """Return log(1 - exp(x)) for x < 0."""
    if x >= 0.0:
        return -math.inf
    return math.log(-math.expm1(x)) if x > -math.log(2.0) else math.log1p(-math.exp(x))
