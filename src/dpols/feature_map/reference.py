"""Ranges and categories of a table that is public: what its columns hold may be looked at as it is."""

from collections.abc import Mapping
from typing import Any

from ..data.bounds import Bounds, Interval
from ..data.columns import is_numeric
from ..data.kinds import is_table, library_of
from ..data.memory import is_numeric_column
from ..data.missing import is_missing
from ..data.selecting import with_columns
from ..errors import BoundsError, DataTypeError
from .cells import raw_column
from .columns import CategoricalColumn, Column, NumericColumn, category_name

_MOST_CATEGORIES = 50


def reference_columns(table: Any, target: str | None, margin: float) -> tuple[dict[str, Column], Interval | None]:
    """Return what a public table says of its columns, and the range of its target where one is named."""
    if not is_table(table):
        raise DataTypeError(f"the reference is of type {type(table).__name__}; pass a pandas, polars or pyarrow table.")
    names = [str(name) for name in (table.column_names if library_of(table) == "pyarrow" else table.columns)]
    if target is not None and target not in names:
        raise BoundsError(f"target={target!r} is not a column of the reference; its columns are {names}.")
    text = [name for name in names if name != target and not _holds_numbers(raw_column(table, name))]
    numeric = [name for name in names if name not in text]
    found = Bounds.from_reference(with_columns(table, numeric), margin=margin).features
    ranges: dict[str, Interval] = dict(found) if isinstance(found, Mapping) else {}
    columns: dict[str, Column] = {}
    for name in names:
        if name in text:
            columns[name] = CategoricalColumn(_levels(name, raw_column(table, name)))
        elif name != target:
            columns[name] = NumericColumn(*ranges[name])
    return columns, None if target is None else ranges[target]


def _holds_numbers(column: Any) -> bool:
    return bool(is_numeric_column(column) if library_of(column) == "pandas" else is_numeric(column))


def _levels(name: str, column: Any) -> list[str]:
    """Return the categories that a public column holds, in the order of their names, each in one letter case."""
    values = column.to_pylist() if library_of(column) == "pyarrow" else column.to_list()
    found: dict[str, str] = {}
    for level in sorted({category_name(value) for value in values if not is_missing(value)} - {""}):
        found.setdefault(level.casefold(), level)
    if not 2 <= len(found) <= _MOST_CATEGORIES:
        raise BoundsError(
            f"column {name!r} has {len(found)} different values in the reference; categories are from 2 to "
            f"{_MOST_CATEGORIES}. Leave it out, or declare it by dpols.CategoricalColumn."
        )
    return list(found.values())
