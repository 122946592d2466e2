"""What is simulated: groups of cells that share their data sets, and one batch of runs of a group."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from typing import Any

import numpy as np

from dpols.algorithms import Algorithm, algorithm, with_intervals
from dpols.algorithms.closing_inference import InferencePlan
from dpols.data import ArraySource, BoundedRows, Bounds, RowMap
from dpols.data.threads import one_blas_thread, this_thread_alone
from dpols.data.units import source_of_units
from dpols.inference import Inference, infer
from dpols.inference.from_releases import scores_are_floored
from dpols.inference.quality import r_squared, residual_variance
from dpols.privacy import PrivacyBudget
from dpols.randomness import streams

from .designs import DESIGNS as MADE_UP
from .designs import FAMILY_DESIGNS, OLD, PEOPLE, Design, Sampled
from .likelihood import maximum_likelihood
from .populations import TABLES, TablePopulation

Array = np.ndarray[Any, np.dtype[Any]]

ALPHA = 0.05
METHODS = {"gaussian": "whitened", "binomial": "logistic", "poisson": "poisson"}
_QUANTILE = 1.959963984540054
BATCHES = 40  # of a group, so that a run that is stopped has about as much of each
COMPARED = 50  # runs of a group that are fitted without inference, too
SEED = 3  # not one of the simulations by which the constants of inference were chosen

DESIGNS: dict[str, Design | TablePopulation] = {**MADE_UP, **{table.name: table for table in TABLES}}


@dataclass(frozen=True)
class Group:
    """Fits at several epsilons, which share each run's fresh data set."""

    design: str
    n_rows: int
    n_features: int
    epsilons: tuple[float, ...]
    runs: int

    def batches(self, seed: int = SEED) -> "Iterator[Batch]":
        """Divide the runs."""
        size = max(5, -(-self.runs // BATCHES))
        for first in range(0, self.runs, size):
            yield Batch(self, first, min(size, self.runs - first), seed)

    @property
    def cost(self) -> float:
        """Seconds that one run takes on one core, about."""
        return len(self.epsilons) * (7e-3 + 8e-8 * self.n_rows * (self.n_features + 8))


@dataclass(frozen=True)
class Batch:
    """Some runs of a group."""

    group: Group
    first: int
    count: int
    seed: int = SEED


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
    by_range: int = 0  # fits with the limit of the range rule, by which no allowance is made for what is not seen
    floored: int = 0  # fits whose standard errors for the population are made larger where noise hides them
    nonprivate: int = 0  # coefficients of non-private fits with the same kind of standard error
    nonprivate_covered: int = 0
    width_over_nonprivate: float = 0.0  # summed over the intervals for the population
    compared: int = 0  # slopes of fits with and without inference
    squared_errors_with: float = 0.0  # about the population's, in squared non-private standard errors
    squared_errors_without: float = 0.0

    def add(self, other: "Cell") -> None:
        """Add the sums of more runs."""
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def standard_groups(runs: int = 4000) -> list[Group]:
    """Return what is simulated by default."""
    few, fewer = min(runs, 1000), min(runs, 200)
    groups = []
    for name in (design.name for design in OLD):
        groups += [
            Group(name, 500, 2, (0.3, 1.0, 3.0, 10.0), runs),
            Group(name, 500, 10, (3.0, 10.0), runs),
            Group(name, 5_000, 2, (0.3, 1.0, 3.0, 10.0), runs),
            Group(name, 5_000, 10, (0.3, 1.0, 3.0, 10.0), runs),
            Group(name, 100_000, 2, (1.0, 10.0), few),
            Group(name, 100_000, 10, (0.3, 3.0), few),
            Group(name, 1_000_000, 5, (1.0,), fewer),
        ]
    groups.append(Group(OLD[0].name, 20_000, 50, (10.0,), few))
    groups.append(Group(OLD[1].name, 50_000, 50, (3.0,), few))
    for name in (design.name for design in PEOPLE):
        groups += [Group(name, 1_000, 3, (3.0, 10.0), runs), Group(name, 10_000, 3, (1.0, 3.0), runs)]
        groups += [Group(name, 100_000, 3, (1.0,), few)]
    for table in TABLES:
        d = table.n_features
        groups += [Group(table.name, 2_000, d, (3.0, 10.0), runs), Group(table.name, 10_000, d, (1.0, 3.0), runs)]
    return groups


def family_groups(runs: int = 1000) -> list[Group]:
    """Return what is simulated of logistic and Poisson regression."""
    groups = []
    for name in (design.name for design in FAMILY_DESIGNS):
        groups += [Group(name, 2_000, 3, (3.0,), runs), Group(name, 10_000, 3, (1.0, 3.0), runs)]
    groups += [Group("logistic", 20_000, 10, (1.0,), runs), Group("Poisson", 20_000, 10, (1.0,), runs)]
    return groups


def quick_groups(runs: int = 300) -> list[Group]:
    """Return a selection that takes seconds."""
    return [
        Group("well conditioned, heavy tails", 500, 2, (0.1, 10.0), runs),
        Group("ill conditioned, skewed errors", 5_000, 2, (10.0,), runs),
        Group("well conditioned, normal errors", 5_000, 5, (3.0,), runs),
        Group("units of 5 rows", 5_000, 2, (10.0,), runs),
    ]


def run_batch(batch: Batch) -> dict[float, Cell]:
    """Simulate the runs of a batch: each one with fresh data, which a fit at each epsilon shares."""
    group, design = batch.group, DESIGNS[batch.group.design]
    cells = {epsilon: Cell() for epsilon in group.epsilons}
    with one_blas_thread(), this_thread_alone():
        for run in range(batch.first, batch.first + batch.count):
            seed = [batch.seed, run, group.n_rows, group.n_features, list(DESIGNS).index(group.design)]
            rng = np.random.default_rng(seed)
            sampled = design.sample(group.n_rows, group.n_features, rng)
            new = replace(design, missing=0.0).sample(design.rows_per_unit, group.n_features, rng)
            truth = _Truth.of(design, sampled, new)
            rows = _rows(design, sampled)
            for epsilon, bits in zip(group.epsilons, streams(rng, len(group.epsilons)), strict=True):
                method, plan = _plans(group, epsilon)
                fit = method.run(rows, plan, [bits])
                _count(cells[epsilon], _inferred(group, plan, rows, fit), truth)
                cells[epsilon].by_range += bool(fit.transcript["by_range"][0])
                cells[epsilon].floored += scores_are_floored({name: of[0] for name, of in fit.transcript.items()})
                if run < COMPARED:
                    _compare(cells[epsilon], group, epsilon, rows, fit.theta[0], bits, truth)
    return cells


@dataclass(frozen=True)
class _Truth:
    """What intervals should cover, and what a non-private fit has to say of it."""

    population: Array
    least_squares: Array
    stderr: Array  # of the kind that the fit has
    residual_variance: float
    r_squared: float
    new_row: Array
    new_target: float

    @classmethod
    def of(cls, design: Design | TablePopulation, sampled: Sampled, new: Sampled) -> "_Truth":
        kept = ~np.isnan(sampled.features[:, 0])
        X, y = sampled.features[kept], sampled.target[kept]
        n, d = len(X), X.shape[1] + 1
        joined = np.column_stack((X, np.ones(n)))
        if design.family == "gaussian":
            inverse = np.linalg.inv(joined.T @ joined)
            solution = inverse @ (joined.T @ y)
            residuals = y - joined @ solution
            scores, squares, total = joined * residuals[:, None], float(residuals @ residuals), y - y.mean()
            null = float(total @ total)
        else:
            solution, inverse, scores, squares, null = maximum_likelihood(joined, y, design.family)
        correction = n / (n - d)
        if sampled.units is not None:
            units = sampled.units[kept]
            scores = np.stack([np.bincount(units, weights=column) for column in scores.T], axis=1)
            correction *= (n - 1) / n * len(scores) / (len(scores) - 1)
        covariance = correction * inverse @ (scores.T @ scores) @ inverse
        return cls(
            population=design.coefficients(d - 1),
            least_squares=solution,
            stderr=np.sqrt(np.diag(covariance)),
            residual_variance=squares / (n - d),
            r_squared=1.0 - squares / null,
            new_row=new.features[:1],
            new_target=float(new.target[0]),
        )


def _count(cell: Cell, inference: Inference, truth: _Truth) -> None:
    """Add one fit."""
    cell.runs += 1
    missed = np.abs(truth.least_squares - truth.population)
    cell.nonprivate += len(missed)
    cell.nonprivate_covered += int((missed <= _QUANTILE * truth.stderr).sum())
    if inference.why_not("data"):
        return
    limits = inference.conf_int(ALPHA, target="data")
    cell.printed_runs += not np.isnan(limits).all()
    _count_coefficients(cell, "data_", limits, truth.least_squares)
    for name, found, value in (
        ("variances", residual_variance(inference, ALPHA), truth.residual_variance),
        ("r_squareds", r_squared(inference, ALPHA), truth.r_squared),
    ):
        if found is not None:
            _add(cell, name, found[1] <= value <= found[2])
    if inference.why_not("population"):
        return
    limits = inference.conf_int(ALPHA)
    _count_coefficients(cell, "", limits, truth.population)
    there = ~np.isnan(limits[:, 0])
    half = 0.5 * (limits[:, 1] - limits[:, 0])[there] / _QUANTILE
    cell.width_over_nonprivate += float(np.sum(half / truth.stderr[there]))
    mean = float(truth.new_row[0] @ truth.population[:-1] + truth.population[-1])
    _count_prediction(cell, "means", inference.predict_interval(truth.new_row, alpha=ALPHA, of="mean"), mean)
    if inference.family == "gaussian":
        new = inference.predict_interval(truth.new_row, alpha=ALPHA)
        _count_prediction(cell, "observations", new, truth.new_target)


def _compare(
    cell: Cell, group: Group, epsilon: float, rows: BoundedRows, theta: Array, bits: Any, truth: _Truth
) -> None:
    """Add the errors of slopes with inference and of the fit without it, in non-private standard errors."""
    plain = algorithm(METHODS[DESIGNS[group.design].family])
    plan = plain.plan(_budget(group, epsilon), n_rows=_n_units(group), n_features=group.n_features + 1)
    without = plain.run(rows, plan, [bits]).theta[0]
    matrix, offset = rows.row_map.coefficient_map()
    d = group.n_features
    errors = [((matrix @ each + offset)[:d] - truth.population[:d]) / truth.stderr[:d] for each in (theta, without)]
    cell.compared += d
    cell.squared_errors_with += float(errors[0] @ errors[0])
    cell.squared_errors_without += float(errors[1] @ errors[1])


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


def _rows(design: Design | TablePopulation, sampled: Sampled) -> BoundedRows:
    source: Any = ArraySource(sampled.features, sampled.target)
    if sampled.units is not None:
        source = source_of_units(source, sampled.units, max_rows=design.rows_per_unit, bad_rows="raise")
    row_map = _row_map(sampled.features.shape[1], design.target, linked=design.family != "gaussian")
    bad_rows = "zero" if design.missing else "raise"
    return BoundedRows(source, row_map, bad_rows, "float", design.rows_per_unit)  # type: ignore[arg-type]


def _inferred(group: Group, plan: InferencePlan, rows: BoundedRows, fit: Any) -> Inference:
    names = [f"x{i}" for i in range(group.n_features)] + ["intercept"]
    return infer(plan, fit, rows.row_map, names, n_rows=group.n_rows, rows_per_unit=rows.rows_per_unit)


@lru_cache(maxsize=64)
def _plans(group: Group, epsilon: float) -> tuple[Algorithm, InferencePlan]:
    design = DESIGNS[group.design]
    method = algorithm(with_intervals(METHODS[design.family]))
    options: dict[str, Any] = {"cov_type": "cluster" if design.rows_per_unit > 1 else "HC1", **design.options}
    n, d = _n_units(group), group.n_features + 1
    return method, method.plan(_budget(group, epsilon), n_rows=n, n_features=d, **options)


def _n_units(group: Group) -> int:
    return -(-group.n_rows // DESIGNS[group.design].rows_per_unit)


def _budget(group: Group, epsilon: float) -> PrivacyBudget:
    return PrivacyBudget(epsilon, float(group.n_rows) ** -2)


@lru_cache(maxsize=16)
def _row_map(d: int, target: tuple[float, float], *, linked: bool) -> RowMap:
    bounds = Bounds(features=[(-1.0, 1.0)] * d, target=target)
    return replace(bounds.row_map(n_features=d, columns=None, fit_intercept=True), linked=linked)
