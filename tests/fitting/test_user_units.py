"""From bounded rows back to the user's units: coefficients, their noise, and what the released numbers say of a fit."""

import math

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from dpols import Bounds, PrivateLinearRegression
from dpols.algorithms import ALGORITHMS
from dpols.data import ArraySource, BoundedRows
from dpols.privacy import PrivacyBudget
from dpols.randomness import streams
from dpols.report.outcome import verdict_of

ENDLESS = {"epsilon": 1e9, "delta": 1e-6, "random_state": 0}
LOW, HIGH = np.array([18.0, -3.0, 1000.0]), np.array([90.0, 5.0, 1500.0])
FEATURES = [(18.0, 90.0), (-3.0, 5.0), (1000.0, 1500.0)]
SLOPES = np.array([0.5, -2.0, 0.01])


def people(n_rows=4000, *, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(LOW, HIGH, (n_rows, 3))
    return X, 100.0 + X @ SLOPES + rng.standard_normal(n_rows)


def almost_converged(**more):
    return {"method": "ihm", "options": {"n_iterations": 25}} | ENDLESS | more


@pytest.mark.parametrize("arithmetic", ["float", "exact"])
@pytest.mark.parametrize(
    "bounds",
    [
        Bounds(features=FEATURES, target=(80.0, 220.0)),
        Bounds(features=FEATURES, target=(0.0, 400.0)),
        Bounds(features=FEATURES, y_abs=300.0),
        Bounds(features=FEATURES, x_norm=1.75, target=(80.0, 220.0)),
        Bounds(features=[(0.0, 100.0), (-10.0, 10.0), (900.0, 1600.0)], target=(50.0, 250.0)),
    ],
    ids=str,
)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_an_endless_budget_gives_least_squares_in_the_users_units(bounds, fit_intercept, arithmetic):
    X, y = people()
    model = PrivateLinearRegression(
        bounds=bounds, fit_intercept=fit_intercept, arithmetic=arithmetic, **almost_converged()
    ).fit(X, y)
    expected = LinearRegression(fit_intercept=fit_intercept).fit(X, y)
    predictions = expected.predict(X)
    np.testing.assert_allclose(model.predict(X), predictions, atol=1e-3 * np.std(predictions))
    np.testing.assert_allclose(model.coef_ * (HIGH - LOW), expected.coef_ * (HIGH - LOW), atol=0.02)
    if not fit_intercept:
        assert model.intercept_ == 0.0


@pytest.mark.parametrize("arithmetic", ["float", "exact"])
@pytest.mark.parametrize("bounds", [Bounds(x_norm=12.0, y_abs=30.0), Bounds(x_norm=9.0, target=(-5.0, 30.0))], ids=str)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_an_endless_budget_gives_least_squares_under_a_norm_bound(bounds, fit_intercept, arithmetic):
    rng = np.random.default_rng(2)
    X = rng.uniform(-5.0, 5.0, (4000, 3))
    y = 11.0 + X @ [1.0, -0.4, 0.1] + 0.5 * rng.standard_normal(4000)
    model = PrivateLinearRegression(
        bounds=bounds, fit_intercept=fit_intercept, arithmetic=arithmetic, **almost_converged()
    ).fit(X, y)
    expected = LinearRegression(fit_intercept=fit_intercept).fit(X, y)
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-3)
    np.testing.assert_allclose(model.intercept_, expected.intercept_, atol=1e-2)


@pytest.mark.extras
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_bounds_by_name_reach_their_columns_in_whatever_order(fit_intercept):
    pandas = pytest.importorskip("pandas")
    X, y = people()
    table = pandas.DataFrame(X, columns=["age", "score", "weight"]).assign(paid=y)[["weight", "paid", "age", "score"]]
    bounds = Bounds(features=dict(zip(["age", "score", "weight"], FEATURES, strict=True)), target=(80.0, 220.0))
    model = PrivateLinearRegression(bounds=bounds, fit_intercept=fit_intercept, **almost_converged()).fit(table, "paid")
    expected = LinearRegression(fit_intercept=fit_intercept).fit(X, y).coef_
    assert model.feature_names_in_.tolist() == ["weight", "age", "score"]
    np.testing.assert_allclose(model.coef_ * (HIGH - LOW)[[2, 0, 1]], (expected * (HIGH - LOW))[[2, 0, 1]], atol=0.02)


def test_values_outside_the_bounds_are_clipped_when_fitting():
    X, y = people()
    bounds = Bounds(features=[(30.0, 70.0), (-1.0, 2.0), (1000.0, 1500.0)], target=(120.0, 150.0))
    model = PrivateLinearRegression(bounds=bounds, **almost_converged()).fit(X, y)
    clipped = np.clip(X, *np.array(bounds.features).T)
    expected = LinearRegression().fit(clipped, np.clip(y, 120.0, 150.0))
    np.testing.assert_allclose(model.predict(X, raw=True), expected.predict(X), atol=0.05)


