"""What cannot be used is refused by name, before a single random bit is drawn; what is merely odd is fitted."""

import math
import re

import numpy as np
import pytest
import scipy.sparse

from dpols import (
    Bounds,
    Factor,
    FeatureMap,
    NumericColumn,
    PaidBounds,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivatePoissonRegressor,
    plan_accuracy,
    randomness,
    release_sketch,
    transforms,
)
from dpols.errors import (
    BoundsError,
    BudgetExceeded,
    CalibrationError,
    DataError,
    DataTypeError,
    DpolsError,
    ParameterError,
)

NORMS = Bounds(x_norm=1.0, y_abs=1.0)
RANGES = Bounds(features=[(-1.0, 1.0)] * 3, target=(-1.0, 2.0))


def table(n_rows=60, n_features=3):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (n_rows, n_features))
    return X, 0.3 * X.sum(axis=1)


def model(**changes):
    return PrivateLinearRegression(**({"epsilon": 1.0, "delta": 1e-6, "bounds": NORMS, "random_state": 0} | changes))


class BitsDrawn(BaseException):
    """Not an Exception, so that no test takes it for a refusal."""


@pytest.fixture
def no_bits(monkeypatch):
    """Fail where random bits are drawn."""

    def drawn(*_):
        raise BitsDrawn

    for source in (randomness.SystemBits, randomness.SeededBits):
        monkeypatch.setattr(source, "words", drawn)


@pytest.mark.usefixtures("no_bits")
@pytest.mark.parametrize("random_state", [None, 0])
@pytest.mark.parametrize("arithmetic", ["float", "exact"])
def test_good_input_draws_bits(random_state, arithmetic):
    with pytest.raises(BitsDrawn):
        model(random_state=random_state, arithmetic=arithmetic).fit(*table())


def with_cell(value, *, column):
    X, y = table()
    if column == "y":
        y[17] = value
    else:
        X[17, column] = value
    return X, y


ROWS = {
    "nan": (lambda: with_cell(np.nan, column=1), DataError, "Input contains NaN or infinity, and.*bad_rows='zero'"),
    "infinity": (lambda: with_cell(np.inf, column=2), DataError, "Input contains NaN or infinity, and"),
    "minus infinity": (lambda: with_cell(-np.inf, column=0), DataError, "Input contains NaN or infinity, and"),
    "nan target": (lambda: with_cell(np.nan, column="y"), DataError, "Input contains NaN or infinity, and"),
    "infinite target": (lambda: with_cell(np.inf, column="y"), DataError, "Input contains NaN or infinity, and"),
    "float32 nan": (lambda: (with_cell(np.nan, column=1)[0].astype(np.float32), table()[1]), DataError, "NaN"),
    "one-dimensional X": (lambda: (table()[0][:, 0], table()[1]), DataError, "Expected 2D array, got 1D.*X must have"),
    "three-dimensional X": (lambda: (table()[0][None], table()[1]), ValueError, "dim 3"),
    "scalar X": (lambda: (3.0, table()[1]), DataError, "Expected 2D array, got 0D"),
    "no X": (lambda: (None, table()[1]), DataError, "Expected 2D array|X must hold"),
    "complex X": (lambda: (table()[0] + 1j, table()[1]), DataError, "Complex data not supported: X"),
    "complex y": (lambda: (table()[0], table()[1] + 1j), DataError, "Complex data not supported: y"),
    "sparse X": (lambda: (scipy.sparse.csr_matrix(table()[0]), table()[1]), TypeError, "Sparse data was passed for X"),
    "words in X": (lambda: (np.full((60, 3), "word"), table()[1]), DataError, "X must hold numbers"),
    "words as objects": (
        lambda: (np.full((60, 3), "word", dtype=object), table()[1]),
        DataError,
        "X must hold numbers",
    ),
    "mappings in X": (lambda: (np.full((60, 3), {}, dtype=object), table()[1]), DataTypeError, "all of X"),
    "dates in X": (
        lambda: (np.zeros((60, 3), dtype="datetime64[D]"), table()[1]),
        DataTypeError,
        "X must hold numbers",
    ),
    "words in y": (lambda: (table()[0], ["word"] * 60), DataError, "y must hold numbers"),
    "no y": (lambda: (table()[0], None), DataError, "y to be passed.*y is None"),
    "y by name without names": (lambda: (table()[0], "y"), DataError, "y='y' names a column.*not a table"),
    "two columns of y": (lambda: (table()[0], np.zeros((60, 2))), ValueError, r"y should be a 1d array"),
    "fewer targets": (lambda: (table()[0], table()[1][:-1]), DataError, "one value for each row"),
    "no rows": (lambda: (table()[0][:0], table()[1][:0]), ValueError, "0 sample"),
    "no columns": (lambda: (table()[0][:, :0], table()[1]), ValueError, "0 feature"),
    "ragged lists": (lambda: ([[1.0, 2.0], [3.0]], [0.0, 1.0]), DataError, "as many in each row"),
}


