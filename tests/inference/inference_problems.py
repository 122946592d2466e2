"""Tables with a known truth, ordinary least squares written out, and an inference with round numbers."""

from dataclasses import dataclass

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


@dataclass(frozen=True)
class Known:
    """What is asked of an inference by what builds on it, for coefficients a, b and an intercept.

    Their covariance is that of privacy, plus a residual variance on the diagonal, which is a number and its noise.
    """

    estimate: np.ndarray
    privacy: np.ndarray
    residual: tuple[float, float]
    hidden: tuple[str, ...] = ()
    blind: tuple[float, ...] | None = None  # a direction of which nothing is known
    reasons: tuple[str, ...] = ()
    names: tuple[str, ...] = ("a", "b", "intercept")
    intercept: bool = True

    def why_not(self, target="population"):
        return self.reasons

    def standard_errors(self, target="population"):
        return self.of_combinations(np.eye(3), target=target)[0]

    def covariance(self, target="population"):
        found = self.privacy + self.residual[0] * (target == "population") * np.eye(3)
        empty = np.isnan(self.standard_errors(target))
        return np.where(empty | empty[:, None], np.nan, found)

    def of_combinations(self, weights, *, target, observations=False):
        sampling = (target == "population") * (np.sum(weights**2, axis=1) + observations)
        variance = np.einsum("ij,jk,ik->i", weights, self.privacy, weights) + self.residual[0] * sampling
        with np.errstate(all="ignore"):
            free = np.fmin(2.0 * (variance / (self.residual[1] * sampling)) ** 2, 1e12)
        empty = np.any(weights[:, [name in self.hidden for name in self.names]], axis=1) | bool(self.reasons)
        if self.blind is not None:
            empty |= np.abs(weights @ self.blind) > 1e-9
        return np.where(empty, np.nan, np.sqrt(variance)), free
