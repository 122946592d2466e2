"""Law 11: a generalised fit is hardly ever worse than its private base rate, on whatever data."""

import numpy as np
import pytest
from law_cases import Case, bounded

from dpols import Bounds
from dpols.families import FAMILIES, Response
from dpols.randomness import streams

TRIALS = {1000: 200, 4000: 60}  # by the number of rows: few rows make few large losses
MOST = 0.005  # of the deviance of the base rate, in the mean


def yes(rng, eta):
    return (rng.random(len(eta)) < 1.0 / (1.0 + np.exp(-eta))).astype(float)


YES_OR_NO = {
    "no signal": lambda X, rng: yes(rng, np.full(len(X), -0.4)),
    "one in 30": lambda X, rng: yes(rng, -4.0 + 1.5 * X[:, 0]),
    "one in 30, no signal": lambda X, rng: yes(rng, np.full(len(X), -3.37)),
    "one in 300": lambda X, rng: yes(rng, -6.5 + 2.0 * X[:, 0]),
    "one in 300, no signal": lambda X, rng: yes(rng, np.full(len(X), -5.7)),
    "separated": lambda X, rng: (X[:, 0] + 0.2 * X[:, 1] > 0.0).astype(float),
    "separated and rare": lambda X, rng: (X[:, 0] > 0.93).astype(float),
}
COUNTS = {
    "no signal": lambda X, rng: rng.poisson(1.0, len(X)),
    "rare": lambda X, rng: rng.poisson(0.03 * np.exp(X[:, 0])),
    "more spread than a Poisson law": lambda X, rng: rng.poisson(rng.gamma(0.3, 10.0, len(X))),
    "a few large ones": lambda X, rng: np.where(rng.random(len(X)) < 0.01, 20, rng.poisson(0.5, len(X))),
}
CASES = [
    *(("logistic", 1.0, name, make) for name, make in YES_OR_NO.items()),
    *(("poisson", 20.0, name, make) for name, make in COUNTS.items()),
]


@pytest.mark.parametrize(("n_rows", "width", "epsilon"), [(1000, 5, 0.3), (4000, 10, 0.3), (4000, 10, 1.0)])
@pytest.mark.parametrize(("method", "high", "name", "make"), CASES, ids=[f"{case[0]} {case[2]}" for case in CASES])
def test_a_fit_is_not_worse_than_its_base_rate(method, high, name, make, n_rows, width, epsilon):
    rng = np.random.default_rng([n_rows, width])
    X = rng.uniform(-1.0, 1.0, (n_rows, width))
    y = np.minimum(make(X, rng), high).astype(float)
    rows = bounded(X, y, Bounds(features=[(-1.0, 1.0)] * width, target=(0.0, high)), fit_intercept=True)
    plan = Case(method).plan(epsilon=epsilon, n_rows=n_rows, n_features=width + 1)
    fit = Case(method).algorithm.run(rows, plan, streams(8, TRIALS[n_rows]))
    family, inside = FAMILIES[plan.family], np.column_stack((X, np.ones(n_rows))) / np.sqrt(width + 1.0)
    response = Response(plan.family, high, 0.0, 1.0)

    def deviance(theta):
        return np.mean([family.deviance(y, response.mean(inside @ each)).mean() for each in theta])

    base = deviance(fit.transcript["base"])
    assert deviance(fit.theta) <= (1.0 + MOST) * base
    if "separated" in name and epsilon == 1.0:
        assert deviance(fit.theta) < 0.95 * base  # it is a fit, and no constant