@pytest.mark.usefixtures("no_bits")
@pytest.mark.parametrize(("rows", "error", "match"), ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("arithmetic", ["float", "exact"])
def test_rows_that_cannot_be_used_are_refused_before_bits_are_drawn(rows, error, match, arithmetic):
    estimator = model(arithmetic=arithmetic)
    with pytest.raises(error, match=match):
        estimator.fit(*rows())
    assert not hasattr(estimator, "coef_")
    assert not hasattr(estimator, "privacy_report_")


SHAPES = {
    "fewer weights": lambda fit, X, y: fit(X, y, sample_weight=y[:-1]),
    "two weights of a row": lambda fit, X, y: fit(X, y, sample_weight=X[:, :2]),
    "two ids of a row": lambda fit, X, y: fit(X, y, groups=X[:, :2]),
    "two targets": lambda fit, X, y: fit(X, X[:, :2]),
    "ragged targets": lambda fit, X, y: fit(X, [[1.0, 2.0], *y[1:].tolist()]),
    "fewer targets": lambda fit, X, y: fit(X, y[:-1]),
    "no columns": lambda fit, X, y: fit(X[:, :0], y),
}


@pytest.mark.usefixtures("no_bits")
@pytest.mark.parametrize("case", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("kind", [PrivateLinearRegression, PrivateLogisticRegression, PrivatePoissonRegressor])
def test_errors_about_shapes_do_not_tell_the_number_of_rows(kind, case):
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1.0, 1.0, (1237, 3)), rng.integers(0, 2, 1237).astype(float)
    how = {"neighbours": "add-remove", "max_weight": 2.0}
    if case is SHAPES["two ids of a row"]:
        how["max_rows_per_unit"] = 2
    bounds = Bounds(features=[(-1.0, 1.0)] * 3, target=None if kind is PrivateLogisticRegression else (0.0, 1.0))
    with pytest.raises(
        ValueError, match=r"one value|one weight|one id|1d array|as many in each row|0 feature"
    ) as caught:
        case(kind(1.0, 1e-6, bounds, **how).fit, X, y)
    assert not re.search("123[5-8]", str(caught.value))


PARAMETERS = {
    "epsilon": (None, 0, 0.0, -1.0, math.nan, math.inf, "one", [1.0, 2.0], 1j),
    "delta": (None, 0.0, 1.0, -1e-6, 2.0, math.nan, "1/m", "n^2", "one", [1e-6], 1j),
    "bounds": (None, 3, {"features": [(-1, 1)]}, (0, 1)),
    "method": ("unknown", None, "IHM", ""),
    "arithmetic": ("double", None, 1),
    "accounting": ("renyi", None),
    "neighbours": ("add-one", None, "zero_out"),
    "bad_rows": ("drop", None, True),
    "random_state": (-1, 1.5, "seed", True, [1], np.random),
    "options": (3, "ab", {"unknown": 1}, {"n_rows": 10}, {1: 2}, [("n_iterations", 3)]),
}


@pytest.mark.usefixtures("no_bits")
@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in PARAMETERS.items() for value in values], ids=str
)
def test_parameters_out_of_range_are_refused_by_name_before_bits_are_drawn(name, value):
    with pytest.raises((ValueError, TypeError), match=name) as caught:
        model(**{name: value}).fit(*table())
    assert isinstance(caught.value, DpolsError)


