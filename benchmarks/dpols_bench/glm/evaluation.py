"""From settings to results on disk: do the fits that are missing, compare them, and write tables and goals."""

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dpols.errors import ParameterError

from ..pages import Goal
from ..paper.tables import save_json
from ..steps import Progress, processes
from ..tables.other_library import DIFFPRIVLIB
from ..tables.resuming import outcomes_in_folder
from .definitions import TABLES
from .fits import DESCENTS, OWN, Fit, Outcome, run_fits
from .rows import load, table

SPLITS, QUICK_SPLITS = 10, 2
EPSILONS = (0.1, 0.3, 0.5, 1.0, 3.0)
_MANY, _FEW_EVENTS = 5000, 0.06  # rows of a large table, and the rate of a rare outcome
_SHARES = {0.3: 0.82, 1.0: 0.95, 3.0: 0.98}
_RARE_SHARE, _AUC = 0.93, 0.01
_COUNT_SHARES = {4000: 0.75, 20_000: 0.9}


@dataclass(frozen=True)
class Settings:
    """What to fit."""

    tables: tuple[str, ...] = tuple(row.name for row in TABLES)
    epsilons: tuple[float, ...] = EPSILONS
    splits: int = SPLITS
    descent: bool = True
    diffprivlib: Path | None = None  # a Python that has it; None leaves it out
    jobs: int = 0  # 0: as many as there are cores

    def __post_init__(self) -> None:
        for name in self.tables:
            table(name)
        if self.splits < 1:
            raise ParameterError(f"splits={self.splits!r} must be at least 1.")
        processes(self.jobs)  # for its check

    def groups(self) -> Iterator[list[Fit]]:
        """Yield the fits of one method on one table."""
        for name in self.tables:
            for method in self._methods(name):
                yield [Fit(name, method, e, number) for number in range(self.splits) for e in self.epsilons]

    def _methods(self, name: str) -> tuple[str, ...]:
        if table(name).family != "binomial":
            return (OWN,)
        others = (*(DESCENTS if self.descent else ()), *([] if self.diffprivlib is None else [DIFFPRIVLIB]))
        return (OWN, *others)


@dataclass(frozen=True)
class Evaluation:
    """What a run gives."""

    settings: Settings
    outcomes: Sequence[Outcome]
    goals: Sequence[Goal]
    seconds: float


def evaluate(settings: Settings, out: Path, *, progress: Progress = lambda _: None) -> Evaluation:
    """Do the fits that the journal in ``out`` does not hold yet, and write the results there."""
    start = time.perf_counter()
    found = outcomes_in_folder(settings, run_fits, out, Fit, Outcome, load, progress)
    evaluation = Evaluation(settings, found, goals(found), time.perf_counter() - start)
    save_json([vars(goal) for goal in evaluation.goals], out / "goals.json")
    return evaluation


def cells(outcomes: Sequence[Outcome], method: str, epsilon: float) -> dict[str, list[Outcome]]:
    """Return the outcomes of a method at an epsilon, by table."""
    found: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        if (outcome.fit.method, outcome.fit.epsilon) == (method, epsilon):
            found.setdefault(outcome.fit.table, []).append(outcome)
    return found


def share(cell: Sequence[Outcome]) -> float:
    """Return the mean share of the non-private gain over splits: a ratio of means, since gains may be small."""
    gained = np.mean([o.constant - o.deviance for o in cell])
    return float(gained / np.mean([o.constant - o.best for o in cell]))


def over_descent(outcomes: Sequence[Outcome], epsilon: float) -> float:
    """Return the excess deviance over that of gradient descent with its best setting, a geometric mean over tables."""
    own = cells(outcomes, OWN, epsilon)
    ratios = []
    for name, cell in own.items():
        others = [
            np.mean([o.excess for o in other[name]])
            for method in DESCENTS
            if name in (other := cells(outcomes, method, epsilon))
        ]
        if others:
            ratios.append(math.log(max(float(np.mean([o.excess for o in cell])), 1e-9) / float(min(others))))
    return math.exp(math.fsum(ratios) / len(ratios)) if ratios else math.nan


def goals(outcomes: Sequence[Outcome]) -> list[Goal]:
    """Return what is to be reached, and what was."""
    found: list[Goal] = []
    for epsilon in sorted({outcome.fit.epsilon for outcome in outcomes}):
        own = cells(outcomes, OWN, epsilon)
        yes = {name: cell for name, cell in own.items() if table(name).family == "binomial"}
        large = [cell for cell in yes.values() if cell[0].n_rows >= _MANY]
        if epsilon in _SHARES:
            text = f"median share of the gain in log-loss, tables of 5,000 rows or more, epsilon {epsilon:g}"
            found.append(_at_least(text, _SHARES[epsilon], _median([share(cell) for cell in large])))
        if epsilon == 1.0:
            rare = [share(cell) for cell in yes.values() if cell[0].rate < _FEW_EVENTS]
            found.append(_at_least("the same, tables with a rare outcome, epsilon 1", _RARE_SHARE, _median(rare)))
            losses = [float(np.mean([o.best_auc - o.auc for o in cell])) for cell in large]
            found.append(_at_most("median loss of AUC, epsilon 1", _AUC, _median(losses)))
            counts = [cell for name, cell in own.items() if table(name).family == "poisson"]
            for rows, limit in _COUNT_SHARES.items():
                shares = [share(cell) for cell in counts if cell[0].n_rows >= rows]
                text = f"median share of the explained deviance of counts, {rows:,} rows or more, epsilon 1"
                found.append(_at_least(text, limit, _median(shares)))
        limit = 0.6 if epsilon >= 0.5 else 1.0
        text = f"excess deviance over the best gradient descent, epsilon {epsilon:g}"
        found.append(_at_most(text, limit, over_descent(outcomes, epsilon)))
    return [goal for goal in found if not math.isnan(goal.value)]


def _median(values: Sequence[float]) -> float:
    return float(np.median(values)) if values else math.nan


def _at_least(text: str, limit: float, value: float) -> Goal:
    return Goal(text, limit, value, value >= limit, f"{value:.3f}")


def _at_most(text: str, limit: float, value: float) -> Goal:
    return Goal(text, limit, value, value <= limit, f"{value:.3f}")
