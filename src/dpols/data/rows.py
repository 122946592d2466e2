"""The door for rows: every statistic is computed from bounded rows.

A block is walked in spans that fit the cache (`bounding.py`). The user's arrays are read, never written, and only
`BoundedRows.bounded_once` copies them as a whole.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from ..errors import BadRowsError, DataError
from .bounding import Arithmetic as Arithmetic
from .bounding import bounded_block, order_of, spans
from .fixed_point import FixedPointSpan
from .memory import ArraySource, TableSource
from .rounded_tasks import ReadableTasks, RoundedTasks
from .row_map import Beside, RowMap
from .row_numbers import BlockNumbers, KeptNumbers, NumberedSource, RowsInMemory, RowsOfTasks, TaskNumbers, numbered
from .source import Array, LocalSource, RowsOfUnits, RowsOfWorkers, RowSource, Total, add_up
from .spans_at_hand import NumberedSpans, SpansAtHand
from .threads import even_blocks, map_blocks
from .units import UnitSource, first_of_units

BadRows = Literal["raise", "zero"]
SpanKernel = Callable[..., tuple[Array, ...]]

# Long spans mean few calls, and threads wait for each other in every call; beyond the cache they would be slow again.
_SPAN_ROWS = 16384
_SPAN_CELLS = 1 << 20
_ROUNDED_CELLS = 1 << 27  # of rows that are kept rounded: half a gibibyte
_DOUBLE_CELLS = 1 << 18  # of those that are kept as doubles, which saves time in every pass
_BOUNDED_CELLS = 1 << 23  # of rows that are kept bounded in floating point: 64 megabytes
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
    spans: SpansAtHand | None = field(default=None, repr=False, compare=False)  # of a small table, for all passes

    @property
    def n_rows(self) -> int:
        """Number of rows, which is public."""
        return self.source.n_rows

    @property
    def at_hand(self) -> bool:
        """Whether all rows lie in memory, bounded and rounded."""
        return self.is_rounded and isinstance(self.source, RowsInMemory)

    @cached_property
    def is_local(self) -> bool:
        """Whether this process reads the rows, and no worker elsewhere."""
        return isinstance(self.source, LocalSource) and self.source.is_local

    def total(self, kernel: SpanKernel, *args: Any, width: int = 1) -> tuple[Array, ...]:
        """Return the sum of ``kernel(span, *args)``; ``width`` is how many values the kernel keeps per row."""
        if self.spans is not None:
            return self.spans.total(self._span_rows(width), kernel, *args)
        return self._checked(self.source.total(_sum_over_spans, None, *self._how(width), kernel, *args))

    def numbered(self, kernel: Callable[..., Array], *args: Any, width: int = 1) -> "NumberedRows":
        """Return the rows with the numbers ``kernel(span, *args)`` beside them, a line for each row."""
        if self.spans is not None:
            return NumberedRows(self, NumberedSpans(self.spans, kernel, args), width)
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

    @cached_property
    def all_in_use(self) -> bool:
        """Whether it is public that no row counts as a row of zeros."""
        weighted = self.row_map.max_weight is not None  # and a weight may be zero
        return self.bad_rows == "raise" and not weighted and not isinstance(self.source, RowsOfUnits)

    def bounded_once(self) -> "BoundedRows":
        """Return the same rows, in memory and bounded for all passes; as they are where they do not qualify.

        Those of exact arithmetic are rounded, too, and of small tables spans are at hand. Where workers sum the rows,
        their memory is meant.
        """
        if self.spans is not None or self.is_rounded:
            return self
        if not self.is_local:
            return self._kept_by_workers()
        if self.arithmetic == "exact":
            return self._rounded_once()._with_spans()
        in_memory = type(self.source) in (ArraySource, TableSource, UnitSource)
        if not in_memory or self.n_rows * self.row_map.n_coordinates > _BOUNDED_CELLS:
            return self
        blocks, bad = self.source.total(_bounded, self.row_map).values
        self._check(Total((), self.n_rows), int(bad))
        return replace(self, spans=SpansAtHand(list(blocks), self.n_rows))

    def rounded_in_memory(self) -> "BoundedRows":
        """Return the same for rows in memory in exact arithmetic; others as they are, so that files take no memory."""
        in_memory = self.arithmetic == "exact" and isinstance(self.source, RowsInMemory)
        return self.bounded_once() if in_memory else self

    def _with_spans(self) -> "BoundedRows":
        """Return rounded rows with their spans at hand where they are held as doubles."""
        source = self.source
        if not (self.is_rounded and isinstance(source, ArraySource) and source.features.dtype == np.float64):
            return self
        return replace(self, spans=SpansAtHand.of_rounded(source, self.row_map.beside))

    def _rounded_once(self) -> "BoundedRows":
        """Return the same rows, in memory, bounded and rounded for all passes; as they are where they do not qualify.

        Passes then take less time than in floating point, and files are read once. 32-bit numbers hold whole ones of
        at most 2^20, so but few rows take more than half of the memory of an array of doubles.
        """
        n_rows, width = self.n_rows, self.row_map.n_coordinates
        if n_rows * width > _ROUNDED_CELLS:
            return self._rounded_as_read()
        if isinstance(self.source, RowsInMemory) and not isinstance(self.source, RowsOfUnits):
            return replace(self, source=self._rounded_in_place(self.source), is_rounded=True)
        if isinstance(self.source, RowsOfTasks):
            return replace(self, source=self._rounded_from_tasks(self.source), is_rounded=True)
        units, total = None, None
        if isinstance(self.source, RowsOfUnits):
            units, total = self.source.with_units(_rounded, *self._how(1))
        blocks: list[Any] = [*self._checked(total or self.source.total(_rounded, *self._how(1)))[0]]
        whole = np.zeros((n_rows, width), np.float32, order_of(blocks[0][0]))
        target = np.zeros((n_rows, *blocks[0][1].shape[1:]))
        place = 0
        for rows, targets in _taken(blocks):
            whole[place : place + len(rows)], target[place : place + len(rows)] = rows, targets
            place += len(rows)
        source = ArraySource(whole, target)
        return replace(self, source=source if units is None else first_of_units(source, units), is_rounded=True)

    def _kept_by_workers(self) -> "BoundedRows":
        """Return the same rows, which workers keep bounded and rounded where these are few enough."""
        if self.arithmetic == "float" or not isinstance(self.source, RowsOfWorkers):
            return self
        kept = self.source.kept(self.row_map)
        if kept is None:
            return self
        self._checked(kept[1])
        return replace(self, source=kept[0], is_rounded=True)

    def _rounded_as_read(self) -> "BoundedRows":
        """Return the same rows, of which as many are kept, bounded and rounded, as memory is allowed for."""
        if not isinstance(self.source, ReadableTasks):
            return self
        source = RoundedTasks(self.source, self.row_map, self._check)
        return replace(self, source=source, is_rounded=True)

    def _rounded_in_place(self, source: RowsInMemory) -> ArraySource:
        """Return the bounded and rounded rows of a source in memory, each written once, to where it stays."""
        features, targets = source.block(slice(0, 2))
        shape = self.n_rows, self.row_map.n_coordinates
        whole = np.empty(shape, np.float64 if math.prod(shape) <= _DOUBLE_CELLS else np.float32, order_of(features))
        target = np.empty((self.n_rows, *targets.shape[1:]))

        def work(block: slice) -> tuple[tuple[Array, ...], int]:
            features, targets = source.block(block)
            return _written(features, targets, whole[block], target[block], *self._how(1)), len(targets)

        self._checked(add_up(map_blocks(work, even_blocks(self.n_rows))))
        return ArraySource(whole, target)

    def _rounded_from_tasks(self, source: RowsOfTasks) -> ArraySource:
        """Return the same of rows that come in tasks; memory for more than all of them is never taken."""
        whole = np.empty((self.n_rows, self.row_map.n_coordinates), np.float32, "F")
        target = np.empty((self.n_rows,) if self.row_map.beside is None else (self.n_rows, 2))
        stops = np.cumsum([task.n_rows for task in source.tasks])
        places = [_Place(int(stop) - task.n_rows) for stop, task in zip(stops, source.tasks, strict=True)]
        own = [(place,) for place in places]
        self._checked(source.total_beside(own, _written_in_order, whole, target, *self._how(1)))
        return ArraySource(whole, target)

    def _how(self, width: int) -> tuple[RowMap | Beside | None, Arithmetic, int]:
        """Return how blocks are mapped, or what stands beside the targets of ones that are bounded, and cut."""
        return self.row_map.beside if self.is_rounded else self.row_map, self.arithmetic, self._span_rows(width)

    def _span_rows(self, width: int) -> int:
        """Return how many rows a span has at most."""
        return max(256, min(_SPAN_ROWS, _SPAN_CELLS // (self.row_map.n_coordinates + width)))

    def _checked(self, total: Total) -> tuple[Array, ...]:
        *values, bad = total.values
        self._check(total, int(bad))
        return tuple(values)

    def _check(self, total: Total, bad: int) -> None:
        check_total(total, bad, n_rows=self.n_rows, bad_rows=self.bad_rows, beside=self.row_map.beside)


@dataclass(frozen=True)
class NumberedRows:
    """Bounded rows with numbers of their own beside them."""

    rows: BoundedRows
    source: NumberedSource | NumberedSpans
    width: int  # how many values are kept per row to compute the numbers

    def total(self, kernel: Callable[..., Any], *args: Any, width: int = 1) -> tuple[Any, ...]:
        """Return the sum of ``kernel(span, numbers, *args)``; ``width`` is how many values the kernel keeps per row."""
        width = width if self.source.at_hand else max(width, self.width)
        if isinstance(self.source, NumberedSpans):
            return self.source.total(self.rows._span_rows(width), kernel, *args)
        how = self.rows._how(width)
        return self.rows._checked(self.source.total(_sum_over_spans, *how, kernel, *args))


def check_total(total: Total, bad: int, *, n_rows: int, bad_rows: BadRows, beside: Beside | None = None) -> None:
    """Raise where a pass did not read the announced rows, or found rows that are not finite and were to be refused."""
    if total.n_rows != n_rows:
        raise DataError("a pass read another number of rows than there were at first; the source must not change.")
    if bad_rows == "raise" and bad > 0:
        raise BadRowsError(
            f"Input contains NaN or infinity{_BAD_TOO[beside]}, and bad_rows='raise' refuses such rows. Pass "
            "bad_rows='zero' to fit on complete rows only: rows with an empty cell are left out. Or say by missing=... "
            "of a feature map or a bounds file what stands for an empty cell of a feature; of the target there is no "
            "such value. Values filled in from the data void the guarantee."
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
    for rows, span, bad in spans(features, target, row_map, arithmetic, span_rows):
        part = kernel(span, *args) if numbers is None else kernel(span, numbers.of(rows, span), *args)
        sums = part if sums is None else tuple(a + b for a, b in zip(sums, part, strict=True))
        bad_rows += bad
    assert sums is not None
    return (*sums, np.array(bad_rows))


def _bounded(features: Array, target: Array, row_map: RowMap) -> tuple[Any, Array]:
    """Return the span of one block, in a list so that a sum joins them, and count bad rows."""
    span, bad = bounded_block(features, target, row_map)
    return [span], np.array(bad)


def _written(features: Array, target: Array, whole: Array, stored: Array, *how: Any) -> tuple[Array]:
    """Write the whole-numbered rows and targets of one block to where they stay, and count bad rows."""
    bad_rows = 0
    for rows, span, bad in spans(features, target, *how):
        assert isinstance(span, FixedPointSpan)
        whole[rows], stored[rows] = span.rows, span.stored_target
        bad_rows += bad
    return (np.array(bad_rows),)


@dataclass
class _Place:
    """Where the next rows of a task stay."""

    start: int


def _written_in_order(
    features: Array, target: Array, place: _Place, whole: Array, stored: Array, *how: Any
) -> tuple[Array]:
    """Write the next block of a task."""
    rows = slice(place.start, place.start + len(target))
    place.start = rows.stop
    return _written(features, target, whole[rows], stored[rows], *how)


def _rounded(features: Array, target: Array, *how: Any) -> tuple[Any, Array]:
    """Return whole-numbered rows and targets of one block, in a list so that a sum joins them, and count bad rows."""
    rows, targets, bad_rows = [], [], 0
    for _, span, bad in spans(features, target, *how):
        assert isinstance(span, FixedPointSpan)
        rows.append(span.rows.astype(np.float32))
        targets.append(span.stored_target)
        bad_rows += bad
    return [(np.concatenate(rows), np.concatenate(targets))], np.array(bad_rows)


def _listed(features: Array, target: Array, *how_and_kernel: Any) -> tuple[Any, Array]:
    """Return the lines that a kernel gives for the rows of one block, in a list so that a sum joins them."""
    row_map, arithmetic, span_rows, kernel, *args = how_and_kernel
    lines, bad_rows = [], 0
    for _, span, bad in spans(features, target, row_map, arithmetic, span_rows):
        lines.append(kernel(span, *args))
        bad_rows += bad
    return [np.concatenate(lines)], np.array(bad_rows)


def _taken(blocks: list[Any]) -> Iterator[Any]:
    """Yield the blocks one after another, and forget each."""
    blocks.reverse()
    while blocks:
        yield blocks.pop()
