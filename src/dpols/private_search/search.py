"""One search: what was prepared before the first release, and what it releases."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..data import RowSource
from ..errors import BudgetExceeded
from ..estimators import PrivateRegression
from ..privacy import Neighbours, PrivacyBudget, Release, epsilon_of
from ..privacy.cautions import cautions_on
from ..randomness import Bits
from ..report.alarm import Alarmed
from ..report.basis import ORIGINS, RELATIONS, guarantee_of
from ..report.release_line import release_lines
from ..report.text import aligned, as_text
from .candidates import Part
from .scores import Measure

Array = np.ndarray[Any, np.dtype[Any]]

_TITLE = "Privacy report of a search"


@dataclass(frozen=True, repr=False)
class SearchReport(Alarmed):
    """What a search asked, spent and released. A row of the data enters fits or scores, never both."""

    asked: PrivacyBudget
    relation: str
    spent_epsilon: float  # the larger of what fits and scores spent
    seeded: bool
    n_fitting: int | None  # rows for fitting and for scoring; None where their number is not public
    n_scoring: int | None
    candidate_budget: PrivacyBudget  # of each fit, under zero-out neighbours
    fits: tuple[Release, ...]
    scores: tuple[Release, ...]
    bounds_origin: str = "declared"  # "data" where a candidate's bounds, or the target's range, were read from it
    void: tuple[str, ...] = ()  # what around the search voids the guarantee, as far as it was seen

    def to_text(self) -> str:
        """Return the report as plain text of at most 100 columns."""
        each, rows, count = self.candidate_budget, "their number is not public", None
        if self.n_fitting is not None and self.n_scoring is not None:
            rows, count = (
                f"{self.n_fitting:,} for fitting, {self.n_scoring:,} for scoring",
                self.n_fitting + self.n_scoring,
            )
        facts = (
            ("Guarantee", guarantee_of(self.asked, "single rows", private=self.private)),
            (
                "Spent",
                f"epsilon = {self.spent_epsilon:.6g} at the same delta, the larger of what fits and scores spent",
            ),
            ("Each fit", f"epsilon = {each.epsilon:.6g}, delta = {each.delta:.4g}, of zero-out neighbours"),
            ("Neighbours", f"{self.relation}: {RELATIONS[self.relation]}"),
            ("Rows", rows),
            ("Bounds", ORIGINS[self.bounds_origin]),
        )
        released = [("fits", self.fits), ("scores", self.scores)]
        lines = [line for what, made in released for line in release_lines([what] * len(made), made)]
        listed = aligned([(f"{line.times:>4} x {line.what}", line.describe()) for line in lines])
        alarms = () if self.alarm is None else (self.alarm,)
        head = (*alarms, _TITLE, "=" * len(_TITLE), *cautions_on(self.asked, count))
        return as_text(head, facts, (("Releases", listed),))


@dataclass(frozen=True, repr=False)
class Search:
    """What is asked, the two parts of the rows, and the plan of every release."""

    grid: list[dict[str, Any]]
    candidates: list[PrivateRegression]
    relation: Neighbours
    budget: PrivacyBudget
    measure: Measure
    max_weight: float | None
    everything: Sequence[RowSource]  # the rows of both parts, as each candidate takes them
    fitting: Part
    held_out: Part
    bits: Sequence[Bits]
    share: PrivacyBudget  # of each candidate
    plans: list[tuple[Release, ...]]  # what each candidate releases
    seeds: list[int | None]
    multiplier: float  # of the scores
    origin: str
    void: tuple[str, ...]

    @property
    def seeded(self) -> bool:
        return self.bits[0].seeded

    @property
    def fits(self) -> tuple[Release, ...]:
        """What all fits release."""
        return tuple(release for plan in self.plans for release in plan)

    def report(self, scores: tuple[Release, ...]) -> SearchReport:
        """Say what was asked and spent; refuse to return what cost more."""
        numbers = [len(part[1]) if self.relation.rows_are_public else None for part in (self.fitting, self.held_out)]
        spent = max(epsilon_of(part, self.budget.delta, relation=self.relation) for part in (self.fits, scores))
        if not spent <= self.budget.epsilon * (1.0 + 1e-9):
            raise BudgetExceeded(
                f"the search cost epsilon={spent:.6g}, more than the {self.budget.epsilon:.6g} asked for; nothing is "
                "returned. Please report this as a bug of dpols."
            )
        return SearchReport(
            asked=self.budget,
            relation=str(self.relation),
            spent_epsilon=spent,
            seeded=self.seeded,
            n_fitting=numbers[0],
            n_scoring=numbers[1],
            candidate_budget=self.share,
            fits=self.fits,
            scores=scores,
            bounds_origin=self.origin,
            void=self.void,
        )


def chosen_by(report: SearchReport, count: int) -> str | None:
    """Say in the report of a fit that a search chose it, which costs more than the fit alone; None of a single one."""
    if count == 1:
        return None
    return (
        f"CAUTION: a search chose this fit among {count}, and the choice tells of the rows, too. This report is of the "
        f"fit alone. To show its results costs what the search did: {report.asked}, {report.relation} neighbours."
    )


def results_of(search: Search, noisy: Array, stddev: float, scoring_share: float) -> list[dict[str, Any]]:
    """Return for each candidate its parameters, its released score and the score's noise."""
    scale, scores = search.measure.unit, noisy[: len(search.grid)]
    mass = _n_scoring(search, scoring_share)
    if len(noisy) > len(scores):  # where rows have weights, half of their sum over the largest was released, too
        mass = _Mass(max(2.0 * float(noisy[-1]), 2.0 * stddev), 2.0 * stddev)
    return [
        {
            "params": params,
            search.measure.name: float(scale * (value / mass.value + 0.5)),
            "noise": scale * math.hypot(stddev, float(value) / mass.value * mass.stddev) / mass.value,
        }
        for params, value in zip(search.grid, scores, strict=True)
    ]


class _Mass(NamedTuple):
    """The number of rows for scoring, or the sum of their weights over the largest, and the size of its error."""

    value: float
    stddev: float


def _n_scoring(search: Search, scoring_share: float) -> _Mass:
    """Return the number of rows for scoring: public, or as follows from what the fits counted of the others."""
    if search.relation.rows_are_public:
        return _Mass(float(len(search.held_out[1])), 0.0)
    reports = [fit.privacy_report_ for fit in search.candidates if fit.privacy_report_.n_rows is not None]
    if not reports:
        return _Mass(math.nan, math.nan)
    odds = scoring_share / (1.0 - scoring_share)
    value = max(odds * float(np.mean([its.n_rows for its in reports])), 1.0)
    counting = odds * math.hypot(*(its.n_rows_noise or 0.0 for its in reports)) / len(reports)
    # Coins decide which rows are for scoring, so that their share is not quite the one asked for.
    return _Mass(value, math.hypot(counting, math.sqrt(value / (1.0 - scoring_share))))
