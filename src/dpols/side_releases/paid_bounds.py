"""Bounds that a fit buys: private quantiles of every column, for a stated share of its budget.

Three passes, each released with Gaussian noise of a multiplier that is fixed in advance:

1. counts of each column's values between powers of two, of either sign, which shows about where they lie;
2. counts between edges with about as many values between each, and some beyond, which gives low and high;
3. counts of the norms of rows, each feature mapped to [-1, 1] by these, which gives the largest norm to allow for.

What is chosen from them is post-processing. The bounds of the regression depend on these releases, but the method's
sensitivities are relative to its bounds, so that its noise multipliers, and all accounting, are fixed in advance too.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from ..data import BoundedRows, Bounds
from ..data.bounds import (
    Interval,
    Origin,
    checked_interval,
    checked_positive,
    checked_ranges,
    in_column_order,
    ranges_of,
    read_from_data,
)
from ..data.source import Array
from ..errors import BoundsError
from ..mechanisms import Channel
from ..privacy import GaussianRelease, PrivacyBudget
from ..randomness import Bits
from .alongside import release_worth
from .bounds_advice import ClippedShare
from .counting import UnboundedRows, norm_counts, value_counts
from .tails import Counts, finer_edges, left_out, median, standing_out, upper_end, without_tails

Limits = Interval | None
TargetIs = Literal["a number", "a count", "known"]  # a count starts at zero; what is known is not counted

_SMALLEST, _LARGEST = 1e-40, 1e40
_RATIO = 2.0  # of neighbouring edges in the first pass
_NORM_BINS = 64
_RESOLUTION_IN_LIMITS = 2.0**-20  # of the width of declared limits: what is taken for zero, if it is below `resolution`
_PARTS = (0.45, 0.45, 0.1)  # of the share: magnitudes, limits, norms
PASSES = ("counts of values by magnitude", "counts of values by quantile", "counts of norms of rows")
_TAIL = 0.4  # on either side, of what need not be kept: tails are as likely a bit larger as smaller
_ROOM, _MOST_ROOM = 4.0, 1e6  # for intervals, and at most
_SURE = 4.5  # standard deviations of noise by which some count must stand out, for a column to be more than zeros


@dataclass(frozen=True)
class PaidBounds:
    """Bounds that the fit itself finds: private quantiles of the columns, for a share of the budget.

    Parameters
    ----------
    features : mapping of column name to (low, high) or None, or sequence of these, optional
        Outer limits of each feature that are public knowledge, however wide; None where not even those are known. Left
        out, nothing is known of any feature.
    target : (low, high), optional
        Outer limits of the target, however wide.
    share : float, default=0.1
        Share of the squared budget that is spent on the bounds.
    keep : float, default=0.99
        Share of a column's values, of those that are not zero, that should lie within its bounds; others are clipped.
    resolution : float, default=1e-3
        Values closer to zero than this are taken for zero, or than a millionth of the limits where that is less.
    largest : float, default=1e9
        For columns without limits: values beyond this are clipped to it.
    norm : bool, default=True
        Whether to bound the norm of a row by a private quantile, too.
    room : float, default=0.0
        How much farther from the median than they are found the bounds are set, as a multiple; intervals need it, as
        values that are cut bias slopes.
    known : sequence of str
        Features whose limits are their bounds, such as columns of categories; set where a feature map is given.

    >>> PaidBounds(features={"age": (0, 150), "income": None}, target=(0, 1e9))
    PaidBounds(features={'age': (0.0, 150.0), 'income': None}, target=(0.0, 1000000000.0), share=0.1, keep=0.99)
    """

    features: Mapping[str, Limits] | Sequence[Limits] | None = None
    target: Limits = None
    share: float = 0.1
    keep: float = 0.99
    resolution: float = 1e-3
    largest: float = 1e9
    norm: bool = True
    room: float = 0.0
    known: Sequence[str] = ()

    def __post_init__(self) -> None:
        if self.features is not None:
            object.__setattr__(self, "features", checked_ranges(self.features, _limits, "(low, high) or None"))
        object.__setattr__(self, "target", _limits("target", self.target))
        for name in ("share", "keep"):
            object.__setattr__(self, name, _share(name, getattr(self, name)))
        for name in ("resolution", "largest"):
            object.__setattr__(self, name, checked_positive(name, getattr(self, name)))
        if not 0.0 <= self.room <= _MOST_ROOM:
            raise BoundsError(f"room={self.room!r} must lie between 0 and {_MOST_ROOM:g}.")
        if not _SMALLEST <= self.resolution < self.largest <= _LARGEST:
            raise BoundsError(
                f"resolution={self.resolution!r} must be less than largest={self.largest!r}, and both must lie between "
                f"{_SMALLEST:g} and {_LARGEST:g}."
            )

    def __repr__(self) -> str:
        defaults = {"features": None, "target": None, "known": (), "norm": True, "room": 0.0}
        defaults |= {"resolution": 1e-3, "largest": 1e9}
        given = [(name, getattr(self, name)) for name in self.__dataclass_fields__]
        shown = [f"{name}={value!r}" for name, value in given if name not in defaults or value != defaults[name]]
        shown += ["origin='data'"] * (self.origin == "data")
        return f"PaidBounds({', '.join(shown)})"

    def for_intervals(self) -> "PaidBounds":
        """Return bounds that cut next to nothing: with room beyond what is found, and no limit of norms."""
        return replace(self, norm=False, room=max(self.room, _ROOM))

    def releases(self, budget: PrivacyBudget, n_features: int) -> tuple[GaussianRelease, ...]:
        """Return what the bounds of a table cost of a whole (zero-out) budget: one release for each pass."""
        parts = _PARTS if self._with_norm(n_features) else _PARTS[:2]
        return tuple(release_worth(budget, self.share * part / math.fsum(parts)) for part in parts)

    def limits(self, n_features: int, columns: Sequence[str] | None) -> tuple[Limits, ...]:
        """Return the outer limits of the features, in the order of a table's columns, and then of the target."""
        features = (None,) * n_features if self.features is None else self.features
        return (*in_column_order(features, n_features, columns), self.target)

    @property
    def origin(self) -> Origin:
        """Where the bounds come from: they are paid for, unless the outer limits were read from the data."""
        return "data" if read_from_data(*ranges_of(self.features), self.target, self._settings) else "paid"

    @property
    def _settings(self) -> tuple[float, ...]:
        return self.resolution, self.largest, self.share, self.keep, self.room

    def _with_norm(self, n_features: int) -> bool:
        # The norm of a single feature is the feature itself.
        return self.norm and n_features > 1


