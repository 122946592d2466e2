"""Arrays of numpy: mapped into memory, each task a run of rows. Columns without names are x0, x1 and so on."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...errors import DataError
from ..arrow import BLOCK_ROWS
from ..memory import real_numbers
from ..source import Array
from .task import TASK_CELLS, FileTask, Header, Part, Stamp


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


def blocks(task: FileTask, *, threads: bool = False) -> Iterator[tuple[Array, Array]]:
    """Yield features and target of a task, block by block, as views of the file where that can be."""
    array = _mapped(task.file)
    first, last = task.part
    for start in range(first, last, BLOCK_ROWS):
        block = array[start : min(start + BLOCK_ROWS, last)]
        features = _columns(block, task.features)
        target = np.zeros(len(block)) if task.target is None else _columns(block, [task.target])[:, 0]
        yield real_numbers(features, "features"), real_numbers(target, "target")


def _columns(block: Array, names: Sequence[str]) -> Array:
    if block.dtype.names is not None:
        return np.stack([np.asarray(block[name], dtype=np.float64) for name in names], axis=1)
    wanted = [int(name[1:]) for name in names]
    in_a_row = wanted == list(range(wanted[0], wanted[0] + len(wanted)))
    return block[:, wanted[0] : wanted[0] + len(wanted)] if in_a_row else block[:, wanted]


def _mapped(file: Stamp) -> Array:
    try:
        array: Any = np.load(file.path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise
    except (ValueError, OSError, EOFError, SyntaxError):  # SyntaxError, since the header is a Python literal
        raise DataError(
            f"{file.path!r} is not an array of numbers in numpy's format, or is damaged or truncated. Write it anew "
            "with numpy.save."
        ) from None
    if not isinstance(array, np.ndarray) or array.ndim != (2 if array.dtype.names is None else 1):
        raise DataError(
            f"{file.path!r} must hold one array with rows and columns, or a vector of records with names. Save "
            "features and target as the columns of one array."
        )
    return array


def _names(array: Array) -> list[str]:
    return [f"x{i}" for i in range(array.shape[1])]


def _unusable(kind: Any) -> str | None:
    return None if kind.kind in "fiub" and kind.shape == () else str(kind)
