"""Weighted rows give the same released values wherever they lie; the last feature of the tables is the weight."""

import numpy as np
import pytest
from engine_rows import pieces
from engine_rows import table as engine_table
from table_files import NAMES, TARGET, WRITERS, arrow_table, numbers, small_parts  # noqa: F401

from dpols import Bounds, CategoricalColumn, FeatureMap, NumericColumn, PrivateLinearRegression, read
from dpols.data.units import without_column
from dpols.errors import DataError, DataTypeError

pytest.importorskip("pyarrow")
pytestmark = pytest.mark.extras

WEIGHT, USED = NAMES[4], NAMES[:4]
RANGES = [(-2.0, 2.0), (-50.0, 50.0), (-2.0, 2.5), (-1.5, 1.5)]
BOUNDS = {
    "features": Bounds(features=dict(zip(USED, RANGES, strict=True)), target=(-2.0, 2.0)),
    "norm": Bounds(x_norm=30.0, target=(-2.0, 2.0)),
}
MAP = FeatureMap(
    {
        **{name: NumericColumn(*pair) for name, pair in zip(USED[:2], RANGES[:2], strict=True)},
        "kind": CategoricalColumn(("low", "high")),
    },
    target=(-2.0, 2.0),
)
every_bounds = pytest.mark.parametrize("bounds", BOUNDS)


def weighted_numbers():
    values = numbers()
    values[:, 4] = np.abs(values[:, 4])
    return values


def weighted_table():
    return arrow_table(weighted_numbers())


def model(bounds="features", **parameters):
    chosen = {"bounds": BOUNDS.get(bounds), "max_weight": 1.5, "random_state": 3} | parameters
    return PrivateLinearRegression(2.0, 1e-6, **chosen)


def bits(fitted):
    return np.array([*fitted.coef_, fitted.intercept_]).tobytes()


@every_bounds
def test_tables_and_arrays_in_memory_give_one_result(bounds):
    table, values = weighted_table(), weighted_numbers()
    expected = bits(model(bounds).fit(table, TARGET, sample_weight=WEIGHT))
    without = without_column(table, WEIGHT)
    polars = pytest.importorskip("polars")
    found = {
        "pandas": model(bounds).fit(table.to_pandas(), TARGET, sample_weight=WEIGHT),
        "polars": model(bounds).fit(polars.from_arrow(table), TARGET, sample_weight=WEIGHT),
        "stream": model(bounds).fit(polars.from_arrow(table).lazy(), TARGET, sample_weight=WEIGHT),
        "series": model(bounds).fit(without.to_pandas(), TARGET, sample_weight=table.to_pandas()[WEIGHT]),
        "list": model(bounds).fit(without, TARGET, sample_weight=values[:, 4].tolist()),
    }
    plain = Bounds(features=RANGES, target=(-2.0, 2.0)) if bounds == "features" else BOUNDS[bounds]
    found["array"] = (
        model(bounds=bounds).set_params(bounds=plain).fit(values[:, :4], values[:, 5], sample_weight=values[:, 4])
    )
    assert {name: bits(fit) == expected for name, fit in found.items()} == dict.fromkeys(found, True)
    assert bits(model(bounds).fit(without, TARGET)) != expected


@every_bounds
@pytest.mark.usefixtures("small_parts")
def test_files_give_the_values_of_the_same_rows_in_memory(tmp_path, bounds):
    table = weighted_table()
    expected = bits(model(bounds).fit(table, TARGET, sample_weight=WEIGHT))
    for kind, write in WRITERS.items():
        source = read(write(tmp_path, table), TARGET, NAMES[:-1])
        assert bits(model(bounds).fit(source, sample_weight=WEIGHT)) == expected, kind


