"""The same rows give the same released values wherever they lie: bits in exact arithmetic, 1e-12 in floating point."""

from dataclasses import replace

import numpy as np
import pytest
from table_files import FEATURES, NAMES, TARGET, WRITERS, arrow_table, numbers, small_parts  # noqa: F401

from dpols import Bounds, PrivateLinearRegression, read, release_sketch
from dpols.data import row_numbers, rows
from dpols.data.fixed_point import FixedPointSpan

pytest.importorskip("pyarrow")
pytestmark = pytest.mark.extras

INTERVALS = [(-2.0, 2.0), (-50.0, 50.0), (-2.0, 2.5), (-1.5, 1.5), (-2.0, 2.0)]
BOUNDS = {
    "features": Bounds(features=INTERVALS, target=(-2.0, 2.0)),
    "norm": Bounds(features=INTERVALS, x_norm=1.1, target=(-2.0, 2.0)),
}
every_arithmetic = pytest.mark.parametrize("arithmetic", ["exact", "float"])


def model(arithmetic, method="ihm", bounds="features"):
    options = {"n_iterations": 10} if method == "dp-gd" else {}  # as each is one more pass over a file
    return PrivateLinearRegression(
        2.0, 1e-6, BOUNDS[bounds], method=method, arithmetic=arithmetic, options=options, random_state=3
    )


def released(fitted):
    return np.array([*fitted.coef_, fitted.intercept_])


def assert_same(fitted, expected, arithmetic):
    if arithmetic == "exact":
        assert released(fitted).tobytes() == released(expected).tobytes()
        named = replace(fitted.privacy_report_, target_name=TARGET, table_name=None)  # arrays have no name, files do
        assert named.to_json() == expected.privacy_report_.to_json()
    else:
        scale = np.abs(released(expected)).max()
        np.testing.assert_allclose(released(fitted), released(expected), rtol=0, atol=1e-12 * scale)


IN_MEMORY = {
    "numpy": lambda table: (numbers()[:, :-1], numbers()[:, -1]),
    "numpy by columns": lambda table: (np.asfortranarray(numbers()[:, :-1]), numbers()[:, -1]),
    "pandas": lambda table: (table.to_pandas(), TARGET),
    "polars": lambda table: (pytest.importorskip("polars").from_arrow(table), TARGET),
    "pyarrow": lambda table: (table, TARGET),
}


@pytest.mark.parametrize(("cells", "once"), [(6 * 3000, True), (6 * 3000 - 1, False)])
def test_a_file_that_fits_into_memory_is_read_once(tmp_path, monkeypatch, cells, once):
    monkeypatch.setattr(rows, "_ROUNDED_CELLS", cells)
    passes = set()
    table = arrow_table()
    path = WRITERS["parquet"](tmp_path, table)
    source = read(path, TARGET, FEATURES, progress=lambda number, *_: passes.add(number))
    fit = model("exact", "whitened").fit(source)
    assert (len(passes) == 1) == once
    assert_same(fit, model("exact", "whitened").fit(table, TARGET), "exact")


@pytest.mark.parametrize("most", [3000, 2999])
def test_numbers_beside_the_rows_of_files_are_kept_up_to_a_limit(tmp_path, monkeypatch, most):
    monkeypatch.setattr(rows, "_ROUNDED_CELLS", 0)
    monkeypatch.setattr(row_numbers, "_MOST_ROWS", most)
    table, computed = arrow_table(), []
    own = FixedPointSpan.lengths

    def counted(span, *args):
        computed.append(len(span.target))
        return own(span, *args)

    monkeypatch.setattr(FixedPointSpan, "lengths", counted)
    source = read(WRITERS["parquet"](tmp_path, table), TARGET, FEATURES)
    fit = model("exact", "whitened").fit(source)
    times = sum(computed) / 3000
    assert times == 3.0 if most == 3000 else times > 3.0, "once for each of three metrics"
    assert_same(fit, model("exact", "whitened").fit(table, TARGET), "exact")


