"""Cells of any kind: which of them are missing, and numbers for the others."""

import math
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import numpy as np

from .source import Array

_MISSING_TYPES = ("NAType", "NaTType")  # of pandas: no comparison with one is true or false


def is_missing(value: Any) -> bool:
    """Return whether a cell is empty: None, nan of any type, the NA and NaT of pandas, or masked."""
    if value is None or type(value).__name__ in _MISSING_TYPES:
        return True
    if isinstance(value, np.ma.MaskedArray):
        return value.ndim == 0 and bool(value.mask)
    try:
        return bool(value != value)  # nan is not equal to itself
    except Exception:  # objects raise whatever they like, and may quote themselves
        return isinstance(value, Decimal)  # a nan that signals


def unmasked(values: Any) -> Any:
    """Return masked arrays, and lists of them, as plain arrays in which a masked cell is missing; all else as it is.

    Only floating point has a missing number, so that other types become objects, whether or not a cell is masked.
    """
    if isinstance(values, list | tuple) and any(isinstance(row, np.ma.MaskedArray) and row.ndim for row in values):
        values = np.ma.asarray(values)
    if not isinstance(values, np.ma.MaskedArray):
        return values
    if values.dtype.kind in "cmMV":  # refused wherever numbers or categories are asked for
        return values.data
    if values.dtype.kind == "f":
        return values.filled(np.nan)
    cells = values.data.astype(object)
    cells[np.ma.getmaskarray(values)] = None
    return cells


def floats(values: Iterable[Any]) -> Array:
    """Return cells as doubles: nan where one is missing, infinite beyond the range of doubles.

    What is no number raises TypeError or ValueError.
    """
    with np.errstate(over="ignore"):  # a warning would tell of a cell
        return np.array([value if type(value) is float else _float(value) for value in values], dtype=np.float64)


def is_complex(value: Any) -> bool:
    """Return whether a cell is a complex number; as a real one, that of numpy loses its imaginary part, and warns."""
    return isinstance(value, complex) or getattr(getattr(value, "dtype", None), "kind", "") == "c"


def real_number(value: Any) -> float:
    """Return a cell as a double; what is no real number raises TypeError, ValueError or OverflowError."""
    if is_complex(value):
        raise TypeError("complex")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise
    except Exception:  # objects raise whatever they like, and may quote themselves
        raise TypeError("an object that is no number") from None


def _float(value: Any) -> float:
    if is_complex(value):  # also where it is nan
        raise TypeError("complex")
    if is_missing(value):
        return math.nan
    try:
        return real_number(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
