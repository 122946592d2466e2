"""What a source of rows must offer: sums of a pure function over all its blocks, again and again."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from .passes import one_pass

Array = np.ndarray[Any, np.dtype[Any]]
# Features and target of some rows. Where rows have weights, these stand beside the targets, as a second column.
Block = tuple[Array, Array]
Kernel = Callable[..., tuple[Array, ...]]


class Columns(NamedTuple):
    """Features and target of some rows, each column where its reader left it."""

    features: list[Array]
    target: Array


class Total(NamedTuple):
    """The sum of a kernel's values over all blocks, and how many rows went in."""

    values: tuple[Array, ...]
    n_rows: int


class RowSource(Protocol):
    """Rows of features and a target that can be read any number of times."""

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Names of the features, where there are any."""

    @property
    def n_features(self) -> int:
        """Number of features."""

    @property
    def n_rows(self) -> int:
        """Number of rows, which is public."""

    def total(self, kernel: Kernel, *args: Any) -> Total:
        """Return the sum of ``kernel(features, target, *args)`` over blocks of at most 64k rows.

        The kernel is pure and importable, takes no generator and never writes to its block. Each row counts once.
        """


@runtime_checkable
class LocalSource(RowSource, Protocol):
    """A source whose rows may lie with this process."""

    @property
    def is_local(self) -> bool:
        """Whether this process reads the rows, and no worker elsewhere."""


@runtime_checkable
class RowsOfWorkers(RowSource, Protocol):
    """A source whose rows are summed by workers, which may keep them between passes."""

    def kept(self, row_map: Any) -> "tuple[RowSource, Total] | None":
        """Let workers keep all rows, bounded and rounded; None where they are too many, or lie elsewhere.

        Returned are a source of rounded rows, and the number of bad ones among all.
        """


@runtime_checkable
class RowsOfUnits(RowSource, Protocol):
    """A source of rows that belong to someone, of which some may not be used."""

    def with_units(self, kernel: Kernel, *args: Any) -> tuple[Array, Total]:
        """Return the numbers, from 0 on, of the units of all rows that are used, in the order of a pass, and its total.

        The kernel keeps a line for each row, in a list.
        """


def add_up(parts: Iterable[tuple[tuple[Array, ...], int]]) -> Total:
    """Add the parts of all blocks in their order, so that threads never change a sum."""
    values: tuple[Array, ...] | None = None
    n_rows = 0
    with one_pass() as tell:
        for part, count in parts:
            values = part if values is None else tuple(a + b for a, b in zip(values, part, strict=True))
            n_rows += count
            tell(count)
    if values is None:
        raise ValueError("a source of rows needs at least one block")
    return Total(values, n_rows)
