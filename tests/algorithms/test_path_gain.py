"""What gradients along a path show of the gain in a convex function, and verdicts of generalised fits that use it."""

import numpy as np
import pytest

from dpols import Bounds, PrivateLogisticRegression, PrivatePoissonRegressor
from dpols.algorithms.path_gain import PathGain

D = 5
CURVATURE = np.linspace(0.2, 1.0, D)
START = np.full(D, 3.0)


def walked(trials, stddev, rng):
    """Descend a quadratic by noisy gradients; return what the path gains by its products, and in truth."""
    point, noise = START + np.zeros((trials, D)), np.full(trials, stddev)
    path, points = PathGain(point, np.eye(D) + np.zeros((trials, 1, 1))), []
    for step in range(12):
        gradient = -CURVATURE * point + rng.normal(0.0, stddev, (trials, D))
        path.add(point, gradient, noise, np.full(trials, 0.5) if step % 4 else None)
        points.append(point)
        point = point + 0.5 * gradient
    mean = np.mean(points[-3:], axis=0)
    gained = 0.5 * (CURVATURE * START**2).sum() - 0.5 * (CURVATURE * mean**2).sum(axis=1)
    return *path.of_mean(np.full((trials, 3), 1.0 / 3.0)), gained


def test_without_noise_the_products_fall_short_of_the_gain_by_little():
    found, variance, gained = walked(1, 0.0, np.random.default_rng(0))
    assert variance == 0.0
    assert 0.6 * gained < found < gained


def test_noise_neither_feigns_a_gain_nor_exceeds_the_stated_variance():
    exact = walked(1, 0.0, np.random.default_rng(0))
    found, variance, gained = walked(4000, 0.8, np.random.default_rng(1))
    scores = (found - gained) / np.sqrt(variance)
    assert (scores > 3.0).mean() < 0.003
    assert 0.4 < scores.std() < 1.1
    assert found.mean() - gained.mean() < exact[0] - exact[2] + 0.1 * np.sqrt(variance.mean())


def rows(family, seed, effect):
    rng = np.random.default_rng(seed)
    X = np.column_stack((rng.uniform(-1.0, 1.0, (20_000, 2)), rng.random((20_000, 6)) < 0.1))
    eta = effect * (X @ np.array([2.0, 0.0, 1.5, 0.0, 0.0, -1.0, 0.0, 2.0]))
    if family == "binomial":
        return X, (rng.random(len(X)) < 1.0 / (1.0 + np.exp(4.0 - eta))).astype(int)
    return X, np.minimum(rng.poisson(np.exp(0.3 * eta)), 20)


def verdicts(family, epsilon, effect, *, inference=False, count=10):
    X, y = rows(family, 3, effect)
    cls = PrivateLogisticRegression if family == "binomial" else PrivatePoissonRegressor
    bounds = Bounds(features=[(-1.0, 1.0)] * 2 + [(0.0, 1.0)] * 6, target=None if family == "binomial" else (0.0, 20.0))
    options = {"classes": [0, 1]} if family == "binomial" else {}
    found = []
    for seed in range(count):
        model = cls(epsilon, 1e-6, bounds, random_state=seed, inference=inference, arithmetic="float", **options)
        found.append(model.fit(X, y).privacy_report_.verdict)
    return [verdict.startswith("better") for verdict in found]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("family", ["binomial", "poisson"])
@pytest.mark.parametrize("epsilon", [0.8, 1.6, 3.2])
def test_a_larger_budget_does_not_hide_a_gain(family, epsilon):
    assert sum(verdicts(family, epsilon, 1.0)) >= 9


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("family", ["binomial", "poisson"])
def test_a_fit_that_paid_for_its_deviance_sees_the_gain(family):
    assert all(verdicts(family, 3.0, 1.0, inference=True))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("family", ["binomial", "poisson"])
@pytest.mark.parametrize("inference", [False, True])
def test_nothing_is_gained_where_there_is_no_effect(family, inference):
    assert not any(verdicts(family, 2.0, 0.0, inference=inference))
