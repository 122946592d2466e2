"""From settings to results on disk: do the fits that are missing, compare them, and write tables and goals."""

import json
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np

from dpols.errors import ParameterError

from ..pages import Goal
from ..paper.tables import save_json, save_table
from ..steps import Progress, Step, processes
from ..tables.other_library import run_there
from ..workers import in_processes
from .definitions import TABLES
from .fits import DESCENTS, DIFFPRIVLIB, OWN, Fit, Outcome, run_fits
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
    if settings.diffprivlib is not None:
        run_there(settings.diffprivlib, "-c", "import diffprivlib.models")
    load(settings.tables[0])  # before anything is written, to see that the tables are there
    out.mkdir(parents=True, exist_ok=True)
    journal = out / "fits.jsonl"
    known = _read(journal)
    wanted = [fit for group in settings.groups() for fit in group]
    done = sum(fit in known for fit in wanted)
    for outcomes in _results(settings, known):
        with journal.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(asdict(outcome)) + "\n" for outcome in outcomes)
        known |= {outcome.fit: outcome for outcome in outcomes}
        done += len(outcomes)
        progress(Step(f"{outcomes[0].fit.table}, {outcomes[0].fit.method}", done, len(wanted)))
    found = [known[fit] for fit in wanted]
    evaluation = Evaluation(settings, found, goals(found), time.perf_counter() - start)
    save_table([{**asdict(o.fit), **{k: v for k, v in asdict(o).items() if k != "fit"}} for o in found], out, "fits")
    save_json([vars(goal) for goal in evaluation.goals], out / "goals.json")
    return evaluation


def _read(journal: Path) -> dict[Fit, Outcome]:
    if not journal.exists():
        return {}
    rows = [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]
    found = [Outcome(**{**row, "fit": Fit(**row["fit"])}) for row in rows]
    return {outcome.fit: outcome for outcome in found}


def _results(settings: Settings, known: dict[Fit, Outcome]) -> Iterator[list[Outcome]]:
    missing = [[fit for fit in group if fit not in known] for group in settings.groups()]
    work = partial(_run_group, python=settings.diffprivlib)
    groups = [[group] for group in missing if group]
    jobs = processes(settings.jobs)
    yield from (
        (outcomes for group in groups for outcomes in work(group)) if jobs == 1 else in_processes(work, groups, jobs)
    )


def _run_group(groups: Sequence[list[Fit]], *, python: Path | None) -> list[list[Outcome]]:
    return [run_fits(fits, python) for fits in groups]


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
