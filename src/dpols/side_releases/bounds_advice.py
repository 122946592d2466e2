"""Are the bounds too wide or too tight? What public and released numbers say.

Tight bounds clip values and bend the fit. Wide ones make the values small against the bounds, and their coefficients
are then damped towards zero. Both show in counts of values within and beyond the bounds, which a fit releases if asked
to, for a fixed share of its budget. How much width a fit can bear at all is a matter of public numbers.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from ..data import Bounds, RowMap
from ..data.bounds import Interval
from ..data.source import Array
from ..mechanisms import Channel
from ..privacy import GaussianRelease, MixingRelease, PrivacyBudget, Release
from ..randomness import Bits
from .alongside import release_worth
from .certainty import sure_of
from .counting import UnboundedRows, value_counts

COUNTS_NAME = "counts of values within and beyond bounds"
_NORM = "norm of a row"
_COUNT_SHARE = 0.02  # of the squared budget
_BINS = 16  # within the bounds
_TIGHT = 0.02  # share of values beyond an end from which bounds are called tight
_PERHAPS = 0.1  # share of values that paid bounds may clip, as far as one can tell, from which that is said
_MOST = 0.5  # share of values beyond an end from which the bounds are of another unit
_NEARLY_ALL = 0.98
_WIDE = 2  # bins that hold nearly all values of a column whose bounds are called wide
_RARE = 0.02  # share of rows that a category may have at most, as far as noise lets one tell, to be called rare
_LEAST_ROOM = 1.7  # half-width over standard deviation of values that are spread evenly


@dataclass(frozen=True)
class SpreadCounts:
    """Released counts of values: below the bounds, in each part of them, and above; the target's last."""

    names: tuple[str, ...]
    intervals: tuple[Interval, ...]
    counts: Array  # (columns, bins + 2)
    stddev: float
    n_rows: float

    @property
    def sure(self) -> float:
        """Beyond how many standard deviations the noise of any count seldom leads."""
        return sure_of(self.counts.size)


@dataclass(frozen=True)
class ClippedShare:
    """About which share of a column's values lies beyond its paid bounds, and the standard deviation of the noise."""

    name: str
    share: float
    noise: float


def advice_on_paid(clipped: Sequence[ClippedShare]) -> tuple[str, ...]:
    """Return which paid bounds clip many values, or may, as the counts say from which they were found."""
    sure = sure_of(len(clipped))
    surely = [c for c in clipped if c.share - sure * c.noise > _TIGHT]
    perhaps = [c for c in clipped if c not in surely and c.share + c.noise > _PERHAPS]
    said = [
        f"about {c.share:.1%} (+- {c.noise:.1%}) of the values of {c.name!r} lie beyond its paid bounds and were "
        "clipped, which biases the fit. Give bounds that are public, or outer limits and a larger share."
        for c in surely
    ]
    if perhaps:
        worst = min(max(c.share + c.noise for c in perhaps), 1.0)
        said.append(
            f"the noise hides how many values the paid bounds of {', '.join(repr(c.name) for c in perhaps)} clip: it "
            f"may be {worst:.0%}. Use more rows, a larger epsilon or share, fewer columns, or bounds that are public."
        )
    return tuple(said)


def count_release(budget: PrivacyBudget) -> GaussianRelease:
    """Return what counting values costs of a whole (zero-out) budget."""
    return release_worth(budget, _COUNT_SHARE)


def release_spread(
    bounds: Bounds, target: Interval, rows: UnboundedRows, release: GaussianRelease, bits: Bits
) -> tuple[SpreadCounts, tuple[GaussianRelease, ...]]:
    """Release how the values lie within and beyond their bounds, and return what was recorded.

    The rows must not be clipped yet; ``target`` is the range of their targets.
    """
    channel, source = Channel([bits]), rows.source
    by_norm = bounds.features is None
    names: tuple[str, ...] = source.columns or tuple(f"x{i}" for i in range(source.n_features))
    if by_norm:
        assert bounds.x_norm is not None
        names, intervals = (_NORM,), [(0.0, bounds.x_norm)]
    else:
        intervals = bounds.in_order(source.n_features, source.columns)
    intervals.append(target)
    exact = value_counts(rows, [_edges(pair) for pair in intervals], by_norm=by_norm)
    noisy = channel.gaussian(exact, multiplier=release.multiplier)[0].reshape(len(intervals), _BINS + 2)
    recorded = tuple(release for release in channel.releases if isinstance(release, GaussianRelease))
    stddev = release.multiplier * math.sqrt(len(intervals))
    n_rows = rows.in_use(list(noisy), stddev)
    return SpreadCounts((*names, "target"), tuple(intervals), noisy, stddev, n_rows), recorded


