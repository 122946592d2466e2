"""Ids of units: how an id is understood depends on its own row and on the declared type alone.

numpy and pandas turn whole numbers with a missing one among them into floats, in which those beyond 2^53 coincide: one
row without an id would join the units of others. So missing ids are set apart first, and only then is a column given to
numpy; and a float from 2^53 on (in single precision from 2^24 on), which may stand for several ids, is no id.
"""

from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..errors import DataError
from .kinds import library_of
from .missing import is_missing
from .source import Array

_WHOLE = {f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)}
_POLARS_NATIVE = {"Boolean", "Float32", "Float64", *_WHOLE}


class UnitIds(NamedTuple):
    """The ids of some rows: the different ones, and for each row which of them it has, -1 where it has none."""

    codes: Array
    ids: list[Hashable]

    def of_rows(self) -> Array:
        """Return the id of each row, None where it has none."""
        ids = np.empty(len(self.ids) + 1, dtype=object)
        ids[:-1] = self.ids
        return np.asarray(ids[self.codes])


def unit_ids(ids: Any) -> UnitIds:
    """Tell the units apart: equal ids are one of them, also where they come from different blocks of a column."""
    shape = getattr(ids, "shape", (0,))
    if len(shape) != 1:
        raise DataError(f"the ids of units have {len(shape)} dimensions; give a list or column of one id for each row.")
    readers: dict[str, Callable[[Any], UnitIds]] = {"pandas": _of_pandas, "polars": _of_polars, "pyarrow": _of_pyarrow}
    read = readers.get(library_of(ids))
    if read is not None:
        return read(ids)
    if isinstance(ids, np.ma.MaskedArray) and ids.dtype.kind != "V":
        return _with_gaps(~np.ma.getmaskarray(ids), _of_array(ids.compressed()))
    return _of_array(ids) if isinstance(ids, np.ndarray) else _of_objects(_as_list(ids))


def unit_codes(ids: Any) -> Array:
    """Number the units: equal ids get equal numbers, and missing ones -1."""
    return unit_ids(ids).codes


@lru_cache(maxsize=16)
def first_inexact(kind: Any) -> float:
    """Return from where on a type of floating point skips whole numbers; those that are longer count as doubles.

    >>> [first_inexact(kind) == 2.0**bits for kind, bits in (("f2", 11), ("f4", 24), ("f8", 53))]
    [True, True, True]
    """
    return float(min(2.0 ** (np.finfo(kind).nmant + 1), 2.0**53))


def text_of_id(value: Hashable) -> str:
    """Return a text for an id that is the same where files, tables and engines have types of their own for it.

    Ids that differ may have one text: it is for choosing among the rows of a unit, and never for telling units apart.

    >>> text_of_id(7), text_of_id(7.0), text_of_id("7"), text_of_id("007")
    ('7', '7', '7', '007')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)


def _of_array(values: Array) -> UnitIds:
    if values.dtype.kind in "iubSU":
        return _numbered(values)
    if values.dtype.kind in "fcmM":
        times = values.dtype.kind in "mM"
        present = ~np.isnat(values) if times else np.abs(values) < first_inexact(values.dtype)  # nan is not
        return _with_gaps(present, _numbered(values[present]))
    return _of_objects(values.tolist())


def _of_pandas(ids: Any) -> UnitIds:
    import pandas

    if isinstance(ids, pandas.MultiIndex) or ids.dtype == object:
        return _of_objects(ids.tolist())
    column = pandas.Series(ids)
    if isinstance(column.dtype, pandas.ArrowDtype):
        return _of_pyarrow(column.array.__arrow_array__())
    if isinstance(column.dtype, pandas.CategoricalDtype):
        found = unit_ids(column.cat.categories)
        return UnitIds(np.append(found.codes, -1)[column.cat.codes.to_numpy()], found.ids)
    if isinstance(column.dtype, pandas.DatetimeTZDtype):
        column = column.dt.tz_convert(None)  # the same times in UTC, which need no objects of Python
    present = column.notna().to_numpy(dtype=bool)
    precise = getattr(column.dtype, "numpy_dtype", None)  # else some versions of pandas give objects
    return _with_gaps(present, _of_array(column[present].to_numpy(dtype=precise)))


def _of_polars(ids: Any) -> UnitIds:
    values = ids.to_physical() if ids.dtype.is_temporal() else ids  # as objects, times would lose their nanoseconds
    if str(values.dtype) not in _POLARS_NATIVE:
        return _of_objects(values.to_list())
    return _with_gaps(values.is_not_null().to_numpy(), _of_array(values.drop_nulls().to_numpy()))


def _of_pyarrow(ids: Any) -> UnitIds:
    import pyarrow
    from pyarrow import types

    try:
        column = ids.cast(ids.type.value_type) if types.is_dictionary(ids.type) else ids
        present, values = np.asarray(column.is_valid(), dtype=bool), column.drop_null()
        if types.is_floating(column.type):  # pyarrow tells 0.0 from -0.0
            return _with_gaps(present, _of_array(np.asarray(values)))
        if types.is_temporal(values.type) and not types.is_interval(values.type):  # Python has no dates so far off
            whole = f"int{values.type.bit_width}"
            values = values.view(whole) if isinstance(values, pyarrow.Array) else values.cast(whole)
        chunks = values.chunks if isinstance(values, pyarrow.ChunkedArray) else [values]
        encoded = pyarrow.chunked_array(chunks, values.type).dictionary_encode().unify_dictionaries()
    except pyarrow.ArrowException:  # of types that pyarrow cannot compare
        return _of_objects(ids.to_pylist())
    indices = [np.asarray(chunk.indices) for chunk in encoded.chunks]
    found = encoded.chunk(0).dictionary.to_pylist() if encoded.num_chunks else []
    return _with_gaps(present, UnitIds(np.concatenate([np.empty(0, dtype=np.int64), *indices]), found))


def _of_objects(values: list[Any]) -> UnitIds:
    known: dict[Hashable, int] = {}
    try:
        codes = np.fromiter(
            (-1 if _is_missing(value) else known.setdefault(value, len(known)) for value in values),
            dtype=np.int64,
            count=len(values),
        )
    except Exception:  # objects raise whatever they like, and may quote themselves
        raise DataError("the ids of units must be values that can be hashed, such as numbers or strings.") from None
    return UnitIds(codes, list(known))


def _numbered(values: Array) -> UnitIds:
    found, codes = np.unique(values, return_inverse=True)
    if found.dtype.kind in "mM":  # as objects, times would lose their nanoseconds
        found = found.astype(np.int64)
    return UnitIds(codes.reshape(-1), found.tolist())


def _with_gaps(present: Array, found: UnitIds) -> UnitIds:
    """Return the ids of the rows that have one, among -1 for those that have none."""
    spread = np.full(len(present), -1, dtype=np.int64)
    spread[present] = found.codes
    return UnitIds(spread, found.ids)


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
    if is_missing(value) or not isinstance(value, float | np.floating):
        return is_missing(value)
    return not abs(float(value)) < first_inexact(value.dtype if isinstance(value, np.floating) else float)
