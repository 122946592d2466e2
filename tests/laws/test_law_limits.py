"""Law 3: without noise, and as the budget grows without bound, each method is its non-private self."""

from functools import cache

import numpy as np
import pytest
from law_cases import Case, bounded, every_arithmetic, every_linear_case, every_linear_method, problem
from law_oracles import explicit_rows, hessian_sketch_steps, least_squares

from dpols import Bounds, mechanisms
from dpols.randomness import streams

ENDLESS = 1e9
BOUNDS = Bounds(features=[(-1.0, 1.0), (-0.7, 0.9), (-0.6, 2.0)], target=(-1.5, 1.0))
# No residual and no row's gradient is clipped.
WIDE = {
    "ihm": {"residual_bound": 10.0},
    "ihm-adaptive": {"residual_bound": 10.0},
    "boosted-adassp": {"residual_bound": 10.0},
    "dp-gd": {"norm_bound": 10.0},
}


@pytest.fixture
def no_gaussian_noise(monkeypatch):
    """Sketches stay random; all Gaussian noise is gone, whatever the budget."""

    def quiet(mechanism):
        return lambda self, statistic, *, multiplier: mechanism(self, statistic, multiplier=1e-300)

    for name in ("gaussian", "symmetric_gaussian"):
        monkeypatch.setattr(mechanisms.Channel, name, quiet(getattr(mechanisms.Channel, name)))


def ihm_limit(X, y, plan, fit, trial):
    sketches = fit.transcript["sketches"][trial]
    sketches = sketches[np.isfinite(sketches).all(axis=(1, 2))]
    ridge = float(fit.transcript["shift"][trial]) if plan.ridge else 0.0
    return hessian_sketch_steps(X, y, sketches, ridge=ridge)


def whitened_limit(X, y, plan, fit, trial):
    of = {name: values[trial] for name, values in fit.transcript.items()}
    V, r0 = X @ of["metric"], y - X @ of["base"]
    lengths = np.linalg.norm(V, axis=1)
    points, gradients = [np.zeros(X.shape[1])], []
    for limit in of["limits"]:
        r = r0 - V @ points[-1]
        sizes = lengths * np.abs(r)
        gradients.append(V.T @ (r * np.minimum(1.0, limit / np.maximum(sizes, 1e-300))))
        points.append(points[-1] + 0.75 * gradients[-1])
    start = plan.late if of["limits"][plan.late] > of["limits"][plan.late - 1] else plan.warm_up
    weights = [step + 1 if step >= start else 0 for step in range(plan.n_iterations)]
    closing = np.average(np.array(points[:-1]) + np.array(gradients), axis=0, weights=weights)
    theta = of["base"] + of["metric"] @ of["kept"] @ closing
    if np.ptp(X[:, -1]) == 0.0:  # an intercept: predictions have the mean of the targets
        theta[-1] += np.mean(y - X @ theta) / X[0, -1]
    return theta


def whitened_inference_limit(X, y, plan, fit, trial):
    of = {name: values[trial] for name, values in fit.transcript.items()}
    V, r0 = X @ of["metric"], y - X @ of["base"]
    lengths = np.linalg.norm(V, axis=1)
    points, gradients = [np.zeros(X.shape[1])], []
    first = len(of["limits"]) - 4
    for step, limit in enumerate(of["limits"]):
        if step == first:  # from the mean of where the first steps led
            points[-1] = np.mean([p + g for p, g in list(zip(points, gradients, strict=False))[plan.warm_up :]], axis=0)
        r = r0 - V @ points[-1]
        sizes = lengths * np.abs(r)
        gradients.append(V.T @ (r * np.minimum(1.0, limit / np.maximum(sizes, 1e-300))))
        points.append(points[-1] + 0.75 * gradients[-1])
    rows = V * np.minimum(1.0, of["row_limits"][2] / lengths)[:, None]
    values, vectors = np.linalg.eigh(rows.T @ rows)
    noise = plan.third_gram_multiplier * of["row_limits"][2] ** 2
    seen = np.maximum(values, noise)
    inverses = 1.0 / (seen + 0.5 * noise**2 * (np.sum(1.0 / seen) + 1.0 / seen))
    inverses = np.where(values < 2.5 * noise, np.minimum(inverses, 1.0), inverses)
    step = (vectors * inverses) @ vectors.T @ np.mean(gradients[-4:], axis=0)
    return of["base"] + of["metric"] @ (np.mean(points[-5:-1], axis=0) + step)


def sketch_and_solve_limit(X, y, plan, fit, trial):
    """Least squares on rows that have the released Gram matrix."""
    rows = np.linalg.cholesky(fit.transcript["sketch"][trial]).T
    return np.linalg.lstsq(rows[:, :-1], rows[:, -1], rcond=None)[0]


def ridge_limit(X, y, plan, fit, trial):
    ridge = float(fit.transcript["ridge"][trial])
    return np.linalg.solve(X.T @ X + ridge * np.eye(X.shape[1]), X.T @ y)


def boosting_limit(X, y, plan, fit, trial):
    curvature = X.T @ X + float(fit.transcript["ridge"][trial]) * np.eye(X.shape[1])
    shrinkage = {"constant": lambda t: 1.0, "1/t": lambda t: 1.0 / t, "1/sqrt(t)": lambda t: t**-0.5}[plan.shrinkage]
    theta = np.zeros(X.shape[1])
    for t in range(1, plan.n_iterations + 1):
        theta = theta + shrinkage(t) * np.linalg.solve(curvature, X.T @ (y - X @ theta))
    return theta


