"""Tables with a known truth, and ordinary least squares written out."""

import numpy as np

from dpols import Bounds, PrivateLinearRegression

BOUNDS = Bounds(features={"age": (18.0, 90.0), "hours": (0.0, 60.0)}, target=(0.0, 100.0))
TRUTH = np.array([0.5, 0.4, 5.0])


def table(n=5000, *, seed=0, spread=4.0):
    """Features within their bounds, and targets that no bound clips."""
    rng = np.random.default_rng(seed)
    X = np.column_stack((rng.uniform(18.0, 90.0, n), rng.uniform(0.0, 60.0, n)))
    return X, X @ TRUTH[:2] + TRUTH[2] + spread * rng.uniform(-1.0, 1.0, n)


def frame(n=5000, **more):
    import pandas

    X, y = table(n, **more)
    return pandas.DataFrame({"age": X[:, 0], "hours": X[:, 1], "pay": y})


def fitted(X, y, *, epsilon=3.0, inference=True, random_state=0, **more):
    parameters = {"epsilon": epsilon, "delta": 1e-6, "bounds": Bounds(list(BOUNDS.features.values()), BOUNDS.target)}
    model = PrivateLinearRegression(**(parameters | more), inference=inference, random_state=random_state)
    return model.fit(X, y)


def least_squares(X, y, *, intercept=True):
    """Coefficients, classical standard errors, residual variance and R^2."""
    design = np.column_stack((X, np.ones(len(X)))) if intercept else X
    inverse = np.linalg.inv(design.T @ design)
    solution = inverse @ design.T @ y
    squares = np.sum((y - design @ solution) ** 2)
    about = np.sum((y - y.mean()) ** 2) if intercept else y @ y
    variance = squares / (len(y) - design.shape[1])
    return solution, np.sqrt(variance * np.diag(inverse)), variance, 1.0 - squares / about
