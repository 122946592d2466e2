"""Every public number of a fit, settled before anything is released. What can be refused is refused here."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from inspect import signature
from typing import Any

from ..algorithms import Algorithm, StagedPlan, algorithm, has_intervals
from ..algorithms.closing_inference import InferencePlan
from ..constraints import Limits
from ..data import Bounds, RowMap, RowSource
from ..data.rows import Arithmetic
from ..errors import (
    ArithmeticWarning,
    BoundsError,
    BudgetExceeded,
    CalibrationError,
    DataError,
    InferenceWarning,
    ParameterError,
    WeakGuaranteeWarning,
    quoted,
)
from ..inference.outlook import outlook_of
from ..privacy import MixingRelease, Neighbours, PrivacyBudget, Release
from ..privacy.cautions import cautions_on
from ..privacy.certificate import certify
from ..privacy.checks import one_of
from ..side_releases.alongside import joint_planned_epsilon
from ..side_releases.bounds_advice import count_release
from ..side_releases.paid_bounds import PaidBounds
from ..side_releases.side_plan import FitPlan, SidePlan, plan_fit
from .request import Request
from .surroundings import warn_user

ROUNDING = 1.0 + 1e-9  # of an epsilon that was computed

# Coefficients up to which exact arithmetic is chosen: it takes less than three times as long as floating point.
_EXACT_UP_TO = {"whitened": 400, "whitened-inference": 400}
_EXACT_UP_TO_ELSE = 128


@dataclass(frozen=True)
class Prepared:
    """A fit of which every public number is settled; nothing has been released yet."""

    request: Request
    method: Algorithm
    budget: PrivacyBudget
    relation: Neighbours
    plan: Any
    arithmetic: Arithmetic
    bounds: Bounds | PaidBounds
    beside: SidePlan  # what the fit releases beside its method, within the same budget
    source: RowSource = field(repr=False)
    limits: Limits | None = None  # on the slopes
    unclipped: RowSource | None = field(default=None, repr=False)  # columns before a feature map clips them

    @property
    def public_rows(self) -> int | None:
        """The number of rows, where it may be stated."""
        return public_rows(self.relation, self.source)

    @property
    def releases(self) -> tuple[Release, ...]:
        """Everything that the fit is to release."""
        return (*self.beside.releases, *self.plan.releases)


def prepare(request: Request, source: RowSource, unclipped: RowSource | None = None) -> Prepared:
    """Settle every public number of a fit; whatever can be refused is refused here.

    ``unclipped`` are the columns of a feature map before it clips them, of which values beyond bounds are counted.
    """
    relation = one_of("neighbours", request.neighbours, Neighbours)
    n_rows = public_rows(relation, source)
    if n_rows == 0:
        raise DataError("the table has no rows (0 sample(s)); at least one is required.")
    budget = request.budget(n_rows)
    for caution in cautions_on(budget, n_rows):
        if caution.startswith("CAUTION: delta"):
            warn_user(caution.removeprefix("CAUTION: "), WeakGuaranteeWarning)
    try:
        return replace(_prepared(request, source, budget, relation), unclipped=unclipped)
    except CalibrationError as error:  # which may name but a part of the budget, that nobody gave
        raise error if str(budget) in str(error) else CalibrationError(f"no plan meets {budget}: {error}") from None


def public_rows(relation: Neighbours, source: RowSource) -> int | None:
    """Return the number of rows where neighbours have the same, and None where nothing may depend on it."""
    return source.n_rows if relation.rows_are_public else None


def _prepared(request: Request, source: RowSource, budget: PrivacyBudget, relation: Neighbours) -> Prepared:
    method = algorithm(request.method_in_use)
    bounds = request.declared_bounds()
    n_coordinates = source.n_features + bool(request.fit_intercept)
    if request.fit_intercept and "intercept" in _feature_names(request, source):
        raise BoundsError(
            "a feature is named 'intercept', and so is the constant that the fit adds. Rename the column; or, if it is "
            "a constant itself, leave it out, or fit without another one (fit_intercept=False, --no-intercept)."
        )
    if isinstance(bounds, PaidBounds):
        bounds.limits(source.n_features, source.columns)  # for its checks
    else:
        row_map_of(bounds, request, source)  # for its checks
    planned = _plan(request, method, budget, relation, source, bounds)
    if request.rows_per_unit > 1 and any(isinstance(r, MixingRelease) and r.rows < 2 for r in planned.method.releases):
        raise ParameterError("a sketch of one row is not proved private for units of several rows; use two or more.")
    arithmetic = _arithmetic(request, method, n_coordinates)
    limits = None if request.constraints is None else request.constraints.limits(_feature_names(request, source))
    prepared = Prepared(
        request, method, budget, relation, planned.method, arithmetic, bounds, planned.beside, source, limits
    )
    if arithmetic == "exact" and not isinstance(prepared.plan, StagedPlan):
        certify(prepared.releases, budget, relation=relation)  # and again of what was recorded
    _warn_of_hidden_intervals(prepared)
    return prepared


def _warn_of_hidden_intervals(prepared: Prepared) -> None:
    """Say before anything is spent that a fit will probably print no interval, by public numbers alone."""
    if not isinstance(prepared.plan, InferencePlan) or prepared.public_rows is None:
        return
    epsilon, per_unit = prepared.budget.epsilon, prepared.request.rows_per_unit
    outlook = outlook_of(prepared.plan, epsilon=epsilon, rows_per_unit=per_unit)
    if outlook.level == "none":
        warn_user(outlook.words, InferenceWarning)


def _feature_names(request: Request, source: RowSource) -> list[str]:
    if request.feature_map is not None:
        return list(request.feature_map.names)
    return [f"x{i}" for i in range(source.n_features)] if source.columns is None else [str(c) for c in source.columns]


def row_map_of(bounds: Bounds, request: Request, source: RowSource) -> RowMap:
    row_map = bounds.row_map(
        n_features=source.n_features, columns=source.columns, fit_intercept=bool(request.fit_intercept)
    )
    return replace(
        row_map,
        linked=request.family != "gaussian",
        labelled=request.family == "binomial",
        max_weight=request.max_weight,
        exposure=request.exposure_range,
    )


def _arithmetic(request: Request, method: Algorithm, n_coordinates: int) -> Arithmetic:
    """Settle the arithmetic; what falls back to floating point says so."""
    if request.arithmetic == "float":
        return "float"
    most = _EXACT_UP_TO.get(method.name, _EXACT_UP_TO_ELSE)
    if request.arithmetic == "exact" or n_coordinates <= most:
        return "exact"
    warn_user(
        "arithmetic='auto' falls back to floating point, private in the real-number model only: "
        f"{n_coordinates} coefficients are more than the {most} up to which exact is chosen. "
        "Pass arithmetic='float' to accept this, or arithmetic='exact' to insist.",
        ArithmeticWarning,
    )
    return "float"


def _option_names(method: Algorithm) -> list[str]:
    parameters = signature(method.plan_for).parameters.values()
    return [parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]


def _options(request: Request, method: Algorithm) -> dict[str, Any]:
    """Return the method's options; standard errors are clustered where rows belong to units."""
    options = dict(request.options or {})
    if options.get("calibration") and request.max_weight is not None:
        raise ParameterError("calibration=True does not go with weights: bins count rows. Leave out one of them.")
    if not has_intervals(method.name):
        return options
    units = request.unit is not None
    found = options.setdefault("cov_type", "cluster" if units else "HC1")
    if found == ("HC1" if units else "cluster"):
        remedy = "leave it out, or use nonrobust with target='data'" if units else "give unit, or leave it out"
        raise ParameterError(
            f"cov_type={found!r} {'does not go with' if units else 'needs'} units of several rows; {remedy}."
        )
    if options.get("residual_plot") and request.max_weight is not None:
        raise ParameterError(
            "residual_plot=True does not go with weights, which would scale fitted values; leave out one of them."
        )
    return options


