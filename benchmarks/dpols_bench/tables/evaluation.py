"""From settings to results on disk: do the fits that are missing, put them together, write tables and a page."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dpols.errors import ParameterError

from ..pages import Goal
from ..paper.methods import method
from ..paper.tables import save_json
from ..steps import Progress, processes
from .board import DEFAULT, LOSSES, Board, goals
from .definitions import TABLES
from .fits import Fit, Outcome, run_fits
from .other_library import DIFFPRIVLIB
from .resuming import outcomes_in_folder
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
    found = outcomes_in_folder(settings, run_fits, out, Fit, Outcome, load, progress)
    board = Board(found)
    evaluation = Evaluation(settings, board, goals(board), time.perf_counter() - start)
    save_json([vars(goal) for goal in evaluation.goals], out / "goals.json")
    save_page(evaluation, out)
    return evaluation
