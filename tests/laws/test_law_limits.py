"""Law 3: without noise, and as the budget grows without bound, each method is its non-private self."""

import numpy as np
import pytest
from law_cases import Case, bounded, every_case, every_numeric, problem
from law_oracles import explicit_rows, hessian_sketch_steps, least_squares

from dpols import Bounds, mechanisms
from dpols.randomness import streams

ENDLESS = 1e9
WIDE = {"residual_bound": 10.0}  # no residual is clipped


@pytest.fixture
def no_gaussian_noise(monkeypatch):
    """Sketches stay random; all Gaussian noise is gone, whatever the budget."""
    gaussian = mechanisms.Channel.gaussian
    monkeypatch.setattr(
        mechanisms.Channel,
        "gaussian",
        lambda self, statistic, *, multiplier: gaussian(self, statistic, multiplier=1e-300),
    )


def ihm_limit(X, y, plan, fit, trial):
    ridge = float(fit.transcript["shift"][trial]) if plan.ridge else 0.0
    return hessian_sketch_steps(X, y, fit.transcript["sketches"][trial], ridge=ridge)


NOISELESS_LIMIT = {"ihm": ihm_limit}


@every_numeric
@every_case
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_an_endless_budget_gives_the_noiseless_method(case, numeric, fit_intercept):
    X, y = problem(2000, 3)
    bounds = Bounds(features=[(-1.0, 1.0), (-0.7, 0.9), (-0.6, 2.0)], target=(-1.5, 1.0))
    rows, targets = explicit_rows(X, y, bounds, fit_intercept=fit_intercept)
    plan = case.plan(epsilon=ENDLESS, n_rows=2000, n_features=rows.shape[1], **WIDE)
    bounded_rows = bounded(X, y, bounds, fit_intercept=fit_intercept, numeric=numeric)
    fit = case.algorithm.run(bounded_rows, plan, streams(1, 2))
    for trial in range(2):
        expected = NOISELESS_LIMIT[case.method](rows, targets, plan, fit, trial)
        np.testing.assert_allclose(fit.theta[trial], expected, atol=1e-4 * np.linalg.norm(expected))


def test_a_modest_budget_does_not_give_the_noiseless_method():
    case, (X, y) = Case("ihm"), problem(2000, 3)
    plan = case.plan(epsilon=10.0, n_rows=2000, n_features=3, **WIDE)
    fit = case.algorithm.run(bounded(X, y), plan, streams(1, 1))
    expected = ihm_limit(X, y, plan, fit, 0)
    assert np.linalg.norm(fit.theta[0] - expected) > 1e-3 * np.linalg.norm(expected)


@every_numeric
@every_case
@pytest.mark.usefixtures("no_gaussian_noise")
def test_without_gaussian_noise_any_budget_gives_the_noiseless_method(case, numeric):
    X, y = problem(2000, 3)
    plan = case.plan(n_rows=2000, n_features=3, **WIDE)
    fit = case.algorithm.run(bounded(X, y, numeric=numeric), plan, streams(2, 2))
    for trial in range(2):
        expected = NOISELESS_LIMIT[case.method](X, y, plan, fit, trial)
        # Whole-numbered rows and residuals are rounded to 2^-20.
        np.testing.assert_allclose(fit.theta[trial], expected, rtol=1e-9 if numeric == "float" else 1e-4)


@pytest.mark.parametrize("accounting", ["exact", "paper"])
def test_ihm_with_an_endless_budget_sketches_the_hessian_itself(accounting):
    X, y = problem(2000, 3)
    case = Case("ihm", accounting=accounting)
    plan = case.plan(epsilon=ENDLESS, n_rows=2000, n_features=3, sketch_size=20_000)
    fit = case.algorithm.run(bounded(X, y), plan, streams(3, 10))
    hessian = X.T @ X
    assert fit.transcript["shift"].max() < 1e-3 * np.linalg.norm(hessian, 2)
    pooled = fit.transcript["sketches"].mean(axis=(0, 1))
    np.testing.assert_allclose(pooled, hessian, atol=0.01 * np.linalg.norm(hessian, 2))


@pytest.mark.parametrize("accounting", ["exact", "paper"])
def test_ihm_with_an_endless_budget_tends_to_least_squares_as_iterations_grow(accounting):
    X, y = problem(2000, 3)
    case = Case("ihm", accounting=accounting)
    solution, _ = least_squares(X, y, fit_intercept=False)
    errors = []
    for n_iterations in (1, 3, 30):
        plan = case.plan(epsilon=ENDLESS, n_rows=2000, n_features=3, n_iterations=n_iterations, **WIDE)
        fit = case.algorithm.run(bounded(X, y), plan, streams(4, 5))
        errors.append(np.linalg.norm(fit.theta - solution, axis=1).mean() / np.linalg.norm(solution))
    assert errors[0] > 3 * errors[1] > 9 * errors[2]
    assert errors[2] < 1e-4


def test_ihm_with_the_ridge_term_tends_to_the_ridge_solution_of_its_shift(no_gaussian_noise):
    X, y = problem(2000, 3)
    plan = Case("ihm").plan(n_rows=2000, n_features=3, ridge=True, eigenvalue="off", n_iterations=40, **WIDE)
    fit = Case("ihm").algorithm.run(bounded(X, y), plan, streams(5, 1))
    shift = plan.floor - 1.0
    ridge = np.linalg.solve(X.T @ X + shift * np.eye(3), X.T @ y)
    np.testing.assert_allclose(fit.theta[0], ridge, rtol=1e-6)
    assert np.linalg.norm(ridge - np.linalg.lstsq(X, y, rcond=None)[0]) > 0.01
