"""Law 9: on every bounded population, methods that claim it tend to least squares as n times epsilon grows.

The error of a fit is (MSE of the fit - MSE of least squares) / (MSE of the best constant - MSE of least squares), with
raw predictions. It must be small where n times epsilon is large, and fall as that grows.
"""

import numpy as np
import pytest

from dpols import Bounds, PrivateLinearRegression
from dpols.algorithms import ALGORITHMS

CONSISTENT = sorted(name for name, row in ALGORITHMS.items() if row.inconsistent is None)
FEATURES = 3


def features(rng, n):
    return rng.uniform(-1.0, 1.0, (n, FEATURES))


def signal(X):
    return X @ np.array([0.5, -0.3, 0.2])


def skewed(rng, n):
    X = features(rng, n)
    return X, np.minimum(np.exp(2.0 * signal(X) + rng.standard_normal(n)), 60.0), (0.0, 60.0)


def half_zeros(rng, n):
    X = features(rng, n)
    return (
        X,
        (rng.random(n) < 0.5) * np.minimum(np.exp(1.0 + signal(X) + 0.5 * rng.standard_normal(n)), 30.0),
        (0.0, 30.0),
    )


def yes_no(rate):
    def population(rng, n):
        X = features(rng, n)
        chance = np.clip(rate * (1.0 + 1.2 * signal(X)), 0.0, 1.0)
        return X, (rng.random(n) < chance).astype(float), (0.0, 1.0)

    return population


def bimodal(rng, n):
    X = features(rng, n)
    return (
        X,
        np.clip(np.where(rng.random(n) < 0.5 + 0.4 * signal(X), 0.9, -0.9) + 0.05 * rng.standard_normal(n), -1, 1),
        (-1.0, 1.0),
    )


def heavy_tails(rng, n):
    X = features(rng, n)
    return X, np.clip(signal(X) + 0.2 * rng.standard_t(2.0, n), -20.0, 20.0), (-20.0, 20.0)


def large_residuals(rng, n):
    X = features(rng, n)
    return X, np.clip(np.sign(rng.random(n) - 0.5) * 0.85 + 0.15 * signal(X), -1.0, 1.0), (-1.0, 1.0)


def unequal_variances(rng, n):
    X = features(rng, n)
    return X, np.clip(signal(X) + np.abs(X[:, 0]) * rng.standard_normal(n), -4.0, 4.0), (-4.0, 4.0)


def collinear(rng, n):
    X = features(rng, n)
    X[:, 1] = np.clip(X[:, 0] + 0.02 * rng.standard_normal(n), -1.0, 1.0)
    return X, np.clip(signal(X) + 0.3 * rng.standard_normal(n), -3.0, 3.0), (-3.0, 3.0)


def rare_dummies(rng, n):
    X = features(rng, n)
    X[:, 1:] = rng.random((n, 2)) < [0.01, 0.002]
    return X, np.clip(X @ [0.4, 1.5, -1.0] + 0.3 * rng.standard_normal(n), -3.0, 3.0), (-3.0, 3.0)


def great_leverage(rng, n):
    X = 0.02 * features(rng, n)
    far = rng.random(n) < 0.005
    X[far] *= 45.0
    return X, np.clip(signal(X) + 0.05 * rng.standard_normal(n), -1.0, 1.0), (-1.0, 1.0)


POPULATIONS = {
    "skewed": skewed,
    "half zeros": half_zeros,
    "yes/no at 1%": yes_no(0.01),
    "yes/no at 10%": yes_no(0.1),
    "yes/no at 50%": yes_no(0.5),
    "bimodal": bimodal,
    "heavy tails": heavy_tails,
    "residuals beyond half of the range": large_residuals,
    "unequal variances": unequal_variances,
    "collinear columns": collinear,
    "rare dummies": rare_dummies,
    "a few rows of great leverage": great_leverage,
}
# n and epsilon; the last has a thousand times the signal to noise of the first.
SETTINGS = ((3_000, 1.0), (100_000, 30.0))


def error_of(method, population, n, epsilon, seed):
    X, y, target = POPULATIONS[population](np.random.default_rng([seed, n]), n)
    bounds = Bounds(features=[(-1.0, 1.0)] * FEATURES, target=target)
    model = PrivateLinearRegression(epsilon, 1e-6, bounds, method=method, arithmetic="float", random_state=seed).fit(
        X, y
    )
    best = np.linalg.lstsq(np.column_stack((X, np.ones(n))), y)[0]
    residual = np.square(y - X @ best[:-1] - best[-1]).mean()
    constant = np.var(y)
    mine = np.square(y - model.predict(X, raw=True)).mean()
    return (mine - residual) / (constant - residual)


@pytest.mark.slow
@pytest.mark.parametrize("population", POPULATIONS)
@pytest.mark.parametrize("method", CONSISTENT)
def test_the_error_goes_to_zero(method, population):
    small, large = (
        float(np.mean([error_of(method, population, n, epsilon, seed) for seed in range(3)])) for n, epsilon in SETTINGS
    )
    assert large < 1e-2, (small, large)
    assert large < 0.2 * small or large < 1e-4, (small, large)


@pytest.mark.slow
def test_a_method_that_clips_at_half_of_the_range_does_not():
    """Else the law would not see what it is for."""
    errors = [error_of("ihm", "yes/no at 10%", 300_000, epsilon, 0) for epsilon in (10.0, 100.0)]
    assert min(errors) > 0.1


@pytest.mark.slow
def test_every_slope_of_a_bimodal_target_is_near_that_of_least_squares():
    X, y, target = bimodal(np.random.default_rng(5), 300_000)
    bounds = Bounds(features=[(-1.0, 1.0)] * FEATURES, target=target)
    slopes = np.linalg.lstsq(np.column_stack((X, np.ones(len(y)))), y)[0][:-1]
    for arithmetic in ("float", "exact"):
        model = PrivateLinearRegression(10.0, 1e-6, bounds, arithmetic=arithmetic, random_state=1).fit(X, y)
        assert np.abs(model.coef_ - slopes).max() < 0.01 * np.abs(slopes).max()
