"""Stata's .dta files, read in chunks by pandas. Labels of values are categories; without categories they are codes."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any

from ...errors import DataError, required
from ..arrow import BLOCK_ROWS, pyarrow
from ..unit_ids import first_inexact
from .task import Header, Part, Stamp

_DATES = ("%t", "%-t", "%d", "%-d")  # formats of dates and times
_WARNINGS = Lock()  # filters of warnings are those of all threads


def header(file: Stamp) -> Header:
    """Return the variables that the file's header lists, with their types."""
    with _opened(file, convert_categoricals=False) as reader:
        kinds = _quietly(lambda: reader.read(nrows=1)).dtypes
        dates = [format.startswith(_DATES) for format in reader._fmtlist]
    return [
        (str(name), None if getattr(kind, "kind", "O") in "fiub" and not date else "text")
        for (name, kind), date in zip(kinds.items(), dates, strict=True)
    ]


def parts(file: Stamp, names: Sequence[str]) -> list[Part]:
    """Return the file as one part."""
    with _opened(file, columns=list(names[:1]), convert_categoricals=False, chunksize=BLOCK_ROWS) as reader:
        n_rows = sum(len(chunk) for chunk in _chunks(reader))
    return [((0, n_rows), n_rows)]


def batches(
    file: Stamp, part: tuple[int, ...], names: Sequence[str], *, threads: bool = False, text: Sequence[str] = ()
) -> Iterator[Any]:
    """Yield record batches: numbers as doubles, and the columns in ``text`` as text, by the labels of their values.

    As text, a number so large that it may stand for several whole ones is missing.
    """
    arrow, labels = pyarrow(), _labels(file) if set(text) & set(names) else {}
    with _opened(file, convert_categoricals=False, columns=list(names), chunksize=BLOCK_ROWS) as reader:
        for chunk in _chunks(reader):
            columns = {
                name: arrow.array(_texts(chunk[name], labels.get(name, {})), arrow.string())
                if name in text
                else arrow.array(chunk[name].to_numpy(dtype="float64", na_value=float("nan")))
                for name in names
            }
            yield arrow.RecordBatch.from_pydict(columns)


def _labels(file: Stamp) -> dict[str, dict[Any, str]]:
    """Return for each variable the labels of its values.

    They are put in place of values here, cell by cell: for pandas, whether two equal labels are an error depends on
    the values of other cells.
    """
    with _opened(file, convert_categoricals=False) as reader:
        known = _quietly(reader.value_labels)
        return {name: known.get(called, {}) for name, called in zip(reader._varlist, reader._lbllist, strict=True)}


@contextmanager
def _opened(file: Stamp, **how: Any) -> Iterator[Any]:
    pandas = required("pandas", "formats")
    try:
        # A date that no calendar has would be refused, also in a column that is not used.
        with pandas.read_stata(file.path, iterator="chunksize" not in how, convert_dates=False, **how) as reader:
            yield reader
    except (FileNotFoundError, PermissionError, DataError):
        raise
    except Exception:  # whatever the reader raises may quote a cell
        file.check()
        raise DataError(
            f"{file.path!r} cannot be read as a Stata file: it is damaged. Write it anew, or export it as CSV."
        ) from None


def _chunks(reader: Any) -> Iterator[Any]:
    while (chunk := _quietly(lambda: next(reader, None))) is not None:
        yield chunk


def _quietly(read: Callable[[], Any]) -> Any:
    """Read without the warnings of pandas, which tell of a cell without a label, or of one in another encoding."""
    with _WARNINGS, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return read()


def _texts(column: Any, labels: Mapping[Any, str]) -> list[str]:
    limit = first_inexact(column.dtype if getattr(column.dtype, "kind", "O") == "f" else float)
    return [_text(labels.get(value, value), limit) for value in column.tolist()]


def _text(value: Any, limit: float) -> str:
    if value is None or value != value or (isinstance(value, float) and abs(value) >= limit):
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()
