"""Bounds from reference tables, from files and, unsafely, from the data: what they are, and what the report says."""

import copy
import math
import pickle
import re
from fractions import Fraction

import numpy as np
import pytest

from dpols import (
    Bounds,
    CategoricalColumn,
    Constraints,
    FeatureMap,
    NumericColumn,
    PaidBounds,
    PrivateGridSearch,
    PrivateLinearRegression,
    PrivateLogisticRegression,
)
from dpols.errors import BoundsError
from dpols.feature_map import Factor
from dpols.report import PrivacyReport


def rows(n=500, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform((0.0, -5.0), (10.0, 5.0), (n, 2))
    return X, X @ (1.0, 2.0) + rng.normal(0.0, 0.1, n)


def test_a_reference_gives_its_ranges_with_a_margin():
    X, y = rows()
    bounds = Bounds.from_reference(X, target=y, margin=0.25)
    for (low, high), column in zip([*bounds.features, bounds.target], [*X.T, y], strict=True):
        width = column.max() - column.min()
        np.testing.assert_allclose((low, high), (column.min() - 0.25 * width, column.max() + 0.25 * width))
    assert bounds.origin == "reference"
    assert Bounds.from_reference(X).target is None


def test_missing_values_of_a_reference_are_passed_over():
    X, y = rows()
    X[3, 0], y[5] = np.nan, np.inf
    bounds = Bounds.from_reference(X, target=y, margin=0.0)
    np.testing.assert_allclose(bounds.features[0], (np.nanmin(X[:, 0]), np.nanmax(X[:, 0])))


@pytest.mark.extras
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_table_gives_bounds_by_name_and_the_order_of_blocks_is_no_matter(library):
    module = pytest.importorskip(library)
    rng = np.random.default_rng(1)
    columns = {"a": rng.normal(size=40_000), "b": rng.normal(size=40_000), "y": rng.normal(size=40_000)}
    table = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
    bounds = Bounds.from_reference(table, target="y", margin=0.0)
    assert bounds.features == {name: (columns[name].min(), columns[name].max()) for name in ("a", "b")}
    assert bounds.target == (columns["y"].min(), columns["y"].max())


def test_a_constant_column_of_a_reference_is_named():
    X, y = rows()
    X[:, 1] = 7.0
    with pytest.raises(BoundsError, match="column '1' is constant"):
        Bounds.from_reference(X, target=y)
    with pytest.raises(BoundsError, match="margin=-1"):
        Bounds.from_reference(X, target=y, margin=-1)


def test_bounds_are_not_read_from_the_data_unless_that_is_called_unsafe():
    X, y = rows()
    for asked in ({}, {"unsafe_from_data": False}, {"unsafe_from_data": 1}):
        with pytest.raises(BoundsError, match="unsafe_from_data=True"):
            Bounds.from_data(X, target=y, **asked)


def test_a_fit_with_bounds_from_the_data_says_so_in_the_first_line():
    X, y = rows()
    bounds = Bounds.from_data(X, target=y, unsafe_from_data=True)
    assert bounds.target == (y.min(), y.max())
    report = PrivateLinearRegression(1.0, 1e-6, bounds).fit(X, y).privacy_report_
    assert report.private is False
    assert report.to_text().splitlines()[0].startswith("NOT PRIVATE: the bounds were read from the data")
    assert report.to_dict()["private"] is False
    assert PrivacyReport.from_dict(report.to_dict()) == report
    assert "NOT PRIVATE" in report.to_markdown()
    assert "NOT PRIVATE" in report.to_html()
    seeded = PrivateLinearRegression(1.0, 1e-6, bounds, random_state=0).fit(X, y).privacy_report_
    assert re.match("NOT PRIVATE: random_state .* Also, the bounds were read", " ".join(seeded.to_text().split()))


def test_where_bounds_come_from_is_in_the_report():
    X, y = rows()
    declared = Bounds(features=[(0, 10), (-5, 5)], target=(-20, 20))
    for bounds, said in (
        (declared, "Declared bounds"),
        (Bounds.from_reference(*rows(seed=1)[:1], target=rows(seed=1)[1]), "a table that was declared to be public"),
    ):
        report = PrivateLinearRegression(1.0, 1e-6, bounds).fit(X, y).privacy_report_
        assert report.private
        assert said in report.to_text()
        assert said in report.to_html()


def write(tmp_path, text):
    path = tmp_path / "bounds.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_table_of_bounds_is_read(tmp_path):
    path = write(tmp_path, "column,low,high,comment\nage,18,90,years\ncost,0,2.5e4,\nbmi,15,50,\n")
    expected = {"age": (18.0, 90.0), "bmi": (15.0, 50.0)}
    assert Bounds.from_file(path, target="cost") == Bounds(features=expected, target=(0.0, 25000.0))
    path = write(tmp_path, "\ufeffhigh,column,low\n1,target,0\n2,a,1\n")
    assert Bounds.from_file(path) == Bounds(features={"a": (1.0, 2.0)}, target=(0.0, 1.0))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no column 'column'"),
        ("column,low\na,1\n", "no column 'high'"),
        ("column,low,high\na,1,2\n", "no row for the target 'y'"),
        ("column,low,high\ny,1,2\n", "no feature"),
        ("column,low,high\ny,1,2\na,1,\n", "line 3: high='' must be a number"),
        ("column,low,high\ny,1,2\na,x,2\n", "line 3: low='x' must be a number"),
        ("column,low,high\ny,1,2\na,3,2\n", "line 3: low must be less than high"),
        ("column,low,high\ny,1,2\na,1,2\na,1,2\n", "line 4: 'a' must be a column's name, once each"),
        ("column,low,high\ny,1,2\na,nan,2\n", "line 3: low must be less"),
        ("column,low,high\ny,1,2\na,-inf,2\n", "must be finite"),
    ],
)
def test_what_is_wrong_in_a_table_of_bounds_is_named(tmp_path, text, message):
    with pytest.raises(BoundsError, match=message):
        Bounds.from_file(write(tmp_path, text), target="y")


