"""Where to sum for a proof of delta, in doubles, which decide how tight it is and not whether it holds."""

import math
from dataclasses import dataclass

from scipy.optimize import brentq

Terms = tuple[tuple[float, float], ...]  # (m / 2, a) for each floor

_STEPS_PER_WIDTH = 4.0
_NEGLIGIBLE = -29.0
_MOST_NODES = 4096
# How near the contour may come to the singularity: exp(-27), where doubles still tell the two apart.
_CLOSEST = 27.0


@dataclass(frozen=True)
class Contour:
    """Where to sum, and what to add to mu squared so that so many nodes are enough."""

    centre: float
    step: float
    nodes: int
    extra: float


def contour_through_saddle(mu_squared: float, terms: Terms, epsilon: float) -> Contour | None:
    """Return a contour through the saddle point, or None where doubles cannot find it."""
    try:
        return _placed(mu_squared, terms, epsilon)
    except (ArithmeticError, ValueError):
        return None


def _placed(mu_squared: float, terms: Terms, epsilon: float, extra: float = 0.0) -> Contour:
    centre = _saddle(mu_squared, terms, epsilon)
    curvature = mu_squared + centre**-2.0 + (1.0 + centre) ** -2.0
    curvature += sum(half * (a / (1.0 + a * centre)) ** 2 for half, a in terms)
    step = 1.0 / (_STEPS_PER_WIDTH * math.sqrt(curvature))

    def log_tail(nodes: int) -> float:
        s = nodes * step
        damping = 0.5 * mu_squared * s * s
        damping += sum(0.5 * half * math.log1p((a * s / (1.0 + a * centre)) ** 2) for half, a in terms)
        return math.log(centre * (1.0 + centre) / (s * step)) - damping

    if log_tail(_MOST_NODES) > _NEGLIGIBLE and extra == 0.0:
        extra = -2.0 * (_NEGLIGIBLE - 10.0) / (_MOST_NODES * step) ** 2
        return _placed(mu_squared + extra, terms, epsilon, extra)
    few, many = 0, _MOST_NODES
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if log_tail(middle) <= _NEGLIGIBLE else (middle, many)
    return Contour(centre, step, many, extra)


def _saddle(mu_squared: float, terms: Terms, epsilon: float) -> float:
    """Return where K(t) - t epsilon - log t - log(1 + t) is least between 0 and the first singularity."""
    end = min((-1.0 / a for _, a in terms if a < 0.0), default=math.inf)

    def place(v: float) -> float:
        return math.exp(v) if end == math.inf else end / (1.0 + math.exp(-v))

    def slope(v: float) -> float:
        t = place(v)
        value = mu_squared * (t + 0.5) - epsilon - 1.0 / t - 1.0 / (1.0 + t)
        return value + sum(half * (a * a * t / (1.0 + a * t) - a - math.log1p(-a)) for half, a in terms)

    low, high, stride = -1.0, 1.0, 2.0
    if end < math.inf and slope(_CLOSEST) < 0.0:
        return place(_CLOSEST)
    while slope(low) > 0.0:
        low, high, stride = low - stride, low, 2.0 * stride
    while slope(high) < 0.0:
        low, high, stride = high, high + stride, 2.0 * stride
    return place(float(brentq(slope, low, high, xtol=1e-5, rtol=1e-12)))
