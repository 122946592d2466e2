"""Numbers that belong to single rows and that later passes need again, such as the length of each row in some metric.

They are computed within the pass that needs them first. Beside rows that lie in memory or in files of this machine
they are then kept, and elsewhere they are computed anew in every pass. They are exact, so like sums they live in a run
alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from .source import Array, Kernel, RowSource, Total, add_up
from .threads import even_blocks, map_blocks

PerRow = Callable[..., Array]  # (span, *args) -> one line of numbers for each row
_MOST_ROWS = 1 << 25  # of files, whose numbers are kept: a quarter of a gibibyte


class BlockNumbers:
    """The numbers of the rows of a block or task, computed span by span where they are not at hand.

    Those of so many rows are kept.
    """

    def __init__(self, per_row: PerRow, args: tuple[Any, ...], n_rows: int | None = None) -> None:
        self.per_row, self.args, self.n_rows = per_row, args, n_rows
        self.place = 0
        self.numbers = np.empty(0)

    def of(self, _rows: slice, span: Any) -> Array:
        """Return the numbers of a span; spans come in their order."""
        found = self.per_row(span, *self.args)
        if self.n_rows is not None:
            if not self.numbers.size:
                self.numbers = np.empty((self.n_rows, *found.shape[1:]), found.dtype)
            start, self.place = self.place, self.place + len(found)
            self.numbers[start : self.place] = found
        return found


@dataclass(frozen=True, repr=False)
class KeptNumbers:
    """The numbers of the rows of one block, at hand."""

    numbers: Array

    def of(self, rows: slice, _span: Any) -> Array:
        """Return the numbers of a span."""
        return self.numbers[rows]


class TaskNumbers:
    """The numbers of the rows of one task, at hand, whatever blocks and spans its rows come in."""

    def __init__(self, numbers: Array) -> None:
        self.numbers, self.place = numbers, 0

    def of(self, _rows: slice, span: Any) -> Array:
        """Return the numbers of a span; spans come in their order."""
        start, self.place = self.place, self.place + len(span.target)
        return self.numbers[start : self.place]


@runtime_checkable
class RowsOfTasks(Protocol):
    """A source whose rows come in tasks, which this process may read."""

    @property
    def tasks(self) -> Sequence[Any]:
        """What makes up the rows."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    def is_local(self) -> bool:
        """Whether this process reads the rows, and no worker elsewhere."""

    def total_beside(self, own: Sequence[tuple[Any, ...]], kernel: Kernel, *args: Any) -> Total:
        """Return the sum of ``kernel(features, target, *own, *args)``, with some objects of each task's own."""


@runtime_checkable
class RowsInMemory(Protocol):
    """A source whose rows can be had by place."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    def block(self, rows: slice) -> tuple[Array, Array]:
        """Return features and target of some rows."""


class NumberedSource(Protocol):
    """Rows with numbers beside them."""

    @property
    def at_hand(self) -> bool:
        """Whether the next pass finds the numbers, and need not compute them."""

    def total(self, kernel: Kernel, *args: Any) -> Total:
        """Return the sum of ``kernel(features, target, numbers, *args)`` over blocks of rows."""


def numbered(source: RowSource, per_row: PerRow, *args: Any) -> NumberedSource:
    """Return the rows with the numbers that ``per_row(span, *args)`` gives for each of them."""
    if isinstance(source, RowsInMemory):
        return _Kept(source, per_row, args)
    if isinstance(source, RowsOfTasks) and source.is_local and source.n_rows <= _MOST_ROWS:
        return _KeptOfTasks(source, per_row, args)
    return _Recomputed(source, per_row, args)


def kept_bytes(n_rows: int) -> int:
    """Return how much memory the numbers take that are kept beside so many rows of files, one for each."""
    return 8 * n_rows if n_rows <= _MOST_ROWS else 0


def beside(source: RowsInMemory, numbers: Array) -> NumberedSource:
    """Return rows with numbers that are at hand."""
    kept = _Kept(source, np.asarray, ())
    kept.blocks = [KeptNumbers(numbers[rows]) for rows in even_blocks(source.n_rows)]
    return kept


class _Kept:
    """Rows in memory; the first pass computes their numbers."""

    def __init__(self, source: RowsInMemory, per_row: PerRow, args: tuple[Any, ...]) -> None:
        self.source, self.per_row, self.args = source, per_row, args
        self.blocks: list[KeptNumbers] | None = None

    @property
    def at_hand(self) -> bool:
        return self.blocks is not None

    def total(self, kernel: Kernel, *args: Any) -> Total:
        rows = even_blocks(self.source.n_rows)
        first = (
            [BlockNumbers(self.per_row, self.args, each.stop - each.start) for each in rows]
            if self.blocks is None
            else []
        )

        def work(place: tuple[slice, BlockNumbers | KeptNumbers]) -> tuple[tuple[Array, ...], int]:
            features, target = self.source.block(place[0])
            return kernel(features, target, place[1], *args), len(target)

        numbers: Sequence[BlockNumbers | KeptNumbers] = first if self.blocks is None else self.blocks
        total = add_up(map_blocks(work, zip(rows, numbers, strict=True)))
        if self.blocks is None:
            self.blocks = [KeptNumbers(each.numbers) for each in first]
        return total


class _KeptOfTasks:
    """Rows that are read in every pass; the first one computes their numbers."""

    def __init__(self, source: RowsOfTasks, per_row: PerRow, args: tuple[Any, ...]) -> None:
        self.source, self.per_row, self.args = source, per_row, args
        self.kept: list[Array] | None = None

    @property
    def at_hand(self) -> bool:
        return self.kept is not None

    def total(self, kernel: Kernel, *args: Any) -> Total:
        if self.kept is not None:
            return self.source.total_beside([(TaskNumbers(numbers),) for numbers in self.kept], kernel, *args)
        first = [BlockNumbers(self.per_row, self.args, task.n_rows) for task in self.source.tasks]
        total = self.source.total_beside([(numbers,) for numbers in first], kernel, *args)
        self.kept = [each.numbers for each in first]
        return total


@dataclass(frozen=True, repr=False)
class _Recomputed:
    source: RowSource
    per_row: PerRow
    args: tuple[Any, ...]
    at_hand: ClassVar[bool] = False

    def total(self, kernel: Kernel, *args: Any) -> Total:
        return self.source.total(_with_numbers, self.per_row, self.args, kernel, *args)


def _with_numbers(
    features: Array, target: Array, per_row: PerRow, its: tuple[Any, ...], kernel: Kernel, *args: Any
) -> tuple[Array, ...]:
    return kernel(features, target, BlockNumbers(per_row, its), *args)
