"""Whether a fit with intervals will have any, at once and from public numbers alone."""

from typing import Any

from ..algorithms import algorithm, with_intervals
from ..inference.outlook import IntervalOutlook as IntervalOutlook
from ..inference.outlook import outlook_of
from ..privacy import Neighbours
from ..privacy.budget import budget_for
from .shapes import whole


def interval_outlook(
    *,
    n: int,
    d: int,
    epsilon: float,
    delta: float | str = "1/n^2",
    fit_intercept: bool = True,
    max_rows_per_unit: int = 1,
    neighbours: str = "zero-out",
    **options: Any,
) -> IntervalOutlook:
    """Return whether a fit with ``inference=True`` will probably print intervals; nothing is spent.

    Arguments are those of `plan_accuracy`, whose simulation says more; ``options`` are those of the fit.

    >>> interval_outlook(n=500, d=10, epsilon=1.0).level
    'none'
    >>> interval_outlook(n=5000, d=10, epsilon=1.0).level
    'all'
    """
    per_unit, budget = whole("max_rows_per_unit", max_rows_per_unit), budget_for(epsilon, delta, whole("n", n))
    planned = algorithm(with_intervals("whitened")).plan(
        budget.for_zero_out(Neighbours(neighbours)),
        n_rows=-(-n // per_unit),
        n_features=whole("d", d) + bool(fit_intercept),
        **options,
    )
    return outlook_of(planned, epsilon=budget.epsilon, rows_per_unit=per_unit)