def test_a_file_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "bounds.csv").write_bytes(b"column,low,high\n\xff\xfe,1,2\n")
    with pytest.raises(BoundsError, match="not a CSV file in UTF-8"):
        Bounds.from_file(tmp_path / "bounds.csv")


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        (Bounds(features=[(0, 10), (-5, 5)], target=(-20, 30)), "Declared bounds are public knowledge"),
        (Bounds.from_reference(rows(seed=1)[0], target=rows(seed=1)[1]), "is public, and is no part of the data"),
        (PaidBounds(), "private quantiles that this fit paid for"),
        (Bounds.from_data(rows()[0], target=rows()[1], unsafe_from_data=True), "voids the guarantee"),
    ],
)
def test_a_page_says_what_its_bounds_rest_on(bounds, words):
    page = PrivateLinearRegression(1.0, 1e-6, bounds).fit(*rows()).privacy_report_.to_markdown()
    assert words in page
    assert ("Declared bounds" in page) is (bounds == Bounds(features=[(0, 10), (-5, 5)], target=(-20, 30)))


READ = Bounds.from_data(np.array([[0.0], [9.7]]), target=np.array([0.0, 1.0]), unsafe_from_data=True)
LOW, HIGH = READ.features[0]
COMPUTED = {
    "floor": lambda: math.floor(HIGH),
    "ceil": lambda: math.ceil(HIGH),
    "trunc": lambda: math.trunc(HIGH),
    "round": lambda: round(HIGH),
    "round to a digit": lambda: round(HIGH, 1),
    "plus": lambda: +HIGH,
    "whole part": lambda: HIGH // 1,
    "remainder": lambda: HIGH % 100,
    "power": lambda: HIGH**2,
    "divided by it": lambda: 100 // HIGH,
    "remainder by it": lambda: 100 % HIGH,
    "power of a constant": lambda: 2**HIGH,
    "whole part with remainder": lambda: divmod(HIGH, 1)[0],
    "numpy's ceil": lambda: np.ceil(HIGH),
    "numpy's larger one": lambda: np.maximum(3.0, HIGH),
    "a number of numpy plus": lambda: np.float64(1.0) + HIGH,
    "numpy's round": lambda: np.round(HIGH, 1),
    "numpy's clip": lambda: np.clip(HIGH, 0.0, 100.0),
    "a narrow number of numpy times": lambda: np.float32(1.5) * HIGH,
    "times a narrow number of numpy": lambda: HIGH * np.float16(1.5),
    "a wide number of numpy": lambda: HIGH + np.longdouble(0.5),
    "plus a fraction": lambda: HIGH + Fraction(1, 2),
    "a fraction times": lambda: Fraction(1, 2) * HIGH,
    "whole part of a constant": lambda: divmod(100, HIGH)[0],
    "numpy's whole part with remainder": lambda: np.divmod(HIGH, 2.0)[0],
    "numpy's parts": lambda: np.modf(HIGH)[1],
    "its real part": lambda: HIGH.real,
    "its conjugate": lambda: HIGH.conjugate(),
}


