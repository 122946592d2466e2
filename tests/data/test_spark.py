"""Fits on Spark equal fits in memory, whatever the partitions and whatever happens to a worker."""

import os
import traceback
from decimal import Decimal

import numpy as np
import pytest
from engine_rows import (
    BOUNDS,
    N_ROWS,
    NAMES,
    assert_same_fit,
    deadly_stage,
    every_arithmetic,
    fitted,
    model,
    pieces,
    row_groups,
    table,
)

from dpols import Bounds, PrivateLinearRegression
from dpols.algorithms import path
from dpols.data import BoundedRows, open_rows, spark_source
from dpols.data.files import read
from dpols.data.partitions import count_only
from dpols.errors import BoundsError, DataError, DataTypeError, ParameterError
from dpols.statistics import clipped_gradient, gram_with_target, screening

pytestmark = [pytest.mark.extras, pytest.mark.spark, pytest.mark.filterwarnings("ignore:PySpark does not yet fully")]


SCHEMA = "a double, b long, c boolean, d float, y double"


@pytest.fixture(scope="module")
def frame():
    return table()


@pytest.fixture(scope="module")
def skewed(spark, frame):
    """Partitions of one row, of none and of nearly all rows."""
    parts = [piece.to_dict("split")["data"] for piece in pieces(frame)]
    rows = spark.sparkContext.parallelize(parts, len(parts)).flatMap(lambda part: part)
    return spark.createDataFrame(rows, SCHEMA).cache()


def sums_of(source, arithmetic):
    """Two statistics, one of them a matrix, from two passes."""
    row_map = BOUNDS.row_map(n_features=4, columns=NAMES, fit_intercept=True)
    rows = BoundedRows(source, row_map, arithmetic=arithmetic)
    theta = np.full((1, 5), 0.25)
    found = gram_with_target(rows), clipped_gradient(rows, theta, residual_bound=0.5)
    return np.concatenate([statistic.value.ravel() for statistic in found])


def test_gradients_without_a_pass_have_the_same_bits(skewed, frame, monkeypatch):
    expected = fitted(frame, "y", arithmetic="exact", method="whitened")
    seen = []
    original = screening._Reference.whole_sums
    monkeypatch.setattr(screening._Reference, "whole_sums", lambda *args: seen.append(1) or original(*args))
    monkeypatch.setattr(path, "_CELLS", 0)
    monkeypatch.setattr(path, "_AHEAD", 0.0)
    fit = model("exact", "whitened").fit(skewed, "y")
    assert_same_fit(np.array([*fit.coef_, fit.intercept_]), expected, "exact")
    assert seen


@pytest.mark.parametrize(("method", "arithmetic"), [("whitened", "exact"), ("ihm", "float")])
def test_a_fit_on_skewed_empty_and_one_row_partitions_equals_the_one_in_memory(skewed, frame, method, arithmetic):
    lengths = skewed.rdd.mapPartitions(lambda rows: [sum(1 for _ in rows)]).collect()
    assert sorted(lengths) == [0, 0, 0, 1, 1, 99, 1899]
    fit = model(arithmetic, method).fit(skewed, "y")
    expected = fitted(frame, "y", arithmetic=arithmetic, method=method)
    assert_same_fit(np.array([*fit.coef_, fit.intercept_]), expected, arithmetic)
    assert tuple(fit.feature_names_in_) == NAMES
    assert fit.privacy_report_.n_rows == N_ROWS


@every_arithmetic
def test_sums_too_large_for_the_driver_are_added_on_workers_first(skewed, frame, arithmetic, monkeypatch):
    monkeypatch.setattr(spark_source, "_SMALL_TOTAL", 0)
    monkeypatch.setattr(spark_source, "_ADDED_AT_ONCE", 2)
    assert_same_fit(sums_of(open_rows(skewed, "y"), arithmetic), sums_of(open_rows(frame, "y"), arithmetic), arithmetic)


def test_a_float_sum_is_the_same_in_every_run(skewed):
    source = open_rows(skewed, "y")
    np.testing.assert_array_equal(sums_of(source, "float"), sums_of(source, "float"))


def test_missing_values_are_bad_rows_and_names_may_hold_anything(spark):
    rows = [(0.5, 1, Decimal("0.1")), (None, 2, Decimal("0.5")), (0.25, None, Decimal("0.5")), (1.75, 9, None)]
    names = ["a.b", "c `d`", "y"]
    source = open_rows(spark.createDataFrame(rows, "x double, z int, y decimal(4, 2)").toDF(*names), "y")
    assert source.columns == ("a.b", "c `d`")

    def finite(features, target):
        import numpy

        return (numpy.nansum(features, axis=0), numpy.array(numpy.nansum(target)))

    total = source.total(finite)
    assert total.n_rows == 4
    np.testing.assert_allclose(total.values[0], [2.5, 12.0])
    np.testing.assert_allclose(total.values[1], 1.1)


@every_arithmetic
def test_files_are_read_by_the_workers(spark, frame, tmp_path, arithmetic, monkeypatch):
    row_groups(frame, tmp_path / "rows")
    monkeypatch.chdir(tmp_path)
    here, there = read("rows", target="y"), read("rows", target="y", spark=spark)
    assert len(there.tasks) > 2
    assert_same_fit(sums_of(there, arithmetic), sums_of(here, arithmetic), arithmetic)
    os.truncate(tmp_path / "rows" / "1.parquet", 1_000)
    with pytest.raises(DataError, match=r"1\.parquet' has changed since it was first read"):
        there.total(count_only)