def test_predictions_lie_in_the_range_of_the_target_unless_raw_ones_are_asked_for():
    X, y = people()
    model = PrivateLinearRegression(1.0, 1e-6, Bounds(features=FEATURES, target=(80.0, 220.0)), random_state=0)
    model.fit(X, y)
    far = np.array([[1e6, -1e5, 0.0], [0.0, 0.0, 0.0], [-500.0, 1e9, 1e7]])
    raw = far @ model.coef_ + model.intercept_
    np.testing.assert_allclose(model.predict(far, raw=True), raw, rtol=1e-12)
    np.testing.assert_allclose(model.predict(far), np.clip(raw, 80.0, 220.0), rtol=1e-12)
    assert model.target_range_ == (80.0, 220.0)
    assert not 80.0 <= raw.min() <= raw.max() <= 220.0


def test_with_an_intercept_the_target_is_centred_at_the_middle_of_its_bounds():
    """Without a signal there is nothing to add to the middle, so that is where predictions are."""
    X, _ = people(50)
    bounds = Bounds(features=FEATURES, target=(1e6, 1e6 + 10.0))
    centred = PrivateLinearRegression(bounds=bounds, **almost_converged()).fit(X, np.full(50, 1e6 + 5.0))
    np.testing.assert_allclose(centred.predict(X), 1e6 + 5.0, atol=0.01)
    uncentred = bounds.row_map(n_features=3, columns=None, fit_intercept=False)
    assert (uncentred.target_centre, uncentred.target_scale) == (0.0, 1e6 + 10.0)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(
    "bounds", [Bounds(features=FEATURES, target=(80.0, 220.0)), Bounds(x_norm=2000.0, y_abs=300.0)], ids=str
)
def test_the_coefficient_map_carries_bounded_predictions_to_the_users_units(bounds, fit_intercept):
    X, _ = people(20)
    row_map = bounds.row_map(n_features=3, columns=None, fit_intercept=fit_intercept)
    theta = np.linspace(-1.0, 2.0, row_map.n_coordinates)
    matrix, offset = row_map.coefficient_map()
    *slopes, intercept = matrix @ theta + offset
    in_units = X @ slopes + intercept
    centre, scale = (0.0, 1.0) if row_map.centre is None else (row_map.centre, row_map.scale)
    rows = (X - centre) / scale / row_map.row_norm
    if fit_intercept:
        rows = np.column_stack((rows, np.full(20, row_map.intercept / row_map.row_norm)))
    np.testing.assert_allclose(in_units, row_map.target_centre + row_map.target_scale * (rows @ theta), rtol=1e-10)


SLOW = {"ihm-adaptive", "whitened", "whitened-inference"}  # runs of these share few passes or none
METHODS_WITH_EVIDENCE = [name for name, algorithm in ALGORITHMS.items() if algorithm.evidence is not None]


def many_runs(method, X, y, bounds, *, epsilon, trials, fit_intercept, **options):
    """Many runs on the same data, with what each says of itself."""
    algorithm = ALGORITHMS[method]
    row_map = bounds.row_map(n_features=X.shape[1], columns=None, fit_intercept=fit_intercept)
    plan = algorithm.plan(PrivacyBudget(epsilon, 1e-6), n_rows=len(y), n_features=row_map.n_coordinates, **options)
    fit = algorithm.run(BoundedRows(ArraySource(X, y), row_map), plan, streams(5, trials))
    constant = row_map.intercept / row_map.row_norm if fit_intercept else None
    return row_map, fit, [algorithm.evidence(plan, fit, trial, constant) for trial in range(trials)]


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("method", METHODS_WITH_EVIDENCE)
def test_the_stated_noise_of_a_coefficient_is_its_spread_over_runs(method, fit_intercept):
    bounds = Bounds(features=FEATURES, target=(80.0, 220.0))
    trials = (60 if method == "ihm-adaptive" else 120) if method in SLOW else 300
    # Gradient descent releases no curvature, so that its noise is known only while steps are few and short.
    options = {"n_iterations": 3, "learning_rate": 0.25, "norm_bound": 1.0} if method == "dp-gd" else {}
    _, fit, evidence = many_runs(
        method, *people(20_000), bounds, epsilon=4.0, trials=trials, fit_intercept=fit_intercept, **options
    )
    stated = np.sqrt([np.diag(e.noise_covariance) for e in evidence]).mean(axis=0)
    np.testing.assert_allclose(fit.theta.std(axis=0, ddof=1), stated, rtol=0.2)