class ReleasedBounds(NamedTuple):
    """Private bounds, what was recorded, and what the released counts say of values beyond the bounds.

    ``hidden`` are the places of the columns whose ranges the noise hid, so that bounds say nothing; the target is last.
    """

    bounds: Bounds
    releases: tuple[GaussianRelease, ...]
    clipped: tuple[ClippedShare, ...]
    hidden: tuple[int, ...] = ()


def release_bounds(
    paid: PaidBounds,
    releases: Sequence[GaussianRelease],
    rows: UnboundedRows,
    *,
    fit_intercept: bool,
    bits: Bits,
    target_is: TargetIs = "a number",
) -> ReleasedBounds:
    """Return private bounds for a table, given the releases that ``paid.releases`` plans.

    A target whose range is known keeps its limits, and is not counted.
    """
    source, channel = rows.source, Channel([bits])
    limits = paid.limits(source.n_features, source.columns)
    names = source.columns or (None,) * source.n_features
    unknown = [place for place, name in enumerate(names) if name is None or name not in paid.known]
    unknown += [source.n_features] * (target_is != "known")
    tail = _TAIL * (1.0 - paid.keep)

    edges = {place: _magnitudes(limits[place], paid.resolution, paid.largest) for place in unknown}
    first = _released_counts(rows, edges, channel, releases[0].multiplier)
    n_rows = rows.n_units([counts.values for counts in first.values()])
    second = _released_counts(
        rows, {place: finer_edges(counts) for place, counts in first.items()}, channel, releases[1].multiplier
    )
    found, clipped = list(limits), []
    hidden: list[int] = []
    for place, counts in second.items():
        seen = place == source.n_features or _more_than_zeros(first[place])  # there is no fit without a target
        wanted = tail * _beside_zero(first[place], n_rows)
        inner = without_tails(counts, wanted)
        pair = _with_room(inner, counts, paid.room) if seen else _neutral(counts.edges)
        if place == source.n_features and target_is == "a count":
            pair = 0.0, max(pair[1], 1.0)
        found[place] = pair
        hidden += [place] * _hidden(first[place], inner, seen)
        name = "target" if place == source.n_features else str(names[place] or f"x{place}")
        clipped.append(ClippedShare(name, *(number / n_rows for number in left_out(counts, pair))))
    *features, target = found
    given: Any = features if source.columns is None else dict(zip(source.columns, features, strict=True))
    bounds = Bounds(features=given, target=target, origin=paid.origin)
    if len(releases) == len(_PARTS):
        norm = _norm(bounds, rows, channel, releases[2].multiplier, tail * n_rows, fit_intercept)
        bounds = replace(bounds, x_norm=norm)
    recorded = tuple(release for release in channel.releases if isinstance(release, GaussianRelease))
    return ReleasedBounds(bounds, recorded, tuple(clipped), tuple(hidden))


