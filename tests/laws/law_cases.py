"""The settings at which every algorithm is tested: a new algorithm obeys every law by adding its rows here."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from dpols import Bounds, PrivacyBudget
from dpols.algorithms import ALGORITHMS, Algorithm
from dpols.data import ArraySource, BoundedRows
from dpols.privacy import GaussianRelease, MixingRelease


@dataclass(frozen=True)
class Case:
    """One way to run one algorithm."""

    method: str
    accounting: str = "exact"
    options: Mapping[str, Any] = field(default_factory=dict)
    n_rows: int = 400
    n_features: int = 4
    epsilon: float = 1.0
    delta: float = 1e-6

    def __str__(self) -> str:
        options = "-".join(f"{name}={value}" for name, value in self.options.items())
        return "-".join(filter(None, (self.method, self.accounting, options)))

    @property
    def algorithm(self) -> Algorithm:
        return ALGORITHMS[self.method]

    def plan(self, **changes: Any) -> Any:
        """The plan at this case's budget and size, or with some of them changed."""
        of = {name: changes.pop(name, getattr(self, name)) for name in ("epsilon", "delta", "n_rows", "n_features")}
        budget = PrivacyBudget(of.pop("epsilon"), of.pop("delta"))
        return self.algorithm.plan(budget, accounting=self.accounting, **of, **{**self.options, **changes})


CASES = (
    Case("ihm"),
    Case("ihm", options={"eigenvalue": "on"}),
    Case("ihm", options={"eigenvalue": "off", "ridge": True, "n_iterations": 2}),
    Case("ihm", options={"sketch_size": 4, "n_iterations": 1, "residual_bound": 0.25}),
    Case("ihm", options={"gradient_share": 0.9, "n_iterations": 5}),
    Case("ihm", accounting="paper"),
    Case("ihm", accounting="paper", options={"ridge": True, "n_iterations": 1}),
)
every_case = pytest.mark.parametrize("case", CASES, ids=str)
every_method = pytest.mark.parametrize("case", [case for case in CASES if not case.options], ids=str)
every_numeric = pytest.mark.parametrize("numeric", ["float", "exact"])


def ihm_gaussians(plan: Any) -> list[tuple[int, float]]:
    """Size and noise std of every Gaussian release of IHM: the eigenvalue test, then T gradients."""
    test = [] if plan.eigenvalue_multiplier is None else [(1, plan.eigenvalue_multiplier)]
    return test + [(plan.n_features, plan.gradient_multiplier * plan.residual_bound)] * plan.n_iterations


# What the Gaussian releases of a plan are of: how many numbers each, and the std of the noise on each number.
GAUSSIANS: dict[str, Callable[[Any], list[tuple[int, float]]]] = {"ihm": ihm_gaussians}


def implied_gaussians(case: Case, plan: Any) -> list[int]:
    """How many numbers each Gaussian release of the plan adds noise to."""
    gaussians = GAUSSIANS[case.method](plan)
    assert len(gaussians) == sum(isinstance(release, GaussianRelease) for release in plan.releases)
    return [size for size, _ in gaussians]


def implied_sketches(plan: Any) -> list[int]:
    """How many rows each sketch of the plan has."""
    return [release.rows for release in plan.releases if isinstance(release, MixingRelease)]


def problem(n_rows: int = 400, n_features: int = 4, *, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows of norm at most 1 and targets in [-1, 1] with a signal and some noise."""
    rng = np.random.default_rng([seed, n_rows, n_features])
    X = rng.uniform(-1.0, 1.0, (n_rows, n_features)) / np.sqrt(n_features)
    y = np.clip(X @ np.linspace(-0.8, 0.8, n_features) + 0.05 * rng.standard_normal(n_rows), -1.0, 1.0)
    return X, y


def bounded(
    X: Any,
    y: Any,
    bounds: Bounds | None = None,
    *,
    fit_intercept: bool = False,
    columns: Sequence[str] | None = None,
    bad_rows: Any = "raise",
    numeric: Any = "float",
) -> BoundedRows:
    """Rows behind their bounds; by default rows of norm 1 and targets in [-1, 1], which map to themselves."""
    X, y = np.asarray(X), np.asarray(y)
    bounds = bounds or Bounds(x_norm=1.0, y_abs=1.0)
    row_map = bounds.row_map(n_features=X.shape[1], columns=columns, fit_intercept=fit_intercept)
    return BoundedRows(ArraySource(X, y), row_map, bad_rows, numeric)
