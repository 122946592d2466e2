"""Candidates of a search: made, given equal budgets that together meet the whole, and fitted as planned."""

import math
from collections import Counter
from typing import Any

import numpy as np
from sklearn.base import clone

from ..errors import BudgetExceeded, ParameterError
from ..estimators import PrivateRegression
from ..fitting import Request, prepare
from ..privacy import Neighbours, PrivacyBudget, Release, log_delta_of
from ..randomness import Witness
from .scores import sources_of

Array = np.ndarray[Any, np.dtype[Any]]

Part = tuple[Any, Array, Array | None]  # rows, targets and weights

_HALVINGS = 12
_SET_BY_THE_SEARCH = ("epsilon", "delta", "neighbours", "ledger", "random_state")


def made(estimator: Any, grid: list[dict[str, Any]], relation: Neighbours) -> list[PrivateRegression]:
    """Return one estimator for each point of the grid; what was asked of it and the search does not do is refused."""
    if not isinstance(estimator, PrivateRegression):
        raise ParameterError(
            "estimator must be a dpols.PrivateLinearRegression, PrivateLogisticRegression or PrivatePoissonRegressor, "
            f"not of type {type(estimator).__name__}."
        )
    if estimator.ledger is not None:
        raise ParameterError("ledger must be None in the estimator: pass it to PrivateGridSearch, which is charged.")
    if estimator.neighbours not in (str(Neighbours.ZERO_OUT), str(relation)):
        raise ParameterError(
            f"neighbours={estimator.neighbours!r} of the estimator are not those of the search, {str(relation)!r}; "
            "pass them to PrivateGridSearch."
        )
    for params in grid:
        taken = [name for name in params if name in _SET_BY_THE_SEARCH]
        if taken:
            raise ParameterError(f"param_grid must not hold {', '.join(taken)}: the search sets them for each fit.")
    candidates = [clone(estimator).set_params(**params) for params in grid]
    for candidate in candidates:
        if candidate.unit is not None:
            raise ParameterError("unit must be None in a search: rows of one unit could be in both of its parts.")
        if getattr(candidate, "exposure_range", None) is not None:
            raise ParameterError("exposure_range must be None in a search: it compares fits without exposure.")
        if candidate.family == "binomial" and getattr(candidate, "classes", None) is None:
            raise ParameterError(
                "classes=(no, yes) must be declared in a search: labels that were found in y would be found in a part."
            )
        if not np.array_equal(*(getattr(each, "classes", None) for each in (candidate, candidates[0]))):  # type: ignore[arg-type]
            raise ParameterError("classes must be the same for all candidates, whose scores are compared.")
        if candidate.bad_rows != candidates[0].bad_rows:
            raise ParameterError("bad_rows must be the same for all candidates.")
        if candidate.max_weight != candidates[0].max_weight:
            raise ParameterError("max_weight must be the same for all candidates, whose scores are compared.")
    return candidates


def request_of(candidate: PrivateRegression, part: Part) -> Request:
    """Return what a candidate asks for; the labels of an outcome are declared, so that one row says as much as all."""
    asking: PrivateRegression = clone(candidate)
    asking._outcomes(part[0], part[1][:1])
    return asking._request(sample_weight=part[2])


def calibrated(
    candidates: list[PrivateRegression], part: Part, budget: PrivacyBudget, relation: Neighbours
) -> tuple[PrivacyBudget, list[tuple[Release, ...]]]:
    """Give each candidate the largest equal budget at which all of them together meet the (zero-out) budget.

    Returns that budget and what each candidate will release. A part of epsilon and delta each is always possible.
    ``relation`` says whether the fits may know how many rows there are.
    """
    neighbours = str(Neighbours.ZERO_OUT if relation.rows_are_public else relation)
    sources = sources_of(candidates, *part)
    count = len(candidates)
    delta = budget.delta / count

    def plans_at(epsilon: float) -> list[tuple[Release, ...]]:
        for candidate in candidates:
            candidate.set_params(epsilon=epsilon, delta=delta, neighbours=neighbours, ledger=None)
        prepared = [
            prepare(request_of(candidate, part), source) for candidate, source in zip(candidates, sources, strict=True)
        ]
        return [fit.releases for fit in prepared]

    def allowed(plans: list[tuple[Release, ...]]) -> bool:
        together = [release for plan in plans for release in plan]
        return log_delta_of(together, budget.epsilon) <= math.log(budget.delta)

    low, high = budget.epsilon / count, budget.epsilon
    for _ in range(_HALVINGS if count > 1 else 0):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if allowed(plans_at(middle)) else (low, middle)
    plans = plans_at(low)
    if not allowed(plans):
        raise BudgetExceeded(f"{count} candidates cannot be fitted within {budget}; try fewer, or raise the budget.")
    return PrivacyBudget(low, delta), plans


def fit_as_planned(candidate: PrivateRegression, part: Part, plan: tuple[Release, ...], witness: Witness) -> None:
    """Fit, and make sure that what was recorded is what was planned; stages check their own budgets."""
    X, y, weights = part
    report = candidate._fit(X, y, sample_weight=weights, witness=witness).privacy_report_
    if not report.staged and Counter(report.releases) != Counter(plan):
        raise BudgetExceeded(
            "a candidate's recorded releases are not those planned. Please report this as a bug of dpols."
        )