OPTIONS = {
    "n_iterations": (0, -3, 2.5, math.nan, math.inf, "three", None),
    "sketch_size": (0, 3, 10.5, math.nan, math.inf, "many"),
    "residual_bound": (0.0, -1.0, math.nan, math.inf, "one", None),
    "gradient_share": (0.0, 1.0, math.nan, "half", None),
    "failure_probability": (0.0, 1.0, -0.1, math.nan, "rare"),
    "eigenvalue": ("maybe", 1),
}


@pytest.mark.usefixtures("no_bits")
@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in OPTIONS.items() for value in values], ids=str
)
def test_options_out_of_range_are_refused_by_name_before_bits_are_drawn(name, value):
    with pytest.raises(ParameterError, match=name):
        model(method="ihm", options={name: value}).fit(*table())


def test_whole_numbers_may_come_as_floats():
    as_floats = model(method="ihm", options={"n_iterations": 2.0, "sketch_size": 40.0}).fit(*table())
    as_ints = model(method="ihm", options={"n_iterations": 2, "sketch_size": 40}).fit(*table())
    np.testing.assert_array_equal(as_floats.coef_, as_ints.coef_)


@pytest.mark.usefixtures("no_bits")
@pytest.mark.parametrize(
    ("bounds", "match"),
    [
        (Bounds(features=[(-1, 1)] * 2, y_abs=1.0), "2 bounds, but the data has 3 features"),
        (Bounds(features=[(-1, 1)] * 4, y_abs=1.0), "4 bounds, but the data has 3 features"),
        (Bounds(features=[], y_abs=1.0), "0 bounds"),
        (Bounds(features={"a": (0, 1), "b": (0, 1), "c": (0, 1)}, y_abs=1.0), "the data has no column names"),
    ],
)
def test_bounds_that_do_not_fit_the_columns_are_refused_before_bits_are_drawn(bounds, match):
    with pytest.raises(BoundsError, match=match):
        model(bounds=bounds).fit(*table())


@pytest.mark.extras
@pytest.mark.usefixtures("no_bits")
class TestTables:
    """Tables of each library."""

    @pytest.fixture(params=["pandas", "polars", "pyarrow"])
    def make(self, request):
        library = pytest.importorskip(request.param)
        return library.table if request.param == "pyarrow" else library.DataFrame

    def columns(self, **changes):
        X, y = table()
        return {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y} | changes

    def bounds(self, *names):
        return Bounds(features=dict.fromkeys(names or ("a", "b", "c"), (-1.0, 1.0)), y_abs=1.0)

    def test_a_good_table_draws_bits(self, make):
        with pytest.raises(BitsDrawn):
            model(bounds=self.bounds()).fit(make(self.columns()), "y")

    def test_a_missing_target_column(self, make):
        with pytest.raises(DataError, match=r"target='z' is not a column; the columns are \['a', 'b', 'c', 'y'\]"):
            model(bounds=self.bounds()).fit(make(self.columns()), "z")

    def test_a_column_without_bounds_and_bounds_without_a_column(self, make):
        with pytest.raises(BoundsError, match="bounds name the column 'z', which the table does not have"):
            model(bounds=self.bounds("a", "b", "z")).fit(make(self.columns()), "y")

    def test_a_column_of_words(self, make):
        with pytest.raises(DataTypeError, match=r"column\(s\) \['b'\] do not hold numbers"):
            model(bounds=self.bounds()).fit(make(self.columns(b=["secret"] * 60)), "y")
        with pytest.raises(DataTypeError, match=r"column\(s\) \['y'\] do not hold numbers"):
            model(bounds=self.bounds()).fit(make(self.columns(y=["secret"] * 60)), "y")

    def test_missing_values(self, make):
        b = [None, math.nan, *table()[0][2:, 1].tolist()]
        with pytest.raises(DataError, match="Input contains NaN or infinity, and"):
            model(bounds=self.bounds()).fit(make(self.columns(b=b)), "y")

    def test_no_rows(self, make):
        empty = {name: values[:0] for name, values in self.columns().items()}
        with pytest.raises(DataError, match="0 sample"):
            model(bounds=self.bounds()).fit(make(empty), "y")

    def test_no_features(self, make):
        with pytest.raises(BoundsError, match="no feature columns"):
            model().fit(make({"y": table()[1]}), "y")

    def test_fewer_targets_than_rows(self, make):
        columns = self.columns()
        y = columns.pop("y")
        with pytest.raises(DataError, match="one value for each row"):
            model(bounds=self.bounds()).fit(make(columns), y[:-1])

    def test_one_column_alone_is_not_a_table(self):
        pandas, polars, pyarrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
        for column in (pandas.Series(np.ones(60)), polars.Series(np.ones(60)), pyarrow.array(np.ones(60))):
            with pytest.raises(DataError, match="got 1D array"):
                model().fit(column, table()[1])

    def test_columns_of_one_name(self):
        pandas = pytest.importorskip("pandas")
        with pytest.raises(DataError, match="must be unique"):
            model().fit(pandas.DataFrame(table()[0], columns=["a", "a", "b"]), table()[1])