def test_a_worker_killed_in_the_middle_of_a_fit_changes_nothing(spark, frame, tmp_path):
    stage, killed = deadly_stage(tmp_path, 6)

    def deadly(batches):
        for batch in batches:
            yield stage(batch)

    whole = spark.createDataFrame(frame.to_dict("split")["data"], SCHEMA)
    lazy = whole.repartition(2).mapInArrow(deadly, SCHEMA)
    actual = fitted(lazy, "y")
    assert killed.exists()
    np.testing.assert_array_equal(actual, fitted(frame, "y"))


@every_arithmetic
def test_a_worker_killed_while_it_adds_counts_its_rows_once(skewed, frame, tmp_path, arithmetic):
    stage, killed = deadly_stage(tmp_path, 2)

    def deadly(features, target):
        import numpy

        return (numpy.array(stage(len(target))), features.sum(axis=0))

    total = open_rows(skewed, "y").total(deadly)
    assert killed.exists()
    assert (total.n_rows, int(total.values[0])) == (N_ROWS, N_ROWS)
    np.testing.assert_allclose(total.values[1], frame[list(NAMES)].to_numpy(float).sum(axis=0))


SECRET = "HIV positive"


def cast_that_fails(spark):
    rows = spark.createDataFrame([("0.5", 0.25), (SECRET, 0.5)], "s string, y double")
    return rows.selectExpr("cast(s as double) as a", "y")


def stage_that_fails(spark):
    def fail(batches):
        for batch in batches:
            raise ValueError(f"could not convert {batch.column('s')[0]}")
            yield batch

    return spark.createDataFrame([(SECRET, 0.5)], "s string, y double").mapInArrow(fail, "a double, y double")


def stage_that_dies(spark):
    def die(batches):
        import os
        import signal

        os.kill(os.getpid(), signal.SIGKILL)
        yield from batches

    return spark.createDataFrame([(0.1, 0.5)], "a double, y double").mapInArrow(die, "a double, y double")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (cast_that_fails, "CAST_INVALID_INPUT"),
        (stage_that_fails, "Spark failed with PythonException"),
        (stage_that_dies, "lost a worker"),
    ],
)
def test_no_error_quotes_a_cell_and_a_lost_worker_is_told(spark, data, words):
    def sums(features, target):
        return (features.sum(axis=0), target.sum())

    spark.conf.set("spark.sql.ansi.enabled", "true")
    with pytest.raises(DataError, match=words) as caught:
        open_rows(data(spark), "y").total(sums)
    assert SECRET not in "".join(traceback.format_exception(caught.value))


WRONG = {
    "no such column": ("a double, y double", "z", DataError, "'z' is not a column"),
    "text": ("a double, s string, y double", "y", DataTypeError, r"\['s'\] do not hold numbers"),
    "a date": ("a double, t date, y double", "y", DataTypeError, r"\['t'\] do not hold numbers"),
    "a vector": ("v array<double>, y double", "y", DataTypeError, r"\['v'\] do not hold numbers"),
    "no features": ("y double", "y", BoundsError, "no feature columns"),
    "columns of one name": ("a double, a double, y double", "y", DataError, "unique"),
    "no target": ("a double, y double", None, DataError, "target y is None"),
    "target in memory": ("a double, y double", np.zeros(3), DataError, "name of a column"),
}


@pytest.mark.parametrize(("schema", "target", "error", "message"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_used_is_refused_before_a_row_is_read(spark, schema, target, error, message):
    def compute(batches):
        raise AssertionError("rows were read")

    lazy = spark.range(3).mapInArrow(compute, schema)
    fit = model()
    with pytest.raises(error, match=message):
        fit.fit(lazy, target)
    assert not hasattr(fit, "n_features_in_")


def test_a_table_without_rows_is_refused(spark):
    with pytest.raises(DataError, match="no rows"):
        model().fit(spark.createDataFrame([], "a double, y double"), "y")


def test_a_session_must_be_one(tmp_path):
    with pytest.raises(ParameterError, match="spark='there' must be"):
        read(tmp_path, target="y", spark="there")


def test_weights_in_a_column_of_a_spark_table_give_the_result_of_the_same_rows_in_memory(spark):
    frame = table().astype(float)
    bounds = Bounds(features={"a": (-1.0, 1.0), "d": (-2.0, 0.5)}, target=(-1.0, 3.0))
    few = {"n_iterations": 4}  # each of them is a job
    chosen = PrivateLinearRegression(2.0, 1e-6, bounds, max_weight=20.0, random_state=3, options=few)
    expected = chosen.fit(frame, "y", sample_weight="b").coef_.tobytes()
    rows = spark.createDataFrame(frame).repartition(3)
    assert chosen.fit(rows, "y", sample_weight="b").coef_.tobytes() == expected
    with pytest.raises(DataError, match="sample_weight must be the name of a column"):
        chosen.fit(rows, "y", sample_weight=np.ones(N_ROWS))


def test_times_are_units_like_other_ids(spark):
    frame = table().astype(float)[["a", "d", "y"]].assign(born=np.arange(N_ROWS) // 3)
    bounds = Bounds(features={"a": (-1.0, 1.0), "d": (-2.0, 0.5)}, target=(-1.0, 3.0))
    chosen = PrivateLinearRegression(2.0, 1e-6, bounds, unit="born", max_rows_per_unit=2, random_state=3)
    rows = spark.createDataFrame(frame).repartition(3)
    times = rows.withColumn("born", rows["born"].cast("timestamp"))
    report = chosen.fit(times, "y").privacy_report_
    assert (report.n_rows, report.rows_per_unit) == (N_ROWS, 2)
