"""What people get wrong, and the one line that says what to do about it."""

import re

import numpy as np
import pytest

from dpols import (
    Bounds,
    CategoricalColumn,
    FeatureMap,
    NumericColumn,
    PaidBounds,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    ols,
    read,
)
from dpols.errors import BadRowsError, BoundsError, DpolsError, ParameterError, WeakGuaranteeWarning

pandas = pytest.importorskip("pandas")
pytestmark = pytest.mark.extras

N = 2000
BOUNDS = Bounds(features={"education": (0, 20)}, target=(0, 100))


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    education = rng.integers(0, 21, N)
    return pandas.DataFrame(
        {"education": education, "region": ["south", "north"] * (N // 2), "wage": 4 * education + rng.normal(10, 1, N)}
    )


def model(**parameters):
    return PrivateLinearRegression(**{"epsilon": 5.0, "delta": 1e-6, "bounds": BOUNDS, **parameters})


MISTAKES = {
    "a formula in place of rows": (
        lambda table: model().fit("wage ~ education", table),
        "X is the formula 'wage ~ education'; fit it by dpols.ols('wage ~ education', table, bounds=...",
    ),
    "the table before the formula": (
        lambda table: ols(table, "wage ~ education", bounds=BOUNDS, epsilon=1, delta=1e-6),
        "formula is of type DataFrame; the formula comes first",
    ),
    "a path in place of rows": (lambda table: model().fit("wages.csv"), "open the file or the folder by dpols.read("),
    "epsilon as text": (lambda table: model(epsilon="1").fit(table, "wage"), "epsilon='1' must be a number, without"),
    "delta as text": (lambda table: model(delta="1e-6").fit(table, "wage"), "without quotation marks, or a rule such"),
    "reversed bounds": (
        lambda table: Bounds(features={"education": (20, 0)}, target=(0, 100)),
        "features['education']=(20, 0) has the high end first; write (0, 20).",
    ),
    "reversed bounds of a target": (
        lambda table: FeatureMap({"education": NumericColumn(0, 20)}, target=(100, 0)),
        "target=(100, 0) has the high end first; write (0, 100).",
    ),
    "a column of text": (
        lambda table: model(bounds=Bounds(features={"region": (0, 1)}, target=(0, 1))).fit(table, "wage"),
        "Declare their public categories by dpols.CategoricalColumn in a dpols.FeatureMap",
    ),
    "a column of text in a feature map": (
        lambda table: model(feature_map=FeatureMap({"region": NumericColumn(0, 1)}, target=(0, 1)), bounds=None).fit(
            table, "wage"
        ),
        "Declare its public categories",
    ),
    "a formula with a column of text": (
        lambda table: ols("wage ~ region", table, bounds=BOUNDS, epsilon=1, delta=1e-6),
        "write C(region, levels=[...]) with its public levels",
    ),
    "a power outside of I()": (
        lambda table: ols("wage ~ education^2", table, bounds=BOUNDS, epsilon=1, delta=1e-6),
        "Write I(education**2)",
    ),
    "a logarithm of zero": (
        lambda table: ols("log(wage) ~ education", table, bounds=BOUNDS, epsilon=1, delta=1e-6),
        "log(wage) needs values above 0, but the range of wage is [0, 100]; declare a low above 0, or use log1p",
    ),
    "spellings that differ in case": (
        lambda table: CategoricalColumn(["South", "south"]),
        "categories has 'South' and 'south', which differ in letter case alone",
    ),
    "no target": (lambda table: model().fit(table), "Pass the targets, or the name of their column"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_answered_by_one_line_with_its_remedy(table, mistake):
    run, message = MISTAKES[mistake]
    with pytest.raises(DpolsError, match=re.escape(message)) as caught:
        run(table)
    assert "\n" not in str(caught.value)


def test_a_delta_that_promises_nothing_is_warned_of(table):
    with pytest.warns(WeakGuaranteeWarning, match=r"delta = 0\.05 is above 1 / \(number of rows\).* 2\.5e-07"):
        model(delta=0.05).fit(table, "wage")


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "file"])
@pytest.mark.parametrize("bounds", [BOUNDS, PaidBounds(features={"education": None})])
def test_columns_that_bounds_do_not_name_are_left_out_as_on_the_command_line(table, kind, bounds, tmp_path):
    rows = _as(kind, table, tmp_path)
    fitted = model(bounds=bounds, random_state=0).fit(*((rows,) if kind == "file" else (rows, "wage")))
    few = model(bounds=bounds, random_state=0).fit(table[["education"]], table["wage"])
    assert fitted.feature_names_in_.tolist() == ["education"]
    assert np.array_equal(fitted.coef_, few.coef_)
    if kind != "file":
        assert np.array_equal(fitted.predict(rows), fitted.predict(table[["education"]]))


def _as(kind, table, folder):
    if kind == "polars":
        return pytest.importorskip("polars").from_pandas(table)
    if kind == "pyarrow":
        return pytest.importorskip("pyarrow").Table.from_pandas(table)
    if kind == "file":
        table.to_parquet(folder / "wages.parquet")
        return read(folder / "wages.parquet", "wage")
    return table


def test_bounds_of_a_column_that_is_not_there_name_it():
    table = pandas.DataFrame({"education": [1.0, 2.0], "region": ["north", "south"], "wage": [1.0, 2.0]})
    bounds = Bounds(features={"educaton": (0, 20)}, target=(0, 100))
    with pytest.raises(BoundsError, match="bounds name the column 'educaton', which the table does not have"):
        PrivateLinearRegression(1.0, 1e-6, bounds).fit(table, "wage")


def test_a_label_that_is_not_declared_is_named_as_a_cause():
    X = np.linspace(-1.0, 1.0, 40)[:, None]
    labels = np.where(X[:, 0] > 0, "yes", "no")
    model = PrivateLogisticRegression(1.0, 1e-6, Bounds(features=[(-1, 1)]), classes=("never", "always"))
    with pytest.raises(BadRowsError, match=r"A label is not in classes=\('never', 'always'\), or else"):
        model.fit(X, labels)


def test_fit_after_a_formula_returns_the_fit_and_spends_nothing(table):
    """As statsmodels has it: ols(...).fit()."""
    model = ols("wage ~ education", table, epsilon=1.0, delta=1e-6, bounds=BOUNDS, random_state=0)
    report, coefficients = model.privacy_report_, model.coef_.copy()
    assert model.fit() is model
    assert model.privacy_report_ is report
    np.testing.assert_array_equal(model.coef_, coefficients)
    with pytest.raises(ParameterError, match=r"X is missing: fit takes the rows and their targets, fit\(X, y\)"):
        PrivateLinearRegression(1.0, 1e-6, BOUNDS).fit()


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_feature_with_the_name_of_the_constant_is_refused_unless_there_is_none(fit_intercept):
    rows = pandas.DataFrame({"intercept": [1.0] * 50, "age": np.linspace(20, 60, 50), "pay": np.linspace(0, 9, 50)})
    bounds = Bounds(features={"intercept": (0, 1), "age": (18, 90)}, target=(0, 10))
    model = PrivateLinearRegression(1.0, 1e-6, bounds, fit_intercept=fit_intercept, random_state=0)
    if fit_intercept:
        with pytest.raises(BoundsError, match="a feature is named 'intercept', and so is the constant"):
            model.fit(rows, "pay")
    else:
        names = [line.name for line in model.fit(rows, "pay").privacy_report_.coefficients]
        assert names == ["intercept", "age"]