@pytest.mark.parametrize("changes", [{}, {"count_clipped": True}, {"bounds": PaidBounds()}], ids=repr)
def test_an_error_tells_neither_which_rows_are_bad_nor_how_many(changes):
    X, y = table()
    told = set()
    for rows in ([0], [17], [3, 4, 59]):
        bad = X.copy()
        bad[rows, 1] = np.nan
        with pytest.raises(DataError) as caught:
            model(**changes).fit(bad, y)
        told.add(str(caught.value))
    (message,) = told
    assert not any(character.isdigit() for character in message)


def test_neither_does_one_of_missing_ids():
    X, y = table()
    told = set()
    for rows in ([0], [3, 4, 59]):
        ids = np.arange(60.0)
        ids[rows] = np.nan
        with pytest.raises(DataError, match="the id of a unit is missing") as caught:
            model(max_rows_per_unit=1).fit(X, y, groups=ids)
        told.add(str(caught.value))
    (message,) = told
    assert not any(character.isdigit() for character in message.replace("2^53", "").replace("2^24", ""))  # of no rows


@pytest.mark.extras
def test_missing_values_of_nullable_targets_are_bad_rows():
    pandas = pytest.importorskip("pandas")
    X, y = table()
    whole = pandas.Series(np.rint(y)).astype("Int64")
    plain = model().fit(X[1:], np.rint(y)[1:])
    whole[0] = None
    with pytest.raises(DataError, match="Input contains NaN or infinity, and"):
        model().fit(X, whole)
    assert model(bad_rows="zero").fit(X, whole).coef_.shape == plain.coef_.shape


@pytest.mark.extras
@pytest.mark.parametrize(
    "call",
    [
        lambda rows: PrivateLinearRegression(1.0, 1e-6, rows).fit(*table()),
        lambda rows: model(unit=rows).fit(*table()),
        lambda rows: model(max_weight=rows).fit(*table(), sample_weight=np.ones(60)),
        lambda rows: model(epsilon=rows).fit(*table()),
        lambda rows: model(random_state=rows).fit(*table()),
        lambda rows: model(ledger=rows).fit(*table()),
        lambda rows: model(options=rows).fit(*table()),
        lambda rows: PrivateLogisticRegression(1.0, 1e-6, NORMS, classes=rows).fit(*table()),
        lambda rows: Bounds(features=[rows], target=(0, 1)),
        lambda rows: Bounds(features=rows, target=(0, 1)),
        lambda rows: PaidBounds(features=rows),
        lambda rows: FeatureMap({"pay": NumericColumn(0, 1)}, rows),
        lambda rows: FeatureMap({"pay": NumericColumn(0, 1)}, [Factor("pay", rows)]),
        lambda rows: FeatureMap({"pay": NumericColumn(0, 1)}, [Factor("pay", 2, origin=rows)]),
        lambda rows: transforms.Spline(rows),
        lambda rows: transforms.Spline(["a", *map(str, rows)]),
        lambda rows: plan_accuracy(n=rows, epsilon=1.0, bounds=NORMS),
        lambda rows: Bounds(x_norm=1.0, target=rows),
        lambda rows: PaidBounds(share=rows),
        lambda rows: release_sketch(NORMS, bounds=rows, epsilon=1.0, delta=1e-6, rows=10),
    ],
    ids=[
        "bounds",
        "unit",
        "max_weight",
        "epsilon",
        "random_state",
        "ledger",
        "options",
        "classes",
        "features",
        "all features",
        "all paid features",
        "terms",
        "power",
        "origin",
        "knots",
        "knots that are texts",
        "number of rows",
        "target",
        "share",
        "sketch",
    ],
)
@pytest.mark.parametrize("kind", ["array", "list", "table"])
def test_rows_in_a_wrong_place_are_not_quoted(call, kind):
    pd = pytest.importorskip("pandas")
    rows = np.full(60, 771239.5)
    with pytest.raises(DpolsError) as caught:
        call({"array": rows, "list": rows.tolist(), "table": pd.DataFrame({"pay": rows})}[kind])
    assert "771239" not in str(caught.value)


