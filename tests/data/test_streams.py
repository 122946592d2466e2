"""Queries and other Arrow streams: read anew in each pass, never collected; what can be read only once is refused."""

import numpy as np
import pytest
from table_files import FEATURES, TARGET, arrow_table, numbers

from dpols import Bounds, FeatureMap, NumericColumn, PrivateLinearRegression, transforms
from dpols.data import open_rows
from dpols.data.arrow_stream import StreamSource
from dpols.errors import DataError, DataTypeError

pyarrow = pytest.importorskip("pyarrow")
pytestmark = pytest.mark.extras

BOUNDS = Bounds(features=[(-2.0, 2.0), (-50.0, 50.0), (-2.0, 2.0), (-2.0, 2.0), (-2.0, 2.0)], target=(-2.0, 2.0))


def model(arithmetic="exact"):
    return PrivateLinearRegression(2.0, 1e-6, BOUNDS, arithmetic=arithmetic, random_state=3)


def duckdb_query():
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed: pip install duckdb")
    return duckdb.from_arrow(arrow_table())  # of the connection that duckdb keeps open itself


def ibis_query():
    ibis = pytest.importorskip("ibis", reason="ibis is not installed: pip install 'ibis-framework[duckdb]'")
    pytest.importorskip("duckdb", reason="ibis has no engine here: pip install duckdb")
    return ibis.memtable(arrow_table())


class Stream:
    """Any object with an Arrow stream; counts how often it is asked for one."""

    def __init__(self, *tables):
        self.tables, self.passes = tables, 0

    def __arrow_c_stream__(self, requested_schema=None):
        table = self.tables[min(self.passes, len(self.tables) - 1)]
        self.passes += 1
        return table.__arrow_c_stream__(requested_schema)

    @property
    def columns(self):
        return self.tables[0].column_names


def lazy_frame():
    frame = pytest.importorskip("polars").from_arrow(arrow_table()).lazy()
    if not hasattr(frame, "collect_batches"):
        pytest.skip("this polars does not give a lazy frame in batches")
    return frame


QUERIES = {
    "duckdb": duckdb_query,
    "ibis": ibis_query,
    "polars": lazy_frame,
    "any stream": lambda: Stream(arrow_table()),
}


@pytest.mark.parametrize("arithmetic", ["exact", "float"])
@pytest.mark.parametrize("kind", QUERIES)
def test_a_query_gives_the_values_of_its_rows_in_memory(kind, arithmetic):
    query = QUERIES[kind]()
    assert isinstance(open_rows(query, TARGET), StreamSource)
    expected, actual = model(arithmetic).fit(arrow_table(), TARGET), model(arithmetic).fit(query, TARGET)
    assert list(actual.feature_names_in_) == list(FEATURES)
    if arithmetic == "exact":
        assert actual.coef_.tobytes() == expected.coef_.tobytes()
        assert actual.privacy_report_.to_json() == expected.privacy_report_.to_json()
    else:
        np.testing.assert_allclose(actual.coef_, expected.coef_, rtol=1e-12, atol=1e-13)


def test_a_query_of_duckdb_selects_computes_and_filters():
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed: pip install duckdb")
    connection = duckdb.connect()
    connection.register("people", arrow_table())
    query = connection.sql("select x0, 2 * x1 as twice, x5 from people where x3 > 0")
    values = numbers()
    kept = values[values[:, 3] > 0]
    source = open_rows(query, "x5")
    assert (source.n_rows, source.columns) == (len(kept), ("x0", "twice"))
    sums = source.total(lambda features, target: (features.sum(axis=0), target.sum()))
    np.testing.assert_allclose(sums.values[0], [kept[:, 0].sum(), 2 * kept[:, 1].sum()], rtol=1e-12)
    np.testing.assert_allclose(sums.values[1], kept[:, 5].sum(), rtol=1e-12)


def test_a_query_that_fails_is_not_quoted():
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed: pip install duckdb")
    connection = duckdb.connect()
    connection.register("people", arrow_table())
    failing = connection.sql("select x0, x1, x2, x3, cast('SECRET' || x4 as double) as x4, x5 from people")
    with pytest.raises(DataError, match="Run it by itself") as caught:
        model().fit(failing, TARGET)
    assert "SECRET" not in str(caught.value)


def test_a_stream_is_asked_for_anew_in_each_pass():
    stream = Stream(arrow_table())
    fitted = model().set_params(method="ihm", options={"n_iterations": 3}).fit(stream, TARGET)
    assert fitted.privacy_report_.n_rows == 3000
    assert stream.passes == 1 + 3  # the rows are counted, then three gradients, the first with the Gram matrix


@pytest.mark.parametrize("later", [slice(0, 2999), slice(0, 0)], ids=["fewer rows", "none"])
def test_a_stream_that_changes_is_refused(later):
    whole = arrow_table()
    with pytest.raises(DataError, match="rows"):
        model("float").fit(Stream(whole, whole, whole.slice(later.start, later.stop)), TARGET)