def test_arrays_are_computed_with_the_plain_number():
    assert (np.array([1.0, 2.0]) * HIGH).tolist() == (np.array([1.0, 2.0]) * float(HIGH)).tolist()
    assert np.add.reduce([HIGH, HIGH]) == 2 * float(HIGH)
    assert np.clip([1.0, 20.0], 0.0, HIGH).tolist() == [1.0, float(HIGH)]
    assert type(np.isnan(HIGH)) is np.bool_
    assert type(HIGH > 3) is bool


@pytest.mark.parametrize("name", COMPUTED)
def test_what_is_computed_from_the_data_stays_marked(name):
    high = COMPUTED[name]()
    assert Bounds(features={"x": (-1, high)}).origin == "data"
    assert Bounds(features={"x": (-1, float(high))}).origin == "declared"


@pytest.mark.parametrize("value", [LOW, HIGH], ids=["zero", "not zero"])
def test_replacements_and_origins_read_from_the_data_mark_a_feature_map(value):
    replaced = FeatureMap({"x": NumericColumn(0, 10, missing=value)}, target=(0, 1))
    shifted = FeatureMap({"x": NumericColumn(0, 10)}, [Factor("x", 2, origin=value)], target=(0, 1))
    for marked in (replaced, shifted):
        assert marked.origin == marked.bounds().origin == "data"
        assert FeatureMap.from_dict(marked.to_dict()).origin == "data"


def test_declared_ranges_cannot_be_changed():
    bounds = Bounds(features={"x": (0, 1)}, target=(0, 1))
    for each in (bounds, copy.deepcopy(bounds), pickle.loads(pickle.dumps(bounds))):
        assert each == bounds
        with pytest.raises(TypeError, match="cannot be changed"):
            each.features["x"] = (LOW, HIGH)
        with pytest.raises(TypeError, match="cannot be changed"):
            each.features.update(x=(LOW, HIGH))


def test_norms_of_bounds_from_the_data_stay_marked():
    read = Bounds(x_norm=3.0, y_abs=2.0, origin="data")
    assert Bounds(x_norm=read.x_norm, y_abs=1.0).origin == "data"
    assert Bounds(x_norm=1.0, y_abs=read.y_abs).origin == "data"


def test_a_range_of_the_data_marks_a_map_whose_terms_do_not_use_it():
    made = FeatureMap({"x": NumericColumn(LOW, HIGH), "z": NumericColumn(0, 1)}, ["z"], target=(0, 1))
    again = FeatureMap.from_dict(made.to_dict())
    assert made.origin == again.origin == again.plus("x").origin == "data"


def test_the_range_of_a_loaded_model_stays_marked(tmp_path):
    X = np.linspace(0.0, 1.0, 200)[:, None]
    bounds = Bounds.from_data(X, target=X[:, 0], unsafe_from_data=True)
    PrivateLinearRegression(1.0, 1e-6, bounds).fit(X, X[:, 0]).save(tmp_path / "model.json")
    loaded = PrivateLinearRegression.load(tmp_path / "model.json")
    assert Bounds(features=[(0, 1)], target=loaded.target_range_).origin == "data"


