"""Expected accuracy over methods and epsilons, and what it advises."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from ..algorithms import linear_algorithm
from ..errors import DpolsError, ParameterError
from .page import share_in_words
from .question import Assumptions, Progress, Question
from .samples import Sample
from .simulation import INTERVAL_SHARE, PlannedRow

METHODS = ("whitened", "ihm", "adassp", "dp-gd")
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
CLOSE = 0.95  # share of the non-private R^2 that counts as close to it
NOTHING_SPENT = "Computed from public numbers and made-up or public rows alone: no private row is read, nothing spent."


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
        """The smallest epsilon at which some method comes close to least squares, with the best method there.

        Where intervals were simulated, most slopes must have one, too.
        """
        best = [max((r for r in self.rows if r.epsilon == e), key=lambda r: r.r_squared) for e in self.epsilons]
        wanted = CLOSE * self.nonprivate_r_squared
        top = max(best, key=lambda row: row.r_squared)
        if self.nonprivate_r_squared <= 0.0:
            return Recommendation(
                None, None, f"{self.n_rows:,} rows are too few even without privacy: use more rows or fewer features."
            )
        for row, below in zip(best, (None, *best), strict=False):
            if row.r_squared >= wanted:
                return self._with_intervals(row, self._close(row, below))
        remedy = "use more rows, tighter bounds or fewer features"
        if top.r_squared <= 0.0:
            reason = f"no epsilon up to {self.epsilons[-1]:g} helps; a constant predicts as well: {remedy}."
            return Recommendation(None, None, reason)
        reason = (
            f"no epsilon up to {self.epsilons[-1]:g} comes within 5% of the R^2 of {self.nonprivate_r_squared:.3f} "
            f"without privacy; {top.method} at epsilon = {top.epsilon:g} reaches {top.r_squared:.3f}: {remedy}."
        )
        return Recommendation(top.method, None, reason)

    def _close(self, row: PlannedRow, below: PlannedRow | None) -> str:
        reason = (
            f"epsilon = {row.epsilon:g} with {row.method} is the smallest tried whose expected R^2, "
            f"{row.r_squared:.3f}, is within 5% of the {self.nonprivate_r_squared:.3f} without privacy. "
        )
        if below is None:
            return reason + "Smaller ones, which were not tried, may do."
        return reason + f"epsilon = {below.epsilon:g} gives {max(below.r_squared, 0.0):.3f} at best."

    def _with_intervals(self, close: PlannedRow, reason: str) -> Recommendation:
        """Recommend an epsilon at which slopes have intervals, too, if these were asked for."""
        asked = [row for row in self.rows if row.interval_share is not None and row.epsilon >= close.epsilon]
        here = max((row.interval_share or 0.0 for row in asked if row.epsilon == close.epsilon), default=None)
        if here is None or here >= INTERVAL_SHARE:
            return Recommendation(close.method, close.epsilon, reason)
        lacking = f"At epsilon = {close.epsilon:g}, {share_in_words(here)} of slopes would have an interval"
        wanted = CLOSE * self.nonprivate_r_squared
        enough = [row for row in asked if (row.interval_share or 0.0) >= INTERVAL_SHARE and row.r_squared >= wanted]
        if not enough:
            return Recommendation(
                close.method,
                close.epsilon,
                f"{reason} {lacking}, and no epsilon up to {self.epsilons[-1]:g} gives {INTERVAL_SHARE:.0%} of them "
                "one: for intervals use more rows, tighter bounds or fewer features.",
            )
        first = min(enough, key=lambda row: row.epsilon)
        return Recommendation(
            first.method,
            first.epsilon,
            f"epsilon = {first.epsilon:g} with {first.method} is the smallest tried at which {INTERVAL_SHARE:.0%} of "
            f"slopes have an interval. {lacking}; without intervals it is enough: its expected R^2, "
            f"{close.r_squared:.3f}, is within 5% of the {self.nonprivate_r_squared:.3f} without privacy.",
        )

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

    def to_html(self) -> str:
        """Return the plan as one HTML page to hand on, which needs no other file."""
        from .page import to_html

        return to_html(self)

    def save_plot(self, path: "Path | str") -> None:
        """Draw R^2 and interval width against epsilon (extra ``plots``)."""
        from .plot import save_plot

        save_plot(self, Path(path))


def plan_accuracy(
    *,
    n: int,
    epsilon: float | Iterable[float] = EPSILONS,
    methods: Iterable[str] | None = None,
    intervals: bool = True,
    progress: Progress | None = None,
    **assumed: Unpack[Assumptions],
) -> AccuracyPlan:
    """Say what accuracy to expect of private fits, by simulation, before anything is spent.

    Parameters
    ----------
    n : int
        Number of rows of the table that is to be fitted.
    epsilon : float or several
        What to plan for; 0.1, 0.3, 1, 3 and 10 unless given.
    methods : several names, optional
        Those to compare: whitened, ihm, adassp and dp-gd unless given.
    intervals : bool, default=True
        Whether to simulate also fits with ``inference=True``, for the width of their intervals.
    progress : callable, optional
        Called with what is simulated next, cells done, and cells in all.
    d : int
        Number of features, without the intercept; not needed where ``bounds`` or ``public_table`` give it.
    delta : float or "1/n^2", default="1/n^2"
        As in a fit.
    bounds : Bounds or FeatureMap, optional
        The bounds of the fit, to plan in its units. Without them features and target have standard deviation 1. A
        feature map makes categories, powers and products of made-up raw columns, or of those of ``public_table``.
    r_squared : float, default=0.5
        The share of the target's variance that features explain, as you expect it.
    condition : float, default=10
        Largest over smallest eigenvalue of the features' correlation matrix: 1 for independent features.
    mean_weight : float, default=1
        The mean weight of rows over the largest that is declared, where a fit is to have weights; 1 for no weights.
    bounds_slack : float, default=1
        How many times as wide as the data's spread (3 standard deviations to either side) the bounds are.
    fit_intercept : bool, default=True
        As in a fit.
    public_table, target : table and name of its target, optional
        Rows that are public by your word, to be resampled to ``n`` rows in place of made-up ones. Never the data that
        is to be protected, nor a part of it.
    neighbours : "zero-out", "replace-one" or "add-remove", default="zero-out"
        As in a fit.
    max_rows_per_unit : int, default=1
        How many rows of one unit, such as a patient, a fit with ``unit=`` uses at most. Rows of a unit are taken to be
        alike, the case in which they carry the least information.
    trials, seed : int, default=40 and 0
        Simulated fits for each row, and what determines them.

    >>> plan = plan_accuracy(n=5000, d=3, epsilon=[0.1, 1.0], methods=["whitened"], intervals=False, trials=4)
    >>> [row.epsilon for row in plan.rows]
    [0.1, 1.0]
    """
    question = Question.of(**assumed)
    chosen = (METHODS if methods is None else (methods,) if isinstance(methods, str) else tuple(methods)) or METHODS
    epsilons = tuple(sorted({float(e) for e in _several(epsilon)}))
    for name in chosen:
        linear_algorithm(name)
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
        trials=question.trials,
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