@pytest.mark.usefixtures("small_parts")
def test_feature_maps_with_categories_give_one_result(tmp_path):
    pandas = weighted_table().to_pandas()
    pandas["kind"] = np.where(pandas["x2"] > 0.0, "high", "low")
    arrow = pytest.importorskip("pyarrow").Table.from_pandas(pandas)
    frame = pytest.importorskip("polars").from_arrow(arrow)
    chosen = {"bounds": None, "feature_map": MAP}
    expected = bits(model(**chosen).fit(pandas, TARGET, sample_weight=WEIGHT))
    for rows in (arrow, frame, frame.lazy()):
        assert bits(model(**chosen).fit(rows, TARGET, sample_weight=WEIGHT)) == expected
    assert bits(model(**chosen).fit(pandas, TARGET, sample_weight=pandas[WEIGHT].to_numpy())) == expected
    for kind in ("parquet", "csv"):
        source = read(WRITERS[kind](tmp_path, arrow), TARGET)
        assert bits(model(**chosen).fit(source, sample_weight=WEIGHT)) == expected, kind


def test_dask_gives_one_result_however_weights_are_passed():
    pytest.importorskip("dask.dataframe")
    import dask.array
    import dask.dataframe

    table, values = weighted_table().to_pandas(), weighted_numbers()
    expected = bits(model().fit(table, TARGET, sample_weight=WEIGHT))
    frame = dask.dataframe.from_pandas(table, npartitions=4)
    for rows, target, weights in (
        (frame, TARGET, WEIGHT),
        (frame[[*USED, TARGET]], TARGET, frame[WEIGHT]),
        (frame[[*USED, WEIGHT]], frame[TARGET], WEIGHT),
        (frame[[*USED]], frame[TARGET], frame[WEIGHT]),
    ):
        assert bits(model().fit(rows, target, sample_weight=weights)) == expected
    rows = dask.array.from_array(values[:, :4], chunks=(700, 2))
    plain = model().set_params(bounds=Bounds(features=RANGES, target=(-2.0, 2.0)))
    assert bits(plain.fit(rows, values[:, 5], sample_weight=values[:, 4])) == expected
    with pytest.raises(DataError, match="sample_weight must be the name of a column, or a Dask Series"):
        model().fit(frame, TARGET, sample_weight=values[:, 4])


def test_a_weighted_fit_on_an_engine_of_skewed_partitions():
    pytest.importorskip("dask.dataframe")
    import dask
    import dask.dataframe

    frame = engine_table().astype(float)
    bounds = Bounds(features={"a": (-1.0, 1.0), "d": (-2.0, 0.5)}, target=(-1.0, 3.0))
    chosen = PrivateLinearRegression(2.0, 1e-6, bounds, max_weight=20.0, random_state=3)
    expected = bits(chosen.fit(frame, "y", sample_weight="b"))
    lazy = dask.dataframe.from_delayed([dask.delayed(piece) for piece in pieces(frame)], meta=frame.iloc[:0])
    assert bits(chosen.fit(lazy, "y", sample_weight="b")) == expected


def test_weights_that_are_no_column_are_refused(tmp_path):
    table = weighted_table()
    path = WRITERS["parquet"](tmp_path, table)
    with pytest.raises(DataError, match="sample_weight='w' is not a column"):
        model("norm").fit(table, TARGET, sample_weight="w")
    with pytest.raises(DataError, match="sample_weight='w' is not a column"):
        model("norm").fit(read(path, TARGET), sample_weight="w")
    with pytest.raises(DataError, match="is also the target"):
        model("norm").fit(table, TARGET, sample_weight=TARGET)
    with pytest.raises(DataError, match="is also a feature"):
        model().fit(table, TARGET, sample_weight=USED[0])
    with pytest.raises(DataError, match="must be the name of a column where X is rows of files"):
        model().fit(read(path, TARGET), sample_weight=np.ones(3000))
    frame = pytest.importorskip("polars").from_arrow(table)
    with pytest.raises(DataError, match="must be the name of a column where X is a query"):
        model().fit(frame.lazy(), TARGET, sample_weight=np.ones(3000))
    text = table.to_pandas().assign(x4="heavy")
    with pytest.raises(DataTypeError, match="'x4'"):
        model().fit(text, TARGET, sample_weight=WEIGHT)
