"""Sums over partitions: what an engine's worker computes of one partition, and how such sums are added up.

A worker returns the kernel's own arrays. They are added in the order of the partitions, so that a float sum is the same
in every run, however the tasks were scheduled, lost or repeated; sums in whole numbers do not depend on the order.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

import numpy as np

from ..errors import DataError
from .scratch import shared_scratch
from .source import Array, Block, Kernel, Total, add_up
from .threads import one_blas_thread

ReadBlocks = Callable[..., Iterable[Block]]

BLOCK_ROWS = 16384


def sum_partition(read: ReadBlocks, n_features: int, kernel: Kernel, args: tuple[Any, ...], *partition: Any) -> Total:
    """Return the sum of a kernel over the blocks that ``read`` makes of one partition, which may have no rows."""
    with one_blas_thread(), shared_scratch():
        blocks = chain([no_rows(n_features)], _split(read(*partition)))
        return add_up((kernel(features, target, *args), len(target)) for features, target in blocks)


def no_rows(n_features: int) -> Block:
    """Return a block without rows, of which a kernel makes zeros of the right shape."""
    return np.empty((0, n_features)), np.empty(0)


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
