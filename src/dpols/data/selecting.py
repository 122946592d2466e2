"""The columns of a table that are used: those that bounds name, as on the command line; others are left out unread."""

from collections.abc import Collection
from typing import Any

from ..errors import BoundsError
from .engines import ENGINES
from .files import FileSource
from .kinds import IN_MEMORY, library_of


def with_columns(rows: Any, names: Collection[str], *more: Any) -> Any:
    """Return rows with those of their columns, in their order, that are named, here or by ``more`` that is text.

    Rows without names of columns are returned as they are, and so are those that lack a named one, or have no other.
    """
    if isinstance(rows, FileSource):
        used = [name for name in rows.columns if name in names]
        return rows.selected(used) if len(names) == len(used) < len(rows.columns) else rows
    library = library_of(rows)
    columns = _columns(rows) if library in (*IN_MEMORY, *ENGINES) else None
    if columns is None:
        return rows
    others = [name for name in more if isinstance(name, str)]
    used = [column for column in columns if str(column) in names or column in others]
    wanted = len(names) + len(others)
    if not names or not len(used) == wanted < len(columns):
        return rows
    return rows[used] if library in ("pandas", "dask") else rows.select(used)


def require_columns(rows: Any, names: Collection[str]) -> None:
    """Refuse a table that lacks a column of which bounds are declared; rows without names of columns are fine."""
    columns = _columns(rows) if library_of(rows) in IN_MEMORY else None
    missing = [] if columns is None else [name for name in names if name not in map(str, columns)]
    if missing:
        raise BoundsError(
            f"bounds name the column {missing[0]!r}, which the table does not have; its columns are "
            f"{', '.join(repr(str(column)) for column in columns or ())}."
        )


def _columns(rows: Any) -> list[Any] | None:
    """Return the names of the columns of a table, None where it has none."""
    if hasattr(rows, "collect_schema"):  # a lazy frame of polars warns of its columns
        return list(rows.collect_schema().names())
    found = getattr(rows, "column_names", getattr(rows, "columns", None))
    return None if found is None else list(found)
