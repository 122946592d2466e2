"""Counts of values on public grids, each with how far one row can move them.

The one statistic of rows that have no bounds yet: whatever a row holds, it is one value of each column. A zero row, and
a row that is not finite, is counted nowhere. Counts are whole numbers in either arithmetic, and which of them a row
belongs to depends on that row alone, so that their sensitivity holds of the program.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..data import BoundedRows, RowSource
from ..data.bounding import finite_rows
from ..data.bounds import Interval
from ..data.fixed_point import FixedPointSpan
from ..data.rows import Arithmetic, BadRows, check_total
from ..data.source import Array
from ..data.span import Span, count_between, unscaled
from ..data.weights import apart
from ..data.whole_numbers import ONE
from ..statistics.statistic import Statistic, counted, of_units

_SEEN = 3.0  # standard deviations of noise by which fewer rows are counted than there are


@dataclass(frozen=True)
class UnboundedRows:
    """A source of rows before there are any bounds; nothing but counts is computed from it."""

    source: RowSource
    bad_rows: BadRows = "raise"
    arithmetic: Arithmetic = "float"
    rows_per_unit: int = 1  # how many rows neighbouring data sets differ in
    rows_are_public: bool = True  # whether their number is
    max_weight: float | None = None  # the largest weight of a row; None where rows have no weights
    exposure: Interval | None = None  # the range of exposure; None where rows have none

    def n_units(self, counts: Sequence[Array]) -> float:
        """Return how many units there may be: as public, or else by noisy counts of each column's values."""
        return self.source.n_rows / self.rows_per_unit if self.rows_are_public else _counted(counts)

    def in_use(self, counts: Sequence[Array], stddev: float) -> float:
        """Return how many units are in use: all where that is public, or where the noise of counts hides a difference.

        ``stddev`` is the standard deviation of the noise of each count.
        """
        public, found = self.n_units(counts), _counted(counts)
        noise = stddev / math.sqrt(sum(1.0 / len(column) for column in counts))
        return found if public - found > _SEEN * noise else public


@of_units
def value_counts(rows: UnboundedRows, edges: Sequence[Array | None], *, by_norm: bool = False) -> Statistic:
    """Return for each column, the target last, how many values lie between its rising edges, in one long vector.

    One row moves one count of each counted column by 1, that is the vector by the root of their number. A value on an
    edge counts to the right of it, one beyond the ends to the first or the last count. A column without edges is not
    counted. With ``by_norm`` the norm of a row's features is the only column beside the target.
    """
    total = rows.source.total(_value_counts, tuple(edges), by_norm, rows.exposure is not None)
    counts, bad = total.values
    check_total(total, int(bad), n_rows=rows.source.n_rows, bad_rows=rows.bad_rows)
    return counted(counts, rows.arithmetic, sum(ends is not None for ends in edges))


@of_units
def norm_counts(rows: BoundedRows, edges: Array) -> Statistic:
    """Return how many rows' features have a norm above each rising edge but not the next, in units of the row norm.

    One row moves one of the counts, by 1; rows without any length, such as the zero row, are not counted.
    """
    (counts,) = rows.total(_norm_counts, rows.row_map.n_features, edges)
    return counted(counts, rows.arithmetic)


def _counted(counts: Sequence[Array]) -> float:
    """Return about how many units are counted: each is in one count of each column, and each count has its noise."""
    sums, weights = [float(column.sum()) for column in counts], [1.0 / len(column) for column in counts]
    return max(float(np.average(sums, weights=weights)), 1.0)


def _value_counts(
    features: Array, target: Array, edges: tuple[Array | None, ...], by_norm: bool, positive: bool
) -> tuple[Array, ...]:
    target, weights = apart(target)
    good = finite_rows(features, target, weights, positive=positive)
    bad = len(good) - int(good.sum())
    if weights is not None:
        good &= weights > 0.0  # a row of weight zero is a row of zeros
    rows = features[good]
    values = [_norms(rows) if by_norm else rows.T, target[None, good]]
    counts = [
        np.bincount(np.searchsorted(ends[1:-1], column, side="right"), minlength=len(ends) - 1)
        for column, ends in zip(itertools.chain(*values), edges, strict=True)
        if ends is not None
    ]
    return np.concatenate(counts).astype(np.int64), np.array(bad)


def _norms(rows: Array) -> Array:
    rows = rows.astype(np.float64)
    with np.errstate(over="ignore"):
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", rows, rows)))[None]


def _norm_counts(span: Span | FixedPointSpan, n_features: int, edges: Array) -> tuple[Array, ...]:
    if isinstance(span, FixedPointSpan):
        features = span.rows[:, :n_features]
        norms = np.sqrt(np.einsum("ij,ij->i", features, features)) / ONE
    else:
        norms = np.sqrt(np.einsum("ij,ij->i", span.features, span.features)) * span.weight[:, 0]
    lines = norms[:, None]
    if span.root is not None:
        lines = unscaled(lines, span.root / ONE if isinstance(span, FixedPointSpan) else span.root)
    return (count_between(lines, edges)[0].astype(np.int64),)