LIMITS = {
    "the largest weight": lambda top: {"max_weight": top},
    "a limit of all slopes": lambda top: {"constraints": Constraints(upper=top)},
    "a limit of some slope": lambda top: {"constraints": Constraints(lower=[None, -top])},
    "a limit by name": lambda top: {"constraints": Constraints(upper={"x0": top})},
    "the norm of slopes": lambda top: {"constraints": Constraints(norm=top)},
}


@pytest.mark.parametrize("limit", LIMITS.values(), ids=LIMITS)
def test_other_limits_read_from_the_data_mark_a_fit_and_a_search(limit):
    X, y = rows()
    declared, weights = Bounds(features=[(0, 10), (-5, 5)], target=(-15, 25)), np.ones(len(y))
    top = Bounds.from_data(X, target=y, unsafe_from_data=True).target[1]
    for number, origin in ((top, "data"), (float(top), "declared")):
        model = PrivateLinearRegression(3.0, 1e-6, declared, **{"max_weight": 2.0} | limit(number))
        assert model.fit(X, y, sample_weight=weights).privacy_report_.bounds_origin == origin
        search = PrivateGridSearch(model, {"fit_intercept": [True, False]}, epsilon=3.0, delta=1e-6)
        report = search.fit(X, y, sample_weight=weights).search_report_
        assert (report.bounds_origin, report.private) == (origin, origin == "declared")


def test_rows_per_unit_and_labels_read_from_the_data_mark_a_fit():
    X, y = rows()
    bounds, people = Bounds(features=[(0, 10), (-5, 5)], target=(-15, 25)), np.arange(len(y)) // 2
    most = Bounds.from_data(np.array([[1.0], [2.0]]), unsafe_from_data=True).features[0][1]
    labels = Bounds.from_data(X, target=np.where(y > 5, 7.0, 3.0), unsafe_from_data=True).target
    for mark, origin in ((lambda number: number, "data"), (float, "declared")):
        model = PrivateLinearRegression(3.0, 1e-6, bounds, max_rows_per_unit=mark(most)).fit(X, y, groups=people)
        assert model.privacy_report_.bounds_origin == origin
        yes = PrivateLogisticRegression(3.0, 1e-6, Bounds(features=bounds.features), classes=tuple(map(mark, labels)))
        report = yes.fit(X, np.where(y > 5, 7.0, 3.0)).privacy_report_
        assert report.private == (origin == "declared")
        assert ("the labels of the target were found in the data" in str(report)) == (origin == "data")


def test_a_category_read_from_the_data_is_refused():
    with pytest.raises(BoundsError, match="one of them was read from the data"):
        CategoricalColumn([0, HIGH])


def test_what_holds_numbers_of_the_data_says_so_where_it_is_shown():
    of_data = FeatureMap({"x": NumericColumn(LOW, HIGH)}, target=(0, 1)), PaidBounds(features=[(LOW, HIGH)])
    declared = FeatureMap({"x": NumericColumn(0, 9.7)}, target=(0, 1)), PaidBounds(features=[(0, 9.7)])
    for marked, plain in zip(of_data, declared, strict=True):
        assert repr(marked) == repr(plain)[:-1] + ", origin='data')"
    assert PaidBounds(share=HIGH / 100).origin == "data"


@pytest.mark.parametrize(
    "asked",
    [
        lambda top: {"method": "dp-gd", "options": {"norm_bound": top / 25}},
        lambda top: {"method": "ihm", "options": {"residual_bound": top}},
        lambda top: {"epsilon": top / 25},
    ],
)
def test_options_read_from_the_data_mark_a_fit(asked):
    X, y = rows()
    top = Bounds.from_data(X, target=y, unsafe_from_data=True).target[1]
    for number, origin in ((top, "data"), (float(top), "declared")):
        parameters = {"epsilon": 3.0, "delta": 1e-6, "bounds": Bounds(features=[(0, 10), (-5, 5)], target=(-15, 25))}
        model = PrivateLinearRegression(**parameters | asked(number)).fit(X, y)
        assert model.privacy_report_.bounds_origin == origin
