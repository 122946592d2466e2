"""The header of a table: names and types of its columns, and nothing else of the file."""

import re
from pathlib import Path

from ..errors import DataError, DpolsError
from .choices import TableColumn
from .forms import FormError, number_in

MOST_COLUMNS = 2000
_LONGEST_NAME = 200


def header_of(path: Path, field: str) -> tuple[TableColumn, ...]:
    """Return the columns of a table, or say why it cannot be used, without quoting anything of it.

    What stands in the first line is shown on pages. Where it looks like a row of values and not like names, or like no
    text at all, it is not shown.
    """
    from ..data.files import column_types

    try:
        types = column_types(path)
    except FileNotFoundError:
        raise FormError((field, f"There is no file {str(path)!r} on this machine. Check its path.")) from None
    except DpolsError as error:
        raise FormError((field, str(error) if str(path) in str(error) else _no_table(path))) from None
    except (OSError, ValueError, LookupError):  # whose messages may quote the file
        raise FormError((field, _no_table(path))) from None
    problem = _problem(list(types))
    if problem:
        raise FormError((field, f"{path.name!r} cannot be used: {problem}"))
    return tuple(TableColumn(name, unusable is not None) for name, unusable in types.items())


def _no_table(path: Path) -> str:
    return f"{path.name!r} cannot be read as a table. Use CSV, Parquet, Feather, Excel or Stata, with names of columns."


def _problem(names: list[str]) -> str | None:
    if len(names) > MOST_COLUMNS:
        return f"it has {len(names):,} columns, and the app takes up to {MOST_COLUMNS:,}. Use the command dpols fit."
    if len(names) < 2:
        return "its first line names one column. A regression needs an outcome and at least one more column."
    if not all(name.strip() for name in names):
        return "a column has no name. Name every column in the first line."
    if any(number_in(name.strip()) is not None for name in names):
        return "its first line has numbers, as a row of data has. Put a line with the names of the columns above it."
    if any(len(name) > _LONGEST_NAME for name in names):
        return f"a column's name is longer than {_LONGEST_NAME} letters. Shorten it."
    if any(re.search(r"[\x00-\x1f\x7f\ufffd]", name) for name in names):
        return "its first line is no text with names of columns. Is it a table?"
    return None


def table_at(typed: str, field: str) -> Path:
    """Return the path that was typed, of a file or a folder on this machine."""
    path = Path(typed.strip("\"'")).expanduser()
    try:
        found = path.exists()
    except (OSError, ValueError):
        found = False
    if not found:
        raise FormError((field, f"There is no file {typed[:200]!r} on this machine. Check its path."))
    return path.absolute()


def check_same_table(path: Path, names: list[str]) -> None:
    """Refuse a file that is gone or has other columns than it had when it was chosen."""
    if not path.exists():
        raise DataError(f"the table {path.name!r} is not there any more. Choose it again on the page Data.")
    if [column.name for column in header_of(path, "")] != names:
        raise DataError(f"the columns of {path.name!r} have changed since it was chosen. Choose it again.")
