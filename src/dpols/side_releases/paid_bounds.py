"""Bounds that a fit buys: private quantiles of every column, for a stated share of its budget.

Three passes, each released with Gaussian noise of a multiplier that is fixed in advance:

1. counts of each column's values between powers of four, of either sign, which gives its order of magnitude;
2. counts between 64 evenly spaced edges within what the first pass found, which gives low and high;
3. counts of the norms of rows, each feature mapped to [-1, 1] by these, which gives the largest norm to allow for.

What is chosen from them is post-processing. The bounds of the regression depend on these releases, but the method's
sensitivities are relative to its bounds, so that its noise multipliers, and all accounting, are fixed in advance too.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtri

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
from .counting import UnboundedRows, norm_counts, value_counts

Limits = Interval | None

_SMALLEST, _LARGEST = 1e-40, 1e40
_RATIO = 4.0  # of neighbouring edges in the first pass
_EVEN_BINS = 64
_NORM_BINS = 64
_RESOLUTION_IN_LIMITS = 2.0**-20  # of the width of declared limits: what is taken for zero
_PARTS = (0.45, 0.45, 0.1)  # of the share: magnitudes, limits, norms
PASSES = ("counts of values by magnitude", "counts of values between even edges", "counts of norms of rows")
_FALSE_MAGNITUDE = 1e-3  # chance that noise alone widens any column by a power of four
_LIKELY = 2.0  # standard deviations of noise by which a magnitude's neighbour stands out; one too many does little harm
_APART = 3.0  # standard deviations of noise by which some of the even bins stand out
_UNSEEN_TAILS = 16.0  # how many tails, of a quarter of what need not be kept, may be hidden by noise


@dataclass(frozen=True)
class PaidBounds:
    """Bounds that are not known: private quantiles of the columns stand for them, and a share of the budget pays.

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
        For columns without limits: values closer to zero than this are taken for zero.
    largest : float, default=1e9
        For columns without limits: values beyond this are clipped to it.
    norm : bool, default=True
        Whether to bound the norm of a row by a private quantile, too.
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
    known: Sequence[str] = ()

    def __post_init__(self) -> None:
        if self.features is not None:
            object.__setattr__(self, "features", checked_ranges(self.features, _limits, "(low, high) or None"))
        object.__setattr__(self, "target", _limits("target", self.target))
        for name in ("share", "keep"):
            object.__setattr__(self, name, _share(name, getattr(self, name)))
        for name in ("resolution", "largest"):
            object.__setattr__(self, name, checked_positive(name, getattr(self, name)))
        if not _SMALLEST <= self.resolution < self.largest <= _LARGEST:
            raise BoundsError(
                f"resolution={self.resolution!r} must be less than largest={self.largest!r}, and both must lie between "
                f"{_SMALLEST:g} and {_LARGEST:g}."
            )

    def __repr__(self) -> str:
        defaults = {"resolution": 1e-3, "largest": 1e9, "norm": True, "features": None, "target": None, "known": ()}
        given = [(name, getattr(self, name)) for name in self.__dataclass_fields__]
        shown = [f"{name}={value!r}" for name, value in given if name not in defaults or value != defaults[name]]
        return f"PaidBounds({', '.join(shown)})"

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
        return (
            "data"
            if read_from_data(*ranges_of(self.features), self.target, (self.resolution, self.largest))
            else "paid"
        )

    def _with_norm(self, n_features: int) -> bool:
        # The norm of a single feature is the feature itself.
        return self.norm and n_features > 1


def release_bounds(
    paid: PaidBounds, releases: Sequence[GaussianRelease], rows: UnboundedRows, *, fit_intercept: bool, bits: Bits
) -> tuple[Bounds, tuple[GaussianRelease, ...]]:
    """Return private bounds for a table and what was recorded, given the releases that ``paid.releases`` plans."""
    source, channel = rows.source, Channel([bits])
    limits = paid.limits(source.n_features, source.columns)
    tail = 0.25 * (1.0 - paid.keep)  # for each side and pass

    edges = [_magnitudes(pair, paid.resolution, paid.largest) for pair in limits]
    counts, noise = _released_counts(rows, edges, channel, releases[0].multiplier)
    n_rows = rows.n_units(counts)
    tails = [tail * _beside_zero(*each, n_rows) for each in zip(counts, edges, strict=True)]
    sure = _sure(edges) * noise
    found = [_magnitude(*each, sure, _LIKELY * noise) for each in zip(counts, edges, tails, strict=True)]
    if found[-1] is None:  # there is no fit without a target
        found[-1] = _largest_bin(counts[-1], edges[-1])

    even = [_evenly(pair or (ends[0], ends[-1]), _EVEN_BINS) for pair, ends in zip(found, edges, strict=True)]
    counts, noise = _released_counts(rows, even, channel, releases[1].multiplier)
    *features, target = (
        _without_tails(*each, noise) if pair else _neutral(each[1])
        for pair, each in zip(found, zip(counts, even, tails, strict=True), strict=True)
    )
    given: Any = features if source.columns is None else dict(zip(source.columns, features, strict=True))
    if source.columns is not None:
        given |= {name: pair for name, pair in zip(source.columns, limits, strict=False) if name in paid.known}
    bounds = Bounds(features=given, target=target, origin=paid.origin)
    if len(releases) == len(_PARTS):
        norm = _norm(bounds, rows, channel, releases[2].multiplier, tail * n_rows, fit_intercept)
        bounds = replace(bounds, x_norm=norm)
    return bounds, tuple(release for release in channel.releases if isinstance(release, GaussianRelease))


