"""Fits that protect units of several rows: which rows are used, what is said, what is refused."""

import numpy as np
import pytest
from sklearn.base import clone

from dpols import Bounds, PaidBounds, PrivateLinearRegression
from dpols.algorithms import ALGORITHMS
from dpols.data import ArraySource, BoundedRows
from dpols.data.unit_ids import unit_codes
from dpols.data.units import source_of_units
from dpols.errors import DataError, ParameterError

BOUNDS = Bounds(features=[(-3, 3), (-3, 3)], target=(-10, 10))


def visits(n=12_000, units=4000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3.0, 3.0, (n, 2))
    return X, X @ (1.0, -2.0) + rng.normal(0.0, 0.3, n), rng.integers(0, units, n)


def model(**parameters):
    return PrivateLinearRegression(1.0, 1e-6, **{"bounds": BOUNDS, "random_state": 0, **parameters})


@pytest.mark.parametrize(
    "ids",
    [
        [3, 1, 3, 3, 1, 2, 3],
        ["b", "a", "b", "b", "a", "c", "b"],
        [("x", 1), "a", ("x", 1), ("x", 1), "a", None.__class__, ("x", 1)],
        np.array([2.5, 0.0, 2.5, 2.5, -0.0, 7.0, 2.5]),
        np.array(
            ["2020-01-01", "2021-01-01", "2020-01-01", "2020-01-01", "2021-01-01", "1999-01-01", "2020-01-01"], "M8[D]"
        ),
        [1, "1", 1, 1, "1", 2.5, 1.0],
    ],
    ids=["ints", "strings", "mixed", "floats", "dates", "numbers and digits"],
)
def test_so_many_rows_of_each_unit_are_used_whatever_its_id_is(ids):
    X, y, _ = visits(7)
    for most, sizes in ((1, {0: 1, 1: 1, 2: 1}), (2, {0: 2, 1: 2, 2: 1}), (9, {0: 4, 1: 2, 2: 1})):
        kept = source_of_units(ArraySource(X, y), ids, max_rows=most, bad_rows="raise").kept
        of_each = np.array([0, 1, 0, 0, 1, 2, 0])[kept]
        assert {unit: int((of_each == unit).sum()) for unit in range(3)} == sizes


def test_which_rows_are_used_depends_on_the_rows_of_the_unit_alone():
    rng = np.random.default_rng(0)
    ids = rng.integers(0, 30, 400)
    X, y = rng.integers(0, 3, (400, 2)).astype(float), rng.integers(0, 2, 400).astype(float)

    def kept(rows, ids):
        return source_of_units(ArraySource(*rows), ids, max_rows=3, bad_rows="raise").kept

    before = kept((X, y), ids)
    assert not before.all()
    for gone in range(30):
        own = ids == gone
        changed = np.where(own, -1 - np.arange(400), ids)  # its rows become anybody's
        np.testing.assert_array_equal(before[~own], kept((X, y), changed)[~own])
        zeroed = np.where(own[:, None], 0.0, X), np.where(own, 0.0, y)
        np.testing.assert_array_equal(before[~own], kept(zeroed, ids)[~own])


def test_missing_ids_are_refused_or_not_used():
    X, y, _ = visits(6)
    nan = float("nan")
    for ids in (["a", None, "a", nan, "b", "b"], np.array([1.0, nan, 1.0, nan, 2.0, 2.0])):
        with pytest.raises(DataError, match="the id of a unit is missing, or"):
            source_of_units(ArraySource(X, y), ids, max_rows=2, bad_rows="raise")
        source = source_of_units(ArraySource(X, y), ids, max_rows=2, bad_rows="zero")
        assert source.kept.tolist() == [True, False, True, False, True, True]


@pytest.mark.extras
def test_missing_ids_of_pandas_are_seen():
    pd = pytest.importorskip("pandas")
    for ids in (pd.Series(["a", pd.NA, "b"]), pd.Series([1, None, 2], dtype="Int64"), pd.Series(["a", None, "b"])):
        assert (unit_codes(ids) < 0).tolist() == [False, True, False]