def descent_limit(X, y, plan, fit, trial):
    theta = np.zeros(X.shape[1])
    for _ in range(plan.n_iterations):
        theta = theta + plan.learning_rate * (X.T @ (y - X @ theta)) / len(y)
    return theta


NOISELESS_LIMIT = {
    "whitened": whitened_limit,
    "whitened-inference": whitened_inference_limit,
    "ihm": ihm_limit,
    "ihm-adaptive": ihm_limit,
    "linmix": sketch_and_solve_limit,
    "linmix-dynamic": sketch_and_solve_limit,
    "sheffet": sketch_and_solve_limit,
    "adassp": ridge_limit,
    "boosted-adassp": boosting_limit,
    "dp-gd": descent_limit,
}


@cache
def bounded_by_definition(fit_intercept):
    return explicit_rows(*problem(2000, 3), BOUNDS, fit_intercept=fit_intercept)


@every_arithmetic
@every_linear_case
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_an_endless_budget_gives_the_noiseless_method(case, arithmetic, fit_intercept):
    rows, targets = bounded_by_definition(fit_intercept)
    plan = case.plan(epsilon=ENDLESS, n_rows=2000, n_features=rows.shape[1], **WIDE.get(case.method, {}))
    bounded_rows = bounded(*problem(2000, 3), BOUNDS, fit_intercept=fit_intercept, arithmetic=arithmetic)
    fit = case.algorithm.run(bounded_rows, plan, streams(1, 2))
    for trial in range(2):
        expected = NOISELESS_LIMIT[case.method](rows, targets, plan, fit, trial)
        np.testing.assert_allclose(fit.theta[trial], expected, atol=1e-4 * np.linalg.norm(expected))


@every_arithmetic
@every_linear_case
@pytest.mark.usefixtures("no_gaussian_noise")
def test_without_gaussian_noise_any_budget_gives_the_noiseless_method(case, arithmetic):
    X, y = problem(2000, 3)
    plan = case.plan(n_rows=2000, n_features=3, **WIDE.get(case.method, {}))
    fit = case.algorithm.run(bounded(X, y, arithmetic=arithmetic), plan, streams(2, 2))
    for trial in range(2):
        expected = NOISELESS_LIMIT[case.method](X, y, plan, fit, trial)
        # Whole-numbered rows and residuals are rounded to 2^-20.
        accuracy = 1e-9 if arithmetic == "float" else 1e-5
        np.testing.assert_allclose(fit.theta[trial], expected, atol=accuracy * np.linalg.norm(expected))


@every_linear_method
def test_a_modest_budget_does_not_give_the_endless_one(case):
    """Else the two laws above would hold of a method without noise."""
    X, y = problem(2000, 3)
    thetas = [
        case.algorithm.run(
            bounded(X, y),
            case.plan(epsilon=epsilon, n_rows=2000, n_features=3, **WIDE.get(case.method, {})),
            streams(1, 20),
        ).theta
        for epsilon in (1.0, ENDLESS)
    ]
    solution, _ = least_squares(X, y, fit_intercept=False)
    spreads = [np.linalg.norm(theta.std(axis=0)) / np.linalg.norm(solution) for theta in thetas]
    assert spreads[0] > 3e-3
    assert spreads[0] > 2.0 * spreads[1] or spreads[1] < 0.5


# How each method is led to least squares: with a sketch so large, or steps so many, that neither matters.
TOWARDS_LEAST_SQUARES = {
    "whitened": {},
    "whitened-inference": {},
    "ihm": {"n_iterations": 30},
    "ihm-adaptive": {"min_iterations": 20, "max_iterations": 20},
    "linmix": {"sketch_size": 400_000},
    "linmix-dynamic": {"sketch_size": 400_000},
    "sheffet": {"sketch_size": 400_000},
    "adassp": {},
    "boosted-adassp": {},
    "dp-gd": {"n_iterations": 300, "learning_rate": 2.0},
}


@every_linear_method
def test_an_endless_budget_leads_to_least_squares(case):
    X, y = problem(2000, 3)
    solution, _ = least_squares(X, y, fit_intercept=False)
    options = {**WIDE.get(case.method, {}), **TOWARDS_LEAST_SQUARES[case.method]}
    plan = case.plan(epsilon=ENDLESS, n_rows=2000, n_features=3, **options)
    fit = case.algorithm.run(bounded(X, y), plan, streams(4, 5))
    errors = np.linalg.norm(fit.theta - solution, axis=1) / np.linalg.norm(solution)
    assert errors.mean() < 2e-2


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
        plan = case.plan(epsilon=ENDLESS, n_rows=2000, n_features=3, n_iterations=n_iterations, **WIDE["ihm"])
        fit = case.algorithm.run(bounded(X, y), plan, streams(4, 5))
        errors.append(np.linalg.norm(fit.theta - solution, axis=1).mean() / np.linalg.norm(solution))
    assert errors[0] > 3 * errors[1] > 9 * errors[2]
    assert errors[2] < 1e-4


def test_ihm_with_the_ridge_term_tends_to_the_ridge_solution_of_its_shift(no_gaussian_noise):
    X, y = problem(2000, 3)
    plan = Case("ihm").plan(n_rows=2000, n_features=3, ridge=True, eigenvalue="off", n_iterations=40, **WIDE["ihm"])
    fit = Case("ihm").algorithm.run(bounded(X, y), plan, streams(5, 1))
    shift = plan.floor - 1.0
    ridge = np.linalg.solve(X.T @ X + shift * np.eye(3), X.T @ y)
    np.testing.assert_allclose(fit.theta[0], ridge, rtol=1e-6)
    assert np.linalg.norm(ridge - np.linalg.lstsq(X, y, rcond=None)[0]) > 0.01
