"""Memory that the blocks of one task share: to get it anew from the system for each can cost more than to fill it.

Nothing of it outlives the task.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from threading import local
from typing import Any, Literal

import numpy as np

from .source import Array


class _Kept(local):
    """Arrays of this thread's task, by what they are for; None outside a task."""

    arrays: dict[str, Array] | None = None


_kept = _Kept()


@contextmanager
def shared_scratch() -> Iterator[None]:
    """Let what `scratch` returns in this thread share memory until the end: each array is lost when the next is got."""
    outer = _kept.arrays
    _kept.arrays = {}
    try:
        yield
    finally:
        _kept.arrays = outer


def scratch(purpose: str, shape: tuple[int, ...], order: Literal["C", "F"] = "C", dtype: Any = np.float64) -> Array:
    """Return an array with nothing in particular in it, in the memory of the last one for this purpose, if any."""
    if _kept.arrays is None:
        return np.empty(shape, dtype, order)
    size = math.prod(shape)
    key = f"{purpose} {np.dtype(dtype)}"
    kept = _kept.arrays.get(key)
    if kept is None or kept.size < size:
        kept = _kept.arrays[key] = np.empty(size, dtype)
    return kept[:size].reshape(shape, order=order)
