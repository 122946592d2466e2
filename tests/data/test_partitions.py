"""The sum over a partition: every row counts once, however long the partition and the blocks it is read in are."""

import numpy as np
import pytest

from dpols.data.partitions import BLOCK_ROWS, no_rows, sum_partition
from dpols.errors import DataError


def counted(features, target, n_rows):
    """How often each row is seen, by the number that is its only feature and its target."""
    assert (features[:, 0] == target).all()
    return (np.bincount(target.astype(int), minlength=n_rows),)


def blocks_of(lengths):
    """Blocks of rows that are numbered on."""
    ends = np.cumsum(lengths)
    return [(np.arange(end - length, end, dtype=float)[:, None],) for length, end in zip(lengths, ends, strict=True)]


@pytest.mark.parametrize(
    "lengths",
    [
        [],
        [0],
        [1],
        [BLOCK_ROWS - 1],
        [BLOCK_ROWS],
        [BLOCK_ROWS + 1],
        [2 * BLOCK_ROWS],
        [3 * BLOCK_ROWS + 7],
        [5, 0, BLOCK_ROWS + 5, 2 * BLOCK_ROWS + 1, 3],
    ],
    ids=repr,
)
def test_every_row_of_a_partition_counts_once(lengths):
    n_rows = sum(lengths)

    def read(parts):
        return [(features, features[:, 0]) for (features,) in parts]

    total = sum_partition(read, no_rows(1), counted, (n_rows,), blocks_of(lengths))
    assert total.n_rows == n_rows
    assert total.values[0].tolist() == [1] * n_rows


def test_rows_and_targets_that_differ_in_number_are_refused():
    with pytest.raises(DataError, match="differ in their number of rows"):
        sum_partition(lambda: [(np.zeros((3, 1)), np.zeros(2))], no_rows(1), counted, (3,))
