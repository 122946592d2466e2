"""A missing cell of any kind counts as missing wherever rows come in, and a number of any size is a number."""

import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from dpols import (
    Bounds,
    CategoricalColumn,
    FeatureMap,
    NumericColumn,
    PrivateLinearRegression,
    PrivateLogisticRegression,
)
from dpols.data import open_rows
from dpols.data.memory import real_numbers
from dpols.data.missing import floats, is_missing
from dpols.data.unit_ids import unit_codes
from dpols.errors import BadRowsError, DataError, DataTypeError

pd = pytest.importorskip("pandas")
pytestmark = pytest.mark.extras

MISSING = {
    "None": None,
    "nan": np.nan,
    "NA": pd.NA,
    "NaT": pd.NaT,
    "numpy's NaT": np.datetime64("NaT"),
    "decimal nan": Decimal("NaN"),
    "decimal nan that signals": Decimal("sNaN"),
    "float32 nan": np.float32("nan"),
    "masked": np.ma.masked,
}
BEYOND = {"whole": 10**400, "negative": -(10**400), "fraction": Fraction(10**400, 3), "decimal": Decimal("1e400")}
BOUNDS = {"features": {"x": (-1, 1), "z": (-1, 1)}, "target": (-1, 1)}
PLACE = 5


def rows(n_rows=200):
    x, z = np.random.default_rng(0).uniform(-1, 1, (2, n_rows))
    return pd.DataFrame({"x": x, "z": z, "y": x})


def with_cell(column, cell):
    frame = rows()
    values = np.empty(len(frame), dtype=object)
    values[:] = frame[column].tolist()
    values[PLACE] = cell
    return frame.assign(**{column: pd.Series(values, dtype=object)})


def model(bad_rows, **options):
    options = options or {"bounds": Bounds(**BOUNDS)}
    return PrivateLinearRegression(1.0, 1e-6, method="adassp", bad_rows=bad_rows, random_state=0, **options)


MAP = {"feature_map": FeatureMap({"x": NumericColumn(-1, 1), "z": NumericColumn(-1, 1)}, target=(-1, 1))}
# Each takes a table, of which one cell may be odd, and fits.
WAYS = {
    "table and name": lambda frame, bad: model(bad).fit(frame, "y"),
    "table and series": lambda frame, bad: model(bad).fit(frame[["x", "z"]], frame["y"]),
    "table and list": lambda frame, bad: model(bad).fit(frame[["x", "z"]], frame["y"].tolist()),
    "arrays": lambda frame, bad: model(bad, bounds=Bounds(features=[(-1, 1)] * 2, target=(-1, 1))).fit(
        frame[["x", "z"]].to_numpy(), frame["y"].to_numpy()
    ),
    "map and name": lambda frame, bad: model(bad, **MAP).fit(frame, "y"),
    "map and series": lambda frame, bad: model(bad, **MAP).fit(frame, frame["y"]),
    "map and array": lambda frame, bad: model(bad, **MAP).fit(frame[["x", "z"]].to_numpy(), frame["y"]),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("column", ["x", "y"])
@pytest.mark.parametrize("way", WAYS)
def test_a_cell_that_is_no_finite_number_is_refused_or_its_row_counts_as_zeros(way, column):
    with_nan = WAYS[way](with_cell(column, None), "zero").coef_.tolist()
    for cell in [*MISSING.values(), *BEYOND.values()]:
        assert WAYS[way](with_cell(column, cell), "zero").coef_.tolist() == with_nan
        with pytest.raises(BadRowsError):
            WAYS[way](with_cell(column, cell), "raise")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "cell", [np.ma.masked, np.ma.array(0.5, mask=True)], ids=["masked", "an array of no dimension"]
)
def test_a_masked_cell_of_a_list_is_missing_without_a_word(cell):
    for rows, target in (([[0.5], [cell]], [0.5, 0.5]), ([[0.5], [0.5]], [0.5, cell])):
        with pytest.raises(BadRowsError):
            model("raise", bounds=Bounds(features=[(0, 1)], target=(0, 1))).fit(rows, target)


COMPLEX = [1j, np.complex128(1), np.complex64(1), np.clongdouble(1), complex("nan"), np.array(np.complex64(1))]


@pytest.mark.parametrize("cell", COMPLEX)
def test_a_complex_number_is_no_number_and_nothing_tells_of_it(cell):
    rows = np.empty((2, 1), dtype=object)
    rows[:, 0] = [0.5, cell]
    declared = FeatureMap({"x": CategoricalColumn([1, 2]), "z": NumericColumn(-1, 1)}, target=(-1, 1))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")  # as an error, it would be refused for being one
        for values in (rows, rows.tolist()):
            with pytest.raises((DataError, DataTypeError)):
                model("zero", bounds=Bounds(features=[(0, 1)], target=(0, 1))).fit(values, [0.5, 0.5])
        if not is_missing(cell):
            with pytest.raises(DataTypeError, match="has cells of type"):
                model("zero", feature_map=declared).fit(with_cell("x", cell), "y")
    assert [str(one.message) for one in told if "omplex" in str(one.message)] == []


class Quoting:
    """A cell that says what it is wherever it is used."""

    def _raised(self, *_):
        raise RuntimeError("SECRET")

    __float__ = __eq__ = __ne__ = __lt__ = __hash__ = __repr__ = _raised


