"""A privacy filter: when to stop, for releases that are planned one after another, each after seeing the earlier ones.

Joint accounting (`accountant`) needs every release fixed before the first output. Here the caps are fixed instead: a
ratio B and a leak. Each release, or plan of several, is charged the least share f such that no event tells more of a
row than this pair: nothing is hidden with probability f leak, otherwise N(0, 1) stands against N(B sqrt(f), 1). In
terms of hockey-stick divergences

    delta(eps) <= f leak + (1 - f leak) delta_{B sqrt(f)}(eps)        for every eps >= 0, in both directions.

As long as the shares add up to at most 1, everything together is (eps, leak + delta_B(eps))-private, however the
releases were chosen: Gaussian ratios that are chosen one after another, with squares that add up to B^2, lose exactly
what one release of ratio B does. `docs/proofs/ledger.md` has the proof.

The inequality is checked for all eps, not on a grid only: both sides are convex in exp(eps), so that between two nodes
the left one is below its chord and the right one above its tangents.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr, ndtri

from ..errors import ParameterError
from .accountant import log_delta_of
from .budget import PrivacyBudget
from .calibration import gaussian_multiplier
from .checks import real, require
from .releases import FailureAllowance, GaussianRelease, OpaqueRelease, Release

Array = np.ndarray[Any, np.dtype[Any]]

_NODES = 128
# Relative margins that cover the rounding of the accountant and of the Gaussian curve.
_ROUNDING, _CANCELLATION = 2e-9, 1e-14
_LEAST_SHARE, _MOST_SHARES = 1e-18, 1e6
_FARTHEST = 1e6


@dataclass(frozen=True)
class Caps:
    """What may be spent in all, fixed in advance.

    ``multiplier`` is one over the ratio B of the Gaussian part, infinite where there is none; ``leak`` is the
    probability with which nothing is hidden. ``black_boxes`` are set apart for black boxes, whose epsilons and deltas
    are added up.
    """

    multiplier: float
    leak: float
    black_boxes: tuple[float, float] = (0.0, 0.0)

    @classmethod
    def of(
        cls, budget: PrivacyBudget, *, failure_share: float = 0.5, black_boxes: tuple[float, float] = (0.0, 0.0)
    ) -> "Caps":
        """Return the caps whose use to the last part is as private as the (zero-out) budget.

        ``failure_share`` of delta is the leak; none is needed where all releases are Gaussian.
        """
        share = real("failure_share", failure_share)
        require(0.0 <= share < 1.0, "failure_share", failure_share, "lie in [0, 1)")
        apart, apart_delta = (real("black_boxes", part) for part in black_boxes)
        if not (0.0 <= apart <= budget.epsilon and 0.0 <= apart_delta <= budget.delta):
            raise ParameterError(f"black_boxes={black_boxes!r} must be a part of {budget}: two numbers up to these.")
        # A hair less, so that no rounding lets the parts exceed the whole.
        epsilon, delta = (1.0 - 1e-12) * (budget.epsilon - apart), (1.0 - 1e-12) * (budget.delta - apart_delta)
        if epsilon <= 0.0 or delta <= 0.0:
            return cls(math.inf, 0.0, (apart, apart_delta))
        leak = share * delta
        return cls(gaussian_multiplier(PrivacyBudget(epsilon, delta - leak)), leak, (apart, apart_delta))


@dataclass(frozen=True)
class Charge:
    """What a release takes: shares of the Gaussian part and of the leak, and of what is set apart for black boxes."""

    gaussian: float = 0.0
    leak: float = 0.0
    epsilon: float = 0.0
    delta: float = 0.0


def filter_charge(groups: Iterable[Sequence[Release]], caps: Caps) -> Charge:
    """Return the least charge for releases of which a row enters one group only, whichever it is.

    The shares are infinite where no share of the caps covers the releases.
    """
    charges = [_charge(tuple(group), caps.multiplier, caps.leak) for group in groups]
    return Charge(
        gaussian=max((charge.gaussian for charge in charges), default=0.0),
        leak=max((charge.leak for charge in charges), default=0.0),
    )


def black_box_charge(groups: Iterable[Sequence[Release]]) -> Charge | None:
    """Return the sums of the black boxes' epsilons and deltas, or None where other releases are among them."""
    epsilon, delta = Fraction(0), Fraction(0)
    for group in groups:
        if not all(isinstance(release, OpaqueRelease) for release in group):
            return None
        boxes = [release for release in group if isinstance(release, OpaqueRelease)]
        epsilon = max(epsilon, sum((Fraction(box.epsilon) for box in boxes), Fraction(0)))
        delta = max(delta, sum((Fraction(box.delta) for box in boxes), Fraction(0)))
    return Charge(epsilon=_rounded_up(epsilon), delta=_rounded_up(delta))