def _released_counts(
    rows: UnboundedRows, edges: Mapping[int, Array], channel: Channel, multiplier: float
) -> dict[int, Counts]:
    """Release the counts of some columns, given by place, with edges for each."""
    by_place = [edges.get(place) for place in range(rows.source.n_features + 1)]
    counts = channel.gaussian(value_counts(rows, by_place), multiplier=multiplier)[0]
    ends = np.cumsum([len(column) - 1 for column in edges.values()])
    noise = multiplier * math.sqrt(len(edges))
    parts = zip(edges.items(), np.split(counts, ends[:-1]), strict=True)
    return {place: Counts(column, values, noise) for (place, column), values in parts}


def _norm(
    bounds: Bounds, rows: UnboundedRows, channel: Channel, multiplier: float, tail: float, fit_intercept: bool
) -> float:
    """Return a private quantile of the norms of rows with each feature mapped to [-1, 1]."""
    source = rows.source
    row_map = bounds.row_map(n_features=source.n_features, columns=source.columns, fit_intercept=fit_intercept)
    row_map = replace(row_map, max_weight=rows.max_weight, exposure=rows.exposure)
    edges = np.linspace(0.0, math.sqrt(source.n_features), _NORM_BINS + 1)
    bounded = BoundedRows(source, row_map, rows.bad_rows, rows.arithmetic, rows.rows_per_unit)
    counts = channel.gaussian(norm_counts(bounded, edges[:-1] / row_map.row_norm), multiplier=multiplier)[0]
    released = Counts(edges, counts, multiplier)
    norm = upper_end(released, median(released), tail)
    return float(min(max(norm, edges[1]), edges[-1]))


def _magnitudes(limits: Limits, resolution: float, largest: float) -> Array:
    """Return rising edges: powers of two times a resolution, of either sign, within the limits."""
    low, high = limits or (-largest, largest)
    step = min((high - low) * _RESOLUTION_IN_LIMITS, resolution) if limits else resolution
    steps = np.arange(math.ceil(math.log(max(-low, high, step) / step, _RATIO)) + 1)
    powers = step * _RATIO**steps
    edges = np.concatenate((-powers[::-1], powers))
    return np.concatenate(([low], edges[(edges > low) & (edges < high)], [high]))


def _zero_bin(edges: Array) -> int | None:
    """Return the place of the count that zeros belong to."""
    place = int(np.searchsorted(edges, 0.0, side="right")) - 1
    return place if 0 <= place < len(edges) - 1 else None


def _beside_zero(counts: Counts, n_rows: float) -> float:
    """Return how many values are not taken for zero, from noisy counts.

    The tails of a column that is zero in most rows are those of its other values.
    """
    zeros = _zero_bin(counts.edges)
    if zeros is None:
        return n_rows
    return min(max(float(counts.values.sum() - counts.values[zeros]), 0.0), n_rows)


def _more_than_zeros(counts: Counts) -> bool:
    """Return whether some count surely stands out of the noise, other than that of zeros."""
    zeros = _zero_bin(counts.edges)
    others = counts.values if zeros is None else np.delete(counts.values, zeros)
    return not len(others) or float(others.max()) > _SURE * counts.noise


def _hidden(counts: Counts, pair: Interval, seen: bool) -> bool:
    """Return whether the noise hid where values lie: no count stands out, or a range is all that there may be.

    A column that is not ``seen`` to be more than zeros is hidden unless its zeros stand out.
    """
    clear, zeros = standing_out(counts), _zero_bin(counts.edges)
    if not seen:
        return zeros is None or not clear[zeros]
    return not clear.any() or (pair == (counts.edges[0], counts.edges[-1]) and not (clear[0] or clear[-1]))


def _with_room(pair: Interval, counts: Counts, room: float) -> Interval:
    """Return wider bounds, within the outer limits: each end lies farther from the median by so many times its way."""
    low, high = pair
    middle = min(max(median(counts), low), high)
    ends = low - room * (middle - low), high + room * (high - middle)
    return max(ends[0], min(low, float(counts.edges[0]))), min(ends[1], max(high, float(counts.edges[-1])))


def _neutral(edges: Array) -> Interval:
    """Return bounds that make next to nothing of a column in which nothing but zeros was found.

    They are wide and centred at zero: such a column is zero after mapping, and so is, in effect, its coefficient.
    """
    outermost = float(np.abs(edges[[0, -1]]).max())
    return -outermost, outermost


def _limits(name: str, pair: Limits) -> Limits:
    return None if pair is None else checked_interval(name, pair, smallest=_SMALLEST, largest=_LARGEST)


def _share(name: str, value: object) -> float:
    number = checked_positive(name, value)
    if not 0.0 < number < 1.0:
        raise BoundsError(f"{name}={value!r} must lie strictly between 0 and 1.")
    return number
