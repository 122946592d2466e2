"""Fits with constraints in the user's units: what comes out, what is said of it, and what is refused."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear, minimize
from sklearn.linear_model import LinearRegression

from dpols import (
    Bounds,
    CategoricalColumn,
    Constraints,
    FeatureMap,
    NumericColumn,
    PaidBounds,
    PrivateGridSearch,
    PrivateLinearRegression,
    ols,
)
from dpols.algorithms import ALGORITHMS
from dpols.errors import ParameterError

FEATURES = [(18.0, 90.0), (-3.0, 5.0), (1000.0, 1500.0)]
BOUNDS = Bounds(features=FEATURES, target=(0.0, 250.0))
SLOPES = np.array([0.5, -2.0, 0.01])
ENDLESS = {"epsilon": 1e9, "delta": 1e-6, "random_state": 0}


def people(n_rows=3000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(*np.array(FEATURES).T, (n_rows, 3))
    X[:, 1] += 0.03 * (X[:, 0] - 54.0)  # so that a limit on one slope moves the others
    X[:, 1] = np.clip(X[:, 1], -3.0, 5.0)
    return X, 100.0 + X @ SLOPES + rng.standard_normal(n_rows)


def almost_converged(method):
    return {"ihm": {"n_iterations": 40}, "whitened": {"n_iterations": 30}}[method]


@pytest.mark.parametrize("arithmetic", ["float", "exact"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("method", ["ihm", "whitened"])
def test_an_endless_budget_gives_nonnegative_least_squares(method, fit_intercept, arithmetic):
    X, y = people()
    model = PrivateLinearRegression(
        bounds=BOUNDS,
        method=method,
        fit_intercept=fit_intercept,
        arithmetic=arithmetic,
        options=almost_converged(method),
        constraints=Constraints(lower=0.0),
        **ENDLESS,
    ).fit(X, y)
    expected = LinearRegression(fit_intercept=fit_intercept, positive=True).fit(X, y)
    assert np.all(model.coef_ >= 0.0)
    assert model.coef_[1] == expected.coef_[1] == 0.0
    spread = np.std(expected.predict(X))
    np.testing.assert_allclose(model.predict(X), np.clip(expected.predict(X), 0.0, 250.0), atol=0.01 * spread)


@pytest.mark.parametrize("method", ["ihm", "whitened"])
def test_an_endless_budget_gives_least_squares_in_a_box(method):
    X, y = people()
    low, high = np.array([0.1, -1.0, -np.inf]), np.array([0.3, 0.0, 0.005])
    model = PrivateLinearRegression(
        bounds=BOUNDS, method=method, options=almost_converged(method), constraints=Constraints(low, high), **ENDLESS
    ).fit(X, y)
    joint = np.column_stack((X, np.ones(len(X))))
    expected = lsq_linear(joint, y, (np.append(low, -np.inf), np.append(high, np.inf)), tol=1e-14).x
    assert np.all((low <= model.coef_) & (model.coef_ <= high))
    np.testing.assert_allclose(model.predict(X, raw=True), joint @ expected, atol=0.02 * np.std(joint @ expected))


@pytest.mark.parametrize("method", ["ihm", "whitened"])
def test_an_endless_budget_gives_least_squares_in_a_ball(method):
    X, y = people()
    model = PrivateLinearRegression(
        bounds=BOUNDS, method=method, options=almost_converged(method), constraints=Constraints(norm=1.0), **ENDLESS
    ).fit(X, y)
    centred, target = X - X.mean(axis=0), y - y.mean()
    expected = minimize(
        lambda t: np.sum((target - centred @ t) ** 2) / len(X),
        np.zeros(3),
        constraints={"type": "ineq", "fun": lambda t: 1.0 - t @ t},
        options={"ftol": 1e-14},
    ).x
    assert np.linalg.norm(model.coef_) <= 1.0
    predictions = y.mean() + centred @ expected
    np.testing.assert_allclose(model.predict(X, raw=True), predictions, atol=0.02 * np.std(predictions))


def test_reports_and_summaries_say_what_was_kept_and_why_there_are_no_intervals(tmp_path):
    X, y = people()
    model = PrivateLinearRegression(1.0, 1e-6, BOUNDS, constraints=Constraints(lower={"x1": 0.0})).fit(X, y)
    report = model.privacy_report_
    assert report.constraints == ("slope of x1 at least 0",)
    assert all(coefficient.noise_stddev is None for coefficient in report.coefficients)
    assert (report.verdict, model.coef_[1]) == ("cannot tell", 0.0)
    for text in (report.to_text(), report.to_markdown(), report.to_html(), str(model.summary())):
        words = " ".join(text.split())
        assert "No intervals: the coefficients are kept within constraints." in words
        assert "inference=True" not in words
    assert "slope of x1 at least 0" in report.to_html()
    with pytest.raises(ParameterError, match="kept within constraints"):
        model.conf_int()
    with pytest.raises(ParameterError, match="kept within constraints"):
        model.predict_interval(X[:3])
    model.save(tmp_path / "model.json")
    assert PrivateLinearRegression.load(tmp_path / "model.json").privacy_report_ == report


def test_limits_that_are_not_met_leave_the_verdict_and_the_coefficients():
    X, y = people()
    wide = Constraints(lower=-1e6, upper=1e6)
    free, kept = (
        PrivateLinearRegression(1.0, 1e-6, BOUNDS, constraints=limits, random_state=1).fit(X, y)
        for limits in (None, wide)
    )
    np.testing.assert_array_equal(kept.coef_, free.coef_)
    assert kept.intercept_ == free.intercept_
    assert kept.privacy_report_.verdict == free.privacy_report_.verdict != "cannot tell"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"constraints": (0, 1)}, "must be a dpols.Constraints"),
        ({"method": "dp-gd"}, "'dp-gd' takes no constraints"),
        ({"inference": True}, "inference cannot go with constraints"),
        ({"constraints": Constraints(lower={"age": 0.0})}, "unknown features"),
        ({"constraints": Constraints(lower=[0.0])}, "lower has 1 limits, but there are 3 features"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_released(changes, words):
    X, y = people(100)
    parameters = {"epsilon": 1.0, "delta": 1e-6, "bounds": BOUNDS, "constraints": Constraints(lower=0.0)} | changes
    with pytest.raises(ParameterError, match=words):
        PrivateLinearRegression(**parameters).fit(X, y)


@pytest.mark.extras
def test_names_are_those_of_tables_and_of_feature_maps():
    pd = pytest.importorskip("pandas")
    X, y = people()
    table = pd.DataFrame(X, columns=["age", "balance", "size"])
    bounds = Bounds(features=dict(zip(table.columns, FEATURES, strict=True)), target=(0.0, 250.0))
    limited = Constraints(lower={"balance": 0.5})
    model = PrivateLinearRegression(1.0, 1e-6, bounds, constraints=limited, random_state=0).fit(table, y)
    assert model.coef_[1] == 0.5
    table["group"] = np.where(np.arange(len(table)) % 2, "a", "b")
    columns = {"age": NumericColumn(18.0, 90.0), "group": CategoricalColumn(["a", "b"])}
    mapped = FeatureMap(columns, target=(0.0, 250.0))
    model = PrivateLinearRegression(
        1.0, 1e-6, feature_map=mapped, constraints=Constraints(upper={mapped.names[-1]: -7.0}), random_state=0
    ).fit(table[["age", "group"]], y)
    assert -7.0 - 1e-12 < model.coef_[-1] <= -7.0
    by_formula = ols(
        "y ~ age + balance",
        table.assign(y=y),
        epsilon=1.0,
        delta=1e-6,
        bounds=bounds,
        constraints=Constraints(lower={"balance": 0.0}),
        random_state=0,
    )
    assert by_formula.coef_[1] == 0.0


def test_constraints_go_with_paid_bounds_and_with_a_search():
    X, y = people()
    paid = PrivateLinearRegression(2.0, 1e-6, PaidBounds(), constraints=Constraints(lower=0.0, upper=0.4)).fit(X, y)
    assert np.all((paid.coef_ >= 0.0) & (paid.coef_ <= 0.4))
    search = PrivateGridSearch(
        PrivateLinearRegression(bounds=BOUNDS),
        {"constraints": [None, Constraints(lower=0.0)]},
        epsilon=2.0,
        delta=1e-6,
    ).fit(X, y)
    assert search.best_estimator_.coef_.shape == (3,)


def ugly(kind):
    """Rows that are few, skewed, rare, collinear, constant or clipped."""
    rng = np.random.default_rng(5)
    n = 5 if kind == "tiny" else 600
    X = rng.uniform(-1.0, 1.0, (n, 4))
    if kind == "skewed":
        X = np.minimum(rng.exponential(0.05, (n, 4)), 1.0)
    if kind == "rare":
        X[:, 1:] = rng.random((n, 3)) < 0.01
    if kind == "collinear":
        X[:, 1:] = X[:, :1]
    if kind == "constant":
        X[:] = 0.25
    y = X @ [1.0, -1.0, 0.5, 0.0] + 0.1 * rng.standard_normal(n)
    return X, 100.0 * y if kind == "clipped" else y


@pytest.mark.parametrize("kind", ["tiny", "skewed", "rare", "collinear", "constant", "clipped"])
@pytest.mark.parametrize(
    "constraints", [Constraints(0.0, 0.1), Constraints(lower=0.2), Constraints(norm=0.01)], ids=str
)
@pytest.mark.parametrize("method", [name for name, row in ALGORITHMS.items() if row.takes_constraints])
def test_limits_hold_exactly_on_ugly_rows(method, constraints, kind):
    X, y = ugly(kind)
    bounds = Bounds(features=[(-1.0, 1.0)] * 4, target=(-3.0, 3.0))
    coef = (
        PrivateLinearRegression(0.3, 1e-6, bounds, method=method, constraints=constraints, random_state=0)
        .fit(X, y)
        .coef_
    )
    limits = constraints.limits(["a", "b", "c", "d"])
    assert np.all((limits.lower <= coef) & (coef <= limits.upper))
    assert constraints.norm is None or np.linalg.norm(coef) <= constraints.norm