# The method with intervals knows that all single rows are in use, and sums over units apart.
@pytest.mark.parametrize("method", sorted(set(ALGORITHMS) - {"whitened-inference"}))
@pytest.mark.parametrize("arithmetic", ["exact", "float"])
def test_the_noise_is_that_of_as_many_times_fewer_rows_and_the_estimate_keeps_its_meaning(method, arithmetic):
    """A table in which every row stands twice, as one unit, is to a method the table of single rows."""
    X, y, _ = visits(3000)
    twice = np.repeat(X, 2, axis=0), np.repeat(y, 2)
    by_units = model(method=method, arithmetic=arithmetic, max_rows_per_unit=2).fit(
        *twice, groups=np.repeat(range(3000), 2)
    )
    single = model(method=method, arithmetic=arithmetic).fit(X, y)
    # In whole numbers noise is rounded at another place. Without an eigenvalue release, as Sheffet's method has none,
    # the shift is larger by half of a squared row norm.
    tolerance = {"atol": 2e-2 if method == "sheffet" else 1e-4}
    np.testing.assert_allclose(by_units.coef_, single.coef_, **tolerance)
    np.testing.assert_allclose(by_units.intercept_, single.intercept_, **tolerance)
    for one, two in zip(by_units.privacy_report_.lines, single.privacy_report_.lines, strict=True):
        assert (one.what, one.release) == (two.what, two.release)


def test_a_fit_finds_the_coefficients_and_says_whom_it_protects():
    X, y, ids = visits()
    fitted = model(max_rows_per_unit=5, method="whitened").fit(X, y, groups=ids)
    np.testing.assert_allclose(fitted.coef_, (1.0, -2.0), atol=0.2)
    report = fitted.privacy_report_
    assert (report.unit, report.rows_per_unit, report.n_rows) == ("unit of groups", 5, len(y))
    assert "all rows of one unit of groups are replaced by rows of zeros" in report.relation_in_words
    assert "at most 5 rows" in report.to_text()
    assert "any one unit" in report.to_html()
    replaced = model(max_rows_per_unit=5, neighbours="replace-one").fit(X, y, groups=ids).privacy_report_
    assert "any other rows" in " ".join(replaced.to_text().split())


def test_rows_that_are_not_used_change_nothing_and_nor_does_the_order_of_rows():
    X, y, ids = visits(2000, units=300)
    used = source_of_units(ArraySource(X, y), ids, max_rows=2, bad_rows="raise").kept
    assert 0.2 < used.mean() < 0.4
    whole = model(max_rows_per_unit=2).fit(X, y, groups=ids)
    order = np.random.default_rng(1).permutation(2000)
    shuffled = model(max_rows_per_unit=2).fit(X[order], y[order], groups=ids[order])
    np.testing.assert_array_equal(whole.coef_, shuffled.coef_)
    rest = np.where(used[:, None], X, 0.0), np.where(used, y, 0.0), np.where(used, ids, -1 - np.arange(2000))
    without = source_of_units(ArraySource(*rest[:2]), rest[2], max_rows=2, bad_rows="raise")
    np.testing.assert_array_equal(without.kept[used], True)


def test_each_row_of_a_unit_is_as_likely_to_be_used_as_any_other_copies_included():
    """Of 19 equal rows and one other, a choice among different rows would take the other in half of the units."""
    units, size = 2000, 20
    X, y = np.zeros((units * size, 1)), np.zeros(units * size)
    y[::size] = 1.0
    ids = np.repeat(np.arange(units), size)
    for most in (1, 4):
        kept = source_of_units(ArraySource(X, y), ids, max_rows=most, bad_rows="raise").kept
        assert kept.sum() == most * units
        share = y[kept].mean()
        assert abs(share - 1 / size) < 4.0 * np.sqrt(0.05 * 0.95 / (most * units))


@pytest.mark.extras
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_the_unit_is_a_column_of_a_table_and_not_a_feature(library):
    module = pytest.importorskip(library)
    X, y, ids = visits(3000)
    columns = {"who": [f"p{i}" for i in ids], "a": X[:, 0], "b": X[:, 1], "y": y}
    table = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
    bounds = Bounds(features={"a": (-3, 3), "b": (-3, 3)}, target=(-10, 10))
    fitted = model(bounds=bounds, unit="who", max_rows_per_unit=3).fit(table, "y")
    expected = model(max_rows_per_unit=3).fit(X, y, groups=columns["who"])
    np.testing.assert_array_equal(fitted.coef_, expected.coef_)
    assert list(fitted.feature_names_in_) == ["a", "b"]
    assert "all rows of one who" in fitted.privacy_report_.to_text()
    if library == "pandas":
        with_unit, without = table[["who", "a", "b"]], table[["a", "b"]]
        np.testing.assert_array_equal(fitted.predict(with_unit), fitted.predict(without))
    with pytest.raises(DataError, match="unit='whom' is not a column"):
        model(bounds=bounds, unit="whom", max_rows_per_unit=3).fit(table, "y")