@every_arithmetic
@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("method", ["ihm", "whitened", "adassp", "dp-gd"])
@pytest.mark.usefixtures("small_parts")
def test_files_give_the_values_of_the_same_rows_in_memory(tmp_path, method, bounds, arithmetic):
    table = arrow_table()
    expected = model(arithmetic, method, bounds).fit(table, TARGET)
    kinds = WRITERS if method == "ihm" else ("parquet folder", "csv")
    for kind in kinds:
        source = read(WRITERS[kind](tmp_path, table), TARGET, FEATURES)
        assert len(source.tasks) > 1 or kind == "arrow"  # written as one batch
        assert source.n_rows == len(table)
        assert_same(model(arithmetic, method, bounds).fit(source), expected, arithmetic)


@every_arithmetic
@pytest.mark.parametrize("kind", IN_MEMORY)
def test_tables_and_arrays_in_memory_give_the_same_values(kind, arithmetic):
    table = arrow_table()
    expected = model(arithmetic).fit(table, TARGET)
    assert_same(model(arithmetic).fit(*IN_MEMORY[kind](table)), expected, arithmetic)


@every_arithmetic
@pytest.mark.parametrize("kind", ["parquet", "csv", "npy"])
def test_parts_of_the_usual_size_give_the_same_values(tmp_path, kind, arithmetic):
    table = arrow_table()
    source = read(WRITERS[kind](tmp_path, table), TARGET)
    assert len(source.tasks) == 1
    assert_same(model(arithmetic).fit(source), model(arithmetic).fit(table, TARGET), arithmetic)


@pytest.mark.parametrize("kind", ["parquet", "csv", "feather"])
def test_single_precision_and_whole_numbers_give_the_values_of_the_same_doubles(tmp_path, kind):
    pyarrow = pytest.importorskip("pyarrow")
    values = np.rint(4.0 * numbers()) / 4.0
    kinds = [pyarrow.float32()] * 6 if kind == "feather" else [pyarrow.float32(), pyarrow.int16(), *["float64"] * 4]
    schema = pyarrow.schema(list(zip(NAMES, kinds, strict=True)))
    source = read(WRITERS[kind](tmp_path, arrow_table(values).cast(schema)), TARGET)
    assert_same(model("exact").fit(source), model("exact").fit(arrow_table(values), TARGET), "exact")


@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.usefixtures("small_parts")
def test_missing_values_are_bad_rows_wherever_they_lie(tmp_path, kind):
    pyarrow = pytest.importorskip("pyarrow")
    values = numbers()
    holes = pyarrow.array([None if i in (5, 2900) else float(v) for i, v in enumerate(values[:, 2])])
    table = arrow_table(values).set_column(2, "x2", holes)
    source = read(WRITERS[kind](tmp_path, table), TARGET)
    with pytest.raises(ValueError, match="Input contains NaN or infinity, and"):
        model("exact").fit(source)
    lenient = [model("exact").set_params(bad_rows="zero").fit(*data) for data in ((source,), (table, TARGET))]
    assert_same(*lenient, "exact")


@pytest.mark.parametrize("kind", ["parquet", "npy"])
def test_a_sketch_of_a_file_is_that_of_the_table(tmp_path, kind):
    table = arrow_table()
    bounds = Bounds(features=dict(zip(NAMES, [*INTERVALS, (-2.0, 2.0)], strict=True)))
    source = read(WRITERS[kind](tmp_path, table))
    choices = {"epsilon": 2.0, "delta": 1e-6, "rows": 40, "bounds": bounds, "random_state": 1}
    of_file, of_table = (release_sketch(data, **choices).rows_ for data in (source, table))
    assert of_file.tobytes() == of_table.tobytes()
    with pytest.raises(ValueError, match="target"):
        release_sketch(read(source.path, TARGET), **choices)
