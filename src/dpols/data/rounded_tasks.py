"""Rows of tasks as bounded whole numbers, made while they are read; those of the first tasks stay in memory.

They are exact, so like sums they live in a run alone.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from .bounding import rounded_block
from .packed_rows import PackedRows, are_small, row_bytes
from .rounding import is_by_column, rounded_columns
from .row_map import RowMap
from .row_numbers import RowsOfTasks, kept_bytes
from .source import Block, Columns, Kernel, RowSource, Total

_MOST_BYTES = 1 << 29  # of rows that are kept, and of the numbers that are kept beside all rows


@runtime_checkable
class ReadableTasks(RowsOfTasks, RowSource, Protocol):
    """Tasks whose rows can be had one task at a time."""

    def columns_of(self, place: int, alone: bool) -> Iterator[Columns | Block]:
        """Yield the rows of the task at a place as columns, where its reader has such."""

    def total_by(
        self, read: Callable[[int, bool], Iterable[Block]], own: Sequence[tuple[Any, ...]], kernel: Kernel, *args: Any
    ) -> Total:
        """Return the sum of ``kernel(features, target, *own, *args)`` over the blocks that ``read`` gives."""


class RoundedTasks:
    """A source of rounded rows: each pass reads and rounds the tasks that are not kept."""

    is_local = True

    def __init__(self, source: ReadableTasks, row_map: RowMap, check: Callable[[Total, int], None]) -> None:
        self.source, self.row_map, self.check = source, row_map, check
        self.columns, self.n_features = source.columns, row_map.n_coordinates
        self.tasks, self.n_rows = source.tasks, source.n_rows
        self._by_column = is_by_column(row_map)
        self._bad = [0] * len(self.tasks)
        self._outside: list[set[int] | None] = [None] * len(self.tasks)  # columns not within their bounds, once known
        self._kept: list[PackedRows | None] = [None] * len(self.tasks)
        self._small = are_small(row_map)
        rows_to_keep = (_MOST_BYTES - kept_bytes(self.n_rows)) / row_bytes(row_map)
        self._n_kept = int(np.searchsorted(np.cumsum([task.n_rows for task in self.tasks]), rows_to_keep, "right"))

    def total(self, kernel: Kernel, *args: Any) -> Total:
        """Return the sum of ``kernel(rows, target, *args)`` over whole-numbered rows and targets."""
        return self.total_beside([()] * len(self.tasks), kernel, *args)

    def total_beside(self, own: Sequence[tuple[Any, ...]], kernel: Kernel, *args: Any) -> Total:
        """Return the sum of ``kernel(rows, target, *own, *args)``, with some objects of each task's own."""
        total = self.source.total_by(self._blocks, own, kernel, *args)
        self.check(total, sum(self._bad))
        return total

    def _blocks(self, place: int, alone: bool) -> Iterator[Block]:
        """Yield rounded rows and targets of a task, and keep them where it is one of the first."""
        kept = self._kept[place]
        if kept is not None:
            yield from kept.blocks()
            return
        keeper = PackedRows(small=self._small) if place < self._n_kept else None
        known = self._outside[place]
        outside, bad_rows = set() if known is None else known, 0
        for found in self.source.columns_of(place, alone):
            (rows, target), bad = self._rounded(found, outside, is_known=known is not None)
            bad_rows += bad
            if keeper is not None:
                keeper.add(rows, target)
            yield rows, target
        self._bad[place], self._outside[place] = bad_rows, outside
        self._kept[place] = keeper

    def _rounded(self, found: Columns | Block, outside: set[int], *, is_known: bool) -> tuple[Block, int]:
        if not isinstance(found, Columns):
            return rounded_block(*found, self.row_map)
        block = rounded_columns(found, self.row_map, outside, is_known=is_known) if self._by_column else None
        if block is not None:
            return block, 0
        return rounded_block(np.array(found.features).T, found.target, self.row_map)