def _plan(
    request: Request,
    method: Algorithm,
    budget: PrivacyBudget,
    relation: Neighbours,
    source: RowSource,
    bounds: Bounds | PaidBounds,
) -> FitPlan:
    """Plan the method and what is released beside it, within the budget."""
    if not isinstance(request.options, Mapping | None):
        raise ParameterError(
            f"options={quoted(request.options)} must be a mapping, for instance {{'n_iterations': 9}}."
        )
    options = _options(request, method)
    whole, n_rows = budget.for_zero_out(relation), public_rows(relation, source)
    try:
        plan = plan_fit(
            method,
            whole,
            n_rows=None if n_rows is None else -(-n_rows // request.rows_per_unit),
            n_features=source.n_features + bool(request.fit_intercept),
            bounds=bounds.releases(whole, source.n_features) if isinstance(bounds, PaidBounds) else (),
            counts=count_release(whole) if request.count_clipped else None,
            accounting=request.accounting,
            **options,
        )
        planned = joint_planned_epsilon(plan.method, plan.beside.releases, budget, relation=relation)
    except TypeError as error:
        said = str(error).replace("plan() got an unexpected keyword argument", "it has no option")
        raise ParameterError(
            f"options={quoted(options)} do not fit method {method.name!r}: {said}; its options are "
            f"{_option_names(method)}."
        ) from None
    except OverflowError:
        raise CalibrationError(f"{budget} and options={options!r} lead beyond the range of doubles.") from None
    if not planned <= budget.epsilon * ROUNDING:
        raise BudgetExceeded(
            f"method {method.name!r} with {request.accounting} accounting would cost epsilon={planned:.6g} under "
            f"{relation} neighbours, more than the {budget.epsilon:.6g} asked for; nothing is returned, and "
            "nothing was released."
        )
    return plan