def test_columns_of_a_stream_are_checked_before_any_pass():
    whole = arrow_table()
    text = whole.set_column(0, "x0", pyarrow.array(["SECRET"] * 3000))
    twice = pyarrow.Table.from_arrays([*whole.columns, whole.column("x0")], names=[*whole.column_names, "x0"])
    for table, target, words in ((text, TARGET, "'x0'"), (twice, TARGET, "unique"), (whole, "z", "'z'")):
        with pytest.raises((DataError, DataTypeError), match=words) as caught:
            model().fit(Stream(table), target)
        assert "SECRET" not in str(caught.value)
    with pytest.raises(DataError, match="name of a column"):
        model().fit(Stream(whole), np.zeros(3000))


def one_shot_reader(table):
    return pyarrow.RecordBatchReader.from_batches(table.schema, table.to_batches())


def dataset(table):
    from pyarrow import dataset

    return dataset.dataset(table)


ONE_SHOT = {
    "a reader": (one_shot_reader, "Parquet"),
    "a data set": (dataset, "Parquet"),
    "a scanner": (lambda table: dataset(table).scanner(), "Parquet"),
    "a generator": (lambda table: (batch for batch in table.to_batches()), "table"),
    "an iterator": (lambda table: iter(table.to_batches()), "table"),
}


@pytest.mark.parametrize("kind", ONE_SHOT)
@pytest.mark.parametrize("y", [TARGET, np.zeros(3000)], ids=["name", "values"])
def test_what_can_be_read_only_once_is_refused_with_the_remedy(kind, y):
    make, remedy = ONE_SHOT[kind]
    with pytest.raises(DataTypeError, match=remedy):
        model().fit(make(arrow_table()), y)


def test_a_table_of_spark_is_never_streamed():
    """Its stream would collect all rows on the driver, so that it must reach the source for Spark."""
    asked = []

    class DataFrame:
        columns = ("x0", TARGET)

        def __arrow_c_stream__(self, requested_schema=None):
            asked.append("stream")
            raise AssertionError

    DataFrame.__module__ = "pyspark.sql.classic.dataframe"
    with pytest.raises(Exception):  # noqa: B017, PT011 - whatever the source for Spark says of it
        open_rows(DataFrame(), TARGET)
    assert asked == []


@pytest.mark.parametrize("kind", QUERIES)
def test_a_feature_map_is_applied_to_a_query(kind):
    columns = {"x0": NumericColumn(-2, 2), "x1": NumericColumn(-50, 50, transform=transforms.Power(3))}
    made = FeatureMap(columns, target=(-2, 2))
    fits = [
        PrivateLinearRegression(2.0, 1e-6, feature_map=made, random_state=3).fit(rows, TARGET)
        for rows in (arrow_table(), QUERIES[kind]())
    ]
    assert fits[0].coef_.tobytes() == fits[1].coef_.tobytes()
    other = PrivateLinearRegression(2.0, 1e-6, feature_map=FeatureMap({"z": NumericColumn(0, 1)}, target=(0, 1)))
    with pytest.raises(DataError, match="no column 'z'"):
        other.fit(QUERIES[kind](), TARGET)


@pytest.mark.parametrize("kind", QUERIES)
def test_columns_of_a_query_that_bounds_do_not_name_are_left_out(kind):
    bounds = Bounds(features={"x2": (-2, 2), "x0": (-2, 2)}, target=(-2, 2))
    fits = [
        PrivateLinearRegression(2.0, 1e-6, bounds, random_state=3).fit(rows, TARGET)
        for rows in (arrow_table().select(["x0", "x2", TARGET]), QUERIES[kind]())
    ]
    assert fits[1].feature_names_in_.tolist() == ["x0", "x2"]
    assert fits[0].coef_.tobytes() == fits[1].coef_.tobytes()


def test_a_lazy_frame_is_never_collected(monkeypatch):
    polars = pytest.importorskip("polars")
    frame, rows = lazy_frame(), []
    collect = polars.LazyFrame.collect

    def watched(self, *args, **named):
        found = collect(self, *args, **named)
        rows.append(len(found))
        return found

    monkeypatch.setattr(polars.LazyFrame, "collect", watched)
    fitted = model().fit(frame, TARGET)
    assert set(rows) == {0}
    with pytest.raises(DataTypeError, match=r"pass X\.collect\(\)"):
        fitted.predict(frame)


@pytest.mark.parametrize("kind", QUERIES)
def test_predictions_of_a_query_are_refused_with_the_remedy(kind):
    query = QUERIES[kind]()
    fitted = model().fit(query, TARGET)
    with pytest.raises(DataTypeError, match=r"predictions are for rows in memory: pass (pyarrow.table\(X\)|X.collect)"):
        fitted.predict(query)
    rows = query.collect() if kind == "polars" else pyarrow.table(query)
    assert len(fitted.predict(rows.select(list(FEATURES)))) == len(numbers())
