"""A part of a file that one thread or worker reads: a description that can be sent anywhere, and no open file."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...errors import DataError
from ..source import Block
from .dialect import Dialect

Header = list[tuple[str, str | None]]  # each column's name, and its type where it does not hold numbers
Part = tuple[tuple[int, ...], int]  # what of a file, in terms of its format, and its number of rows

TASK_CELLS = 1 << 22  # what is worth a task of its own


@dataclass(frozen=True)
class Stamp:
    """A file as it was when it was first looked at."""

    path: str
    size: int
    modified: int  # in nanoseconds
    dialect: Dialect = field(default=Dialect(), compare=False)  # of a text file

    @classmethod
    def of(cls, path: Path, dialect: Dialect = Dialect()) -> "Stamp":  # noqa: B008 - it is frozen
        """Look at a file, which must be there."""
        found = os.stat(path)
        return cls(str(path), found.st_size, found.st_mtime_ns, dialect)

    def check(self) -> None:
        """Refuse a file that has changed since."""
        if Stamp.of(Path(self.path)) != self:
            raise DataError(
                f"{self.path!r} has changed since it was first read; every pass must see the same rows. "
                "Start again when nothing writes to it."
            )


@dataclass(frozen=True)
class FileTask:
    """Some rows of a file, and which of its columns are features and target."""

    file: Stamp
    kind: str  # a name in the table of formats
    part: tuple[int, ...]  # what of the file, in terms of its format
    n_rows: int
    features: tuple[str, ...]
    target: str | None
    constants: tuple[tuple[str, str], ...] = ()  # columns that the names of folders give
    make: Callable[[Any], Block] | None = None  # makes a block of a table with these columns; by default they are it
    text: tuple[str, ...] = ()  # columns that need not hold numbers
    weights: str | None = None  # the column of weights, where rows have any

    @property
    def names(self) -> list[str]:
        """Names of the columns that are read from the file, the target and then the weights last."""
        constants = dict(self.constants)
        more = (name for name in (self.target, self.weights) if name is not None)
        return [name for name in (*self.features, *more) if name not in constants]


def runs_of(counts: Sequence[int], n_columns: int) -> Iterator[Part]:
    """Yield runs of pieces that are worth a task, given the number of rows of each piece."""
    run: list[int] = []
    n_rows = 0
    for piece, count in enumerate(counts):
        run.append(piece)
        n_rows += count
        if n_rows * n_columns >= TASK_CELLS or piece == len(counts) - 1:
            yield tuple(run), n_rows
            run, n_rows = [], 0
