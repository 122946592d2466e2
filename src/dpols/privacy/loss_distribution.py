"""Releases as privacy loss distributions of Google's dp-accounting, rounded to the private side.

The losses of `accountant`, on a grid: a sketch's loss is an increasing (remove) or decreasing (add) function of a
chi-square variable, so that the probability of each cell is a difference of two of its tails. Losses are rounded up
and tails count as infinite losses.
"""

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.stats import chi2

from ..errors import MissingExtraError, ParameterError
from .releases import FailureAllowance, GaussianRelease, MixingRelease, OpaqueRelease, Release

_LOG_TAIL = -50.0  # as the library truncates Gaussian losses
_MOST_CELLS = 10_000_000


def loss_distribution(releases: Iterable[Release], *, interval: float = 1e-4) -> Any:
    """Return the `PrivacyLossDistribution` of releases that were fixed in advance, in both directions.

    Its neighbours are tables with and without a row; ``interval`` is the width of a cell. The delta that it gives is
    never below that of `delta_of`.
    """
    try:
        from dp_accounting.pld import common, privacy_loss_distribution
    except ImportError:
        raise MissingExtraError("dp-accounting", "accounting") from None
    if not 0.0 < interval < math.inf:
        raise ParameterError(f"interval={interval!r} must be positive and finite.")
    total = privacy_loss_distribution.identity(value_discretization_interval=interval)
    for part in _parts(releases):
        match part:
            case GaussianRelease(multiplier):
                found = privacy_loss_distribution.from_gaussian_mechanism(
                    multiplier, value_discretization_interval=interval
                )
            case MixingRelease(rows, floor):
                found = _sketch(rows, floor, interval)
            case FailureAllowance(probability):
                # Like a black box of epsilon 0.
                found = privacy_loss_distribution.from_privacy_parameters(
                    common.DifferentialPrivacyParameters(0.0, probability), value_discretization_interval=interval
                )
            case OpaqueRelease(epsilon, delta):
                found = privacy_loss_distribution.from_privacy_parameters(
                    common.DifferentialPrivacyParameters(epsilon, delta), value_discretization_interval=interval
                )
        total = total.compose(found)
    return total


def _parts(releases: Iterable[Release]) -> list[Release]:
    """Merge releases of one kind, which keeps the distribution's error small."""
    mu_squared, failure = 0.0, 0.0
    rows: Counter[float] = Counter()
    parts: list[Release] = []
    for release in releases:
        match release:
            case GaussianRelease(multiplier):
                mu_squared += multiplier**-2.0
            case MixingRelease(count, floor) if floor < math.inf:
                rows[floor] += count
            case FailureAllowance(probability):
                failure += probability
            case OpaqueRelease():
                parts.append(release)
    if mu_squared > 0.0:
        parts.append(GaussianRelease(mu_squared**-0.5 * (1.0 - 1e-12)))
    parts += [MixingRelease(count, floor) for floor, count in rows.items()]
    return [*parts, FailureAllowance(min(failure, 1.0))] if failure > 0.0 else parts


def _sketch(rows: int, floor: float, interval: float) -> Any:
    """Return the distribution of a sketch's loss."""
    from dp_accounting.pld import pld_pmf, privacy_loss_distribution

    half, leverage = 0.5 * rows, 1.0 / floor
    kept = math.log1p(-leverage)
    tail = math.exp(_LOG_TAIL)

    def cells(low: float, high: float, sf: Any) -> Any:
        first, last = math.floor(low / interval), math.ceil(high / interval)
        if last - first > _MOST_CELLS:
            raise ParameterError(f"interval={interval!r} makes too many cells for floor={floor:.6g}; raise it.")
        beyond = sf(interval * np.arange(first, last + 1))
        # What lies below the first edge is rounded up to it, what lies above the last one is as good as infinite.
        beyond[0] = 1.0
        steps = np.maximum(-np.diff(beyond), 0.0)
        masses = dict(zip(range(first + 1, last + 1), steps.tolist(), strict=True))
        return pld_pmf.create_pmf(masses, interval, float(beyond[-1]), True)

    def removed(squares: Any) -> Any:
        return half * kept + 0.5 * squares * leverage / (1.0 - leverage)

    def added(squares: Any) -> Any:
        return -half * kept - 0.5 * squares * leverage

    few, many = float(chi2.ppf(tail, rows)), float(chi2.isf(tail, rows))
    return privacy_loss_distribution.PrivacyLossDistribution(
        cells(
            removed(few), removed(many), lambda x: chi2.sf((x - half * kept) * 2.0 * (1.0 - leverage) / leverage, rows)
        ),
        cells(added(many), added(few), lambda x: chi2.cdf((-half * kept - x) * 2.0 / leverage, rows)),
    )
