"""The only place where a method meets the rows. What is returned has been accounted for.

A ledger holds what the plan may release before that, and gives it back only where the run fails before its first
release.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..alarm import not_private_in_short
from ..algorithms import Fit, follows, one_step
from ..algorithms.alongside import joint_certified_delta, joint_spent_epsilon
from ..bounds_advice import COUNTS_NAME, SpreadCounts, release_spread
from ..counting import UnboundedRows
from ..data import BoundedRows, Bounds, RowMap
from ..data.threads import one_blas_thread
from ..errors import BudgetExceeded
from ..ledger import BudgetLedger, Entry
from ..ledger.holding import held
from ..paid_bounds import PaidBounds, release_bounds
from ..privacy import GaussianRelease
from ..randomness import Bits, Witness, streams
from .preparing import ROUNDING, Prepared, row_map_of


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
    with held(ledger, groups, what=_what(prepared, seeded=bits[0].seeded), released=lambda: seen.released) as hold:
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
        row_map = row_map_of(bounds, request, prepared.source)
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
    if not spent <= budget.epsilon * ROUNDING:
        raise BudgetExceeded(
            f"the recorded releases cost epsilon={spent:.6g}, more than the {budget.epsilon:.6g} asked for; "
            "nothing is returned. Please report this as a bug of dpols."
        )
    exact = prepared.numeric == "exact"
    proved = joint_certified_delta(plan, fit, paid, budget, relation=relation) if exact else None
    return Outcome(fit, bounds, row_map, paid, paid_names, spread, measured, spent, proved, bits[0].seeded)


def _what(prepared: Prepared, *, seeded: bool) -> str:
    """Say in a ledger what a fit is, in public numbers, and whether it is not private."""
    request = prepared.request
    unit = "" if request.unit is None else f", {request.unit} of up to {request.rows_per_unit} rows"
    void = not_private_in_short(seeded=seeded, bounds_origin=prepared.bounds.origin, void=request.void)
    return f"{prepared.method.name} fit at {prepared.budget}, {prepared.relation}{unit}{void}"


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
