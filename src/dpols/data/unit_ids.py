"""Ids of units, numbered: how an id is understood depends on its own row and on the declared type alone.

numpy and pandas turn whole numbers with a missing one among them into floats, in which those beyond 2^53 coincide: one
row without an id would join the units of others. So missing ids are set apart first, and only then is a column given to
numpy; and a float from 2^53 on, which may stand for several ids, is no id.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from ..errors import DataError
from .kinds import library_of
from .missing import is_missing
from .source import Array

_LARGEST_EXACT = 2.0**53  # from here on floating point skips whole numbers
_WHOLE = {f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)}
_POLARS_NATIVE = {"Boolean", "Float32", "Float64", *_WHOLE}


def unit_codes(ids: Any) -> Array:
    """Number the units: equal ids get equal numbers, and missing ones -1."""
    shape = getattr(ids, "shape", (0,))
    if len(shape) != 1:
        raise DataError(f"the ids of units have shape {tuple(shape)}; give one for each row.")
    readers: dict[str, Callable[[Any], Array]] = {"pandas": _of_pandas, "polars": _of_polars, "pyarrow": _of_pyarrow}
    read = readers.get(library_of(ids))
    if read is not None:
        return read(ids)
    if isinstance(ids, np.ma.MaskedArray) and ids.dtype.kind != "V":
        return _with_gaps(~np.ma.getmaskarray(ids), _of_array(ids.compressed()))
    return _of_array(ids) if isinstance(ids, np.ndarray) else _of_objects(_as_list(ids))


def _of_array(values: Array) -> Array:
    if values.dtype.kind in "iubSU":
        return _numbered(values)
    if values.dtype.kind in "fcmM":
        present = ~np.isnat(values) if values.dtype.kind in "mM" else np.abs(values) < _LARGEST_EXACT  # nan is not
        return _with_gaps(present, _numbered(values[present]))
    return _of_objects(values.tolist())


def _of_pandas(ids: Any) -> Array:
    import pandas

    if isinstance(ids, pandas.MultiIndex) or ids.dtype == object:
        return _of_objects(ids.tolist())
    column = pandas.Series(ids)
    if isinstance(column.dtype, pandas.ArrowDtype):
        return _of_pyarrow(column.array.__arrow_array__())
    if isinstance(column.dtype, pandas.CategoricalDtype):
        codes = np.append(unit_codes(column.cat.categories), -1)
        return np.asarray(codes[column.cat.codes.to_numpy()])
    present = column.notna().to_numpy(dtype=bool)
    return _with_gaps(present, _of_array(column[present].to_numpy()))


def _of_polars(ids: Any) -> Array:
    values = ids.to_physical() if ids.dtype.is_temporal() else ids  # as objects, times would lose their nanoseconds
    if str(values.dtype) not in _POLARS_NATIVE:
        return _of_objects(values.to_list())
    return _with_gaps(values.is_not_null().to_numpy(), _of_array(values.drop_nulls().to_numpy()))


def _of_pyarrow(ids: Any) -> Array:
    import pyarrow
    from pyarrow import types

    try:
        column = ids.cast(ids.type.value_type) if types.is_dictionary(ids.type) else ids
        present, values = np.asarray(column.is_valid(), dtype=bool), column.drop_null()
        if types.is_floating(column.type):  # pyarrow tells 0.0 from -0.0
            return _with_gaps(present, _of_array(np.asarray(values)))
        chunks = values.chunks if isinstance(values, pyarrow.ChunkedArray) else [values]
        encoded = pyarrow.chunked_array(chunks, values.type).dictionary_encode().unify_dictionaries()
    except pyarrow.ArrowException:  # of types that pyarrow cannot compare
        return _of_objects(ids.to_pylist())
    indices = [np.asarray(chunk.indices) for chunk in encoded.chunks]
    return _with_gaps(present, np.concatenate([np.empty(0, dtype=np.int64), *indices]))


def _of_objects(values: list[Any]) -> Array:
    known: dict[Hashable, int] = {}
    try:
        return np.fromiter(
            (-1 if _is_missing(value) else known.setdefault(value, len(known)) for value in values),
            dtype=np.int64,
            count=len(values),
        )
    except TypeError:
        raise DataError("the ids of units must be values that can be hashed, such as numbers or strings.") from None


def _numbered(values: Array) -> Array:
    return np.unique(values, return_inverse=True)[1].reshape(-1)


def _with_gaps(present: Array, codes: Array) -> Array:
    """Return the codes of the rows that have an id, among -1 for those that have none."""
    spread = np.full(len(present), -1, dtype=np.int64)
    spread[present] = codes
    return spread


def _as_list(ids: Any) -> list[Any]:
    for way in ("tolist", "to_list"):
        if hasattr(ids, way):
            return list(getattr(ids, way)())
    if isinstance(ids, Sequence) and not isinstance(ids, str | bytes | bytearray):
        return list(ids)
    raise DataError(
        f"the ids of units are of type {type(ids).__name__}; give a list, a numpy array, or a column of pandas, polars "
        "or pyarrow, with one id for each row."
    )


def _is_missing(value: Any) -> bool:
    if isinstance(value, tuple):
        return any(map(_is_missing, value))
    return is_missing(value) or (isinstance(value, float | np.floating) and not abs(float(value)) < _LARGEST_EXACT)
