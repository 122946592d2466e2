"""What a charge is about, in public words: columns with their declared ranges, and labels. It tells of no row.

By the columns and ranges of earlier charges a ledger notices a fit that is probably on another table.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from ..storage.plain_data import finite_number, mapping, text, tuple_of

Range = tuple[float, float] | None


@dataclass(frozen=True)
class About:
    """Columns, features and target alike, each with its range or None; formula, file and note are labels."""

    columns: tuple[tuple[str, Range], ...] = ()
    formula: str | None = None
    file: str | None = None
    note: str | None = None

    @property
    def label(self) -> str:
        """The labels in a line."""
        named = (("", self.formula), ("file ", self.file), ("note: ", self.note))
        return "; ".join(f"{name}{value}" for name, value in named if value)

    def to_data(self) -> dict[str, Any]:
        """Return plain data without what is not known."""
        return {name: value for name, value in asdict(self).items() if value}

    @classmethod
    def from_data(cls, data: Any) -> "About":
        """Read plain data; ValueError is raised where it is malformed."""
        given = mapping(data)
        labels = {name: text(given[name]) for name in ("formula", "file", "note") if name in given}
        return cls(tuple_of(_column)(given.get("columns", [])), **labels)


NOTHING = About()


def why_another(about: About, known: Iterable[About]) -> str | None:
    """Return why a charge seems to be about another table than earlier ones, or None.

    It does where it has columns and none of them is known, or where the range of one does not overlap an earlier one.
    """
    before = [column for earlier in known for column in earlier.columns]
    if not before or not about.columns:
        return None
    names = dict.fromkeys(name for name, _ in before)
    if not any(name in names for name, _ in about.columns):
        return f"none of its columns {_listed(name for name, _ in about.columns)} is among {_listed(names)}"
    for name, found in about.columns:
        for other, declared in before:
            if name == other and found and declared and (found[0] > declared[1] or found[1] < declared[0]):
                return (
                    f"its range of {name!r}, [{found[0]:g}, {found[1]:g}], does not overlap "
                    f"[{declared[0]:g}, {declared[1]:g}]"
                )
    return None


def _column(data: Any) -> tuple[str, Range]:
    name, found = data
    if found is None:
        return text(name), None
    low, high = tuple_of(finite_number)(found)
    return text(name), (low, high)


def _listed(names: Iterable[str]) -> str:
    found = list(names)
    more = f" and {len(found) - 6} more" if len(found) > 6 else ""
    return ", ".join(map(repr, found[:6])) + more
