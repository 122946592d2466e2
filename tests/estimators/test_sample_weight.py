"""Weights of rows in estimators: what they fit, what they refuse, how scikit-learn passes them on."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from dpols import (
    Bounds,
    PaidBounds,
    PrivateGridSearch,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivatePoissonRegressor,
)
from dpols.errors import BoundsError, DataError, ParameterError
from dpols.private_search.scores import Measure, scores_of

BOUNDS = Bounds(features=[(-1.0, 1.0)] * 2, target=(-8.0, 8.0))
VAST, DELTA = 1e5, 1e-6


def problem(n_rows=8000, seed=0):
    """Rows whose slopes depend on their weights, with errors of unequal variance."""
    rng = np.random.default_rng(seed)
    X, weights = rng.uniform(-1.0, 1.0, (n_rows, 2)), rng.choice([0.2, 1.0, 3.0, 4.0], n_rows)
    noise = rng.normal(0.0, 0.5, n_rows) * (1.0 + 0.8 * X[:, 0])
    return X, 1.0 + X @ [1.0, -2.0] + 0.4 * weights * X[:, 1] + noise, weights


def linear(epsilon=VAST, **parameters):
    chosen = {"bounds": BOUNDS, "max_weight": 4.0, "random_state": 0} | parameters
    return PrivateLinearRegression(epsilon, DELTA, **chosen)


def weighted_least_squares(X, y, weights):
    """Coefficients, HC1 and classical standard errors, R^2 and scale as statsmodels' WLS has them, the intercept last.

    The weights are divided by their mean first.
    """
    weights = weights / weights.mean()
    Z, n = np.column_stack((X, np.ones(len(y)))), len(y)
    bread = np.linalg.inv(Z.T * weights @ Z)
    theta = bread @ (Z.T @ (weights * y))
    residuals = y - Z @ theta
    free = n - Z.shape[1]
    meat = (Z * np.square(weights * residuals)[:, None]).T @ Z
    robust = np.sqrt(np.diag(bread @ meat @ bread) * n / free)
    scale = float(weights @ residuals**2) / free
    total = float(weights @ (y - np.average(y, weights=weights)) ** 2)
    return theta, robust, np.sqrt(scale * np.diag(bread)), 1.0 - scale * free / total, scale


@pytest.mark.parametrize("arithmetic", ["exact", "float"])
@pytest.mark.parametrize(("cov_type", "place"), [("HC1", 1), ("nonrobust", 2)])
def test_inference_tends_to_that_of_weighted_least_squares(cov_type, place, arithmetic):
    X, y, weights = problem()
    options = {"cov_type": cov_type, "clip": "range"}
    model = linear(arithmetic=arithmetic, inference=True, options=options).fit(X, y, sample_weight=weights)
    oracle = weighted_least_squares(X, y, weights)
    np.testing.assert_allclose(model.params.to_numpy(), oracle[0], atol=2e-3)
    np.testing.assert_allclose(model.bse.to_numpy(), oracle[place], rtol=0.02)
    assert model.rsquared == pytest.approx(oracle[3], abs=5e-3)
    assert model.scale == pytest.approx(oracle[4], rel=0.02)
    assert model.nobs == pytest.approx(len(y), abs=1.0)
    assert model.df_resid == pytest.approx(len(y) - 3, abs=1.0)


def test_rows_of_weight_zero_are_no_observations():
    X, y, weights = problem()
    weights[:2000] = 0.0
    model = linear(inference=True).fit(X, y, sample_weight=weights)
    assert model.nobs == pytest.approx(6000, abs=1.0)


def test_clustered_standard_errors_sum_weighted_scores_of_units():
    X, y, weights = problem()
    units = np.arange(len(y)) // 2
    y = y + np.random.default_rng(1).normal(0.0, 1.0, len(y) // 2).repeat(2)  # shared by the rows of a unit
    options = {"clip": "range"}
    model = linear(1e6, inference=True, max_rows_per_unit=2, options=options)
    found = model.fit(X, y, sample_weight=weights, groups=units).bse.to_numpy()
    Z = np.column_stack((X, np.ones(len(y))))
    bread = np.linalg.inv(Z.T * weights @ Z)
    scores = Z * (weights * (y - Z @ (bread @ (Z.T @ (weights * y)))))[:, None]
    sums = scores[0::2] + scores[1::2]
    np.testing.assert_allclose(found, np.sqrt(np.diag(bread @ (sums.T @ sums) @ bread)), rtol=0.03)


def test_frequencies_have_standard_errors_that_are_too_large_rather_than_too_small():
    X, y, _ = problem(2000)
    frequency = np.random.default_rng(3).integers(1, 5, len(y)).astype(float)
    again = np.repeat(np.arange(len(y)), frequency.astype(int))
    once = weighted_least_squares(X, y, frequency)
    repeated = weighted_least_squares(X[again], y[again], np.ones(len(again)))
    np.testing.assert_allclose(once[0], repeated[0], atol=1e-12)
    assert (once[1] > repeated[1]).all()


def test_intervals_cover_the_weighted_coefficients_of_the_population():
    X, y, weights = problem(400_000, seed=9)
    truth = weighted_least_squares(X, y, weights)[0]
    inside = []
    for seed in range(30):
        rows = np.random.default_rng(seed).integers(0, len(y), 4000)
        model = linear(2.0, inference=True, random_state=seed).fit(X[rows], y[rows], sample_weight=weights[rows])
        low, high = model.conf_int().to_numpy().T
        inside.append((low <= truth) & (truth <= high))
    assert np.mean(inside) > 0.9  # of 90; 95% have a standard deviation of 2.3%


@pytest.mark.parametrize("make", [PrivateLogisticRegression, PrivatePoissonRegressor])
def test_other_families_maximise_the_weighted_likelihood(make):
    rng = np.random.default_rng(2)
    X, weights = rng.uniform(-1.0, 1.0, (8000, 2)), rng.choice([0.5, 1.0, 4.0], 8000)
    predictor = 0.5 + X[:, 0] + 0.5 * weights * X[:, 1]
    logistic = make is PrivateLogisticRegression
    mean = 1.0 / (1.0 + np.exp(-predictor)) if logistic else np.exp(0.4 * predictor)
    y = (rng.uniform(size=8000) < mean).astype(float) if logistic else rng.poisson(mean).clip(0, 30).astype(float)
    bounds = Bounds(features=[(-1.0, 1.0)] * 2, target=None if logistic else (0, 30))
    found = make(VAST, DELTA, bounds, max_weight=4.0, random_state=0).fit(X, y, sample_weight=weights)
    theta = np.zeros(3)
    Z = np.column_stack((X, np.ones(len(y))))
    for _ in range(30):  # Newton's steps
        fitted = 1.0 / (1.0 + np.exp(-Z @ theta)) if logistic else np.exp(Z @ theta)
        curvature = fitted * (1.0 - fitted) if logistic else fitted
        theta = theta + np.linalg.solve(Z.T * (weights * curvature) @ Z, Z.T @ (weights * (y - fitted)))
    np.testing.assert_allclose([*np.ravel(found.coef_), *np.ravel(found.intercept_)], theta, atol=8e-3)


def test_the_report_states_the_largest_weight_and_what_voids_the_guarantee():
    X, y, weights = problem(500)
    report = str(linear(1.0).fit(X, y, sample_weight=weights).privacy_report_)
    assert "[0, 4]" in report
    assert "raking" in report
    assert "raking" not in str(linear(1.0).fit(X, y).privacy_report_)


def test_advice_on_the_largest_weight_comes_from_the_released_mean():
    X, y, weights = problem()

    def advice(largest):
        model = linear(3.0, max_weight=largest)
        return " ".join(model.fit(X, y, sample_weight=weights).privacy_report_.advice)

    assert "max_weight" not in advice(4.0)
    assert "nearly all weights are max_weight=0.1 or above" in advice(0.1)
    assert "a small part of max_weight=100" in advice(100.0)


def test_methods_that_do_not_release_the_sum_of_weights_do_not_judge_against_a_constant():
    X, y, weights = problem(2000)
    for method, known in (("whitened", True), ("ihm", False), ("adassp", False)):
        verdict = linear(50.0, method=method).fit(X, y, sample_weight=weights).privacy_report_.verdict
        assert verdict.startswith("better" if known else "cannot tell"), method


@pytest.mark.parametrize("method", ["whitened", "adassp", "boosted-adassp", "ihm", "linmix"])
def test_a_sum_of_weights_is_not_told_as_the_number_of_rows(method):
    X, y, _ = problem(2000)
    model = linear(50.0, method=method, neighbours="add-remove").fit(X, y, sample_weight=np.full(2000, 0.5))
    told = model.privacy_report_.n_rows
    assert abs(told - 2000) < 50 if method == "whitened" else told is None


def test_what_cannot_be_weights_is_refused_before_anything_is_spent():
    X, y, weights = problem(50)
    with pytest.raises(ParameterError, match="sample_weight needs max_weight"):
        linear(max_weight=None).fit(X, y, sample_weight=weights)
    for largest in (0.0, -1.0, np.nan, np.inf, "much"):
        with pytest.raises(BoundsError, match="max_weight="):
            linear(max_weight=largest).fit(X, y, sample_weight=weights)
    with pytest.raises(DataError, match="sample_weight must have one value for each row"):
        linear().fit(X, y, sample_weight=weights[:-1])
    with pytest.raises(DataError, match="2 dimensions"):
        linear().fit(X, y, sample_weight=weights[:, None])
    with pytest.raises(DataError, match="names a column, but X is not a table"):
        linear().fit(X, y, sample_weight="w")
    with pytest.raises(DataError, match="sample_weight must hold numbers"):
        linear().fit(X, y, sample_weight=["heavy"] * 50)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1e-9])
def test_bad_weights_are_bad_rows(bad):
    X, y, weights = problem(300)
    weights[7] = bad
    with pytest.raises(DataError, match="or a negative weight, and bad_rows"):
        linear(1.0).fit(X, y, sample_weight=weights)
    found = linear(1.0, bad_rows="zero").fit(X, y, sample_weight=weights)
    weights[7] = 0.0
    same = linear(1.0, bad_rows="zero").fit(X, y, sample_weight=weights)
    assert found.coef_.tobytes() == same.coef_.tobytes()
    assert found.privacy_report_.to_json() == same.privacy_report_.to_json()


def test_paid_bounds_count_no_row_of_weight_zero():
    X, y, weights = problem(2000)
    X[:500], weights[:500] = 1e6, 0.0
    paid = linear(20.0, bounds=PaidBounds())
    found = paid.fit(X, y, sample_weight=weights)
    y[:500] = 1e9
    assert found.coef_.tobytes() == clone(paid).fit(X, y, sample_weight=weights).coef_.tobytes()


def test_a_pipeline_passes_weights_on_where_they_are_requested():
    X, y, weights = problem(1000)
    expected = linear(5.0).fit(X, y, sample_weight=weights)
    with sklearn.config_context(enable_metadata_routing=True):
        model = linear(5.0).set_fit_request(sample_weight=True)
        fitted = make_pipeline(FunctionTransformer(), model).fit(X, y, sample_weight=weights)
    assert fitted[-1].coef_.tobytes() == expected.coef_.tobytes()
    fitted = make_pipeline(FunctionTransformer(), linear(5.0)).fit(X, y, privatelinearregression__sample_weight=weights)
    assert fitted[-1].coef_.tobytes() == expected.coef_.tobytes()


def test_a_search_weights_fits_and_scores():
    X, y, weights = problem()
    y = np.where(weights > 2.0, y, 7.9)  # rows of small weight would make a constant look good
    search = PrivateGridSearch(
        PrivateLinearRegression(bounds=BOUNDS, max_weight=4.0),
        {"fit_intercept": [True, False]},
        epsilon=1e4,
        delta=DELTA,
        random_state=0,
    ).fit(X, y, sample_weight=weights)
    best = search.best_estimator_
    errors = np.square(np.clip(best.predict(X), -8.0, 8.0) - y)
    assert search.results_[0]["mean_squared_error"] == pytest.approx(np.average(errors, weights=weights), rel=0.1)
    assert abs(np.average(errors, weights=weights) - errors.mean()) > 0.5
    with pytest.raises(ParameterError, match="sample_weight needs max_weight"):
        PrivateGridSearch(
            PrivateLinearRegression(bounds=BOUNDS), {"fit_intercept": [True]}, epsilon=1, delta=DELTA
        ).fit(X, y, sample_weight=weights)
    with pytest.raises(ParameterError, match="max_weight must be the same"):
        PrivateGridSearch(
            PrivateLinearRegression(bounds=BOUNDS), {"max_weight": [1.0, 2.0]}, epsilon=1, delta=DELTA
        ).fit(X, y, sample_weight=weights)


def test_no_weighted_row_moves_the_scores_of_a_search_by_more_than_they_state():
    X, y, weights = problem(300)
    models = [linear(50.0, fit_intercept=intercept).fit(X, y) for intercept in (True, False)]
    y[0], weights[0] = 1e9, 100.0  # as far off as can be, and as heavy
    everything = scores_of(models, X, y, Measure.squared((-8.0, 8.0)), weights, 4.0)
    less = scores_of(models, X[1:], y[1:], Measure.squared((-8.0, 8.0)), weights[1:], 4.0)
    moved = np.linalg.norm((everything.value - less.value).astype(float))
    assert moved <= everything.sensitivity
    assert moved > 0.5 * everything.sensitivity
