"""What kind of rows an object holds, told without importing the library that it comes from."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import DataError, DataTypeError, DpolsError

IN_MEMORY = ("pandas", "polars", "pyarrow")
_KNOWN = (*IN_MEMORY, "pyspark", "dask")
_LAZY = {"RecordBatchReader", "Dataset", "Scanner", "LazyFrame"}
_REMEDIES = {
    "pyarrow": "read it into a pyarrow table, or write it to a Parquet file and pass dpols.read(path, target=...)",
    "polars": "use a newer polars, which reads it in batches, or call collect()",
}


def library_of(rows: Any) -> str:
    """Return the package of an object's class, or of the class among those it is derived from that is known here."""
    packages = [base.__module__.partition(".")[0] for base in type(rows).__mro__]
    return next((package for package in packages if package in _KNOWN), packages[0])


def is_source(rows: Any) -> bool:
    """Return whether an object is a source of rows."""
    return callable(getattr(rows, "total", None)) and hasattr(rows, "n_features")


def is_table(rows: Any) -> bool:
    """Return whether an object is a table in memory, with rows and named columns."""
    return library_of(rows) in IN_MEMORY and len(getattr(rows, "shape", ())) == 2


def is_stream(rows: Any) -> bool:
    """Return whether an object gives its rows as a stream of record batches, each time it is asked."""
    return is_lazy_frame(rows) or (library_of(rows) not in _KNOWN and hasattr(rows, "__arrow_c_stream__"))


def is_lazy_frame(rows: Any) -> bool:
    """Return whether an object is a query of polars that gives its rows in batches."""
    return library_of(rows) == "polars" and type(rows).__name__ == "LazyFrame" and hasattr(rows, "collect_batches")


def refuse_unread(rows: Any) -> None:
    """Refuse rows to predict for that are not in memory."""
    if is_lazy_frame(rows):
        raise DataTypeError("X is a lazy frame, but predictions are for rows in memory: pass X.collect().")
    if is_stream(rows):
        raise DataTypeError(
            f"X is a query ({type(rows).__name__}), but predictions are for rows in memory: pass pyarrow.table(X)."
        )
    if is_source(rows) or isinstance(rows, str | os.PathLike):
        what = "a path" if isinstance(rows, str | os.PathLike) else f"of type {type(rows).__name__}"
        raise DataTypeError(
            f"X is {what}, but predictions are for rows in memory: pass a table or an array, such as "
            "pandas.read_parquet(path), or predict for a file by the command dpols predict."
        )


def refuse_one_shot(rows: Any) -> None:
    """Refuse what can be read only once, or only as a whole, since a fit reads the rows several times."""
    if isinstance(rows, str) and "~" in rows:
        raise DataTypeError(
            f"X is the formula {rows!r}; fit it by dpols.ols({rows!r}, table, bounds=..., epsilon=..., delta=...)."
        )
    if isinstance(rows, str | os.PathLike):
        raise DataTypeError("X is a path; open the file or the folder by dpols.read(path, target=...) and pass that.")
    if type(rows) is dict:  # some sparse matrices are dicts, too
        raise DataTypeError("X is a dict; pass a table of its columns, such as pandas.DataFrame(X).")
    library = library_of(rows)
    names = {base.__name__ for base in type(rows).__mro__}
    if hasattr(rows, "__next__") or (library in _REMEDIES and names & _LAZY and not is_lazy_frame(rows)):
        remedy = _REMEDIES.get(library, "pass an array or a table")
        raise DataTypeError(
            f"X is of type {type(rows).__name__}, which cannot be read several times as a fit does; {remedy}."
        )


@contextmanager
def unquoted(reason: Callable[[Exception], str]) -> Iterator[None]:
    """Where a library fails, say why without its own message, which may quote a cell."""
    try:
        yield
    except DpolsError:
        raise
    except Exception as error:
        raise DataError(reason(error)) from None
