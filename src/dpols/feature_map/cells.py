"""Cells of a block of raw rows: numbers, and numbers of categories. Messages never quote one."""

import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from numbers import Rational
from typing import Any

import numpy as np

from ..data.columns import as_arrow, doubles, is_numeric
from ..data.kinds import library_of
from ..data.missing import floats, is_missing, unmasked
from ..data.source import Array
from ..errors import DataError, DataTypeError, DpolsError
from .columns import OTHER, CategoricalColumn, Column, NumericColumn, category_name

_UNKNOWN, _BAD = -1, -2
_WHOLE = re.compile("-?[0-9]+")
_LARGEST_EXACT = 2**53  # from here on floating point skips whole numbers


class Cells:
    """The declared columns of one block, each read once, when it is first asked for."""

    def __init__(self, block: Any, columns: Mapping[str, Column]) -> None:
        self._columns = columns
        self._raw = _reader(block, tuple(columns))
        self._read: dict[str, Array] = {}

    def of(self, name: str) -> Array:
        """Return a column's clipped numbers, or the number of each row's level: -1 for none, -2 for a useless cell."""
        if name not in self._read:
            column = self._columns[name]
            raw = self._raw(name)
            self._read[name] = (
                _numbers(name, raw, column) if isinstance(column, NumericColumn) else _codes(name, raw, column)
            )
        return self._read[name]


def numbers(name: str, raw: Any) -> Array:
    """Return a raw column as floats, nan where a cell is empty; text is refused."""
    kind = library_of(raw)
    if kind in ("pyarrow", "polars"):
        if not is_numeric(raw):
            raise _not_numbers(name, raw.type if kind == "pyarrow" else raw.dtype)
        return doubles(raw)
    dtype = raw.dtype
    if getattr(dtype, "kind", "O") in "fiub":
        with np.errstate(over="ignore"):  # beyond double precision is infinite, and a warning would tell of it
            if kind == "pandas":
                return np.asarray(raw.to_numpy(dtype=np.float64, na_value=np.nan))
            return np.asarray(raw, dtype=np.float64)
    if getattr(dtype, "kind", "") != "O":
        raise _not_numbers(name, dtype)
    values = raw.tolist()
    if any(isinstance(value, str | bytes) for value in values):
        raise _not_numbers(name, "text")
    try:
        return floats(values)
    except (TypeError, ValueError):
        raise _not_numbers(name, dtype) from None


def raw_column(block: Any, name: str) -> Any:
    """Return one column of a table as it is."""
    return _reader(block, (name,))(name)


def _numbers(name: str, raw: Any, column: NumericColumn) -> Array:
    values = numbers(name, raw)
    empty = np.isnan(values)
    clipped = np.clip(values, column.low, column.high)
    if empty.any():
        clipped[empty] = np.nan if column.missing is None else column.missing
    clipped[np.isinf(values)] = np.nan  # no number, so no matter of clipping
    return clipped


def _codes(name: str, raw: Any, column: CategoricalColumn) -> Array:
    long = any(_is_long(level) for level in column.categories)
    if long and _holds_floats(raw):
        raise DataTypeError(
            f"column {name!r} has categories beyond 2^53, but holds floating point numbers, of which neighbours are "
            "equal there; store it as whole numbers or as text."
        )
    try:
        return _encode(raw, coder(name, column))
    except DpolsError:
        raise
    except Exception:  # of times that Python has no objects for: its words would tell of a cell
        raise DataTypeError(
            f"column {name!r} is declared as categories, but has cells of a type that cannot be read as such; it must "
            "hold text, numbers or booleans."
        ) from None


def coder(name: str, column: CategoricalColumn) -> Callable[[Any], int]:
    """Return what gives the number of a cell's level in a column: -1 for none, -2 for a useless cell."""
    known = {level: code for code, level in enumerate(column.levels)}
    folded = {} if column.case == "exact" else {level.casefold(): code for level, code in known.items()}
    empty = _BAD if column.missing is None else known[column.missing]
    unknown = known[OTHER] if column.unknown == "other" else _UNKNOWN
    as_numbers = all(_is_number(level) for level in column.categories)
    long = any(map(_is_long, column.categories))

    def code(value: Any) -> int:
        if is_missing(value) or (isinstance(value, str) and not value.strip()):
            return empty
        if long and isinstance(value, float | np.floating) and abs(float(value)) >= _LARGEST_EXACT:
            return unknown  # neighbours are equal there, so which category it is cannot be known
        try:
            level = category_name(value)
        except (TypeError, ValueError, OverflowError):
            if isinstance(value, Rational):  # too large for a name
                return unknown
            raise DataTypeError(
                f"column {name!r} is declared as categories, but has cells of type {type(value).__name__}; "
                "it must hold text, numbers or booleans."
            ) from None
        if level not in known and as_numbers and isinstance(value, str):
            level = _canonical(level)
        return known.get(level, folded.get(level.casefold(), unknown))

    return code


