"""From settings to results on disk: do the fits that are missing, put them together, write tables and a page."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dpols.errors import ParameterError

from ..pages import Goal
from ..paper.methods import method
from ..paper.tables import save_json, save_table
from ..steps import Progress, Step, processes
from ..workers import in_processes
from .board import DEFAULT, LOSSES, Board, goals
from .definitions import TABLES
from .fits import Fit, Outcome, run_fits
from .journal import append_to_journal, as_row, read_journal
from .other_library import DIFFPRIVLIB, run_there
from .rows import load, table

SPLITS, QUICK_SPLITS = 20, 2
METHODS = (DEFAULT, "ihm", "adassp")
WIDENINGS = (1.0, 3.0, 10.0)
_SPLITS_AT_ONCE = 5  # that are fitted, and written down, together


@dataclass(frozen=True)
class Settings:
    """What to fit."""

    tables: tuple[str, ...] = tuple(row.item for row in TABLES)
    methods: tuple[str, ...] = METHODS
    epsilons: tuple[float, ...] = tuple(LOSSES)
    widenings: tuple[float, ...] = WIDENINGS
    splits: int = SPLITS
    diffprivlib: Path | None = None  # a Python that has it; None leaves it out
    jobs: int = 0  # 0: as many as there are cores

    def __post_init__(self) -> None:
        for item in self.tables:
            table(item)
        for name in self.methods:
            method(name)
        if min(self.widenings) < 1.0:
            raise ParameterError(f"widenings={self.widenings!r} must be at least 1: stated ranges are the narrowest.")
        if self.splits < 1:
            raise ParameterError(f"splits={self.splits!r} must be at least 1.")
        processes(self.jobs)  # for its check

    @property
    def all_methods(self) -> tuple[str, ...]:
        """The methods of this library, and diffprivlib where it is."""
        return (*self.methods, *([] if self.diffprivlib is None else [DIFFPRIVLIB]))

    def groups(self) -> Iterator[list[Fit]]:
        """Yield fits of one method on one table, some splits at a time."""
        for item in self.tables:
            for name in self.all_methods:
                for first in range(0, self.splits, _SPLITS_AT_ONCE):
                    yield [
                        Fit(item, name, epsilon, widening, number)
                        for number in range(first, min(first + _SPLITS_AT_ONCE, self.splits))
                        for epsilon in self.epsilons
                        for widening in self.widenings
                    ]


@dataclass(frozen=True)
class Evaluation:
    """What a run gives."""

    settings: Settings
    board: Board
    goals: Sequence[Goal]
    seconds: float


def evaluate(settings: Settings, out: Path, *, progress: Progress = lambda _: None) -> Evaluation:
    """Do the fits that the journal in ``out`` does not hold yet, and write the results there."""
    from .page import save_page

    start = time.perf_counter()
    if settings.diffprivlib is not None:
        run_there(settings.diffprivlib, "-c", "import diffprivlib.models")
    load(settings.tables[0])  # before anything is written, to see that the tables are there
    out.mkdir(parents=True, exist_ok=True)
    journal = out / "fits.jsonl"
    known = read_journal(journal)
    wanted = [fit for group in settings.groups() for fit in group]
    done = sum(fit in known for fit in wanted)
    for outcomes in _results(settings, known):
        append_to_journal(journal, outcomes)
        known |= {outcome.fit: outcome for outcome in outcomes}
        done += len(outcomes)
        progress(Step(f"{outcomes[0].fit.table}, {outcomes[0].fit.method}", done, len(wanted)))
    board = Board(known[fit] for fit in wanted)
    evaluation = Evaluation(settings, board, goals(board), time.perf_counter() - start)
    save_table([as_row(known[fit]) for fit in wanted], out, "fits")
    save_json([vars(goal) for goal in evaluation.goals], out / "goals.json")
    save_page(evaluation, out)
    return evaluation


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