@pytest.mark.extras
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_times_are_no_targets_whatever_pandas_takes_them_for(zone):
    pd = pytest.importorskip("pandas")
    with pytest.raises(DataTypeError, match="y must hold numbers, not datetime64"):
        model().fit(table()[0], pd.Series(pd.date_range("2024-01-01", periods=60, tz=zone)))


@pytest.mark.extras
def test_object_columns_of_numbers_are_converted():
    pandas = pytest.importorskip("pandas")
    X, y = table()
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    expected = model().fit(frame, y).coef_
    np.testing.assert_array_equal(model().fit(frame.astype(object), y).coef_, expected)
    with pytest.raises(DataTypeError, match=r"\['b'\]"):
        model().fit(frame.astype(object).assign(b=[*X[1:, 1], "word"]), y)


@pytest.mark.parametrize("bounds", [NORMS, RANGES], ids=str)
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("arithmetic", ["float", "exact"])
def test_bad_rows_may_count_as_rows_of_zeros(bounds, fit_intercept, arithmetic):
    """A zero row adds nothing to any sum, which is what a row that is not there does; only n counts it."""
    X, y = table()
    bad, bad_y = X.copy(), y.copy()
    bad[[3, 10], [0, 2]], bad_y[[20, 30]] = [np.nan, np.inf], [np.nan, -np.inf]
    keep = np.setdiff1d(np.arange(60), [3, 10, 20, 30])
    settings = {"bounds": bounds, "fit_intercept": fit_intercept, "arithmetic": arithmetic, "bad_rows": "zero"}
    zeroed = model(**settings).fit(bad, bad_y)
    others = bad.copy()
    others[[3, 10, 20, 30]] = np.nan
    np.testing.assert_allclose(zeroed.coef_, model(**settings).fit(others, bad_y).coef_, rtol=1e-9)
    assert zeroed.privacy_report_.n_rows == 60
    # The same plan on the remaining rows: as many iterations, as large a sketch, the eigenvalue not released.
    fixed = settings | {"method": "ihm", "options": {"sketch_size": 50, "eigenvalue": "off"}}
    np.testing.assert_allclose(
        model(**fixed).fit(bad, bad_y).coef_, model(**fixed).fit(X[keep], y[keep]).coef_, rtol=1e-9
    )


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("arithmetic", ["float", "exact"])
def test_bad_rows_that_count_as_zeros_leave_no_trace_beside_the_fit(arithmetic, capfd):
    X, y = table()
    X[4], X[5], y[6] = np.nan, np.inf, 1e308
    X[7] = 1.7e308
    for bounds in (NORMS, RANGES):
        fitted = model(bounds=bounds, bad_rows="zero", arithmetic=arithmetic).fit(X, y)
        assert np.isfinite(fitted.coef_).all()
        assert "nan" not in str(fitted.privacy_report_).lower()
    assert capfd.readouterr() == ("", "")


def extreme(magnitude):
    X, y = table()
    return X * magnitude, y * magnitude


