"""Numbers that belong to single rows and that later passes need again, such as the length of each row in some metric.

They are kept in memory beside rows that lie in memory themselves, and are computed anew in every pass elsewhere. They
are exact, so like sums they live in a run alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from .source import Array, Kernel, RowSource, Total, add_up
from .threads import even_blocks, map_blocks

PerRow = Callable[..., Array]  # (features, target, *args) -> one line of numbers for each row


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

    def total(self, kernel: Kernel, *args: Any) -> Total:
        """Return the sum of ``kernel(features, target, numbers, *args)`` over blocks of rows."""


def numbered(source: RowSource, per_row: PerRow, *args: Any) -> NumberedSource:
    """Return the rows with the numbers that ``per_row(features, target, *args)`` gives for each of them."""
    if not isinstance(source, RowsInMemory):
        return _Recomputed(source, per_row, args)
    blocks = even_blocks(source.n_rows)
    return _Kept(source, list(map_blocks(lambda rows: per_row(*source.block(rows), *args), blocks)))


@dataclass(frozen=True, repr=False)
class _Kept:
    source: RowsInMemory
    numbers: list[Array]

    def total(self, kernel: Kernel, *args: Any) -> Total:
        def work(place: tuple[slice, Array]) -> tuple[tuple[Array, ...], int]:
            features, target = self.source.block(place[0])
            return kernel(features, target, place[1], *args), len(target)

        return add_up(map_blocks(work, zip(even_blocks(self.source.n_rows), self.numbers, strict=True)))


@dataclass(frozen=True, repr=False)
class _Recomputed:
    source: RowSource
    per_row: PerRow
    args: tuple[Any, ...]

    def total(self, kernel: Kernel, *args: Any) -> Total:
        return self.source.total(_with_numbers, self.per_row, self.args, kernel, *args)


def _with_numbers(
    features: Array, target: Array, per_row: PerRow, its: tuple[Any, ...], kernel: Kernel, *args: Any
) -> tuple[Array, ...]:
    return kernel(features, target, per_row(features, target, *its), *args)
