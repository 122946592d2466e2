"""Rows that workers keep between passes, bounded and rounded, give the bits of rows that are read in every pass."""

import os
import signal
from dataclasses import replace

import numpy as np
import pytest
from engine_rows import BOUNDS, NAMES, model, pieces, row_groups, table

from dpols import Bounds
from dpols.data import BoundedRows, dask_source, open_rows, partitions
from dpols.data.files import read
from dpols.data.source import RowsOfWorkers
from dpols.errors import BadRowsError
from dpols.statistics import totals_and_products

pytestmark = pytest.mark.extras
dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")

BESIDE = {None: {}, "weight": {"max_weight": 1.5}, "exposure": {"exposure": (0.1, 2.0)}}
BY_COLUMN = Bounds(features=dict(zip(NAMES, BOUNDS.features, strict=True)), target=BOUNDS.target)


@pytest.fixture(scope="module")
def frame():
    return table()


@pytest.fixture
def keep_nothing(monkeypatch):
    monkeypatch.setattr(partitions, "_MOST_BYTES", 0)


def in_partitions(frame):
    return dd.concat([dd.from_pandas(piece, npartitions=1) for piece in pieces(frame)])


def fitted(*data, **changes):
    fit = model(method="whitened", **changes).fit(*data)
    return np.array([*fit.coef_, fit.intercept_])


def counted(frame, folder):
    """Partitions of a frame, and a file that grows by a byte when one of them is computed."""
    log = folder / "calls"

    def stage(part):
        with open(str(log), "ab") as file:
            file.write(b".")
        return part

    return dd.from_pandas(frame, npartitions=4).map_partitions(stage, meta=frame.iloc[:0]), log


def test_each_partition_is_computed_once_to_be_counted_and_once_to_be_kept(frame, tmp_path):
    lazy, log = counted(frame, tmp_path)
    actual = fitted(lazy, "y")
    assert log.stat().st_size == 2 * 4
    np.testing.assert_array_equal(actual, fitted(frame, "y"))


def test_rows_that_are_too_many_to_be_kept_are_computed_in_every_pass(frame, tmp_path, keep_nothing):
    lazy, log = counted(frame, tmp_path)
    actual = fitted(lazy, "y")
    assert log.stat().st_size >= 5 * 4
    np.testing.assert_array_equal(actual, fitted(frame, "y"))


def sums(rows):
    found, products = totals_and_products(rows)
    return [found.value, products.gram, products.moment]


@pytest.mark.parametrize("beside", [None, "weight", "exposure"])
@pytest.mark.parametrize("bounds", [BOUNDS, BY_COLUMN], ids=["a norm", "by column"])
def test_sums_of_kept_rows_have_the_same_bits_also_with_bad_rows(frame, bounds, beside):
    bad = frame.astype(float)
    bad.loc[[3, 700], "a"], bad.loc[1_999, "y"] = np.nan, np.inf
    bad["w"] = np.random.default_rng(1).uniform(0.5, 2.0, len(bad))
    row_map = bounds.row_map(n_features=4, columns=NAMES, fit_intercept=True)
    row_map = replace(row_map, **BESIDE[beside])
    table = in_partitions(bad if beside else bad.drop(columns="w"))
    source = dask_source.dask_source(table, "y", "w" if beside else None)
    rows = BoundedRows(source, row_map, "zero", "exact")
    kept = rows.bounded_once()
    assert kept.is_rounded
    assert not kept.at_hand
    assert not kept.is_local
    for one, other in zip(sums(kept), sums(rows), strict=True):
        np.testing.assert_array_equal(one, other)


def test_bad_rows_are_refused(frame):
    bad = frame.astype(float)
    bad.loc[1_999, "d"] = np.nan
    with pytest.raises(BadRowsError, match="bad_rows='raise' refuses such rows"):
        fitted(in_partitions(bad), "y")


def test_floating_point_keeps_nothing(frame, tmp_path):
    lazy, log = counted(frame, tmp_path)
    fitted(lazy, "y", arithmetic="float")
    assert log.stat().st_size >= 5 * 4