def advice_on_spread(
    spread: SpreadCounts, categories: Mapping[str, tuple[str, str] | None] = MappingProxyType({})
) -> tuple[str, ...]:
    """Return which bounds released counts show to be tight or wide, and what to do about it.

    ``categories`` names the features that categories are part of, each with its column and category where it stands for
    one: these have no bounds to choose, but a spelling.
    """
    said = _advice_on_categories(spread, categories)
    noise = spread.stddev / spread.n_rows
    unsure = spread.sure * noise
    for name, interval, counts in zip(spread.names, spread.intervals, spread.counts, strict=True):
        for end, count in (("below the lower", counts[0]), ("above the upper", counts[-1])):
            share = min(count / spread.n_rows, 1.0)
            if share - unsure > _MOST:
                said.append(
                    f"about {share:.0%} of the values of {name!r} lie {end} bound and were clipped: the column has "
                    "another unit than its bounds, such as a fraction for percent, or thousands. Correct the bounds."
                )
            elif share - unsure > _TIGHT:
                said.append(
                    f"about {share:.1%} (+- {noise:.1%}) of the values of {name!r} lie {end} bound and were clipped: "
                    "the bound is too tight and biases the fit. Widen it, unless the clipping is intended."
                )
        place = _holding_nearly_all(counts, spread)
        if place is not None and name != _NORM and name not in categories:
            low, high = (float(np.linspace(*interval, _BINS + 1)[end]) for end in (place, place + _WIDE))
            said.append(
                f"nearly all values of {name!r} lie within [{low:g}, {high:g}], a small part of its bounds: they are "
                "too wide, or of another unit, and shrink its coefficient. Check the unit, or narrow them."
            )
    if not said:
        said.append(f"no bound is clearly too tight or too wide, up to noise of {noise:.1%} of the rows.")
    return tuple(said)


def room_for_width(row_map: RowMap, releases: Sequence[Release], n_rows: float) -> float:
    """Return about how many standard deviations of a column its bounds may reach to either side, from public numbers.

    A column whose half-width is w standard deviations adds n / (w times the row norm)^2 to the diagonal of X'X. What is
    added to it for privacy, the floor of a sketch or damping of the size of the noise, is as large at this w; beyond,
    the column's coefficient is damped to a small part of what it should be.
    """
    floors = [release.floor for release in releases if isinstance(release, MixingRelease)]
    multipliers = [release.multiplier for release in releases if isinstance(release, GaussianRelease)]
    # Noise on X'X of a third of the squared budget, a usual part, times what makes it the norm of a noise matrix.
    mu = math.sqrt(math.fsum(m**-2 for m in multipliers)) if multipliers else math.inf
    damping = max(floors) if floors else math.sqrt(3.0 * 2.0 * row_map.n_coordinates) / mu
    return math.sqrt(n_rows / damping) / row_map.row_norm


def advice_on_room(room: float) -> tuple[str, ...]:
    """Return what to do where even values that fill their bounds are damped."""
    if room >= _LEAST_ROOM:
        return ()
    return (
        "for so few rows, or so small an epsilon, even columns whose values fill their bounds are damped: no bounds "
        "can help. Use more rows, a larger epsilon or fewer features.",
    )


def _advice_on_categories(spread: SpreadCounts, categories: Mapping[str, tuple[str, str] | None]) -> list[str]:
    """Return which categories hardly any row has, where noise lets one tell; a row of one has the highest value, 1."""
    sure, most = spread.sure * spread.stddev, _RARE * spread.n_rows
    share = min(2.0 * sure / spread.n_rows, _RARE)
    rare: dict[str, list[str]] = {}
    for name, counts in zip(spread.names, spread.counts, strict=True):
        found = categories.get(name)
        if found is not None and counts[-2] < min(sure, most - sure):
            rare.setdefault(found[0], []).append(repr(found[1]))
    return [
        f"few rows, if any, have {' or '.join(levels)} in {column!r} (each at most about {share:.1%} of all). Check "
        "how they are spelt, since other values count as none of the categories, and leave out those that hardly occur."
        for column, levels in rare.items()
    ]


def _edges(interval: Interval) -> Array:
    low, high = interval
    inner = np.linspace(low, high, _BINS + 1)
    inner[-1] = np.nextafter(high, math.inf)  # a value at the upper bound is within it
    return np.concatenate(([-math.inf], inner, [math.inf]))


def _holding_nearly_all(counts: Array, spread: SpreadCounts) -> int | None:
    """Return where so few neighbouring parts of the bounds begin as are called wide, if they hold nearly all values."""
    windows = np.convolve(counts[1:-1], np.ones(_WIDE), mode="valid")
    best = int(np.argmax(windows))
    rest = spread.n_rows - windows[best]
    few = (1.0 - _NEARLY_ALL) * spread.n_rows
    noise = spread.sure * spread.stddev * math.sqrt(_WIDE)
    return best if windows[best] > 2.0 * noise and rest + noise < few else None