def test_what_a_cell_raises_is_not_passed_on():
    ids, categories = rows().assign(id=1), {"x": CategoricalColumn([1, 2]), "z": NumericColumn(-1, 1)}
    ids["id"] = with_cell("x", Quoting())["x"]
    fits = [
        lambda: model("zero").fit(with_cell("x", Quoting()), "y"),
        lambda: model("zero").fit(with_cell("y", Quoting()), "y"),
        lambda: model("zero", **MAP).fit(with_cell("x", Quoting()), "y"),
        lambda: model("zero", feature_map=FeatureMap(categories, target=(-1, 1))).fit(with_cell("x", Quoting()), "y"),
        lambda: model("zero", bounds=Bounds(**BOUNDS), unit="id", max_rows_per_unit=2).fit(ids, "y"),
        lambda: PrivateLogisticRegression(1.0, 1e-6, model("zero").bounds).fit(rows()[["x", "z"]], [Quoting()] * 200),
    ]
    for fit in fits:
        with pytest.raises((DataError, DataTypeError)) as caught:
            fit()
        assert "SECRET" not in str(caught.value)
        assert caught.value.__cause__ is None


@pytest.mark.parametrize("cell", list(MISSING.values())[:-1], ids=list(MISSING)[:-1])
def test_every_missing_cell_is_missing(cell):
    assert is_missing(cell)
    assert np.isnan(floats([cell])).all()
    categories = FeatureMap(
        {"c": CategoricalColumn(["a", "b"]), "d": CategoricalColumn([1, 2], missing=2), "v": NumericColumn(0, 1, 0.5)}
    )
    values = np.array([["b", 1, 1.0], [None, None, None]], dtype=object)
    first, last = categories.transform(values)
    values[1] = cell
    table = pd.DataFrame(values, columns=["c", "d", "v"])
    for block in (values, values.tolist(), table):
        np.testing.assert_array_equal(categories.transform(block), [first, last])
    only = FeatureMap({"d": CategoricalColumn([1, 2], missing=2), "v": NumericColumn(0, 1, 0.5)})
    np.testing.assert_array_equal(only.transform(table), [[0, 1], [1, 0.5]])
    ids = np.array(["a", "b", cell, "a"], dtype=object)
    for given in (ids, ids.tolist(), pd.Series(ids, dtype=object)):
        assert unit_codes(given)[2] == -1
        assert unit_codes(given)[0] == unit_codes(given)[3] >= 0


@pytest.mark.parametrize("cell", [10**5000, -(10**5000), Fraction(10**400, 7)], ids=["whole", "negative", "fraction"])
def test_a_number_beyond_doubles_is_none_of_the_categories(cell):
    declared = FeatureMap({"c": CategoricalColumn(["a", "b"], unknown="other"), "d": CategoricalColumn([1, 2])})
    values = np.array([["b", 2], [cell, cell]], dtype=object)
    for block in (values, pd.DataFrame(values, columns=["c", "d"])):
        np.testing.assert_array_equal(declared.transform(block), [[1, 0, 1], [0, 1, 0]])


@pytest.mark.parametrize("cell", [0.0, 1, "", "nan", "NA", True, Decimal(1), (), [None], np.array([np.nan, 1.0]), {}])
def test_other_cells_are_not_missing(cell):
    assert not is_missing(cell)


@pytest.mark.filterwarnings("ignore:.*:dpols.errors.NotPrivateWarning", "ignore:X does not have valid feature names")
@pytest.mark.parametrize("options", [MAP, {}], ids=["map", "plain"])
def test_predictions_and_scores_for_missing_cells_are_refused_in_one_way(options):
    fitted = model("raise", **options).fit(rows(), "y")
    good, y = rows()[["x", "z"]], rows()["y"]
    for name, cell in [*MISSING.items(), *BEYOND.items()]:
        frame, targets = with_cell("x", cell)[["x", "z"]], with_cell("y", cell)["y"]
        for block in [frame] if name == "masked" else [frame, frame.to_numpy(), frame.to_numpy().tolist()]:
            with pytest.raises(
                DataError,
                match=r"X has missing or infinite values; a prediction needs every.*Leave such rows out, or fill",
            ):
                fitted.predict(block)
            with pytest.raises(DataError, match="X has missing or infinite values; a prediction needs every"):
                fitted.score(block, y)
        with pytest.raises(DataError, match="y has missing or infinite values; a score needs the target of every row"):
            fitted.score(good, targets)
    assert np.isfinite(fitted.score(good, y))


def test_numbers_beyond_doubles_are_infinite():
    assert floats(BEYOND.values()).tolist() == [np.inf, -np.inf, np.inf, np.inf]


@pytest.mark.parametrize("cell", ["a", "", 1j, [1.0], pd.Timestamp(0), object()])
def test_what_is_no_number_is_refused(cell):
    with pytest.raises((DataError, DataTypeError), match="numbers"):
        WAYS["table and name"](with_cell("x", cell), "zero")
    with pytest.raises((DataError, DataTypeError), match="numbers"):
        WAYS["map and name"](with_cell("x", cell), "zero")


def test_a_column_of_which_all_cells_are_missing_is_one_of_numbers():
    """Otherwise one row with a number would decide whether the table of all others is refused."""
    pa, pl = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    for table in (pa.table({"x": [None] * 3, "y": [1.0] * 3}), pl.DataFrame({"x": [None] * 3, "y": [1.0] * 3})):
        features, target = open_rows(table, "y").block(slice(0, 3))
        assert np.isnan(features).all()
        assert target.tolist() == [1.0] * 3


def test_text_in_a_list_leaves_the_other_cells_as_they_are():
    small = np.float16(0.1)
    assert real_numbers([[small], ["0.5"]], "X")[0] == real_numbers([[small], [0.5]], "X")[0]
    assert real_numbers([[True], ["0.5"]], "X").tolist() == [[1.0], [0.5]]
