"""One mixing release, exactly: the hockey-stick divergence of a sketch is a difference of two chi-square tails.

With m rows and leverage p = 1 / floor the sketch is m copies of N(0, 1) against N(0, 1 - p):

    remove:  P(W > w) - exp(eps) P(W > w / (1 - p)),     w = (eps - (m/2) log(1 - p)) 2 (1 - p) / p
    add:     P(W < w) - exp(eps) P(W < (1 - p) w),       w = (-(m/2) log(1 - p) - eps) 2 / p

with W chi-square of m degrees. The larger of the two counts.
"""

import math

from scipy.special import gammainc, gammaincc

from .releases import MixingRelease


def mixing_delta_remove(release: MixingRelease, epsilon: float) -> float:
    """Return delta(epsilon) when a row is removed, in closed form."""
    half, p = 0.5 * release.rows, 1.0 / release.floor
    w = max(epsilon - half * math.log1p(-p), 0.0) * (1.0 - p) / p  # half of w above, as gammaincc wants it
    return float(gammaincc(half, w) - math.exp(epsilon) * gammaincc(half, w / (1.0 - p)))


def mixing_delta_add(release: MixingRelease, epsilon: float) -> float:
    """Return delta(epsilon) when a row is added, in closed form."""
    half, p = 0.5 * release.rows, 1.0 / release.floor
    w = max(-half * math.log1p(-p) - epsilon, 0.0) / p
    return float(gammainc(half, w) - math.exp(epsilon) * gammainc(half, (1.0 - p) * w)) if w > 0.0 else 0.0


def mixing_delta(release: MixingRelease, epsilon: float) -> float:
    """Return the smallest delta at which one mixing release is (epsilon, delta)-private.

    The difference of tails loses digits where delta is many orders below the tails; the accountant does not.
    """
    return max(mixing_delta_remove(release, epsilon), mixing_delta_add(release, epsilon))
