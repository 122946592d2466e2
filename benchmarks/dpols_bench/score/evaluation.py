"""From settings to a scoreboard on disk: run what is missing, put it together, write tables, heat map and page."""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dpols.errors import ParameterError
from dpols.privacy import PrivacyBudget

from ..datasets import FAMILIES, LEVERAGE, NAMES, REAL, UnavailableError, source
from ..pages import Goal
from ..paper.cells import Batch, BatchResult, problem
from ..paper.evaluation import EPSILONS
from ..paper.journal import batch_journal
from ..paper.methods import method
from ..paper.runner import batches_of, run
from ..paper.summary import summarise
from ..paper.tables import save_json, save_table
from ..steps import Progress, Step, processes
from .board import Board, Groups, Place, Reference, goals
from .contenders import CONTENDERS, Contender
from .references import mean_square_of_target, ridge_oracle_excess, shaped_oracle, zero_excess
from .stored import adaptive_scores

TRIALS, QUICK_TRIALS = 200, 8
_MANY_ROWS, _TRIALS_OF_MANY_ROWS = 100_000, 30  # results on large data sets vary less
_SMALL = 1_000  # rows below which a data set is small
# Data sets that constants of the default were chosen on; the other real ones are held out.
TUNED_ON = frozenset(
    [
        "airfoil",
        "autompg",
        "concrete",
        "crime",
        "elevators",
        "energy",
        "fertility",
        "housing",
        "keggundirected",
        "parkinsons",
        "pol",
        "sml",
        "solar",
        "wine",
        "yacht",
    ]
)
# Made-up data of these kinds was used too.
TUNED_ON_MADE_UP = frozenset(
    [
        "well-conditioned",
        "ill-conditioned",
        "no-signal",
        "few-rows",
        "far-rows",
        "heavy-features",
        "long-column",
        "two-scales",
        "small-skewed",
    ]
)


@dataclass(frozen=True)
class Settings:
    """What to score."""

    datasets: tuple[str, ...] = (*REAL, *FAMILIES, *LEVERAGE)
    contenders: tuple[Contender, ...] = CONTENDERS
    epsilons: tuple[float, ...] = EPSILONS
    trials: int = TRIALS  # at most
    jobs: int = 0  # 0: as many as there are cores

    def __post_init__(self) -> None:
        for name in self.datasets:
            if name not in NAMES:
                source(name)
        for contender in self.contenders:
            method(contender.method)
        if self.trials < 2:
            raise ParameterError(f"trials={self.trials!r} must be at least 2, for an interval.")
        processes(self.jobs)  # for its check


@dataclass(frozen=True)
class Scores:
    """What a run gives."""

    settings: Settings
    board: Board
    goals: Sequence[Goal]
    missing: tuple[str, ...]
    seconds: float


def score(settings: Settings, out: Path, *, progress: Progress = lambda _: None) -> Scores:
    """Run what the journal in ``out`` does not hold yet, and write the scoreboard there."""
    from .page import save_page

    start = time.perf_counter()
    out.mkdir(parents=True, exist_ok=True)
    sizes, references = _read(settings, progress)
    batches = _batches(settings, sizes)
    journal = batch_journal(out / "scores.jsonl")
    known = journal.read()
    costs = {batch: _cost(batch, *sizes[batch.cell.dataset]) for batch in batches}
    total = math.fsum(costs.values())
    done = math.fsum(cost for batch, cost in costs.items() if batch in known)

    def count(result: BatchResult) -> None:
        nonlocal done
        done += costs[result.batch]
        cell = result.batch.cell
        progress(Step(f"{cell.dataset}, {cell.method}, epsilon {cell.epsilon:g}", 0.02 * total + 0.98 * done, total))

    values = {name: n * d for name, (n, d) in sizes.items()}
    jobs = processes(settings.jobs)
    results = summarise(run(batches, journal, sizes=values, jobs=jobs, progress=count))
    found = {
        (contender, (dataset, epsilon)): results.cells[cell]
        for contender in settings.contenders
        for dataset, epsilon in references
        if (cell := contender.cell(dataset, epsilon)) in results.cells
    }
    board = Board(
        {place: summary.train for place, summary in found.items()},
        {place: summary.in_range for place, summary in found.items()},
        references,
        groups_of(sizes),
    )
    scores = Scores(
        settings,
        board,
        goals(board),
        tuple(name for name in settings.datasets if name not in sizes),
        time.perf_counter() - start,
    )
    save_table([summary.as_row() for summary in results.cells.values()], out, "scores")
    save_json([vars(goal) for goal in scores.goals], out / "goals.json")
    save_page(scores, out)
    return scores


def groups_of(sizes: Mapping[str, tuple[int, int]]) -> Groups:
    """Return which of some data sets are alike, by their names and by their numbers of training rows."""
    real = [name for name in REAL if name in sizes]
    return Groups(
        tuned_on=tuple(name for name in real if name in TUNED_ON),
        held_out=tuple(name for name in real if name not in TUNED_ON),
        small=tuple(name for name in real if sizes[name][0] < _SMALL),
        families=tuple(name for name in FAMILIES if name in sizes),
        leverage=tuple(name for name in LEVERAGE if name in sizes),
    )


def _read(settings: Settings, progress: Progress) -> tuple[dict[str, tuple[int, int]], dict[Place, Reference]]:
    """Return rows and features of each data set that is available, and what is known of its cells without a run."""
    sizes: dict[str, tuple[int, int]] = {}
    references: dict[Place, Reference] = {}
    for number, name in enumerate(settings.datasets):
        progress(Step(f"Reading {name}", 0.02 * number / len(settings.datasets), 1.0))
        try:
            on = problem(name)
        except UnavailableError:
            continue
        n, d = on.data.features.shape
        sizes[name] = n, d
        shaped = shaped_oracle(on.data, on.risk)
        for epsilon in settings.epsilons:
            budget = PrivacyBudget(epsilon, 1.0 / n**2)
            references[name, epsilon] = Reference(
                zero=zero_excess(on.risk),
                ridge_oracle=ridge_oracle_excess(on.risk, budget),
                shaped_oracle=shaped(budget),
                mean_square=mean_square_of_target(on.risk),
                stored=adaptive_scores().get((name, epsilon)),
            )
    return sizes, references


def _batches(settings: Settings, sizes: dict[str, tuple[int, int]]) -> list[Batch]:
    batches = []
    for dataset, (n, _) in sizes.items():
        trials = min(settings.trials, _TRIALS_OF_MANY_ROWS) if n > _MANY_ROWS else settings.trials
        for contender in settings.contenders:
            if contender.most_rows is None or n <= contender.most_rows:
                cells = [contender.cell(dataset, epsilon) for epsilon in settings.epsilons]
                batches += batches_of(cells, min(trials, contender.most_trials or trials))
    return batches


def _cost(batch: Batch, n: int, d: int) -> float:
    """Return about how long a batch takes, in microseconds."""
    name = batch.cell.method
    passes = 400.0 if name.startswith("dp-gd") else 25.0 if name.startswith("whitened") else 3.0
    return 4e4 + batch.count * (200.0 + 0.25 * d**2 + 4e-4 * passes * n * (d + 4))