def test_the_unit_is_a_column_of_an_array_by_number():
    X, y, ids = visits(3000)
    fitted = model(unit=1, max_rows_per_unit=3).fit(np.column_stack((X[:, 0], ids, X[:, 1])), y)
    np.testing.assert_array_equal(fitted.coef_, model(max_rows_per_unit=3).fit(X, y, groups=ids).coef_)


def test_paid_bounds_protect_units_too():
    X, y, ids = visits()
    fitted = model(bounds=PaidBounds(), max_rows_per_unit=3, method="whitened").fit(X, y, groups=ids)
    np.testing.assert_allclose(fitted.coef_, (1.0, -2.0), atol=0.3)


@pytest.mark.parametrize(
    ("parameters", "groups", "message"),
    [
        ({"unit": 0}, None, "unit=0 needs max_rows_per_unit=..."),
        ({"max_rows_per_unit": 3}, None, "max_rows_per_unit goes with unit"),
        ({}, [0] * 40, "groups needs max_rows_per_unit=..."),
        ({"unit": 0, "max_rows_per_unit": 3}, [0] * 40, "give one of them"),
        ({"max_rows_per_unit": 0}, [0] * 40, "max_rows_per_unit=0 must be a whole number"),
        ({"max_rows_per_unit": 1.5}, [0] * 40, "max_rows_per_unit=1.5"),
        ({"max_rows_per_unit": "many"}, [0] * 40, "max_rows_per_unit='many'"),
        ({"max_rows_per_unit": True}, [0] * 40, "max_rows_per_unit=True"),
    ],
)
def test_wrong_parameters_are_named(parameters, groups, message):
    X, y, _ = visits(40)
    with pytest.raises(ParameterError, match=message):
        model(**parameters).fit(X, y, groups=groups)


def test_wrong_ids_are_named():
    X, y, _ = visits(40)
    with pytest.raises(DataError, match="one id of a unit for each row"):
        model(max_rows_per_unit=2).fit(X, y, groups=[0] * 39)
    with pytest.raises(DataError, match="can be hashed"):
        model(max_rows_per_unit=2).fit(X, y, groups=[[1]] * 40)
    with pytest.raises(DataError, match="must be the number of a column"):
        model(unit="who", max_rows_per_unit=2).fit(X, y)


def test_a_source_that_is_not_in_memory_is_refused_with_a_remedy():
    class Elsewhere:
        columns, n_features, n_rows = None, 2, 40

        def total(self, kernel, *args):
            raise AssertionError("nothing may be read")

    with pytest.raises(DataError, match="need rows in memory"):
        source_of_units(Elsewhere(), [0] * 40, max_rows=2, bad_rows="raise")


def test_a_sketch_of_one_row_is_refused_for_units():
    X, y, ids = visits(50, 20)
    bounds = Bounds(features=[(-3, 3)], target=(-10, 10))
    options = {"sketch_size": 1, "eigenvalue": "off"}
    sketching = model(bounds=bounds, fit_intercept=False, method="ihm", options=options, max_rows_per_unit=2)
    with pytest.raises(ParameterError, match="not proved private for units"):
        sketching.fit(X[:, :1], y, groups=ids)


def test_an_estimator_with_units_can_be_cloned():
    assert clone(model(unit="who", max_rows_per_unit=3)).get_params()["max_rows_per_unit"] == 3


def test_no_row_is_kept_of_an_empty_block():
    source = source_of_units(ArraySource(np.ones((3, 1)), np.ones(3)), [None] * 3, max_rows=1, bad_rows="zero")
    row_map = Bounds(x_norm=1.0, y_abs=1.0).row_map(n_features=1, columns=None, fit_intercept=False)
    (total, *_) = BoundedRows(source, row_map, "raise", "float", 1).total(lambda span: span.gram())
    assert total.tolist() == [[0.0]]
