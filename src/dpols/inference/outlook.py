"""Whether a fit will have intervals, from public numbers alone, before anything is spent.

A fit prints an interval where its third Gram matrix stands out of its own noise. If features are not correlated, the
noise of that matrix relative to its eigenvalues follows from the numbers of rows and coefficients and from the budget;
if they are, fits see less. The limits below were found by simulating fits with the accuracy planner.
"""

import math
from dataclasses import dataclass, replace
from typing import Literal

from ..algorithms.closing_inference import InferencePlan
from ..algorithms.options import PlannedFor
from ..algorithms.whitened_inference import plan
from ..errors import CalibrationError
from ..privacy import PrivacyBudget

Level = Literal["none", "some", "all"]

_ROW_SQUARE = 2.25  # of a whitened row, over the number of coefficients: where it is shortened
_BAR = (4.0, 2.0)  # an eigenvalue over its noise must exceed the first, and the root of so many times the coefficients
_NONE, _SOME = 1.8, 3.0  # below these multiples of the bar no coefficients have intervals, or only some have
_STEPS = 40  # by which epsilon or rows grow at most, in search of enough
_STEP = 1.2


@dataclass(frozen=True)
class IntervalOutlook:
    """What a fit with inference will probably print."""

    level: Level  # how many coefficients will have an interval, if features are hardly correlated
    words: str
    enough_epsilon: float | None  # at which most have one, about
    enough_rows: int | None


def outlook_of(planned: InferencePlan, *, epsilon: float, rows_per_unit: int = 1) -> IntervalOutlook:
    """Return what a planned fit will probably print; ``epsilon`` is that of the whole fit."""
    sight = _sight(planned)
    level: Level = "none" if sight < _NONE else "some" if sight < _SOME else "all"
    if level == "all":
        return IntervalOutlook(level, "probably most coefficients will have an interval.", None, None)
    factor, rows = _enough(planned)
    enough_epsilon = None if factor is None else float(f"{factor * epsilon:.2g}")
    enough_rows = None if rows is None else int(float(f"{rows * rows_per_unit:.2g}"))
    words = _words(planned, epsilon, rows_per_unit, level, enough_epsilon, enough_rows)
    return IntervalOutlook(level, words, enough_epsilon, enough_rows)


def _words(
    planned: InferencePlan, epsilon: float, rows_per_unit: int, level: Level, enough: float | None, rows: int | None
) -> str:
    who = "no coefficient" if level == "none" else "only some coefficients"
    # How many units there are is not public, and rows over rows per unit may be more or less than that.
    what = (
        f"{planned.public_rows:,} rows at epsilon = {epsilon:g} are"
        if rows_per_unit == 1
        else f"at epsilon = {epsilon:g}, with units of up to {rows_per_unit} rows, these rows are"
    )
    remedies = [
        *([] if enough is None else [f"epsilon = {enough:g}"]),
        *([] if rows is None else [f"{rows:,} rows"]),
        "fewer features",
    ]
    return (
        f"probably {who} will have an interval: {what} few for {planned.n_features} coefficients. "
        f"About {', or '.join(remedies)} would do, if features are hardly correlated."
    )


def _sight(planned: InferencePlan) -> float:
    """Return the eigenvalues of the third Gram matrix over their noise, over what intervals need."""
    d = planned.n_features
    eigenvalue = planned.public_rows / (_ROW_SQUARE * d * planned.third_gram_multiplier)
    return eigenvalue / max(_BAR[0], math.sqrt(_BAR[1] * d))


def _enough(planned: InferencePlan) -> tuple[float | None, int | None]:
    """Return by which factor epsilon must grow, or how many rows or units there must be, for most intervals."""
    factors = [_STEP**i for i in range(1, _STEPS)]
    factor = next((f for f in factors if _sight(_again(planned, epsilon=f)) >= _SOME), None)
    rows = next((f for f in factors if _sight(_again(planned, rows=f)) >= _SOME), None)
    return factor, None if rows is None else round(rows * planned.public_rows)


def _again(planned: InferencePlan, *, epsilon: float = 1.0, rows: float = 1.0) -> InferencePlan:
    """Return the plan of the same fit at a larger epsilon, or with more rows; as it is where there is none."""
    budget = PrivacyBudget(epsilon * planned.budget.epsilon, planned.budget.delta)
    given = PlannedFor(budget, planned.accounting, round(rows * planned.public_rows), planned.n_features)
    try:
        return plan(given, n_iterations=planned.n_iterations, cov_type=planned.cov_type, clip=planned.clip)
    except CalibrationError:
        return replace(planned, n_rows=1)
