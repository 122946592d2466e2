"""Every public number of a fit, settled before anything is released. What can be refused is refused here."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..algorithms import Algorithm, StagedPlan, algorithm, one_step
from ..algorithms.alongside import joint_planned_epsilon, plan_alongside
from ..bounds_advice import count_release
from ..data import Bounds, RowMap, RowSource
from ..data.rows import Numeric
from ..errors import BudgetExceeded, CalibrationError, NumericWarning, ParameterError
from ..paid_bounds import PaidBounds
from ..privacy import GaussianRelease, MixingRelease, Neighbours, PrivacyBudget
from ..privacy.certificate import certify
from .request import Request, one_of

ROUNDING = 1.0 + 1e-9  # of an epsilon that was computed

_EXACT_UP_TO = 128


@dataclass(frozen=True)
class Prepared:
    """A fit of which every public number is settled; nothing has been released yet."""

    request: Request
    method: Algorithm
    budget: PrivacyBudget
    relation: Neighbours
    plan: Any
    numeric: Numeric
    bounds: Bounds | PaidBounds
    paid: tuple[GaussianRelease, ...]  # what the fit releases beside its method, within the same budget
    one_step: one_step.OneStepPlan | None  # those of them, the last ones, that intervals are made of
    source: RowSource = field(repr=False)


def prepare(request: Request, source: RowSource) -> Prepared:
    """Settle every public number of a fit; whatever can be refused is refused here."""
    budget = request.budget(source.n_rows)
    try:
        return _prepared(request, source, budget)
    except CalibrationError as error:  # which may name but a part of the budget, that nobody gave
        raise error if str(budget) in str(error) else CalibrationError(f"no plan meets {budget}: {error}") from None


def _prepared(request: Request, source: RowSource, budget: PrivacyBudget) -> Prepared:
    method = algorithm(request.method)
    relation = one_of("neighbours", request.neighbours, Neighbours)
    bounds = request.declared_bounds()
    n_coordinates = source.n_features + bool(request.fit_intercept)
    paid: tuple[GaussianRelease, ...] = ()
    if isinstance(bounds, PaidBounds):
        bounds.limits(source.n_features, source.columns)  # for its checks
        paid = bounds.releases(budget.for_zero_out(relation), source.n_features)
    else:
        row_map_of(bounds, request, source)  # for its checks
    if request.count_clipped:
        paid = (*paid, count_release(budget.for_zero_out(relation)))
    n_units = -(-source.n_rows // request.rows_per_unit)
    step = None
    if (share := request.inference_share) is not None:
        whole = budget.for_zero_out(relation)
        step = one_step.plan(whole, n_rows=n_units, n_features=n_coordinates, budget_share=share)
        paid = (*paid, *step.releases)
    plan = _plan(request, method, budget, relation, n_units, n_coordinates, paid)
    if request.rows_per_unit > 1 and any(isinstance(r, MixingRelease) and r.rows < 2 for r in plan.releases):
        raise ParameterError("a sketch of one row is not proved private for units of several rows; use two or more.")
    numeric = _numeric(request, method, n_coordinates)
    if numeric == "exact" and not isinstance(plan, StagedPlan):
        certify((*paid, *plan.releases), budget, relation=relation)  # and again of what was recorded
    return Prepared(request, method, budget, relation, plan, numeric, bounds, paid, step, source)


def row_map_of(bounds: Bounds, request: Request, source: RowSource) -> RowMap:
    return bounds.row_map(
        n_features=source.n_features, columns=source.columns, fit_intercept=bool(request.fit_intercept)
    )


def _numeric(request: Request, method: Algorithm, n_coordinates: int) -> Numeric:
    """Settle the arithmetic; what falls back to floating point says so."""
    if request.numeric == "float":
        return "float"
    if not method.exact_form:
        reason = f"method {method.name!r} has no exact form"
    elif request.numeric == "auto" and n_coordinates > _EXACT_UP_TO:
        reason = f"{n_coordinates} coefficients are more than the {_EXACT_UP_TO} up to which exact is chosen"
    else:
        return "exact"
    if request.numeric == "exact":
        raise ParameterError(f"numeric='exact' is not possible: {reason}; use another method or numeric='float'.")
    warnings.warn(
        f"numeric='auto' falls back to floating point, private in the real-number model only: {reason}. "
        "Pass numeric='float' to accept this, or numeric='exact' to insist.",
        NumericWarning,
        stacklevel=4,
    )
    return "float"


def _plan(
    request: Request,
    method: Algorithm,
    budget: PrivacyBudget,
    relation: Neighbours,
    n_rows: int,
    n_coordinates: int,
    paid: tuple[GaussianRelease, ...],
) -> Any:
    if not isinstance(request.options, Mapping | None):
        raise ParameterError(f"options={request.options!r} must be a mapping, for instance {{'max_passes': 9}}.")
    options = dict(request.options or {})
    sizes = {"n_rows": n_rows, "n_features": n_coordinates}
    try:
        plan = plan_alongside(
            method, budget.for_zero_out(relation), paid, **sizes, accounting=request.accounting, **options
        )
        planned = joint_planned_epsilon(plan, paid, budget, relation=relation)
    except TypeError as error:
        raise ParameterError(f"options={options!r} do not fit method {method.name!r}: {error}.") from None
    except OverflowError:
        raise CalibrationError(f"{budget} and options={options!r} lead beyond the range of doubles.") from None
    if not planned <= budget.epsilon * ROUNDING:
        raise BudgetExceeded(
            f"method {method.name!r} with {request.accounting} accounting would cost epsilon={planned:.6g} under "
            f"{relation} neighbours, more than the {budget.epsilon:.6g} asked for; nothing is returned, and "
            "nothing was released."
        )
    return plan
