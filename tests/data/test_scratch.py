"""Memory that blocks share lasts for one task of one thread, and no longer."""

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dpols.data.scratch import scratch, shared_scratch


def test_within_a_task_arrays_for_one_purpose_share_memory():
    with shared_scratch():
        first = scratch("a", (4, 3))
        again, turned, other = scratch("a", (2, 3)), scratch("a", (3, 4), "F"), scratch("b", (4, 3))
        assert np.shares_memory(first, again)
        assert np.shares_memory(first, turned)
        assert not np.shares_memory(first, other)
        assert turned.flags.f_contiguous
        assert scratch("a", (4, 3), dtype=np.float32).dtype == np.float32
        assert scratch("a", (50, 3)).shape == (50, 3)


def test_outside_a_task_every_array_is_new():
    with shared_scratch():
        scratch("a", (3,))
    first = scratch("a", (3,))
    assert not np.shares_memory(first, scratch("a", (3,)))


@pytest.mark.parametrize("error", [None, RuntimeError])
def test_nothing_outlives_the_task(error):
    try:
        with shared_scratch():
            kept = weakref.ref(scratch("a", (3,)).base)
            if error is not None:
                raise error
    except RuntimeError:
        pass
    gc.collect()
    assert kept() is None


def test_threads_do_not_share():
    with shared_scratch(), ThreadPoolExecutor(1) as pool:
        mine = scratch("a", (3,))
        theirs = pool.submit(scratch, "a", (3,)).result()
    assert not np.shares_memory(mine, theirs)


def test_a_task_within_a_task_has_its_own():
    with shared_scratch():
        outer = scratch("a", (3,))
        with shared_scratch():
            assert not np.shares_memory(outer, scratch("a", (3,)))
        assert np.shares_memory(outer, scratch("a", (3,)))


@pytest.mark.extras
def test_blocks_that_are_not_summed_keep_their_rows(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    from dpols import read

    values = np.arange(100_000.0)
    parquet.write_table(pyarrow.table({"x": values, "y": values}), tmp_path / "rows.parquet")
    blocks = list(read(tmp_path / "rows.parquet", target="y").blocks())
    assert len(blocks) > 1
    np.testing.assert_array_equal(np.concatenate([features[:, 0] for features, _ in blocks]), values)
