"""One mixing release, exactly: the hockey-stick divergence of a sketch is a difference of two chi-square tails.

With m rows and leverage p = 1 / floor the sketch is m copies of N(0, 1) against N(0, 1 - p):

    remove:  P(W > w) - exp(eps) P(W > w / (1 - p)),     w = (eps - (m/2) log(1 - p)) 2 (1 - p) / p
    add:     P(W < w) - exp(eps) P(W < (1 - p) w),       w = (-(m/2) log(1 - p) - eps) 2 / p

with W chi-square of m degrees. The larger of the two counts. In this form nearly equal numbers are subtracted; the
accountant's integral gives the same without loss.
"""

import math

from .accountant import log_delta_by_direction
from .releases import MixingRelease


def mixing_delta_remove(release: MixingRelease, epsilon: float) -> float:
    """Return delta(epsilon) when a row is removed."""
    return math.exp(log_delta_by_direction([release], epsilon)[0])


def mixing_delta_add(release: MixingRelease, epsilon: float) -> float:
    """Return delta(epsilon) when a row is added."""
    return math.exp(log_delta_by_direction([release], epsilon)[1])


def mixing_delta(release: MixingRelease, epsilon: float) -> float:
    """Return the smallest delta at which one mixing release is (epsilon, delta)-private."""
    return math.exp(max(log_delta_by_direction([release], epsilon)))
