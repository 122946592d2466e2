"""One fit from request to report: settle every public number, run, account for what was recorded, and report.

`prepare` looks at public numbers only and releases nothing, so that all that can be refused is refused there.
`carry_out` is the only place where a method meets the rows; what it returns has been accounted for. A ledger holds what
the plan may release before that, and gives it back only where the run fails before its first release.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .algorithms import Algorithm, Fit, StagedPlan, algorithm, follows, names_of, one_step
from .algorithms.alongside import (
    joint_certified_delta,
    joint_planned_epsilon,
    joint_spent_epsilon,
    plan_alongside,
)
from .algorithms.options import share as checked_share
from .bounds_advice import (
    COUNTS_NAME,
    SpreadCounts,
    advice_on_room,
    advice_on_spread,
    count_release,
    release_spread,
    room_for_width,
)
from .counting import UnboundedRows
from .data import BoundedRows, Bounds, RowMap, RowSource
from .data.rows import Numeric
from .data.threads import one_blas_thread
from .errors import BoundsError, BudgetExceeded, CalibrationError, NumericWarning, ParameterError
from .feature_map import FeatureMap, mapped_bounds
from .inference import Inference, infer
from .ledger import BudgetLedger, Entry
from .ledger.holding import held
from .paid_bounds import PaidBounds, release_bounds
from .privacy import GaussianRelease, MixingRelease, Neighbours, PrivacyBudget
from .privacy.budget import delta_from_rule
from .privacy.certificate import certify
from .randomness import Bits, Witness, streams
from .report import Coefficient, PrivacyReport, release_lines, verdict_of
from .versions import versions

Array = np.ndarray[Any, np.dtype[Any]]

_EXACT_UP_TO = 128
_ROUNDING = 1.0 + 1e-9


@dataclass(frozen=True)
class Request:
    """What a user asks of a fit, as the parameters of an estimator say it; checked as far as no data is needed."""

    epsilon: Any
    delta: Any
    bounds: Any
    feature_map: FeatureMap | None = None
    fit_intercept: bool = True
    method: str = "adaptive"
    numeric: str = "auto"
    accounting: str = "exact"
    neighbours: str = "zero-out"
    options: Any = None
    bad_rows: str = "raise"
    unit: str | None = None  # what rows belong to, and how many rows of each the source has at most
    rows_per_unit: int = 1
    count_clipped: bool = False
    inference: bool | float = False  # whether to pay for intervals, or with what share of the squared budget

    def __post_init__(self) -> None:
        one_of("numeric", self.numeric, ("auto", "exact", "float"))
        one_of("bad_rows", self.bad_rows, ("raise", "zero"))
        algorithm(self.method)
        if not isinstance(self.feature_map, FeatureMap | None):
            raise ParameterError(
                f"feature_map must be a dpols.FeatureMap, not of type {type(self.feature_map).__name__}."
            )

    @property
    def inference_share(self) -> float | None:
        """Share of the squared budget that is spent on intervals; None for none."""
        if isinstance(self.inference, bool):
            return one_step.DEFAULT_SHARE if self.inference else None
        return checked_share("inference", self.inference)

    def budget(self, n_rows: int) -> PrivacyBudget:
        """Return the budget for a table of that many rows."""
        for name in ("epsilon", "delta"):
            if getattr(self, name) is None:
                raise ParameterError(f"{name} is required: pass {name}=... .")
        return PrivacyBudget(
            self.epsilon, delta_from_rule(self.delta, n_rows) if isinstance(self.delta, str) else self.delta
        )

    def declared_bounds(self) -> Bounds | PaidBounds:
        """Return the bounds, or say that they are required."""
        if self.feature_map is not None:
            if isinstance(self.bounds, PaidBounds):
                raise BoundsError("PaidBounds cannot go with a feature_map, whose ranges are those of the features.")
            return mapped_bounds(self.feature_map, self.bounds)
        if self.bounds is None:
            raise BoundsError(
                "bounds is required: pass bounds=dpols.Bounds(features=..., target=...) with ranges that are public "
                "knowledge. They are never read from the data, since that would leak it."
            )
        if not isinstance(self.bounds, Bounds | PaidBounds):
            raise BoundsError(f"bounds={self.bounds!r} must be a dpols.Bounds or dpols.PaidBounds.")
        return self.bounds


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


@dataclass(frozen=True)
class Outcome:
    """What a fit released, and what that cost."""

    fit: Fit
    bounds: Bounds  # declared, or paid for
    row_map: RowMap
    paid: tuple[GaussianRelease, ...]  # as recorded
    paid_names: tuple[str, ...]
    spread: SpreadCounts | None  # of values within and beyond the bounds
    measured: one_step.Measured | None  # what intervals are made of
    spent_epsilon: float
    certified_delta: float | None  # in exact mode
    seeded: bool
    entry: Entry | None = None  # of the ledger


def prepare(request: Request, source: RowSource) -> Prepared:
    """Settle every public number of a fit; whatever can be refused is refused here."""
    method = algorithm(request.method)
    budget = request.budget(source.n_rows)
    relation = one_of("neighbours", request.neighbours, Neighbours)
    bounds = request.declared_bounds()
    n_coordinates = source.n_features + bool(request.fit_intercept)
    paid: tuple[GaussianRelease, ...] = ()
    if isinstance(bounds, PaidBounds):
        bounds.limits(source.n_features, source.columns)  # for its checks
        paid = bounds.releases(budget.for_zero_out(relation), source.n_features)
    else:
        _row_map(bounds, request, source)  # for its checks
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


def carry_out(
    prepared: Prepared,
    random_state: Any = None,
    ledger: BudgetLedger | None = None,
    witness: Witness | None = None,
) -> Outcome:
    """Run a prepared fit, and return what it released only if its recorded releases are within the budget.

    A ledger is charged first, also for a seeded fit, whose noise others may not be able to remove. The ``witness``
    knows afterwards whether anything was released, also where the fit failed.
    """
    seen = Witness() if witness is None else witness
    bits = seen.watch(streams(random_state, 1))
    groups = [(*prepared.paid, *prepared.plan.releases)]
    with held(ledger, groups, what=_what(prepared), released=lambda: seen.released) as hold:
        outcome = _run(prepared, bits)
        if ledger is not None and not (outcome.paid == prepared.paid and follows(prepared.plan, outcome.fit)):
            raise BudgetExceeded(
                "the recorded releases are not those that the ledger was charged for; nothing is returned. Please "
                "report this as a bug of dpols."
            )
    return replace(outcome, entry=hold.entry)


def _run(prepared: Prepared, bits: Sequence[Bits]) -> Outcome:
    budget, plan, relation, request = prepared.budget, prepared.plan, prepared.relation, prepared.request
    with one_blas_thread():
        bounds, paid, paid_names = _settled_bounds(prepared, bits[0])
        row_map = _row_map(bounds, request, prepared.source)
        spread = None
        if request.count_clipped:
            release = prepared.paid[len(paid)]
            spread, recorded = release_spread(bounds, row_map, _unbounded(prepared), release, bits[0])
            paid, paid_names = (*paid, *recorded), (*paid_names, COUNTS_NAME)
        rows = BoundedRows(prepared.source, row_map, request.bad_rows, prepared.numeric, request.rows_per_unit)  # type: ignore[arg-type]
        fit = prepared.method.run(rows, plan, bits)
        measured = None
        if prepared.one_step is not None:
            measured = one_step.run(rows, prepared.one_step, fit.theta, bits)
            paid, paid_names = (*paid, *measured.releases), (*paid_names, *prepared.one_step.release_names)
    spent = joint_spent_epsilon(plan, fit, paid, budget, relation=relation)
    if not spent <= budget.epsilon * _ROUNDING:
        raise BudgetExceeded(
            f"the recorded releases cost epsilon={spent:.6g}, more than the {budget.epsilon:.6g} asked for; "
            "nothing is returned. Please report this as a bug of dpols."
        )
    exact = prepared.numeric == "exact"
    proved = joint_certified_delta(plan, fit, paid, budget, relation=relation) if exact else None
    return Outcome(fit, bounds, row_map, paid, paid_names, spread, measured, spent, proved, bits[0].seeded)


def coefficients_of(prepared: Prepared, outcome: Outcome) -> Array:
    """Return the released coefficients in the units of the data, the intercept last."""
    matrix, offset = outcome.row_map.coefficient_map()
    return np.asarray(matrix @ outcome.fit.theta[0] + offset)


def inference_of(prepared: Prepared, outcome: Outcome, names: Sequence[str]) -> Inference | None:
    """Return what the fit says of its coefficients, where that was paid for."""
    if prepared.one_step is None or outcome.measured is None:
        return None
    return infer(
        prepared.one_step,
        outcome.measured,
        outcome.row_map,
        [*names, "intercept"][: outcome.row_map.n_coordinates],
        n_rows=prepared.source.n_rows,
        rows_per_unit=prepared.request.rows_per_unit,
    )


def report_of(prepared: Prepared, outcome: Outcome, names: Sequence[str]) -> PrivacyReport:
    """Describe a fit whose features have these names."""
    method, plan, fit, row_map = prepared.method, prepared.plan, outcome.fit, outcome.row_map
    matrix, _ = row_map.coefficient_map()
    constant = None if row_map.intercept is None else row_map.intercept / row_map.row_norm
    stddevs: list[float | None] = [None] * len(matrix)
    verdict = verdict_of(np.nan, np.nan)
    if method.evidence is not None:
        evidence = method.evidence(plan, fit, 0, constant)
        with np.errstate(invalid="ignore"):  # a covariance may be infinite
            variances = np.einsum("ij,ij->i", matrix @ evidence.noise_covariance, matrix)
        stddevs = [float(s) if np.isfinite(s) else None for s in np.sqrt(np.maximum(variances, 0.0))]
        verdict = verdict_of(evidence.risk_change, evidence.risk_change_stddev)
    values = coefficients_of(prepared, outcome)
    count = len(names) + (row_map.intercept is not None)
    return PrivacyReport(
        method=method.name,
        title=method.title,
        reference=method.reference,
        numeric=prepared.numeric,
        seeded=outcome.seeded,
        accounting=prepared.request.accounting,
        relation=str(prepared.relation),
        asked=prepared.budget,
        spent_epsilon=outcome.spent_epsilon,
        certified_delta=outcome.certified_delta,
        n_rows=prepared.source.n_rows,
        n_features=row_map.n_coordinates,
        lines=release_lines((*outcome.paid_names, *names_of(plan, fit)), (*outcome.paid, *fit.releases)),
        bounds=_bounds_text(outcome.bounds, names, row_map, prepared.request.feature_map),
        assumed_public=(
            "the number of rows and the column names",
            "the declared bounds and every parameter of the estimator",
        ),
        coefficients=tuple(
            Coefficient(name, float(value), stddev)
            for name, value, stddev in zip([*names, "intercept"][:count], values[:count], stddevs, strict=False)
        ),
        verdict=verdict[0],
        verdict_reason=verdict[1],
        unit=prepared.request.unit,
        rows_per_unit=prepared.request.rows_per_unit,
        bounds_origin=outcome.bounds.origin,
        advice=_advice(prepared, outcome),
        staged=fit.stages is not None,
        versions=versions(),
    )


def one_of(name: str, value: Any, allowed: Any) -> Any:
    """Return ``value`` as a member of ``allowed``, or say what is."""
    for member in allowed:
        if value == member:
            return member
    raise ParameterError(f"{name}={value!r} must be one of {', '.join(repr(str(member)) for member in allowed)}.")


def _what(prepared: Prepared) -> str:
    """Say in a ledger what a fit is, in public numbers."""
    request = prepared.request
    unit = "" if request.unit is None else f", {request.unit} of up to {request.rows_per_unit} rows"
    return f"{prepared.method.name} fit at {prepared.budget}, {prepared.relation}{unit}"


def _settled_bounds(prepared: Prepared, bits: Bits) -> tuple[Bounds, tuple[GaussianRelease, ...], tuple[str, ...]]:
    """Return the declared bounds, or those that the fit pays for, with what was recorded and what it is of."""
    bounds, source = prepared.bounds, prepared.source
    if not isinstance(bounds, PaidBounds):
        return bounds, (), ()
    names = bounds.release_names(source.n_features)
    fit_intercept = bool(prepared.request.fit_intercept)
    planned = prepared.paid[: len(names)]
    return *release_bounds(bounds, planned, _unbounded(prepared), fit_intercept=fit_intercept, bits=bits), names


def _unbounded(prepared: Prepared) -> UnboundedRows:
    request = prepared.request
    return UnboundedRows(prepared.source, request.bad_rows, prepared.numeric, request.rows_per_unit)  # type: ignore[arg-type]


def _advice(prepared: Prepared, outcome: Outcome) -> tuple[str, ...]:
    """Return what public and released numbers say of the bounds."""
    room = room_for_width(outcome.row_map, outcome.fit.releases, prepared.plan.n_rows)
    return (*advice_on_room(room), *(advice_on_spread(outcome.spread) if outcome.spread is not None else ()))


def _row_map(bounds: Bounds, request: Request, source: RowSource) -> RowMap:
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
        raise ParameterError(f"options={request.options!r} must be a mapping, for instance {{'n_iterations': 5}}.")
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
    if not planned <= budget.epsilon * _ROUNDING:
        raise BudgetExceeded(
            f"method {method.name!r} with {request.accounting} accounting would cost epsilon={planned:.6g} under "
            f"{relation} neighbours, more than the {budget.epsilon:.6g} asked for; nothing is returned, and "
            "nothing was released."
        )
    return plan


def _bounds_text(
    bounds: Bounds, names: Sequence[str], row_map: RowMap, feature_map: FeatureMap | None
) -> tuple[tuple[str, str], ...]:
    rows: list[tuple[str, str]] = []
    if feature_map is not None:
        rows += feature_map.describe()
    elif bounds.features is not None:
        pairs = bounds.features.values() if isinstance(bounds.features, Mapping) else bounds.features
        keys = bounds.features.keys() if isinstance(bounds.features, Mapping) else names
        rows += [(str(key), f"[{low:g}, {high:g}]") for key, (low, high) in zip(keys, pairs, strict=True)]
    rows.append(("target", f"[{row_map.target[0]:g}, {row_map.target[1]:g}]"))
    unit = "after mapping each feature to [-1, 1]" if bounds.features is not None else "in the data's units"
    rows.append(("norm of a row's features", f"{row_map.feature_norm:.6g} {unit}"))
    if row_map.intercept is not None:
        rows.append(("norm of a row, intercept included", f"{row_map.row_norm:.6g}"))
    return tuple(rows)
