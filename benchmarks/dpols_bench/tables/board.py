"""From outcomes of fits to losses of R^2, what too wide ranges cost, and the goals of the default."""

import math
from collections.abc import Iterable, Sequence

import numpy as np

from ..pages import Goal
from ..paper.summary import Mean
from ..score.board import Ratio
from .definitions import TUNED_ON
from .fits import Outcome

DEFAULT = "whitened"
LOSSES = {0.1: 0.045, 0.3: 0.012, 1.0: 0.003, 3.0: 0.0015}  # of test R^2, at most, by epsilon
WIDEST, COST_OF_WIDEST = 10.0, 3.0
_WIDE_EPSILONS = (1.0, 3.0)


class Board:
    """Outcomes by what was fitted: means are over splits, then over tables."""

    def __init__(self, outcomes: Iterable[Outcome]) -> None:
        self._cells: dict[tuple[str, str, float, float], list[Outcome]] = {}
        for outcome in outcomes:
            fit = outcome.fit
            self._cells.setdefault((fit.table, fit.method, fit.epsilon, fit.widening), []).append(outcome)
        self.tables = tuple(dict.fromkeys(table for table, *_ in self._cells))
        self.methods = tuple(dict.fromkeys(method for _, method, *_ in self._cells))
        self.epsilons = tuple(sorted({epsilon for *_, epsilon, _ in self._cells}))
        self.widenings = tuple(sorted({widening for *_, widening in self._cells}))

    @property
    def held_out(self) -> tuple[str, ...]:
        """The tables that the default was not tuned on."""
        return tuple(name for name in self.tables if name not in TUNED_ON)

    def cell(self, table: str, method: str, epsilon: float, widening: float = 1.0) -> list[Outcome]:
        """Return the outcomes of all splits."""
        return self._cells.get((table, method, epsilon, widening), [])

    def least_squares(self, table: str) -> float:
        """Return the mean test R^2 of least squares."""
        found = [o.least_squares_r2 for key, cell in self._cells.items() if key[0] == table for o in cell]
        return float(np.mean(found))

    def loss(
        self, method: str, epsilon: float, widening: float = 1.0, *, tables: Sequence[str] = (), in_range: bool = False
    ) -> Mean:
        """Return how much test R^2 is lost against least squares, over all tables or some."""
        cells = [self.cell(name, method, epsilon, widening) for name in tables or self.tables]
        means = [_mean([_loss(outcome, in_range) for outcome in cell]) for cell in cells if cell]
        if not means:
            return Mean(math.nan, math.nan)
        error = math.sqrt(math.fsum(mean.error**2 for mean in means)) / len(means)
        return Mean(math.fsum(mean.value for mean in means) / len(means), error)

    def excess(self, method: str, epsilon: float, widening: float = 1.0, *, tables: Sequence[str] = ()) -> float:
        """Return the mean excess error on the training rows over the target's variance: it is never negative.

        A loss of test R^2 can be, where least squares overfits a heavy tail and noise or shrinkage does less so.
        """
        cells = [self.cell(name, method, epsilon, widening) for name in tables or self.tables]
        means = [_mean([outcome.excess for outcome in cell]).value for cell in cells if cell]
        return math.fsum(means) / len(means) if means else math.nan

    def cost_of_width(
        self, method: str, widening: float, epsilons: Sequence[float] = _WIDE_EPSILONS, *, tables: Sequence[str] = ()
    ) -> Ratio:
        """Return how many times as large the error is with wider ranges: a geometric mean over tables and epsilons."""
        ratios = [
            _ratio(wide, stated)
            for name in tables or self.tables
            for epsilon in epsilons
            if (wide := self.cell(name, method, epsilon, widening)) and (stated := self.cell(name, method, epsilon))
        ]
        if not ratios:
            return Ratio(math.nan, math.nan)
        mean = math.fsum(math.log(ratio.value) for ratio in ratios) / len(ratios)
        return Ratio(math.exp(mean), math.sqrt(math.fsum(ratio.log_error**2 for ratio in ratios)) / len(ratios))


def goals(board: Board) -> list[Goal]:
    """Return what the default is to reach, and what it did."""
    found = []
    for epsilon, limit in LOSSES.items():
        loss = board.loss(DEFAULT, epsilon)
        detail = f"{loss.value:.4f} ± {loss.half_width:.4f}"
        found.append(
            Goal(f"mean loss of test R^2 at epsilon {epsilon:g}", limit, loss.value, loss.value <= limit, detail)
        )
    cost = board.cost_of_width(DEFAULT, WIDEST)
    text = f"error with ranges {WIDEST:g} times as wide, over that with stated ranges"
    found.append(Goal(text, COST_OF_WIDEST, cost.value, cost.value <= COST_OF_WIDEST, str(cost)))
    return [goal for goal in found if not math.isnan(goal.value)]


def _loss(outcome: Outcome, in_range: bool) -> float:
    return outcome.least_squares_r2 - (outcome.r2_in_range if in_range else outcome.r2)


def _mean(values: Sequence[float]) -> Mean:
    error = float(np.std(values, ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    return Mean(float(np.mean(values)), error)


def _ratio(one: Sequence[Outcome], other: Sequence[Outcome]) -> Ratio:
    above, below = (_mean([outcome.excess for outcome in cell]) for cell in (one, other))
    return Ratio(above.value / below.value, math.hypot(above.error / above.value, below.error / below.value))