ODD = {
    "1e-320": lambda: extreme(1e-320),
    "1e-160": lambda: extreme(1e-160),
    "1e153": lambda: extreme(1e153),
    "1e308": lambda: extreme(1e308),
    "all of them": lambda: tuple(
        map(np.concatenate, zip(*(extreme(10.0**e) for e in (-320, -150, 0, 150, 307)), strict=True))
    ),
    "one row": lambda: table(1),
    "fewer rows than columns": lambda: table(2),
    "all zero": lambda: (np.zeros((60, 3)), np.zeros(60)),
    "constant column": lambda: (np.column_stack((table()[0][:, :2], np.ones(60))), table()[1]),
    "duplicate columns": lambda: (np.repeat(table()[0][:, :1], 3, axis=1), table()[1]),
    "rank one": lambda: (np.outer(np.linspace(-1, 1, 60), [1.0, 2.0, -1.0]), table()[1]),
    "constant target": lambda: (table()[0], np.full(60, 0.5)),
    "one column far larger": lambda: (table()[0] * [1.0, 1e12, 1e-12], table()[1]),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("rows", ODD.values(), ids=ODD)
@pytest.mark.parametrize("bounds", [NORMS, RANGES], ids=["norm", "ranges"])
@pytest.mark.parametrize("arithmetic", ["float", "exact"])
def test_odd_rows_give_finite_coefficients_and_a_report(rows, bounds, arithmetic):
    for epsilon in (1e-3, 50.0):
        for fit_intercept in (False, True):
            fitted = model(epsilon=epsilon, bounds=bounds, fit_intercept=fit_intercept, arithmetic=arithmetic).fit(
                *rows()
            )
            assert np.isfinite(fitted.coef_).all()
            assert np.isfinite(fitted.intercept_)
            assert np.isfinite(fitted.predict(np.ones((2, 3)))).all()
            report = fitted.privacy_report_
            assert report.spent_epsilon <= epsilon * (1 + 1e-9)
            assert "Privacy report" in str(report)
            assert report.to_json()


@pytest.mark.parametrize(
    ("rule", "n_rows", "expected"),
    [("1/n^2", 100, 1e-4), ("1/n", 50, 0.02), ("1 / n ** 1.5", 100, 1e-3), (" 1/n^3 ", 10, 1e-3)],
)
def test_delta_may_be_a_rule_of_the_number_of_rows(rule, n_rows, expected):
    fitted = model(delta=rule).fit(*table(n_rows))
    np.testing.assert_allclose(fitted.privacy_report_.asked.delta, expected)


@pytest.mark.usefixtures("no_bits")
@pytest.mark.parametrize(("rule", "n_rows"), [("1/n^2", 1), ("1/n^0", 50), ("1/n^400", 60)])
def test_a_rule_that_gives_no_delta_is_refused(rule, n_rows):
    with pytest.raises(ParameterError, match="delta="):
        model(delta=rule).fit(*table(n_rows))


@pytest.mark.parametrize("arithmetic", ["float", "exact"])
def test_extreme_budgets_fit(arithmetic):
    for epsilon, delta in ((1e-6, 1e-6), (1e3, 1e-6), (1.0, 1e-100), (1.0, 1e-300), (1.0, 0.1)):
        fitted = model(epsilon=epsilon, delta=delta, arithmetic=arithmetic).fit(*table())
        assert np.isfinite(fitted.coef_).all()
        assert fitted.privacy_report_.spent_epsilon <= epsilon * (1 + 1e-9)


EXTREME = [(1e-9, 0.5), (1e-300, 1e-12), (1e-300, 0.9), (1e-9, 0.999999), (1e-6, 0.9), (1e300, 0.5), (1e-9, 1e-300)]


BESIDE = {
    "inference": {"inference": True},
    "paid bounds": {"bounds": PaidBounds()},
    "counts": {"count_clipped": True},
    "paper's accounting": {"inference": True, "accounting": "paper"},
}


@pytest.mark.parametrize("relation", ["zero-out", "replace-one"])
@pytest.mark.parametrize(("epsilon", "delta"), EXTREME)
@pytest.mark.parametrize("beside", BESIDE)
@pytest.mark.filterwarnings("ignore")
def test_an_extreme_budget_is_met_or_refused_by_its_own_numbers(beside, epsilon, delta, relation):
    """And never by those of a part of it alone, which nobody gave."""
    X = np.random.default_rng(0).uniform(-1, 1, (50, 2))
    options = {"bounds": Bounds(features=[(-1, 1)] * 2, target=(-1, 1)), "neighbours": relation} | BESIDE[beside]
    refusals = []
    for method in ("whitened",) if "inference" in options else ("whitened", "ihm", "linmix-dynamic"):
        try:
            PrivateLinearRegression(epsilon, delta, method=method, **options).fit(X, X[:, 0])
        except (CalibrationError, BudgetExceeded) as error:
            refusals.append(str(error))
    own = (f"epsilon={epsilon:.6g}", f"epsilon={epsilon!r}", f"the {epsilon:.6g} asked for")
    assert [text for text in refusals if not any(words in text for words in own)] == []
