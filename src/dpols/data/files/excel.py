"""Workbooks of Excel and OpenDocument: the first sheet, whose first row names the columns, held in memory as a whole.

Each cell is read by itself: what others hold does not change its meaning.
"""

from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from typing import Any

from ...errors import DataError, DataTypeError, required
from ..arrow import BLOCK_ROWS, pyarrow
from ..unit_ids import first_inexact
from .task import Header, Part, Stamp


def header(file: Stamp) -> Header:
    """Return the names in the first row, which says nothing of types."""
    return [(name, None) for name in _sheet(file)[0]]


def parts(file: Stamp, names: Sequence[str]) -> list[Part]:
    """Return the sheet as one part."""
    n_rows = len(_sheet(file)[1])
    return [((0, n_rows), n_rows)]


def batches(
    file: Stamp, part: tuple[int, ...], names: Sequence[str], *, threads: bool = False, text: Sequence[str] = ()
) -> Iterator[Any]:
    """Yield record batches of some rows: numbers as doubles, and the columns in ``text`` as text.

    As text, a number so large that it may stand for several whole ones is missing.
    """
    arrow = pyarrow()
    all_names, rows = _sheet(file)
    places = {name: all_names.index(name) for name in names}
    for start in range(part[0], part[1], BLOCK_ROWS):
        block = rows[start : min(start + BLOCK_ROWS, part[1])]
        columns = {}
        for name, place in places.items():
            cells = [row[place] for row in block]
            columns[name] = (
                arrow.array([_text(cell) for cell in cells], arrow.string())
                if name in text
                else arrow.array(_numbers(file, name, cells), arrow.float64())
            )
        yield arrow.RecordBatch.from_pydict(columns)


@lru_cache(maxsize=1)
def _sheet(file: Stamp) -> tuple[list[str], list[list[Any]]]:
    """Return names and rows of the first sheet."""
    calamine = required("python_calamine", "formats")
    try:
        workbook = calamine.CalamineWorkbook.from_path(file.path)
        rows = workbook.get_sheet_by_index(0).to_python()
    except (FileNotFoundError, PermissionError):
        raise
    except Exception:  # whatever the reader raises may quote a cell
        raise DataError(
            f"{file.path!r} cannot be read as a workbook; it is damaged, protected by a password or of another format. "
            "Save its first sheet as CSV."
        ) from None
    if not rows:
        raise DataError(f"{file.path!r} has an empty first sheet; its first row must name the columns.")
    names = [_text(cell) for cell in rows[0]]
    if not all(names):
        raise DataError(f"{file.path!r} has a column without a name; the first row of its first sheet must name all.")
    if len(names) > 1 and not all(any(cell != "" for cell in row) for row in rows[1:]):
        # A sheet ends with its last filled cell, so that one cell far below would make rows of all empty ones above.
        raise DataError(f"{file.path!r} has an empty row between others, or one without values. Delete such rows.")
    return names, rows[1:]


def _numbers(file: Stamp, name: str, cells: Sequence[Any]) -> list[float | None]:
    if any(isinstance(cell, str) and cell.strip() for cell in cells):
        raise DataTypeError(
            f"column {name!r} of {file.path!r} holds text that is no numbers, or not everywhere. Declare its public "
            "categories (categories = [...] in the bounds file, dpols.CategoricalColumn in Python), or leave it out; "
            "or format its cells as numbers, and leave empty what is missing."
        )
    if any(isinstance(cell, date | datetime | time | timedelta) for cell in cells):
        raise DataTypeError(
            f"column {name!r} of {file.path!r} holds dates or times; store numbers of a public unit, such as years."
        )
    return [None if cell is None or isinstance(cell, str) else float(cell) for cell in cells]


def _text(cell: Any) -> str:
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell)) if abs(cell) < first_inexact(float) else ""
    return "" if cell is None else str(cell).strip()
