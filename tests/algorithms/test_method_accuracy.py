"""Where the methods lead: to least squares when the budget is large, to finite numbers whatever the data."""

import itertools

import numpy as np
import pytest
from method_problems import ACCOUNTED, bounded, easy_problem, loss, plan_of
from nonprivate import minimum_norm_least_squares

from dpols.algorithms import ALGORITHMS
from dpols.randomness import streams

# A sketch costs about d / k of the loss by itself, and few steps of gradient descent do not reach the optimum.
PATIENT = {
    "linmix": {"sketch_size": 2000},
    "linmix-dynamic": {"sketch_size": 2000},
    "sheffet": {"sketch_size": 2000},
    "dp-gd": {"n_iterations": 25, "learning_rate": 2.0},
}
every_accounted = pytest.mark.parametrize(("method", "accounting"), ACCOUNTED, ids="-".join)


@every_accounted
@pytest.mark.parametrize("arithmetic", ["float", "exact"])
def test_a_large_budget_comes_within_five_percent_of_least_squares(method, accounting, arithmetic):
    X, y = easy_problem()
    plan = plan_of(method, 1000.0, accounting=accounting, **PATIENT.get(method, {}))
    fit = ALGORITHMS[method].run(bounded(X, y, arithmetic=arithmetic), plan, streams(0, 3))
    best = loss(X, y, minimum_norm_least_squares(X, y))
    assert loss(X, y, np.zeros(5)) > 3.0 * best
    for theta in fit.theta:
        assert loss(X, y, theta) <= 1.05 * best


@pytest.mark.parametrize("accounting", ["exact", "paper"])
def test_methods_differ_from_one_another(accounting):
    X, y = easy_problem()
    plans = {method: plan_of(method, accounting=accounting) for method, has in ACCOUNTED if has == accounting}
    fits = {
        method: ALGORITHMS[method].run(bounded(X, y), plan, streams(0, 1)).theta[0] for method, plan in plans.items()
    }
    for one, other in itertools.combinations(fits, 2):
        assert np.linalg.norm(fits[one] - fits[other]) > 1e-6, (one, other)
        assert plans[one].releases != plans[other].releases, (one, other)


@pytest.mark.parametrize("method", [name for name in ALGORITHMS if name not in ("linmix", "linmix-dynamic", "sheffet")])
def test_defaults_learn(method):
    X, y = easy_problem()
    best, nothing = loss(X, y, minimum_norm_least_squares(X, y)), loss(X, y, np.zeros(5))
    fit = ALGORITHMS[method].run(bounded(X, y), plan_of(method, 2.0), streams(0, 9))
    assert np.median([loss(X, y, theta) - best for theta in fit.theta]) < 0.1 * (nothing - best)


@pytest.mark.parametrize(
    "method", ["ihm", "ihm-adaptive", "adassp", "boosted-adassp", "dp-gd", "linmix", "linmix-dynamic"]
)
def test_more_budget_gives_a_better_fit(method):
    X, y = easy_problem()
    best = loss(X, y, minimum_norm_least_squares(X, y))
    excess = []
    for epsilon in (0.05, 0.5, 5.0):
        fit = ALGORITHMS[method].run(bounded(X, y), plan_of(method, epsilon), streams(2, 20))
        excess.append(np.mean([loss(X, y, theta) - best for theta in fit.theta]))
    assert excess[0] > 1.5 * excess[1] > 1.5 * excess[2]


def rank_deficient(rng):
    X = rng.uniform(-0.3, 0.3, (150, 4))
    X[:, 3] = X[:, 0] - 0.5 * X[:, 1]
    return X, 0.5 * X[:, 0]


def fewer_rows_than_features(rng):
    return rng.uniform(-0.4, 0.4, (2, 4)), np.array([0.3, -0.9])


def spread_over_many_scales(rng):
    X = rng.uniform(-0.5, 0.5, (150, 4)) * [1.0, 1e-5, 1e-10, 1e-160]
    return X, np.clip(X[:, 0] * 3.0, -1.0, 1.0)


DEGENERATE = {
    "rank deficient": rank_deficient,
    "constant rows and target": lambda rng: (np.full((150, 4), 0.5), np.ones(150)),
    "all zero": lambda rng: (np.zeros((150, 4)), np.zeros(150)),
    "no signal": lambda rng: (rng.uniform(-0.5, 0.5, (150, 4)), rng.choice([-1.0, 1.0], 150)),
    "one row": lambda rng: (np.array([[0.5, -0.5, 0.5, 0.5]]), np.array([1.0])),
    "fewer rows than features": fewer_rows_than_features,
    "rank one": lambda rng: (rng.uniform(-1.0, 1.0, (150, 1)) * [0.5, -0.5, 0.5, 0.5], rng.uniform(-1, 1, 150)),
    "many scales": spread_over_many_scales,
}


@every_accounted
@pytest.mark.parametrize("arithmetic", ["float", "exact"])
@pytest.mark.parametrize("data", DEGENERATE.values(), ids=DEGENERATE)
@pytest.mark.filterwarnings("error")
def test_whatever_the_data_the_output_and_its_evidence_are_numbers(method, accounting, arithmetic, data):
    X, y = data(np.random.default_rng(0))
    for epsilon in (0.01, 1.0, 1e4):
        plan = plan_of(method, epsilon, accounting=accounting, n_rows=len(X), n_features=4)
        fit = ALGORITHMS[method].run(bounded(X, y, arithmetic=arithmetic), plan, streams(1, 2))
        assert np.isfinite(fit.theta).all()
        evidence = ALGORITHMS[method].evidence(plan, fit, 1, 0.5)
        assert np.isfinite(evidence.noise_covariance).all()
        assert np.isfinite([evidence.risk_change, evidence.risk_change_stddev]).all()
        assert evidence.risk_change_stddev >= 0.0
