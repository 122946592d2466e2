"""The door for rows: every statistic is computed from bounded rows, and only here are rows bounded.

A block is walked in spans that fit the cache. Each span is mapped, clipped and described by a `Span`, whose rows have
norm at most 1 and whose targets lie in [-1, 1]. The user's arrays are read, never written, and only
`BoundedRows.rounded_once` copies them as a whole.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from ..errors import BadRowsError, DataError
from .bounds import Beside, Interval, RowMap
from .fixed_point import SPAN_ROWS, FixedPointSpan
from .memory import ArraySource
from .row_numbers import BlockNumbers, KeptNumbers, NumberedSource, RowsInMemory, TaskNumbers, numbered
from .scratch import scratch
from .source import Array, LocalSource, RowsOfUnits, RowSource, Total, add_up
from .span import Span
from .threads import even_blocks, map_blocks
from .units import first_of_units

BadRows = Literal["raise", "zero"]
Arithmetic = Literal["exact", "float"]
SpanKernel = Callable[..., tuple[Array, ...]]

# Long spans mean few calls, and threads wait for each other in every call; beyond the cache they would be slow again.
_SPAN_ROWS = 16384
_SPAN_CELLS = 1 << 19
_ROUNDED_CELLS = 1 << 27  # of rows that are kept rounded: half a gibibyte
_DOUBLE_CELLS = 1 << 18  # of those that are kept as doubles, which saves time in every pass
_BAD_TOO = {
    None: "",
    "weight": ", or a negative weight",
    "exposure": ", or an exposure of 0 or less",
}


@dataclass(frozen=True)
class BoundedRows:
    """A source of rows behind its bounds; the only thing that statistics accept."""

    source: RowSource
    row_map: RowMap
    bad_rows: BadRows = "raise"
    arithmetic: Arithmetic = "float"
    rows_per_unit: int = 1  # in how many rows neighbouring data sets may differ
    is_rounded: bool = False  # whether the source holds whole-numbered rows that are bounded already

    @property
    def n_rows(self) -> int:
        """Number of rows, which is public."""
        return self.source.n_rows

    @property
    def is_local(self) -> bool:
        """Whether this process reads the rows, and no worker elsewhere."""
        return isinstance(self.source, LocalSource) and self.source.is_local

    def total(self, kernel: SpanKernel, *args: Any, width: int = 1) -> tuple[Array, ...]:
        """Return the sum of ``kernel(span, *args)``; ``width`` is how many values the kernel keeps per row."""
        return self._checked(self.source.total(_sum_over_spans, None, *self._how(width), kernel, *args))

    def numbered(self, kernel: Callable[..., Array], *args: Any, width: int = 1) -> "NumberedRows":
        """Return the rows with the numbers ``kernel(span, *args)`` beside them, a line for each row."""
        return NumberedRows(self, numbered(self.source, kernel, *args), width)

    def unit_sums(self, kernel: Callable[..., Array], *args: Any, width: int = 1) -> Array:
        """Return for each unit, in columns, the sum over its rows of the lines that ``kernel(span, *args)`` gives.

        The lines of a unit are added in an order of their own, so that a sum depends on the rows of that unit alone.
        """
        how = self._how(width)
        if not isinstance(self.source, RowsOfUnits):
            if self.rows_per_unit > 1:
                raise DataError("sums over units need to know to which unit each row belongs; give unit or groups.")
            return np.concatenate([*self._checked(self.source.total(_listed, *how, kernel, *args))[0]]).T
        units, total = self.source.with_units(_listed, *how, kernel, *args)
        lines = np.concatenate([*self._checked(total)[0]])
        order = np.lexsort((*lines.T, units))
        return np.stack([np.bincount(units[order], weights=column[order]) for column in lines.T])

    @property
    def all_in_use(self) -> bool:
        """Whether it is public that no row counts as a row of zeros."""
        weighted = self.row_map.max_weight is not None  # and a weight may be zero
        return self.bad_rows == "raise" and not weighted and not isinstance(self.source, RowsOfUnits)

    def rounded_once(self) -> "BoundedRows":
        """Return the same rows, in memory, bounded and rounded for all passes; as they are where they do not qualify.

        Passes then take less time than in floating point, and files are read once. 32-bit numbers hold whole ones of
        at most 2^20, so but few rows take more than half of the memory of an array of doubles.
        """
        n_rows, width = self.n_rows, self.row_map.n_coordinates
        if self.arithmetic != "exact" or self.is_rounded or not self.is_local or n_rows * width > _ROUNDED_CELLS:
            return self
        if isinstance(self.source, RowsInMemory) and not isinstance(self.source, RowsOfUnits):
            return replace(self, source=self._rounded_in_place(self.source), is_rounded=True)
        units, total = None, None
        if isinstance(self.source, RowsOfUnits):
            units, total = self.source.with_units(_rounded, *self._how(1))
        blocks: list[Any] = [*self._checked(total or self.source.total(_rounded, *self._how(1)))[0]]
        whole = np.zeros((n_rows, width), np.float32, _order(blocks[0][0]))
        target = np.zeros((n_rows, *blocks[0][1].shape[1:]))
        place = 0
        for rows, targets in _taken(blocks):
            whole[place : place + len(rows)], target[place : place + len(rows)] = rows, targets
            place += len(rows)
        source = ArraySource(whole, target)
        return replace(self, source=source if units is None else first_of_units(source, units), is_rounded=True)

    def _rounded_in_place(self, source: RowsInMemory) -> ArraySource:
        """Return the bounded and rounded rows of a source in memory, each written once, to where it stays."""
        features, targets = source.block(slice(0, 2))
        shape = self.n_rows, self.row_map.n_coordinates
        whole = np.empty(shape, np.float64 if math.prod(shape) <= _DOUBLE_CELLS else np.float32, _order(features))
        target = np.empty((self.n_rows, *targets.shape[1:]))

        def work(block: slice) -> tuple[tuple[Array, ...], int]:
            features, targets = source.block(block)
            bad_rows = 0
            for rows, span, bad in _spans(features, targets, *self._how(1)):
                assert isinstance(span, FixedPointSpan)
                whole[block][rows] = span.rows
                target[block][rows] = span.stored_target
                bad_rows += bad
            return (np.array(bad_rows),), len(targets)

        self._checked(add_up(map_blocks(work, even_blocks(self.n_rows))))
        return ArraySource(whole, target)

    def _how(self, width: int) -> tuple[RowMap | Beside | None, Arithmetic, int]:
        """Return how blocks are mapped, or what stands beside the targets of ones that are bounded, and cut."""
        most = min(_SPAN_ROWS, SPAN_ROWS) if self.arithmetic == "exact" else _SPAN_ROWS
        span_rows = max(256, min(most, _SPAN_CELLS // (self.row_map.n_coordinates + width)))
        return self.row_map.beside if self.is_rounded else self.row_map, self.arithmetic, span_rows

    def _checked(self, total: Total) -> tuple[Array, ...]:
        *values, bad = total.values
        check_total(total, int(bad), n_rows=self.n_rows, bad_rows=self.bad_rows, beside=self.row_map.beside)
        return tuple(values)


@dataclass(frozen=True)
class NumberedRows:
    """Bounded rows with numbers of their own beside them."""

    rows: BoundedRows
    source: NumberedSource
    width: int  # how many values are kept per row to compute the numbers

    def total(self, kernel: Callable[..., Any], *args: Any, width: int = 1) -> tuple[Any, ...]:
        """Return the sum of ``kernel(span, numbers, *args)``; ``width`` is how many values the kernel keeps per row."""
        how = self.rows._how(width if self.source.at_hand else max(width, self.width))
        return self.rows._checked(self.source.total(_sum_over_spans, *how, kernel, *args))


def check_total(total: Total, bad: int, *, n_rows: int, bad_rows: BadRows, beside: Beside | None = None) -> None:
    """Raise where a pass did not read the announced rows, or found rows that are not finite and were to be refused."""
    if total.n_rows != n_rows:
        raise DataError("a pass read another number of rows than there were at first; the source must not change.")
    if bad_rows == "raise" and bad > 0:
        raise BadRowsError(
            f"Input contains NaN or infinity{_BAD_TOO[beside]}, and bad_rows='raise' refuses such rows. Say by "
            "missing=... of a feature map or a bounds file what stands for an empty cell, or pass bad_rows='zero' to "
            "fit on complete rows only; values filled in from the data void the guarantee."
        )


def _sum_over_spans(
    features: Array,
    target: Array,
    numbers: BlockNumbers | KeptNumbers | TaskNumbers | None,
    row_map: RowMap | Beside | None,
    arithmetic: Arithmetic,
    span_rows: int,
    kernel: SpanKernel,
    *args: Any,
) -> tuple[Array, ...]:
    """Sum a kernel over the spans of one block; the last value is the number of bad rows."""
    sums: tuple[Array, ...] | None = None
    bad_rows = 0
    for rows, span, bad in _spans(features, target, row_map, arithmetic, span_rows):
        part = kernel(span, *args) if numbers is None else kernel(span, numbers.of(rows, span), *args)
        sums = part if sums is None else tuple(a + b for a, b in zip(sums, part, strict=True))
        bad_rows += bad
    assert sums is not None
    return (*sums, np.array(bad_rows))


def _rounded(features: Array, target: Array, *how: Any) -> tuple[Any, Array]:
    """Return whole-numbered rows and targets of one block, in a list so that a sum joins them, and count bad rows."""
    rows, targets, bad_rows = [], [], 0
    for _, span, bad in _spans(features, target, *how):
        assert isinstance(span, FixedPointSpan)
        rows.append(span.rows.astype(np.float32))
        targets.append(span.stored_target)
        bad_rows += bad
    return [(np.concatenate(rows), np.concatenate(targets))], np.array(bad_rows)


def _listed(features: Array, target: Array, *how_and_kernel: Any) -> tuple[Any, Array]:
    """Return the lines that a kernel gives for the rows of one block, in a list so that a sum joins them."""
    row_map, arithmetic, span_rows, kernel, *args = how_and_kernel
    lines, bad_rows = [], 0
    for _, span, bad in _spans(features, target, row_map, arithmetic, span_rows):
        lines.append(kernel(span, *args))
        bad_rows += bad
    return [np.concatenate(lines)], np.array(bad_rows)


def _taken(blocks: list[Any]) -> Iterator[Any]:
    """Yield the blocks one after another, and forget each."""
    blocks.reverse()
    while blocks:
        yield blocks.pop()


def _spans(
    features: Array, target: Array, row_map: RowMap | Beside | None, arithmetic: Arithmetic, span_rows: int
) -> Iterator[tuple[slice, Span | FixedPointSpan, int]]:
    """Yield a block's spans, each with its place and its number of bad rows; the next one takes its memory.

    Rows that are bounded already have no map, but a name of what stands beside their targets.
    """
    if not isinstance(row_map, RowMap):
        yield from _rounded_spans(features, target, row_map, span_rows)
        return
    if arithmetic == "exact" and not row_map.norm_is_implied:
        # The order in which a row's squares are added, and with it the last bit, must not depend on the layout.
        features = np.ascontiguousarray(features)
    order = _order(features)
    longest = min(span_rows, len(features))
    buffer = scratch("mapped", (longest, row_map.n_features), order)
    rounded = scratch("rounded", (longest if arithmetic == "exact" else 0, row_map.n_coordinates), order)
    within = arithmetic == "exact" and _is_within(row_map)
    for start in range(0, max(len(features), 1), span_rows):
        rows = slice(start, start + span_rows)
        span, bad = bounded_span(features[rows], target[rows], row_map, buffer)
        yield rows, FixedPointSpan.of(span, rounded, within=within) if arithmetic == "exact" else span, bad


def _is_within(row_map: RowMap) -> bool:
    """Whether clipping each feature keeps every row short enough after it is rounded, too: of public numbers."""
    if not row_map.norm_is_implied or row_map.low is None or row_map.high is None:
        return False
    largest = np.maximum(np.abs(row_map.low), np.abs(row_map.high))
    longest = np.broadcast_to(largest, (1, row_map.n_features))
    constant = None if row_map.constant is None else np.full((1, 1), row_map.constant)
    weight = np.full((1, 1), 1.0 / row_map.row_norm)
    return FixedPointSpan.longest_is_within(Span(longest, weight, constant, np.zeros(1)))


def _rounded_spans(
    features: Array, target: Array, beside: Beside | None, span_rows: int
) -> Iterator[tuple[slice, FixedPointSpan, int]]:
    """Yield the spans of a block of whole-numbered rows."""
    are_double = features.dtype == np.float64
    shape = (0 if are_double else min(span_rows, len(features)), features.shape[1])
    buffer = scratch("rounded", shape, _order(features))
    for start in range(0, max(len(features), 1), span_rows):
        rows = slice(start, start + span_rows)
        doubles = features[rows]
        if not are_double:
            doubles = buffer[: len(doubles)]
            doubles[:] = features[rows]
        yield rows, FixedPointSpan.stored(doubles, target[rows], beside), 0


def _order(features: Array) -> Literal["F", "C"]:
    """Return the layout for what is computed from the features: loops are long where values lie side by side."""
    return "F" if features.strides[0] == features.itemsize else "C"


def bounded_span(features: Array, target: Array, row_map: RowMap, buffer: Array) -> tuple[Span, int]:
    """Map and clip some rows; return them with the number of rows that were not finite (made zero rows)."""
    beside = None
    if row_map.beside is not None:
        target, beside = target.reshape(-1, 2).T
    mapped, squares = _mapped(features, row_map, buffer)
    # Clipping hides infinities, so the squared norms of mapped rows prove nothing.
    own = features if squares is None or row_map.scale is not None else squares
    bad = _bad_rows(features, target, beside, own, positive=row_map.exposure is not None)
    if bad is not None:
        features, target = features.copy(), target.copy()
        features[bad], target[bad] = 0.0, 0.0
        mapped, squares = _mapped(features, row_map, buffer)
    weight = np.full((1, 1), 1.0 / row_map.row_norm)
    if squares is not None:
        mapped, shrink = _shrink_to(row_map.feature_norm, mapped, squares)
        weight = weight if shrink is None else weight * shrink[:, None]
    constant = None if row_map.constant is None else np.full((1, 1), row_map.constant)
    target = target.astype(np.float64, copy=False)
    bounded_target = (np.clip(target, *row_map.target) - row_map.target_centre) / row_map.target_scale
    np.clip(bounded_target, -1.0, 1.0, out=bounded_target)  # the centre is rounded
    if bad is not None:
        # A zero row is zero in every coordinate, also where the map would move zero elsewhere.
        good = ~bad
        weight, bounded_target = weight * good[:, None], bounded_target * good
        constant = None if constant is None else constant * good[:, None]
    n_bad = 0 if bad is None else int(bad.sum())
    if beside is not None and row_map.exposure is not None:
        return Span(mapped, weight, constant, bounded_target, exposure=_shares(beside, row_map.exposure, bad)), n_bad
    if beside is None or row_map.max_weight is None:
        return Span(mapped, weight, constant, bounded_target), n_bad
    root = _roots(beside, row_map.max_weight, bad)
    constant = None if constant is None else constant * root[:, None]
    return Span(mapped, weight * root[:, None], constant, bounded_target * root, root), n_bad


def _roots(weights: Array, largest: float, bad: Array | None) -> Array:
    """Return the root of each weight over the largest, to which it is clipped; zero for bad rows.

    A division and a root are rounded in one way only, so that each depends on its own weight, bit for bit.
    """
    if bad is not None:
        weights = np.where(bad, 0.0, weights)
    return np.asarray(np.sqrt(np.minimum(weights, largest) / largest))


def _shares(exposures: Array, ends: Interval, bad: Array | None) -> Array:
    """Return each exposure, clipped to its range, over the largest; zero for bad rows.

    A division is rounded in one way only, so that each depends on its own exposure, bit for bit.
    """
    shares = np.clip(exposures, *ends) / ends[1]
    return np.asarray(shares if bad is None else np.where(bad, 0.0, shares))


def _mapped(features: Array, row_map: RowMap, buffer: Array) -> tuple[Array, Array | None]:
    """Return the features mapped and clipped one by one, and the squared norms of rows that may need shrinking.

    Where there is nothing to map, the features are a view of the user's own.
    """
    if row_map.scale is None or row_map.centre is None or row_map.low is None or row_map.high is None:
        mapped = features if features.dtype == np.float64 else features.astype(np.float64)
    else:
        mapped = buffer[: len(features)]
        with np.errstate(over="ignore"):  # a value too large is clipped, and a warning would tell of it
            if row_map.centre.any():
                features = np.subtract(features, _for_all(row_map.centre), out=mapped)
            scale = _for_all(1.0 / row_map.scale)
            if not np.array_equal(scale, 1.0):
                features = np.multiply(features, scale, out=mapped)
        np.clip(features, _for_all(row_map.low), _for_all(row_map.high), out=mapped)
    if row_map.norm_is_implied:
        return mapped, None
    with np.errstate(over="ignore", invalid="ignore"):
        return mapped, np.einsum("ij,ij->i", mapped, mapped)


def _for_all(numbers: Array) -> Any:
    """Return one number for all columns, which takes a fraction of the time, where that is what they are."""
    return numbers.flat[0] if (numbers == numbers.flat[0]).all() else numbers


def _bad_rows(features: Array, target: Array, beside: Array | None, values: Array, *, positive: bool) -> Array | None:
    """Return which rows hold a nan, an infinity or a weight below zero, or None where none does.

    ``values`` are finite only if the features are: themselves, or the rows' squared norms where they are at hand. What
    stands ``beside`` targets is a weight, or an exposure, which must be ``positive``.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        # A finite sum proves that all terms are finite; only otherwise look at each value.
        fine = beside is None or (np.isfinite(beside.sum()) and bool(_allowed(beside.min(initial=1.0), positive)))
        if fine and np.isfinite(values.sum()) and np.isfinite(target.sum()):
            return None
    bad: Array = ~finite_rows(features, target, beside, positive=positive)
    return bad if bad.any() else None


def finite_rows(features: Array, target: Array, beside: Array | None, *, positive: bool = False) -> Array:
    """Return which rows are finite and have no weight below zero, or where that must be ``positive``, none of zero."""
    good = np.isfinite(features).all(axis=1) & np.isfinite(target)
    return np.asarray(good if beside is None else good & np.isfinite(beside) & _allowed(beside, positive))


def _allowed(values: Any, positive: bool) -> Any:
    return values > 0.0 if positive else values >= 0.0


def _shrink_to(bound: float, rows: Array, squares: Array) -> tuple[Array, Array | None]:
    """Return rows and weights such that weight * row has norm at most ``bound``; None stands for ones."""
    if squares.max(initial=0.0) <= bound * bound:
        return rows, None
    extreme = ~np.isfinite(squares)
    if extreme.any():
        # The square of the norm overflows; divide such rows by their largest entry first.
        rows = rows.copy()
        rows[extreme] /= np.abs(rows[extreme]).max(axis=1, keepdims=True)
        squares = np.where(extreme, np.einsum("ij,ij->i", rows, rows), squares)
    weight = bound / np.sqrt(np.maximum(squares, np.where(extreme, 0.0, bound * bound)))
    return rows, weight