def _is_long(level: str) -> bool:
    """Whether a category is a whole number that floating point may not tell from its neighbours."""
    return bool(_WHOLE.fullmatch(level)) and len(level) > 15


def _holds_floats(raw: Any) -> bool:
    """Whether a column is of floating point by its type, whatever its cells are."""
    kind = str(raw.type if library_of(raw) == "pyarrow" else raw.dtype).lower()
    return kind.startswith("float") or kind in ("double", "halffloat")


def _encode(raw: Any, code: Callable[[Any], int]) -> Array:
    """Return the code of each cell, computed once for each distinct value."""
    raw = as_arrow(raw)
    kind = library_of(raw)
    if kind == "pyarrow":
        import pyarrow

        raw = raw.combine_chunks() if isinstance(raw, pyarrow.ChunkedArray) else raw
        if not pyarrow.types.is_dictionary(raw.type):
            raw = raw.dictionary_encode(null_encoding="encode")
        codes = np.array([code(value) for value in raw.dictionary.to_pylist()] + [code(None)], dtype=np.int64)
        places = raw.indices.cast("int64").fill_null(len(codes) - 1).to_numpy(zero_copy_only=False)
        return np.asarray(codes[places])
    if kind == "pandas" and str(raw.dtype) != "object":
        places, distinct = raw.factorize()  # -1 for an empty cell
        return np.asarray(np.array([code(value) for value in distinct] + [code(None)], dtype=np.int64)[places])
    # Cell by cell, each type for itself: True equals 1, and which of them came first must not matter.
    values: Iterable[Any] = raw.to_list() if kind == "polars" else raw.tolist()
    memory: dict[Any, int] = {}
    result = []
    for value in values:
        key = (value.__class__, value)
        try:
            found = memory.get(key)
        except Exception:  # of a value that cannot be a key, such as a list, or an object that quotes itself
            found = code(value)
        if found is None:
            found = memory[key] = code(value)
        result.append(found)
    return np.array(result, dtype=np.int64)


def as_matrix(block: Any) -> Array:
    """Return rows without column names as an array, with their cells as they are."""
    rows = unmasked(block)
    return rows if isinstance(rows, np.ndarray) else np.array(rows, dtype=object)


def _reader(block: Any, names: tuple[str, ...]) -> Callable[[str], Any]:
    kind = library_of(block)
    if kind in ("pandas", "polars", "pyarrow"):
        if len(getattr(block, "shape", ())) != 2 and not hasattr(block, "num_columns"):
            raise DataError("the rows must be a table with rows and columns.")
        present = [str(name) for name in (block.schema.names if kind == "pyarrow" else block.columns)]

        def by_name(name: str) -> Any:
            if present.count(name) != 1:
                what = "no column" if name not in present else "more than one column"
                raise DataError(f"the table has {what} {name!r}; its columns are {present}.")
            place = present.index(name)
            if kind == "pandas":
                return block.iloc[:, place]
            return block.column(place) if kind == "pyarrow" else block.to_series(place)

        return by_name
    rows = as_matrix(block)
    if rows.ndim != 2 or rows.shape[1] != len(names):
        found = f"{rows.shape[1]} columns" if rows.ndim == 2 else f"{rows.ndim} dimensions"
        raise DataError(
            f"the rows have {found}, but the map has {len(names)} columns {list(names)}; pass a table with these "
            "columns, or an array with one column for each of them, in this order."
        )
    return lambda name: rows[:, names.index(name)]


def _not_numbers(name: str, kind: Any) -> DataTypeError:
    return DataTypeError(
        f"column {name!r} is declared as numbers, but holds {kind}. Declare its public categories (categories = [...] "
        "in the bounds file, dpols.CategoricalColumn in Python), or correct it."
    )


def _is_number(level: str) -> bool:
    return level in ("true", "false") or _canonical(level) == level


def _canonical(cell: str) -> str:
    """Return the name of the number or truth value that a text stands for, or the text."""
    if cell.strip().lower() in ("true", "false"):
        return cell.strip().lower()
    try:
        return category_name(Decimal(cell))
    except (ValueError, ArithmeticError):
        return cell
