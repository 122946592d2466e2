"""The inverse: which epsilon, or how many rows, an accuracy needs."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

from ..algorithms import linear_algorithm
from ..errors import CalibrationError, ParameterError
from .accuracy import NOTHING_SPENT, nonprivate_r_squared
from .page import share_in_words
from .question import Assumptions, Progress, Question
from .simulation import INTERVAL_SHARE, PlannedRow

_PER_DECADE = 12  # steps of the grids
EPSILON_RANGE = (0.01, 100.0)
N_RANGE = (100, 10_000_000)


@dataclass(frozen=True)
class Answer:
    """What reaches an accuracy: the smallest value of a grid, or None where none of it does."""

    quantity: str  # "epsilon" or "n"
    value: float | None  # a whole number where it counts rows
    wanted: str
    reason: str
    row: PlannedRow | None  # what to expect there, or at the end of the grid
    simulated: tuple[tuple[float, float | None], ...]  # values tried, with what came out
    assumed: str
    note: str = NOTHING_SPENT

    @property
    def reachable(self) -> bool:
        """Whether some value of the grid reaches it."""
        return self.value is not None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "quantity": self.quantity,
            "value": self.value,
            "reachable": self.reachable,
            "wanted": self.wanted,
            "assumed": self.assumed,
            "reason": self.reason,
            "expected": None if self.row is None else self.row.to_dict(),
            "simulated": [list(pair) for pair in self.simulated],
            "note": self.note,
        }


def required_epsilon(
    *,
    n: int,
    wanted_r_squared: float | None = None,
    interval_width: float | None = None,
    interval_share: float = INTERVAL_SHARE,
    method: str = "whitened",
    progress: Progress | None = None,
    **assumed: Unpack[Assumptions],
) -> Answer:
    """Return the smallest epsilon, of twelve in each decade from 0.01 to 100, that reaches what is wanted.

    Give either ``wanted_r_squared``, on fresh rows, or ``interval_width``: the median width of the slopes' 95%
    intervals, in target standard deviations for each standard deviation of the feature, where at least the share
    ``interval_share`` of slopes must have one. What is assumed is given as to `plan_accuracy`. Every epsilon is tried
    on the same rows and with the same noise up to its scale, so that accuracy grows with epsilon and the search can
    halve.

    >>> required_epsilon(n=100_000, d=2, wanted_r_squared=0.9, r_squared=0.5).reason
    'no epsilon is enough: even without privacy R^2 is 0.500 under these assumptions; ask for less.'
    """
    question = Question.of(**assumed)
    goal = Goal.of(wanted_r_squared, interval_width, interval_share)
    linear_algorithm(method)
    samples = question.samples(n)
    least = nonprivate_r_squared(samples[0])
    if goal.r_squared is not None and least < goal.r_squared:
        few = 1.0 - samples[0].residual_share >= goal.r_squared
        because = "on so few rows; use more rows" if few else "under these assumptions; ask for less"
        reason = f"no epsilon is enough: even without privacy R^2 is {least:.3f} {because}."
        return Answer("epsilon", None, goal.text, reason, None, (), question.assumed)

    def at(value: float) -> PlannedRow:
        return question.row(samples, method, value, intervals=goal.width is not None)

    grid = _grid(*EPSILON_RANGE)
    remedy = "use more rows, tighter bounds or fewer features"
    return _search("epsilon", grid, at, goal, method, remedy, question.assumed, progress)


def required_rows(
    *,
    epsilon: float,
    wanted_r_squared: float | None = None,
    interval_width: float | None = None,
    interval_share: float = INTERVAL_SHARE,
    method: str = "whitened",
    progress: Progress | None = None,
    **assumed: Unpack[Assumptions],
) -> Answer:
    """Return the smallest number of rows, of twelve in each decade from 100 to ten million, that is enough.

    Arguments are those of `required_epsilon`, with ``epsilon`` in place of ``n``.
    """
    question = Question.of(**assumed)
    goal = Goal.of(wanted_r_squared, interval_width, interval_share)
    linear_algorithm(method)
    question.budget(epsilon, N_RANGE[0])
    most = question.table.r_squared
    if goal.r_squared is not None and most <= goal.r_squared:
        reason = (
            f"no number of rows is enough: features explain R^2 = {most:.3f} at most under these assumptions; "
            "ask for less."
        )
        return Answer("n", None, goal.text, reason, None, (), question.assumed)

    def at(value: float) -> PlannedRow:
        return question.row(question.samples(round(value)), method, epsilon, intervals=goal.width is not None)

    smallest = max(N_RANGE[0], 2 * question.table.n_features + 10)
    grid = [round(value) for value in _grid(*N_RANGE) if value >= smallest]
    remedy = "use a larger epsilon, tighter bounds or fewer features"
    return _search("n", grid, at, goal, method, remedy, question.assumed, progress)


@dataclass(frozen=True)
class Goal:
    """What is wanted of a fit."""

    r_squared: float | None
    width: float | None
    share: float

    @classmethod
    def of(cls, r_squared: float | None, width: float | None, share: float) -> "Goal":
        """Check that one of the two is given."""
        if (r_squared is None) == (width is None):
            raise ParameterError("give exactly one of wanted_r_squared and interval_width: what the fit should reach.")
        if r_squared is not None and not 0.0 < r_squared < 1.0:
            raise ParameterError(f"wanted_r_squared={r_squared!r} must lie strictly between 0 and 1.")
        if width is not None and not (math.isfinite(width) and width > 0.0):
            raise ParameterError(f"interval_width={width!r} must be a positive number.")
        if not (math.isfinite(share) and 0.0 < share <= 1.0):
            raise ParameterError(f"interval_share={share!r} must be above 0 and at most 1.")
        return cls(r_squared, width, share)

    @property
    def text(self) -> str:
        """Say what is wanted."""
        if self.width is None:
            return f"R^2 >= {self.r_squared:g}"
        return f"intervals of width <= {self.width:g} for at least {100.0 * self.share:g}% of slopes"

    def value_of(self, row: PlannedRow) -> float | None:
        """Return the number that is compared."""
        return row.r_squared if self.width is None else row.interval_width

    def reached_by(self, row: PlannedRow) -> bool:
        """Whether a row is good enough."""
        if self.r_squared is not None:
            return row.r_squared >= self.r_squared
        if row.interval_width is None or row.interval_share is None or self.width is None:
            return False
        return row.interval_share >= self.share and row.interval_width <= self.width

    def given_by(self, row: PlannedRow) -> str:
        """Say what a row gives."""
        if self.width is None:
            return f"{row.r_squared:.3g} is what it gives"
        if row.interval_width is None:
            return f"no slope has an interval there: {row.no_interval_because}"
        share = share_in_words(row.interval_share)
        return f"{share} of slopes have one there, of median width {row.interval_width:.3g}"


def _search(
    quantity: str,
    grid: Sequence[float],
    at: Callable[[float], PlannedRow],
    goal: Goal,
    method: str,
    remedy: str,
    assumed: str,
    progress: Progress | None,
) -> Answer:
    """Halve a rising grid down to the smallest value that is enough; CalibrationError counts as not enough."""
    tried: dict[float, PlannedRow | None] = {}
    total = 1 + math.ceil(math.log2(len(grid)))

    def enough(value: float) -> bool:
        if progress is not None:
            progress(_named(quantity, value), min(len(tried), total - 1), total)
        try:
            tried[value] = at(value)
        except CalibrationError:
            tried[value] = None
        row = tried[value]
        return row is not None and goal.reached_by(row)

    found: float | None = None
    if enough(grid[-1]):
        low, high = -1, len(grid) - 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if enough(grid[middle]) else (middle, high)
        found = grid[high]
    row = tried[grid[-1] if found is None else found]
    if found is None:
        came = "no fit can be made there" if row is None else goal.given_by(row)
        what = "number of rows" if quantity == "n" else quantity
        reason = f"no {what} up to {grid[-1]:,.0f} is enough for {goal.text} with {method} ({came}): {remedy}."
    elif found == grid[0]:
        reason = f"{_named(quantity, found)} with {method}, the smallest tried, is already enough for {goal.text}."
    else:
        below = _named(quantity, grid[low])
        reason = f"{_named(quantity, found)} with {method} is enough for {goal.text}; {below} is not."
    seen = tuple((value, None if r is None else goal.value_of(r)) for value, r in sorted(tried.items()))
    return Answer(quantity, found, goal.text, reason, row, seen, assumed)


def _named(quantity: str, value: float) -> str:
    return f"{value:,.0f} rows" if quantity == "n" else f"{quantity} = {value:g}"


def _grid(low: float, high: float) -> list[float]:
    """Return values to two digits, twelve in each decade."""
    steps = round(_PER_DECADE * math.log10(high / low))
    return [float(f"{low * 10.0 ** (i / _PER_DECADE):.2g}") for i in range(steps + 1)]
