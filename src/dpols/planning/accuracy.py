"""Expected accuracy over methods and epsilons, and what it advises."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..algorithms import algorithm
from ..data import Bounds
from ..errors import DpolsError, ParameterError
from ..privacy import Neighbours, PrivacyBudget
from ..privacy.budget import delta_from_rule
from .rows import Sample
from .shapes import PublicTable, Shape, public_table, samples_of, whole
from .simulation import PlannedRow, planned_row

METHODS = ("adaptive", "ihm", "adassp", "dp-gd")
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
TRIALS = 40
CLOSE = 0.95  # share of the non-private R^2 that counts as close to it
NOTHING_SPENT = "Computed from public numbers and made-up or public rows alone: no private row is read, nothing spent."

Progress = Callable[[str, int, int], None]  # what is simulated now, cells done, cells in all


@dataclass(frozen=True)
class Recommendation:
    """What to spend, and why; no epsilon where none of those tried is worth it."""

    method: str | None
    epsilon: float | None
    reason: str


@dataclass(frozen=True)
class AccuracyPlan:
    """What to expect of private fits before any of them: one row for each method and epsilon."""

    rows: tuple[PlannedRow, ...]
    n_rows: int
    n_features: int
    assumed: str
    nonprivate_r_squared: float  # of least squares on so many rows, on fresh ones
    trials: int
    left_out: tuple[tuple[str, str], ...] = ()  # methods that cannot run at this size, and why
    note: str = NOTHING_SPENT

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods that were simulated."""
        return tuple(dict.fromkeys(row.method for row in self.rows))

    @property
    def epsilons(self) -> tuple[float, ...]:
        """The epsilons that were simulated, from small to large."""
        return tuple(sorted({row.epsilon for row in self.rows}))

    @property
    def recommendation(self) -> Recommendation:
        """The smallest epsilon at which some method comes close to least squares, with the best method there."""
        best = [max((r for r in self.rows if r.epsilon == e), key=lambda r: r.r_squared) for e in self.epsilons]
        wanted = CLOSE * self.nonprivate_r_squared
        top = max(best, key=lambda row: row.r_squared)
        if self.nonprivate_r_squared <= 0.0:
            return Recommendation(
                None, None, f"{self.n_rows:,} rows are too few even without privacy: use more rows or fewer features."
            )
        for row in best:
            if row.r_squared >= wanted:
                reason = (
                    f"epsilon = {row.epsilon:g} with {row.method} is the smallest tried whose expected R^2, "
                    f"{row.r_squared:.3f}, is within 5% of the {self.nonprivate_r_squared:.3f} without privacy."
                )
                return Recommendation(row.method, row.epsilon, reason)
        remedy = "use more rows, tighter bounds or fewer features"
        if top.r_squared <= 0.0:
            reason = f"no epsilon up to {self.epsilons[-1]:g} helps, a constant predicts as well: {remedy}."
            return Recommendation(None, None, reason)
        reason = (
            f"no epsilon up to {self.epsilons[-1]:g} comes within 5% of the R^2 of {self.nonprivate_r_squared:.3f} "
            f"without privacy; {top.method} at epsilon = {top.epsilon:g} reaches {top.r_squared:.3f}: {remedy}."
        )
        return Recommendation(top.method, None, reason)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        advice = self.recommendation
        return {
            "n_rows": self.n_rows,
            "n_features": self.n_features,
            "assumed": self.assumed,
            "trials": self.trials,
            "nonprivate_r_squared": self.nonprivate_r_squared,
            "rows": [row.to_dict() for row in self.rows],
            "left_out": dict(self.left_out),
            "recommendation": {"method": advice.method, "epsilon": advice.epsilon, "reason": advice.reason},
            "note": self.note,
        }

    def save_plot(self, path: "Path | str") -> None:
        """Draw R^2 and interval width against epsilon (extra ``plots``)."""
        from .plot import save_plot

        save_plot(self, Path(path))


@dataclass(frozen=True)
class Question:
    """What is simulated, whatever the epsilon and the number of rows."""

    table: Shape | PublicTable
    delta: float | str
    relation: Neighbours
    trials: int
    seed: int

    @classmethod
    def of(
        cls,
        *,
        d: int | None,
        delta: float | str,
        bounds: Bounds | None,
        r_squared: float | None,
        condition: float,
        bounds_slack: float,
        fit_intercept: bool,
        table: Any,
        target: Any,
        neighbours: str,
        trials: int,
        seed: int,
    ) -> "Question":
        """Check what was given and settle what is assumed."""
        if neighbours not in tuple(Neighbours):
            raise ParameterError(f"neighbours={neighbours!r} must be 'zero-out' or 'replace-one'.")
        if table is not None:
            if r_squared is not None or d is not None:
                raise ParameterError("d and r_squared come from public_table; leave them out where it is given.")
            Shape(1, bounds_slack=bounds_slack)  # for its checks
            read = public_table(table, target, bounds=bounds, bounds_slack=bounds_slack, fit_intercept=fit_intercept)
            assumed: Shape | PublicTable = read
        else:
            if d is None and bounds is not None and bounds.features is not None:
                d = len(bounds.features)
            if d is None:
                raise ParameterError("d is required: the number of features, without the intercept.")
            value = 0.5 if r_squared is None else r_squared
            assumed = Shape(whole("d", d), value, condition, bounds_slack, bounds, fit_intercept)
        seed = whole("seed", seed, 0)
        return cls(assumed, delta, Neighbours(neighbours), whole("trials", trials, 2), seed)

    @property
    def assumed(self) -> str:
        """Say in a line what the simulated rows are."""
        table = self.table
        intercept = "" if table.fit_intercept else ", no intercept"
        if isinstance(table, PublicTable):
            return (
                f"a public table of {len(table.target):,} rows, resampled; its R^2 is {table.r_squared:.3f}{intercept}"
            )
        return (
            f"made-up rows with R^2 = {table.r_squared:g}, condition number {table.condition:g}, "
            f"bounds {table.bounds_slack:g} times as wide as the data{intercept}"
        )

    def budget(self, epsilon: float, n_rows: int) -> PrivacyBudget:
        """Return the budget for a table of that many rows."""
        return PrivacyBudget(
            epsilon, delta_from_rule(self.delta, n_rows) if isinstance(self.delta, str) else self.delta
        )

    def samples(self, n_rows: Any) -> tuple[Sample, ...]:
        """Return the tables to simulate on."""
        least = self.table.n_features + 4
        return samples_of(self.table, whole("n", n_rows, least), self.seed)

    def row(self, samples: Sequence[Sample], method: str, epsilon: float, *, intervals: bool) -> PlannedRow:
        """Simulate one cell."""
        budget = self.budget(epsilon, samples[0].source.n_rows)
        return planned_row(
            samples,
            method,
            budget,
            trials=self.trials,
            seed=self.seed,
            relation=self.relation,
            intervals=intervals,
        )