@lru_cache(maxsize=1024)
def _charge(releases: tuple[Release, ...], multiplier: float, leak: float) -> Charge:
    nothing = all(_costs_nothing(release) for release in releases)
    if nothing or multiplier == math.inf:
        return Charge() if nothing else Charge(math.inf, math.inf)
    if all(isinstance(release, GaussianRelease) for release in releases):
        ratios = (
            Fraction(multiplier) / Fraction(release.multiplier)
            for release in releases
            if isinstance(release, GaussianRelease) and release.multiplier < math.inf
        )
        return Charge(gaussian=_rounded_up(sum((ratio * ratio for ratio in ratios), Fraction(0))))
    if leak == 0.0:
        return Charge(math.inf, math.inf)
    share = _least_share(releases, multiplier, leak)
    return Charge(gaussian=share, leak=share)


def _least_share(releases: tuple[Release, ...], multiplier: float, leak: float) -> float:
    """Return the least share that covers the releases, from above; infinite where none does."""
    at_zero = math.exp(log_delta_of(releases, 0.0))
    if at_zero >= 1.0:
        return math.inf
    # At eps = 0 alone the ratio must be so large; this says how deep into the tail the curve is needed.
    least = max((2.0 * float(ndtri(0.5 + 0.5 * at_zero)) * multiplier) ** 2, _LEAST_SHARE)
    curve = _curve(releases, 1e-3 * leak * min(least, 1.0))
    if curve is None:
        return math.inf
    nodes, heights = curve

    def covered(share: float) -> bool:
        return leak * share < 0.5 and _is_below(nodes, heights, math.sqrt(share) / multiplier, leak * share)

    low, high = 0.5 * least, least
    while not covered(high):
        low, high = high, 2.0 * high
        if high > _MOST_SHARES:
            return math.inf
    while covered(low) and low > _LEAST_SHARE:
        low, high = 0.5 * low, low
    while high - low > 1e-9 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if covered(middle) else (middle, high)
    return high


def _curve(releases: tuple[Release, ...], negligible: float) -> tuple[Array, Array] | None:
    """Return delta at growing epsilons, the larger of both directions, to where it has all but reached its limit."""

    def height(epsilon: float) -> float:
        return min(math.exp(log_delta_of(releases, epsilon)) * (1.0 + _ROUNDING), 1.0)

    limit = height(_FARTHEST) + negligible
    if height(1e-12) <= limit:
        return np.array([0.0, 1e-12]), np.array([height(0.0), height(1e-12)])
    low, high = 1e-12, 1e-12
    while height(high) > limit:
        low, high = high, 4.0 * high
        if high > _FARTHEST:
            return None
    while high > 1.02 * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if height(middle) <= limit else (middle, high)
    nodes = np.linspace(0.0, high, _NODES)
    return nodes, np.array([height(float(epsilon)) for epsilon in nodes])


def _is_below(nodes: Array, heights: Array, ratio: float, leak: float) -> bool:
    """Return whether a curve that is convex in exp(eps) lies below that of the ratio and leak, at every eps >= 0.

    Beyond the last node the curve does not rise, and the leak alone covers it.
    """
    if heights[-1] > leak:
        return False
    values, slopes = _gaussian_curve(nodes, ratio)
    gaps = leak + (1.0 - leak) * values - heights
    if (gaps < 0.0).any():
        return False
    # Between two nodes, in multiples z of the left exp(eps): the chord of the heights, and tangents at both ends.
    span = np.expm1(np.diff(nodes))
    chord = np.diff(heights) / span
    left = (1.0 - leak) * slopes[:-1] - chord
    right = (1.0 - leak) * slopes[1:] / (1.0 + span) - chord
    # Where one of the tangents rises towards the other end, the least gap is at a node; else where the two cross.
    crossing = np.clip(
        np.divide(gaps[1:] - right * span - gaps[:-1], left - right, out=np.zeros_like(span), where=left < right),
        0.0,
        span,
    )
    lowest = np.maximum(gaps[:-1] + left * crossing, gaps[1:] - right * (span - crossing))
    return bool((lowest >= 0.0).all())


def _gaussian_curve(epsilons: Array, ratio: float) -> tuple[Array, Array]:
    """Return delta of a Gaussian ratio, from below, and its derivative with respect to log exp(eps)."""
    u = epsilons / ratio - 0.5 * ratio
    tail, log_far = ndtr(-u), log_ndtr(-u - ratio)
    far = np.exp(epsilons + log_far)
    # exp(eps) phi(u + ratio) = phi(u): a difference of Mills ratios keeps the digits that the tails would lose.
    right = np.maximum(u, -5.0)
    mills = math.sqrt(0.5 * math.pi) * (erfcx(right / math.sqrt(2.0)) - erfcx((right + ratio) / math.sqrt(2.0)))
    difference = np.exp(-0.5 * right * right) / math.sqrt(2.0 * math.pi) * mills
    return np.where(u > -5.0, difference, tail - far) - _CANCELLATION * tail, -far


def _costs_nothing(release: Release) -> bool:
    match release:
        case FailureAllowance(probability):
            return probability == 0.0
        case OpaqueRelease(epsilon, delta):
            return epsilon == 0.0 and delta == 0.0
        case _:
            return False


def _rounded_up(value: Fraction) -> float:
    """Return the least double that is not below a fraction."""
    try:
        nearest = float(value)
    except OverflowError:
        return math.inf
    return nearest if nearest >= value else math.nextafter(nearest, math.inf)
