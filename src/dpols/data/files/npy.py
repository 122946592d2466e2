"""Arrays of numpy: mapped into memory, each task a run of rows. Columns without names are x0, x1 and so on."""

from collections.abc import Iterator, Sequence
from tokenize import TokenError
from typing import Any

import numpy as np

from ...errors import DataError
from ..arrow import BLOCK_ROWS
from ..memory import real_numbers
from ..source import Array
from .task import TASK_CELLS, Header, Part, Stamp


def header(file: Stamp) -> Header:
    """Return the columns: the fields of a structured array, or x0, x1 and so on; no row is read."""
    array = _mapped(file)
    if array.dtype.names is None:
        return [(name, _unusable(array.dtype)) for name in _names(array)]
    return [(name, _unusable(array.dtype[name])) for name in array.dtype.names]


def parts(file: Stamp, names: Sequence[str]) -> list[Part]:
    """Return runs of rows as (first, last), each with its number."""
    n_rows = len(_mapped(file))
    step = max(TASK_CELLS // len(names), 1)
    return [((start, min(start + step, n_rows)), min(step, n_rows - start)) for start in range(0, n_rows, step)]


def batches(
    file: Stamp, part: tuple[int, ...], names: Sequence[str], *, threads: bool = False, text: Sequence[str] = ()
) -> Iterator[Array]:
    """Yield some rows as arrays: views of the file where the columns lie side by side and are of real numbers."""
    array = _mapped(file)
    first, last = part
    for start in range(first, last, BLOCK_ROWS):
        yield real_numbers(_columns(array[start : min(start + BLOCK_ROWS, last)], names), "the rows")


def _columns(block: Array, names: Sequence[str]) -> Array:
    if block.dtype.names is not None:
        with np.errstate(over="ignore"):  # beyond double precision is infinite, and a warning would tell of it
            return np.stack([np.asarray(block[name], dtype=np.float64) for name in names], axis=1)
    wanted = [int(name[1:]) for name in names]
    first = wanted[0]
    side_by_side = wanted == list(range(first, first + len(wanted)))
    return block[:, first : first + len(wanted)] if side_by_side else block[:, wanted]


def _mapped(file: Stamp) -> Array:
    try:
        array: Any = np.load(file.path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise
    except (ValueError, OSError, EOFError, OverflowError, SyntaxError, TokenError):  # the header is a Python literal
        raise DataError(
            f"{file.path!r} is not an array of numbers in numpy's format, or is damaged or truncated. Write it anew "
            "with numpy.save."
        ) from None
    if not isinstance(array, np.ndarray) or array.ndim != (2 if array.dtype.names is None else 1):
        raise DataError(
            f"{file.path!r} must hold one array with rows and columns, or a vector of records with names. Save "
            "features and target as the columns of one array."
        )
    if array.nbytes == 0:  # a header may claim any number of columns where there is no row to show them
        raise DataError(f"{file.path!r} has no rows (0 sample(s)) or no columns; at least one is required.")
    return array


def _names(array: Array) -> list[str]:
    return [f"x{i}" for i in range(array.shape[1])]


def _unusable(kind: Any) -> str | None:
    return None if kind.kind in "fiub" and kind.shape == () else str(kind)