def plan_accuracy(
    *,
    n: int,
    d: int | None = None,
    epsilon: float | Iterable[float] = EPSILONS,
    delta: float | str = "1/n^2",
    bounds: Bounds | None = None,
    r_squared: float | None = None,
    condition: float = 10.0,
    bounds_slack: float = 1.0,
    fit_intercept: bool = True,
    methods: Iterable[str] | None = None,
    public_table: Any = None,
    target: Any = None,
    neighbours: str = "zero-out",
    intervals: bool = True,
    trials: int = TRIALS,
    seed: int = 0,
    progress: Progress | None = None,
) -> AccuracyPlan:
    """Say what accuracy to expect of private fits, by simulation, before anything is spent.

    Parameters
    ----------
    n : int
        Number of rows of the table that is to be fitted.
    d : int
        Number of features, without the intercept; not needed where ``bounds`` or ``public_table`` tell it.
    epsilon : float or several
        What to plan for.
    delta : float or "1/n^2"
        As in a fit.
    bounds : Bounds, optional
        The bounds of the fit, to plan in its units. Without them features and target have std 1.
    r_squared : float
        The share of the target's variance that features explain, as you expect it; 0.5 unless given.
    condition : float
        Largest over smallest eigenvalue of the features' correlation matrix: 1 for independent features.
    bounds_slack : float
        How many times as wide as the data's spread (3 stds to either side) the bounds are.
    methods : several names, optional
        Those to compare: adaptive, ihm, adassp and dp-gd unless given.
    public_table, target : table and name of its target, optional
        Rows that are public by your word, to be resampled to ``n`` rows in place of made-up ones. Never the data that
        is to be protected, nor a part of it.
    intervals : bool
        Whether to simulate also fits with ``inference=True``, for the width of their intervals.
    trials, seed : int
        Simulated fits for each row, and what determines them.
    progress : callable, optional
        Called with what is simulated next, cells done, and cells in all.

    >>> plan = plan_accuracy(n=5000, d=3, epsilon=[0.1, 1.0], methods=["adaptive"], intervals=False, trials=4)
    >>> [row.epsilon for row in plan.rows]
    [0.1, 1.0]
    """
    question = Question.of(
        d=d,
        delta=delta,
        bounds=bounds,
        r_squared=r_squared,
        condition=condition,
        bounds_slack=bounds_slack,
        fit_intercept=fit_intercept,
        table=public_table,
        target=target,
        neighbours=neighbours,
        trials=trials,
        seed=seed,
    )
    chosen = (METHODS if methods is None else (methods,) if isinstance(methods, str) else tuple(methods)) or METHODS
    epsilons = tuple(sorted({float(e) for e in _several(epsilon)}))
    for name in chosen:
        algorithm(name)
    samples = question.samples(n)
    for value in epsilons:
        question.budget(value, n)
    say = progress or (lambda what, done, total: None)
    rows, left_out = [], []
    for i, name in enumerate(chosen):
        try:
            for j, value in enumerate(epsilons):
                say(f"{name} at epsilon = {value:g}", i * len(epsilons) + j, len(chosen) * len(epsilons))
                rows.append(question.row(samples, name, value, intervals=intervals))
        except DpolsError as error:
            left_out.append((name, str(error)))
    if not rows:
        raise ParameterError(f"no method can be planned: {left_out[0][0]}: {left_out[0][1]}")
    say("done", len(chosen) * len(epsilons), len(chosen) * len(epsilons))
    return AccuracyPlan(
        rows=tuple(rows),
        n_rows=n,
        n_features=question.table.n_features,
        assumed=question.assumed,
        nonprivate_r_squared=nonprivate_r_squared(samples[0]),
        trials=trials,
        left_out=tuple(left_out),
    )


def nonprivate_r_squared(sample: Sample) -> float:
    """Return what least squares on so many rows has on fresh ones."""
    n, width = sample.source.n_rows, len(sample.best)
    return 1.0 - sample.residual_share * (1.0 + width / max(n - width - 1, 1))


def _several(epsilon: Any) -> tuple[float, ...]:
    values = tuple(epsilon) if isinstance(epsilon, Iterable) and not isinstance(epsilon, str) else (epsilon,)
    if not values:
        raise ParameterError("epsilon names nothing to plan for; give one or several numbers.")
    for value in values:
        number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        if not (number and math.isfinite(value) and value > 0.0):
            raise ParameterError(f"epsilon={value!r} must be a positive number, or several.")
    return values
