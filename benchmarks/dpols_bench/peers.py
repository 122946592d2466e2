"""This library next to others that a user might pick, on public tables: accuracy, and time of a fit.

All contenders get the same rows, ranges and epsilon. diffprivlib and OpenDP are purely epsilon-private, so they get no
delta, which is a stronger guarantee; OpenDP fits one predictor, so there is a second comparison with one.
"""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .paper.tables import save_json
from .steps import Progress
from .tables import TABLES
from .tables.board import DEFAULT
from .tables.fits import Fit, Outcome, run_fits
from .tables.journal import fit_journal
from .tables.other_library import DIFFPRIVLIB, check_python
from .tables.resuming import all_outcomes
from .tables.theil_sen import OPENDP

EPSILONS = (0.3, 1.0, 3.0)
SPLITS, QUICK_SPLITS = 10, 1
_SOME = 0.01  # R^2 of least squares below which there is nothing to have a share of


@dataclass(frozen=True)
class Settings:
    """What to compare."""

    tables: tuple[str, ...] = tuple(row.item for row in TABLES)
    epsilons: tuple[float, ...] = EPSILONS
    splits: int = SPLITS
    diffprivlib: Path | None = None  # a Python that has it; None leaves it out

    def groups(self) -> Iterator[list[Fit]]:
        """Yield the fits of one contender on one table."""
        others = () if self.diffprivlib is None else (DIFFPRIVLIB,)
        for item in self.tables:
            for one_column, methods in ((False, (DEFAULT, "dp-gd", *others)), (True, (DEFAULT, OPENDP, *others))):
                for method in methods:
                    yield [
                        Fit(item, method, epsilon, 1.0, number, one_column)
                        for number in range(self.splits)
                        for epsilon in self.epsilons
                    ]


@dataclass(frozen=True)
class Standing:
    """How a contender does at an epsilon: over tables, each by the median of its splits."""

    one_column: bool
    method: str
    epsilon: float
    share: float  # of the R^2 of least squares on test rows, median over tables where there is some
    worst_share: float
    below_zero: int  # tables on which a constant would be better
    tables: int
    milliseconds: float  # of a fit, median over tables


def compare(settings: Settings, out: Path, *, progress: Progress = lambda _: None) -> list[Standing]:
    """Do the fits that the journal in ``out`` does not hold yet, and write how the contenders stand."""
    check_python(settings.diffprivlib)

    def run(fits: list[Fit]) -> list[Outcome]:
        time.sleep(0.05)  # so that no contender waits for the threads of the one before
        return run_fits(fits, settings.diffprivlib)

    journal = fit_journal(out / "fits.jsonl", Fit, Outcome)
    standings = _standings(all_outcomes(settings.groups(), run, journal, jobs=1, progress=progress))
    save_json([vars(standing) for standing in standings], out / "standings.json")
    return standings


def rows_of(standings: Iterable[Standing]) -> list[list[str]]:
    """Return the standings as rows of text."""
    return [
        [
            "one" if standing.one_column else "all",
            standing.method,
            f"{standing.epsilon:g}",
            f"{standing.share:.2f}",
            f"{standing.worst_share:.2f}" if standing.worst_share > -100.0 else f"{standing.worst_share:.0e}",
            f"{standing.below_zero} of {standing.tables}",
            f"{standing.milliseconds:.0f}",
        ]
        for standing in standings
    ]


HEADINGS = ["predictors", "by", "epsilon", "share of R^2", "worst", "below zero", "ms"]


def _standings(outcomes: Iterable[Outcome]) -> list[Standing]:
    cells: dict[tuple[bool, str, float], dict[str, list[Outcome]]] = {}
    for outcome in outcomes:
        fit = outcome.fit
        cell = cells.setdefault((fit.one_column, fit.method, fit.epsilon), {})
        cell.setdefault(fit.table, []).append(outcome)
    return [_standing(*key, cell) for key, cell in sorted(cells.items())]


def _standing(one_column: bool, method: str, epsilon: float, cell: dict[str, list[Outcome]]) -> Standing:
    private = np.array([np.median([outcome.r2 for outcome in outcomes]) for outcomes in cell.values()])
    least = np.array([np.median([outcome.least_squares_r2 for outcome in outcomes]) for outcomes in cell.values()])
    shares = private[least > _SOME] / least[least > _SOME]
    times = [1e3 * float(np.median([outcome.seconds for outcome in outcomes])) for outcomes in cell.values()]
    return Standing(
        one_column,
        method,
        epsilon,
        share=float(np.median(shares)),
        worst_share=float(np.min(shares)),
        below_zero=int(np.sum(private < 0.0)),
        tables=len(private),
        milliseconds=float(np.median(times)),
    )
