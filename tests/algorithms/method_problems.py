"""Data and plans that the tests of the methods share."""

from typing import Any

import numpy as np

from dpols import Bounds
from dpols.algorithms import ALGORITHMS
from dpols.data import ArraySource, BoundedRows
from dpols.errors import ParameterError
from dpols.privacy import PrivacyBudget

METHODS = tuple(ALGORITHMS)


def plan_of(
    method: str,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    *,
    accounting: str = "exact",
    n_rows: int = 20_000,
    n_features: int = 5,
    **options: Any,
) -> Any:
    budget = PrivacyBudget(epsilon, delta)
    return ALGORITHMS[method].plan(budget, n_rows=n_rows, n_features=n_features, accounting=accounting, **options)


def bounded(X: np.ndarray, y: np.ndarray, *, arithmetic: Any = "float") -> BoundedRows:
    """Rows of norm at most 1 and targets in [-1, 1], which map to themselves."""
    row_map = Bounds(x_norm=1.0, y_abs=1.0).row_map(n_features=X.shape[1], columns=None, fit_intercept=False)
    return BoundedRows(ArraySource(X, y), row_map, "raise", arithmetic)


def easy_problem(n_rows: int = 20_000, n_features: int = 5, *, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Well-conditioned rows on the sphere and a target with a clear signal and some noise."""
    rng = np.random.default_rng([seed, n_rows, n_features])
    X = rng.standard_normal((n_rows, n_features))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = X @ np.linspace(-0.5, 0.5, n_features) + 0.1 * rng.standard_normal(n_rows)
    return X, np.clip(y, -1.0, 1.0)


def loss(X: np.ndarray, y: np.ndarray, theta: np.ndarray) -> float:
    return float(np.sum((y - X @ theta) ** 2))


def _has_published_calibration(method: str) -> bool:
    try:
        plan_of(method, accounting="paper")
    except ParameterError:
        return False
    return True


PUBLISHED = tuple(method for method in METHODS if _has_published_calibration(method))
# Every method with every accounting that it has.
ACCOUNTED = [(method, "exact") for method in METHODS] + [(method, "paper") for method in PUBLISHED]
