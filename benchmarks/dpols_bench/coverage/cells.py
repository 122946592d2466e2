"""What is simulated: groups of cells that share their data sets, and one batch of runs of a group."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from typing import Any

import numpy as np

from dpols.algorithms import Algorithm, algorithm
from dpols.data import ArraySource, BoundedRows, Bounds, RowMap
from dpols.data.source import Total
from dpols.data.threads import one_blas_thread
from dpols.inference import Inference, infer
from dpols.privacy import PrivacyBudget
from dpols.randomness import streams
from dpols.side_releases import one_step
from dpols.side_releases.side_plan import plan_fit

from .designs import DESIGNS

Array = np.ndarray[Any, np.dtype[Any]]

ALPHA = 0.05
BATCH_RUNS = 250
_SEED = 1  # not the one of the simulations by which the constants of inference were chosen
_BATCH_VALUES = 60_000_000  # of a batch's data; more go in shorter batches, so that little is lost when a run stops


@dataclass(frozen=True)
class Group:
    """Fits at several epsilons, which share each run's fresh data set."""

    design: str
    n_rows: int
    n_features: int
    epsilons: tuple[float, ...]
    runs: int
    method: str
    n_iterations: int | None = None  # gradients of whitened descent

    def batches(self) -> "Iterator[Batch]":
        """Divide the runs."""
        size = min(BATCH_RUNS, max(10, _BATCH_VALUES // (self.n_rows * (self.n_features + 1))))
        for first in range(0, self.runs, size):
            yield Batch(self, first, min(size, self.runs - first))

    @property
    def cost(self) -> float:
        """Seconds that one run takes on one core, about."""
        return len(self.epsilons) * (3.5e-3 + 3.2e-8 * self.n_rows * (self.n_features + 8))


@dataclass(frozen=True)
class Batch:
    """Some runs of a group."""

    group: Group
    first: int
    count: int


@dataclass
class Cell:
    """Sums over runs at one epsilon. Intervals are counted, of slopes and of the intercept apart."""

    runs: int = 0
    printed_runs: int = 0  # with an interval for the data, of any coefficient
    data_slopes: int = 0
    data_slopes_covered: int = 0
    data_intercepts: int = 0
    data_intercepts_covered: int = 0
    slopes: int = 0
    slopes_covered: int = 0
    intercepts: int = 0
    intercepts_covered: int = 0
    means: int = 0
    means_covered: int = 0
    observations: int = 0
    observations_covered: int = 0
    variances: int = 0
    variances_covered: int = 0
    r_squareds: int = 0
    r_squareds_covered: int = 0
    width_over_oracle: float = 0.0  # summed over the intervals for the population
    width_over_nonprivate: float = 0.0

    def add(self, other: "Cell") -> None:
        """Add the sums of more runs."""
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def standard_groups(runs: int = 4000, method: str = "whitened") -> list[Group]:
    """Return what is simulated by default: under an hour on two cores."""
    groups = []
    for name in DESIGNS:
        groups += [
            Group(name, 500, 2, (0.3, 1.0, 3.0, 10.0), runs, method),
            Group(name, 500, 10, (3.0, 10.0), runs, method),
            Group(name, 5_000, 2, (0.3, 1.0, 3.0, 10.0), runs, method, n_iterations=5),
            Group(name, 5_000, 10, (0.3, 1.0, 3.0, 10.0), runs, method, n_iterations=5),
            Group(name, 100_000, 2, (1.0, 10.0), runs, method, n_iterations=4),
            Group(name, 100_000, 10, (0.3, 3.0), runs, method, n_iterations=4),
            Group(name, 1_000_000, 5, (1.0,), min(runs, 300), method, n_iterations=4),
        ]
    groups.append(Group("well conditioned, normal errors", 20_000, 50, (10.0,), runs, method, n_iterations=4))
    groups.append(Group("well conditioned, heavy tails", 50_000, 50, (3.0,), runs, method, n_iterations=4))
    return groups


def quick_groups(runs: int = 300, method: str = "whitened") -> list[Group]:
    """Return a selection that takes seconds."""
    return [
        Group("well conditioned, heavy tails", 500, 2, (0.3, 10.0), runs, method, n_iterations=5),
        Group("ill conditioned, skewed errors", 5_000, 2, (10.0,), runs, method, n_iterations=5),
        Group("well conditioned, normal errors", 5_000, 5, (3.0,), runs, method, n_iterations=5),
    ]


def run_batch(batch: Batch) -> dict[float, Cell]:
    """Simulate the runs of a batch: each one with fresh data, which a fit at each epsilon shares."""
    group, design = batch.group, DESIGNS[batch.group.design]
    cells = {epsilon: Cell() for epsilon in group.epsilons}
    with one_blas_thread():
        for run in range(batch.first, batch.first + batch.count):
            seed = [_SEED, run, group.n_rows, group.n_features, list(DESIGNS).index(group.design)]
            rng = np.random.default_rng(seed)
            X, y = design.sample(group.n_rows, group.n_features, rng)
            truth = _Truth.of(design.coefficients(group.n_features), X, y, design.sample(1, group.n_features, rng))
            rows = BoundedRows(_OneBlock(X, y), _row_map(group.n_features), arithmetic="float")
            for epsilon, bits in zip(group.epsilons, streams(rng, len(group.epsilons)), strict=True):
                _count(cells[epsilon], *_fit(group, epsilon, rows, bits), truth)
    return cells


@dataclass(frozen=True)
class _Truth:
    """What intervals should cover, and what who knows it would use."""

    population: Array
    least_squares: Array
    residual_variance: float
    r_squared: float
    inverse_gram: Array  # in the units of the data
    new_row: Array
    new_target: float

    @classmethod
    def of(cls, population: Array, X: Array, y: Array, new: tuple[Array, Array]) -> "_Truth":
        n, d = X.shape
        sums = X.sum(axis=0)
        gram = np.block([[X.T @ X, sums[:, None]], [sums, np.array([[n]])]])
        solution = np.linalg.solve(gram, np.append(X.T @ y, y.sum()))
        squares = float(np.sum((y - X @ solution[:-1] - solution[-1]) ** 2))
        about = float(np.sum((y - y.mean()) ** 2))
        inverse = np.linalg.inv(gram)
        return cls(
            population, solution, squares / (n - d - 1), 1.0 - squares / about, inverse, new[0], float(new[1][0])
        )


def _count(cell: Cell, inference: Inference, noise: float, truth: _Truth) -> None:
    """Add one fit; ``noise`` is the standard deviation of that in its gradient, in the units of the data."""
    cell.runs += 1
    if inference.why_not("data"):
        return
    limits = inference.conf_int(ALPHA, target="data")
    cell.printed_runs += not np.isnan(limits).all()
    _count_coefficients(cell, "data_", limits, truth.least_squares)
    for name, found, value in (
        ("variances", inference.residual_variance.with_limits(ALPHA), truth.residual_variance),
        ("r_squareds", inference.r_squared(ALPHA), truth.r_squared),
    ):
        if found is not None:
            _add(cell, name, found[1] <= value <= found[2])
    if inference.why_not("population"):
        return
    limits = inference.conf_int(ALPHA)
    _count_coefficients(cell, "", limits, truth.population)
    there = ~np.isnan(limits[:, 0])
    sampling = truth.residual_variance * np.diag(truth.inverse_gram)
    private = noise**2 * np.einsum("ij,ij->i", truth.inverse_gram, truth.inverse_gram)
    half = 0.5 * (limits[:, 1] - limits[:, 0])[there] / 1.959963984540054
    cell.width_over_oracle += float(np.sum(half / np.sqrt(sampling + private)[there]))
    cell.width_over_nonprivate += float(np.sum(half / np.sqrt(sampling)[there]))
    mean = float(truth.new_row[0] @ truth.population[:-1] + truth.population[-1])
    _count_prediction(cell, "means", inference.predict_interval(truth.new_row, alpha=ALPHA, of="mean"), mean)
    _count_prediction(cell, "observations", inference.predict_interval(truth.new_row, alpha=ALPHA), truth.new_target)


def _count_coefficients(cell: Cell, prefix: str, limits: Array, values: Array) -> None:
    there = ~np.isnan(limits[:, 0])
    inside = (limits[:, 0] <= values) & (values <= limits[:, 1])
    for name, which in (("slopes", slice(-1)), ("intercepts", slice(-1, None))):
        _add(cell, f"{prefix}{name}", int(inside[which].sum()), int(there[which].sum()))


def _count_prediction(cell: Cell, name: str, found: Any, value: float) -> None:
    if not np.isnan(found.lower[0]):
        _add(cell, name, bool(found.lower[0] <= value <= found.upper[0]))


def _add(cell: Cell, name: str, covered: int, count: int = 1) -> None:
    setattr(cell, name, getattr(cell, name) + count)
    setattr(cell, f"{name}_covered", getattr(cell, f"{name}_covered") + covered)


def _fit(group: Group, epsilon: float, rows: BoundedRows, bits: Any) -> tuple[Inference, float]:
    method, plan, step = _plans(group, epsilon)
    fit = method.run(rows, plan, [bits])
    measured = one_step.run(rows, step, fit.theta, [bits])
    names = [f"x{i}" for i in range(group.n_features)] + ["intercept"]
    inference = infer(step, measured, rows.row_map, names, n_rows=group.n_rows)
    # A gradient in units of the data is row_norm times one of bounded rows: features and targets have scale 1.
    noise = float(measured.residual_bound[0]) * step.gradient_multiplier * rows.row_map.row_norm
    return inference, noise


@lru_cache(maxsize=64)
def _plans(group: Group, epsilon: float) -> tuple[Algorithm, Any, one_step.OneStepPlan]:
    method, budget = algorithm(group.method), PrivacyBudget(epsilon, float(group.n_rows) ** -2)
    shorter = method.name == "whitened" and group.n_iterations is not None
    options: dict[str, Any] = {"n_iterations": group.n_iterations} if shorter else {}
    planned = plan_fit(method, budget, n_rows=group.n_rows, n_features=group.n_features + 1, **options)
    assert planned.beside.intervals is not None
    return method, planned.method, planned.beside.intervals


@lru_cache(maxsize=8)
def _row_map(d: int) -> RowMap:
    bounds = Bounds(features=[(-1.0, 1.0)] * d, target=(-1.0, 1.0))
    return bounds.row_map(n_features=d, columns=None, fit_intercept=True)


class _OneBlock(ArraySource):
    """Rows in one block, on this thread: runs share the cores, not blocks."""

    def total(self, kernel: Any, *args: Any) -> Total:
        return Total(kernel(self.features, self.target, *args), self.n_rows)