def _released_counts(
    rows: UnboundedRows, edges: Sequence[Array], channel: Channel, multiplier: float
) -> tuple[list[Array], float]:
    """Release each column's counts; return them with the standard deviation of the noise in each."""
    counts = channel.gaussian(value_counts(rows, edges), multiplier=multiplier)[0]
    ends = np.cumsum([len(column) - 1 for column in edges])
    return np.split(counts, ends[:-1]), multiplier * math.sqrt(len(edges))


def _norm(
    bounds: Bounds, rows: UnboundedRows, channel: Channel, multiplier: float, tail: float, fit_intercept: bool
) -> float:
    """Return a private quantile of the norms of rows with each feature mapped to [-1, 1]."""
    source = rows.source
    row_map = bounds.row_map(n_features=source.n_features, columns=source.columns, fit_intercept=fit_intercept)
    edges = _evenly((0.0, math.sqrt(source.n_features)), _NORM_BINS)
    bounded = BoundedRows(source, row_map, rows.bad_rows, rows.arithmetic, rows.rows_per_unit)
    counts = channel.gaussian(norm_counts(bounded, edges[:-1] / row_map.row_norm), multiplier=multiplier)[0]
    return _without_tails(counts, edges, tail, multiplier)[1]


def _magnitudes(limits: Limits, resolution: float, largest: float) -> Array:
    """Return rising edges: powers of four times a resolution, of either sign, within the limits."""
    low, high = limits or (-largest, largest)
    step = (high - low) * _RESOLUTION_IN_LIMITS if limits else resolution
    steps = np.arange(math.ceil(math.log(max(-low, high, step) / step, _RATIO)) + 1)
    powers = step * _RATIO**steps
    edges = np.concatenate((-powers[::-1], powers))
    return np.concatenate(([low], edges[(edges > low) & (edges < high)], [high]))


def _evenly(ends: Interval, bins: int) -> Array:
    return np.linspace(ends[0], ends[1], bins + 1)


def _zero_bin(edges: Array) -> int | None:
    """Return the place of the count that zeros belong to."""
    place = int(np.searchsorted(edges, 0.0, side="right")) - 1
    return place if 0 <= place < len(edges) - 1 else None


def _beside_zero(counts: Array, edges: Array, n_rows: float) -> float:
    """Return how many values are not taken for zero, from noisy counts.

    The tails of a column that is zero in most rows are those of its other values.
    """
    zeros = _zero_bin(edges)
    return n_rows if zeros is None else min(max(float(counts.sum() - counts[zeros]), 0.0), n_rows)


def _sure(edges: Sequence[Array]) -> float:
    """Return how many standard deviations no window's noise exceeds, but for the chance of a false magnitude."""
    bins = [len(column) - 1 for column in edges]
    windows = sum(2 * n * (1 + int(math.log2(n))) for n in bins)
    return float(-ndtri(_FALSE_MAGNITUDE / windows))


def _magnitude(counts: Array, edges: Array, tail: float, sure: float, likely: float) -> Limits:
    """Return the range of counts that surely stand out of the noise, and of neighbours that likely do.

    None where nothing does but zeros.
    """
    first, last = _first_beyond(counts, tail, sure), _first_beyond(counts[::-1], tail, sure)
    if first is None or last is None or first > len(counts) - 1 - last:
        return None
    last = len(counts) - 1 - last
    while first > 0 and counts[first - 1] > tail + likely:
        first -= 1
    while last < len(counts) - 1 and counts[last + 1] > tail + likely:
        last += 1
    if first == last == _zero_bin(edges):
        return None
    if likely > _UNSEEN_TAILS * tail:  # then there may be more next to them
        first, last = max(first - 1, 0), min(last + 1, len(counts) - 1)
    return float(edges[first]), float(edges[last + 1])


def _without_tails(counts: Array, edges: Array, tail: float, noise: float) -> Interval:
    """Return the range between the edges that leaves out no more than a tail on either side, as far as one can tell."""
    first, last = _cut(counts, tail, noise), _cut(counts[::-1], tail, noise)
    if not edges[first] < edges[len(counts) - last]:
        return float(edges[0]), float(edges[-1])
    return float(edges[first]), float(edges[len(counts) - last])


def _cut(counts: Array, tail: float, noise: float) -> int:
    """Return how many of the first counts to leave out: those before the first that stands out of the noise.

    What may hide in the noise of those left out is limited too: bounds that are too tight do more harm than wide ones.
    """
    beyond = _first_beyond(counts, tail, _APART * noise)
    hidden = noise * np.sqrt(np.arange(1.0, len(counts) + 1.0))
    safe = int(np.searchsorted(hidden, _UNSEEN_TAILS * tail, side="right"))
    return min(0 if beyond is None else beyond, safe)


def _first_beyond(counts: Array, tail: float, threshold: float) -> int | None:
    """Return the first place at which more than a tail lies up to it, by some window of counts that ends there.

    ``threshold`` is what the noise of one count is not taken to exceed.
    """
    sums = np.concatenate(([0.0], np.cumsum(counts)))
    length, found = 1, np.zeros(len(counts), dtype=bool)
    while length <= len(counts):
        windows = sums[length:] - sums[:-length]
        found[length - 1 :] |= windows > tail + threshold * math.sqrt(length)
        length *= 2
    return int(np.argmax(found)) if found.any() else None


def _largest_bin(counts: Array, edges: Array) -> Interval:
    place = int(np.argmax(counts))
    return float(edges[place]), float(edges[place + 1])


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