def test_the_stated_noise_of_gradient_descent_is_an_upper_bound():
    bounds = Bounds(features=FEATURES, target=(80.0, 220.0))
    _, fit, evidence = many_runs("dp-gd", *people(5000), bounds, epsilon=4.0, trials=60, fit_intercept=True)
    stated = np.sqrt(np.diag(evidence[0].noise_covariance))
    assert (fit.theta.std(axis=0, ddof=1) < 1.1 * stated).all()


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("method", METHODS_WITH_EVIDENCE)
def test_the_report_states_the_noise_in_the_users_units(method, fit_intercept):
    X, y = people(2000)
    bounds = Bounds(features=FEATURES, target=(80.0, 220.0))
    row_map, fit, evidence = many_runs(method, X, y, bounds, epsilon=4.0, trials=1, fit_intercept=fit_intercept)
    model = PrivateLinearRegression(
        4.0, 1e-6, bounds, method=method, fit_intercept=fit_intercept, arithmetic="float", random_state=5
    ).fit(X, y)
    matrix, offset = row_map.coefficient_map()
    released, covariance = matrix @ fit.theta[0] + offset, matrix @ evidence[0].noise_covariance @ matrix.T
    coefficients = model.privacy_report_.coefficients
    assert [c.name for c in coefficients] == ["x0", "x1", "x2", "intercept"][: 3 + fit_intercept]
    np.testing.assert_allclose([c.value for c in coefficients], released[: 3 + fit_intercept], rtol=1e-9)
    stated = np.sqrt(np.diag(covariance))[: 3 + fit_intercept]
    np.testing.assert_allclose([c.noise_stddev for c in coefficients], stated, rtol=1e-6)


def verdicts(method, X, y, *, epsilon, trials, fit_intercept=True):
    """The verdicts of many runs, which differ in their noise only."""
    bounds = Bounds(x_norm=1.0, y_abs=1.0)
    _, _, evidence = many_runs(method, X, y, bounds, epsilon=epsilon, trials=trials, fit_intercept=fit_intercept)
    return [verdict_of(e.risk_change, e.risk_change_stddev)[0].split()[0] for e in evidence]


def unit_rows(n_rows, *, seed=0):
    X = np.random.default_rng(seed).standard_normal((n_rows, 3))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("method", METHODS_WITH_EVIDENCE)
class TestVerdict:
    """What the released numbers say at no further cost."""

    def test_a_strong_signal_is_seen(self, method, fit_intercept):
        X = unit_rows(20_000)
        found = verdicts(method, X, X @ [0.6, -0.6, 0.3], epsilon=2.0, trials=30, fit_intercept=fit_intercept)
        assert found.count("better") >= 29

    @pytest.mark.parametrize("offset", [0.0, 0.5])
    def test_pure_noise_is_hardly_ever_taken_for_a_signal(self, method, fit_intercept, offset):
        if offset and not fit_intercept:
            pytest.skip("without an intercept, the constant that is beaten is zero")
        trials, claims = 20 if method in SLOW else 50, 0
        for seed, (epsilon, n_rows) in enumerate(((1.0, 2000), (1.0, 8000), (10.0, 2000), (10.0, 200))):
            y = np.clip(offset + 0.3 * np.random.default_rng(seed).standard_normal(n_rows), -1.0, 1.0)
            found = verdicts(method, unit_rows(n_rows), y, epsilon=epsilon, trials=trials, fit_intercept=fit_intercept)
            claims += found.count("better")
        assert claims <= 0.02 * 4 * trials

    def test_a_tiny_budget_hardly_ever_claims_a_better_fit(self, method, fit_intercept):
        X = unit_rows(500)
        found = verdicts(
            method,
            X,
            X @ [0.6, -0.6, 0.3],
            epsilon=0.01,
            trials=30 if method == "ihm-adaptive" else 100,
            fit_intercept=fit_intercept,
        )
        assert found.count("better") <= 3


@pytest.mark.parametrize(
    ("change", "stddev", "expected"),
    [(-3.1, 1.0, "better"), (-2.9, 1.0, "perhaps no better"), (2.9, 1.0, "perhaps no better"), (6.2, 2.0, "worse")],
)
def test_a_verdict_needs_three_standard_deviations(change, stddev, expected):
    assert verdict_of(change, stddev)[0].startswith(expected)


@pytest.mark.parametrize(("change", "stddev"), [(math.nan, 1.0), (-1.0, math.nan), (-math.inf, 1.0), (-1.0, math.inf)])
def test_without_finite_numbers_there_is_no_verdict(change, stddev):
    assert verdict_of(change, stddev)[0] == "cannot tell"
