"""Bounds from a CSV file with a row for each column: its name, low and high, as data catalogues have them."""

import csv
from pathlib import Path
from typing import Any

from ..errors import BoundsError

_HEADER = ("column", "low", "high")


def read_bounds_table(path: Any, target: str | None = None, *, option: str = "target=...") -> dict[str, Any]:
    """Return features and target as a bounds table declares them; other columns of it are not used.

    ``option`` is how a caller names the target, for messages.
    """
    name = str(path)
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file, strict=True))
            header = rows[0].keys() if rows else ()
    except (UnicodeDecodeError, csv.Error) as error:
        raise BoundsError(f"bounds file {name!r} is not a CSV file in UTF-8: {error}.") from None
    missing = [column for column in _HEADER if column not in header]
    if missing:
        raise BoundsError(
            f"bounds file {name!r} has no column {missing[0]!r}, or no rows; it needs column, low and high, and one "
            "row for each column of the data."
        )
    found: dict[str, tuple[float, float]] = {}
    for place, row in enumerate(rows, start=2):
        column = (row["column"] or "").strip()
        if not column or column in found:
            raise BoundsError(f"bounds file {name!r}, line {place}: {column!r} must be a column's name, once each.")
        found[column] = (_number(name, place, "low", row), _number(name, place, "high", row))
        if not found[column][0] < found[column][1]:
            raise BoundsError(f"bounds file {name!r}, line {place}: low must be less than high.")
    wanted = "target" if target is None else target
    if wanted not in found:
        missing_row = f"has no row for the target {wanted!r}; it has {list(found)}"
        raise BoundsError(f"bounds file {name!r} {missing_row}. Name that of the target by {option}, or add it.")
    pair = found.pop(wanted)
    if not found:
        raise BoundsError(f"bounds file {name!r} has no feature; give each feature to use a row.")
    return {"features": found, "target": pair}


def _number(name: str, place: int, end: str, row: dict[str, Any]) -> float:
    try:
        return float(row[end])
    except (TypeError, ValueError):
        raise BoundsError(f"bounds file {name!r}, line {place}: {end}={row[end]!r} must be a number.") from None
