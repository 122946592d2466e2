"""Are the bounds too wide or too tight? What public and released numbers say.

Wide bounds make rows short: the same noise then hides more of the signal. Tight ones clip values and bend the fit. The
first shows in the noise of the coefficients. The second takes a release of its own, counts of clipped values, which a
fit makes if asked to, for a fixed share of its budget.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .algorithms.alongside import release_worth
from .counting import UnboundedRows, clipped_counts
from .data import Bounds, RowMap
from .mechanisms import Channel
from .privacy import GaussianRelease, PrivacyBudget
from .randomness import Bits

Array = np.ndarray[Any, np.dtype[Any]]

COUNTS_NAME = "counts of clipped values"
_COUNT_SHARE = 0.02  # of the squared budget
_TIGHT = 0.02  # share of clipped values from which bounds are called tight
_SURE = 3.0  # stds of noise
_SWAMPED = 0.25  # noise of a coefficient's effect over its column's bounds, in half-ranges of the target


@dataclass(frozen=True)
class ClippedCounts:
    """Released counts of values outside the bounds: below and above, for each column and then the target."""

    counts: Array  # (columns, 2)
    stddev: float
    n_rows: float


def count_release(budget: PrivacyBudget) -> GaussianRelease:
    """Return what counting clipped values costs of a whole (zero-out) budget."""
    return release_worth(budget, _COUNT_SHARE)


def release_clipped(
    bounds: Bounds, row_map: RowMap, rows: UnboundedRows, release: GaussianRelease, bits: Bits
) -> tuple[ClippedCounts, tuple[GaussianRelease, ...]]:
    """Release how many values the bounds clip, and return what was recorded."""
    channel = Channel([bits])
    if bounds.features is None:
        assert bounds.x_norm is not None
        features: Any = bounds.x_norm
    else:
        features = bounds.in_order(rows.source.n_features, rows.source.columns)
    exact = clipped_counts(rows, features, row_map.target)
    columns = len(exact.value) // 2
    noisy = channel.gaussian(exact, multiplier=release.multiplier)[0].reshape(columns, 2)
    recorded = tuple(release for release in channel.releases if isinstance(release, GaussianRelease))
    stddev = release.multiplier * math.sqrt(columns)
    return ClippedCounts(noisy, stddev, rows.source.n_rows / rows.rows_per_unit), recorded


def advice_on_counts(names: Sequence[str], bounds: Bounds, clipped: ClippedCounts) -> list[str]:
    """Return what the released counts say: one sentence for each end of a range that clips much."""
    columns = ["norm of a row", "target"] if bounds.features is None else [*names, "target"]
    said = []
    for name, pair in zip(columns, clipped.counts, strict=True):
        for end, count in zip(("below the lower", "above the upper"), pair, strict=True):
            share, spread = count / clipped.n_rows, clipped.stddev / clipped.n_rows
            if share > _TIGHT + _SURE * spread:
                said.append(
                    f"about {min(share, 1.0):.1%} (+- {spread:.1%}) of the values of {name!r} lie {end} bound and were "
                    "clipped: the bound is tight, and the fit bends to it. Widen it if that is not meant."
                )
    if not said:
        spread = clipped.stddev / clipped.n_rows
        said.append(
            f"no bound clips more than {_TIGHT:.0%} of the values, as far as noise of {spread:.1%} lets one tell."
        )
    return said


def advice_on_noise(
    names: Sequence[str], row_map: RowMap, stddevs: Sequence[float | None], intervals: Sequence[tuple[float, float]]
) -> list[str]:
    """Return which columns' bounds are too wide for the noise: its effect over them is a large part of the target's."""
    half = 0.5 * (row_map.target[1] - row_map.target[0])
    said = []
    for name, stddev, (low, high) in zip(names, stddevs, intervals, strict=False):
        if stddev is None:
            continue
        effect = stddev * 0.5 * (high - low) / half
        if effect > _SWAMPED:
            said.append(
                f"the noise in the coefficient of {name!r} moves predictions by {min(effect, 99.0):.0%} of the "
                "target's half-range between the middle and an end of its bounds. If most values fill a small part of "
                f"[{low:g}, {high:g}], narrow it; else use more rows, a larger epsilon or fewer features."
            )
    return said


def room_for_width(row_map: RowMap, noise_multiplier: float, n_rows: int, *, tolerated: float = 0.1) -> float:
    """Return how many times wider than its values each bound may be, from public numbers alone.

    A column whose values have a std of its half-range over w has, in the rows that are summed, a std of one over w
    times the row norm. Noise of the multiplier on a gradient of n rows then moves predictions, per std of the column,
    by about multiplier times w times the row norm over n, in half-ranges of the target. This is the w at which that
    is what is tolerated. Values spread evenly over their bounds have w = 1.7.
    """
    return tolerated * n_rows / (noise_multiplier * row_map.row_norm)


def intervals_of(bounds: Bounds, n_features: int, columns: Sequence[str] | None) -> list[tuple[float, float]]:
    """Return the declared range of each feature; none where only a norm is declared."""
    if bounds.features is None:
        return []
    if isinstance(bounds.features, Mapping) and columns is None:
        return list(bounds.features.values())
    return bounds.in_order(n_features, columns)