def test_processes_that_share_no_memory_keep_nothing(frame):
    with dask.config.set(scheduler="processes"):
        assert (
            open_rows(in_partitions(frame), "y").kept(BOUNDS.row_map(n_features=4, columns=NAMES, fit_intercept=True))
            is None
        )


@pytest.mark.posix
def test_a_worker_that_is_killed_with_the_rows_that_it_keeps_changes_nothing(client, frame, monkeypatch):
    keep, killed = dask_source.DaskSource.kept, []

    def kept_and_killed(self, row_map):
        found = keep(self, row_map)
        pid = next(iter(client.run(os.getpid).values()))
        os.kill(pid, signal.SIGKILL)
        killed.append(pid)
        return found

    monkeypatch.setattr(dask_source.DaskSource, "kept", kept_and_killed)
    actual = fitted(in_partitions(frame), "y")
    assert len(killed) == 1
    np.testing.assert_array_equal(actual, fitted(frame, "y"))


def test_workers_keep_the_rows_of_files_and_every_pass_is_shown(client, frame, tmp_path):
    row_groups(frame, tmp_path / "rows")
    told = []
    there = read(tmp_path / "rows", "y", client=client, progress=lambda number, rows, n_rows: told.append(number))
    assert isinstance(there, RowsOfWorkers)
    np.testing.assert_array_equal(fitted(there), fitted(read(tmp_path / "rows", "y")))
    assert told == [*range(1, len(told) + 1)]
    assert len(told) >= 5


def test_a_cluster_forgets_the_rows_after_the_fit(client, frame):
    fitted(in_partitions(frame), "y")
    for _ in range(100):
        if not any(client.has_what().values()):
            break
        client.sync(_short_wait)
    assert not any(client.has_what().values())


async def _short_wait():
    import asyncio

    await asyncio.sleep(0.1)


@pytest.fixture
def kept_by_spark(spark):
    """Which data Spark keeps, but for what it kept before; it may give that up at any time."""
    found = spark.sparkContext._jsc.getPersistentRDDs
    before = set(found())
    return lambda: [each for number, each in found().items() if number not in before]


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully")
def test_spark_keeps_rows_makes_lost_ones_anew_and_forgets_them_after_the_fit(
    spark, frame, kept_by_spark, tmp_path, monkeypatch
):
    from dpols.data import spark_source

    during, keep = [], spark_source.SparkSource.kept

    def kept_and_lost(self, row_map):
        found = keep(self, row_map)
        during.append(len(kept_by_spark()))
        if len(during) == 2:
            for rdd in kept_by_spark():
                rdd.unpersist(True)
        return found

    monkeypatch.setattr(spark_source.SparkSource, "kept", kept_and_lost)
    row_groups(frame, tmp_path / "rows")
    expected = fitted(frame, "y")
    lazy = spark.createDataFrame(frame.to_dict("split")["data"], "a double, b long, c boolean, d float, y double")
    np.testing.assert_array_equal(fitted(lazy, "y"), expected)
    np.testing.assert_array_equal(fitted(lazy, "y"), expected)  # of rows that are lost
    np.testing.assert_array_equal(fitted(read(tmp_path / "rows", "y", spark=spark)), expected)
    assert during == [1, 1, 1]
    assert kept_by_spark() == []


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully")
def test_spark_refuses_bad_rows_and_keeps_no_more_than_may_be(spark, monkeypatch):
    lazy = spark.createDataFrame([(0.5, 1.0), (float("nan"), 2.0)], "a double, y double")
    source = open_rows(lazy, "y")
    bounds = Bounds(features={"a": (0.0, 1.0)}, target=(0.0, 3.0))
    row_map = bounds.row_map(n_features=1, columns=("a",), fit_intercept=True)
    with monkeypatch.context() as patch:
        patch.setattr(partitions, "_MOST_BYTES", 0)
        assert source.kept(row_map) is None
    with pytest.raises(BadRowsError, match="bad_rows='raise' refuses such rows"):
        BoundedRows(source, row_map, "raise", "exact").bounded_once()
