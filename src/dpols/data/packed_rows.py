"""Whole-numbered rows of one task or partition in little memory, to be read again in blocks.

Numbers below 2^19, as they are where a row has more than a few coordinates, take two and a half bytes; others four.
"""

from collections.abc import Iterator

import numpy as np

from .rounding import is_by_column, largest_cell
from .row_map import RowMap
from .scratch import scratch
from .source import Array, Block

BELOW = 1 << 19
_ROWS = 8192  # of a block
_LOW = 16.0  # what the lower four bits count to


def are_small(row_map: RowMap) -> bool:
    """Return whether it is public that all numbers of rows are below 2^19."""
    return is_by_column(row_map) and largest_cell(row_map) < BELOW


def row_bytes(row_map: RowMap) -> float:
    """Return what a row takes, with its target and with what stands beside that."""
    return (2.5 if are_small(row_map) else 4.0) * row_map.n_coordinates + (4.0 if row_map.beside is None else 16.0)


class PackedRows:
    """Rows and targets that are added in their order; ``small`` says that all numbers of rows are below 2^19."""

    def __init__(self, *, small: bool) -> None:
        self.small = small
        self._blocks: list[tuple[tuple[Array, ...], Array]] = []

    def add(self, rows: Array, target: Array) -> None:
        """Copy the next rows."""
        kind = np.float32 if target.ndim == 1 else np.float64  # an exposure is no whole number
        for start in range(0, len(rows), _ROWS):
            here = slice(start, start + _ROWS)
            cells = _packed(rows[here]) if self.small else (rows[here].astype(np.float32),)
            self._blocks.append((cells, target[here].astype(kind)))

    def blocks(self) -> Iterator[Block]:
        """Yield all rows and targets."""
        for cells, target in self._blocks:
            yield _unpacked(*cells) if self.small else cells[0], target


def _packed(rows: Array) -> tuple[Array, Array]:
    """Return the upper 16 bits of numbers, and the lower four of two rows in one byte."""
    high = np.floor(rows * (1.0 / _LOW))
    low = (rows - _LOW * high).astype(np.uint8)
    half = (len(rows) + 1) // 2
    pairs = low[:half].copy(order="K")
    pairs[: len(rows) - half] |= low[half:] << 4
    return high.astype(np.int16), pairs


def _unpacked(high: Array, pairs: Array) -> Array:
    rows = scratch("rounded", high.shape, "F" if high.flags.f_contiguous else "C")
    np.multiply(high, _LOW, out=rows, dtype=np.float64)
    half = len(pairs)
    rows[:half] += pairs & 15
    rows[half:] += (pairs >> 4)[: len(rows) - half]
    return rows
