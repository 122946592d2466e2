"""Sums over partitions: what an engine's worker computes of one partition, and how such sums are added up.

A worker returns the kernel's own arrays. They are added in the order of the partitions, so that a float sum is the same
in every run, however the tasks were scheduled, lost or repeated; sums in whole numbers do not depend on the order.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from ..errors import DataError
from .bounding import rounded_block
from .packed_rows import PackedRows, are_small, row_bytes
from .row_map import RowMap
from .scratch import shared_scratch
from .source import Array, Block, Kernel, Total, add_up
from .threads import one_blas_thread

ReadBlocks = Callable[..., Iterable[Block]]

BLOCK_ROWS = 16384
_MOST_BYTES = 1 << 28  # of rows that workers keep, for each core


class KeptPart(NamedTuple):
    """Some rows of a partition, bounded and rounded, as a worker keeps them between passes."""

    rows: PackedRows
    bad_rows: int
    n_rows: int


def may_be_kept(row_map: RowMap, n_rows: int, n_cores: int) -> bool:
    """Return whether rows are few enough for workers with so many cores to keep them."""
    return n_rows * row_bytes(row_map) <= n_cores * _MOST_BYTES


def kept_partition(read: ReadBlocks, row_map: RowMap, *partition: Any) -> list[KeptPart]:
    """Return the rows of the blocks that ``read`` makes of one partition, to be kept."""
    small, parts = are_small(row_map), []
    with one_blas_thread(), shared_scratch():
        for features, target in _split(read(*partition)):
            rows = PackedRows(small=small)
            block, bad_rows = rounded_block(features, target, row_map)
            rows.add(*block)
            parts.append(KeptPart(rows, bad_rows, len(target)))
    return parts


def kept_blocks(parts: Iterable[KeptPart]) -> Iterator[Block]:
    """Yield the rounded rows and targets of a partition."""
    for part in parts:
        yield from part.rows.blocks()


def kept_total(parts: Iterable[KeptPart]) -> Total:
    """Return the number of bad rows, as a sum that all passes but the first leave at zero, and the number of rows."""
    bad_rows, n_rows = 0, 0
    for part in parts:
        bad_rows, n_rows = bad_rows + part.bad_rows, n_rows + part.n_rows
    return Total((np.array(bad_rows),), n_rows)


def sum_partition(read: ReadBlocks, empty: Block, kernel: Kernel, args: tuple[Any, ...], *partition: Any) -> Total:
    """Return the sum of a kernel over the blocks that ``read`` makes of one partition, or else over an empty one."""
    with one_blas_thread(), shared_scratch():
        blocks = chain([empty], _split(read(*partition)))
        return add_up((kernel(features, target, *args), len(target)) for features, target in blocks)


def no_rows(n_features: int, *, beside: bool = False) -> Block:
    """Return a block without rows, of which a kernel makes zeros; of rounded rows its shape says what is beside."""
    return np.empty((0, n_features)), np.empty((0, 2) if beside else 0)


def count_only(_features: Array, _target: Array) -> tuple[Array, ...]:
    """Sum nothing: what is left of a pass is the number of rows."""
    return ()


def require_same_length(features: Any, target: Any) -> None:
    """Refuse a partition whose rows and targets differ in number."""
    if len(features) != len(target):
        raise DataError("a partition of X and that of y differ in their number of rows; partition them alike.")


def _split(blocks: Iterable[Block]) -> Iterator[Block]:
    """Cut long blocks into short ones, which caches hold."""
    for features, target in blocks:
        require_same_length(features, target)
        for start in range(0, len(target), BLOCK_ROWS):
            stop = start + BLOCK_ROWS
            yield features[start:stop], target[start:stop]
