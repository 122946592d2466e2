"""Tables and targets in every form that a caller may have them in, and in some that no method can use."""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import sparse

Array = np.ndarray[Any, np.dtype[Any]]

# What only cells hold: no message may quote it.
SECRET_WORD = "zyxsecret"


def _as(kind: Any) -> Callable[[Array], Array]:
    return lambda rows: rows.astype(kind)


def _pandas(rows: Array, kind: Any = None) -> Any:
    import pandas

    frame = pandas.DataFrame(rows, columns=[f"x{i}" for i in range(rows.shape[1])])
    return frame if kind is None else frame.astype(kind)


def _pandas_nullable(rows: Array) -> Any:
    whole = np.nan_to_num(np.rint(rows), posinf=9.0, neginf=-9.0).clip(-1e15, 1e15)
    return _pandas(whole).astype("Int64").mask(np.isnan(rows))


def _polars(rows: Array) -> Any:
    import polars

    return polars.DataFrame({f"x{i}": column for i, column in enumerate(rows.T)})


def _arrow(rows: Array, *more: Any) -> Any:
    import pyarrow

    columns = {
        f"x{i}": pyarrow.array(np.ascontiguousarray(column), from_pandas=True) for i, column in enumerate(rows.T)
    }
    return pyarrow.table({**columns, **{f"more{i}": column for i, column in enumerate(more)}})


def _arrow_of_whole_numbers(rows: Array) -> Any:
    import pyarrow

    large = (np.nan_to_num(rows).clip(-1.0, 1.0) * 2.0**62).astype(np.int64)
    columns = [pyarrow.chunked_array([column[:1], column[1:]]) for column in large.T]
    return pyarrow.table(columns, names=[f"x{i}" for i in range(rows.shape[1])])


def _strided(rows: Array) -> Array:
    wide = np.full((2 * rows.shape[0], 3 * rows.shape[1]), np.nan)
    wide[::2, ::3] = rows
    return wide[::2, ::3]


def _read_only(rows: Array) -> Array:
    rows = rows.copy()
    rows.flags.writeable = False
    return rows


def _structured(rows: Array) -> Array:
    return np.zeros(rows.shape, dtype=[("a", "f8"), ("b", "i4")])


def _objects(*odd: Any) -> Callable[[Array], Array]:
    def convert(rows: Array) -> Array:
        mixed = rows.astype(object)
        mixed.flat[: len(odd)] = odd[: mixed.size]
        return mixed

    return convert


FORMS: dict[str, Callable[[Array], Any]] = {
    "float64": _as(np.float64),
    "float32": _as(np.float32),
    "float16": _as(np.float16),
    "longdouble": lambda rows: rows.astype(np.longdouble) * np.longdouble("1e300"),
    **{
        name: _as(name) for name in ("int8", "int64", "uint8", "uint64", "bool", "complex128", "U8", "S4", ">f8", ">i2")
    },
    "dates": lambda rows: np.zeros(rows.shape, dtype="datetime64[D]"),
    "structured": _structured,
    "objects": _objects(),
    "objects of kinds": _objects(Decimal("1.5"), Fraction(1, 3), True, np.float32(1), "2.5"),
    "words": _objects(SECRET_WORD, b"bytes", "1_0"),
    "objects of no kind": _objects(None, {}, [1], object()),
    "whole numbers too large": _objects(10**400, -(10**400)),
    "fortran": np.asfortranarray,
    "strided": _strided,
    "reversed": lambda rows: rows[::-1, ::-1],
    "read-only": _read_only,
    "broadcast": lambda rows: np.broadcast_to(rows[:1], rows.shape),
    "masked": lambda rows: np.ma.masked_invalid(rows),
    "matrix": np.asmatrix,
    "nested lists": lambda rows: rows.tolist(),
    "ragged lists": lambda rows: [row[: i % 3] for i, row in enumerate(rows.tolist())],
    "one column": lambda rows: rows[:, 0] if rows.shape[1] else rows,
    "three axes": lambda rows: rows[None],
    "scalar": lambda rows: 1.0,
    "nothing": lambda rows: None,
    "text": lambda rows: "table.csv",
    "sparse": sparse.csr_matrix,
    "pandas": _pandas,
    "pandas float32": lambda rows: _pandas(rows, np.float32),
    "pandas objects": lambda rows: _pandas(_objects(Decimal(2), 10**400)(rows)),
    "pandas words": lambda rows: _pandas(rows, str),
    "pandas secrets": lambda rows: _pandas(_objects(SECRET_WORD)(rows)),
    "pandas categories": lambda rows: _pandas(rows, "category"),
    "pandas nullable": _pandas_nullable,
    "pandas without names": lambda rows: _pandas(rows).set_axis(range(rows.shape[1]), axis=1),
    "polars": _polars,
    "arrow": _arrow,
    "arrow of whole numbers": _arrow_of_whole_numbers,
    "arrow with text": lambda rows: _arrow(rows, [SECRET_WORD] * len(rows)),
}
# Most of the time something that is fitted.
PLAIN_FORMS = ("float64", "float32", "fortran", "strided", "pandas", "polars", "arrow", "nested lists", "read-only")

TARGETS: dict[str, Callable[[Array], Any]] = {
    "vector": lambda target: target,
    "float32": _as(np.float32),
    "float16": _as(np.float16),
    "longdouble": lambda target: target.astype(np.longdouble) * np.longdouble("1e300"),
    "whole": lambda target: np.nan_to_num(target).clip(-100, 100).astype(np.int32),
    "objects": _objects(Decimal(1), True, Fraction(1, 7)),
    "too large": _objects(10**400),
    "words": _objects(SECRET_WORD),
    "strings": _as("U8"),
    "complex": _as(complex),
    "dates": lambda target: np.zeros(len(target), dtype="datetime64[D]"),
    "list": lambda target: target.tolist(),
    "reversed": lambda target: target[::-1],
    "column": lambda target: target[:, None],
    "two columns": lambda target: np.column_stack((target, target)),
    "short": lambda target: target[:-1],
    "empty": lambda target: target[:0],
    "scalar": lambda target: 1.0,
    "nothing": lambda target: None,
    "name": lambda target: "x0",
    "unknown name": lambda target: "y",
    "series": lambda target: _pandas(target[:, None])["x0"],
    "nullable series": lambda target: _pandas_nullable(target[:, None])["x0"],
    "sparse": lambda target: sparse.csr_matrix(target[:, None]),
}
