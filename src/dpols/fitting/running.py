"""The only place where a method meets the rows. What is returned has been accounted for.

A ledger holds what the plan may release before that, and gives it back only where the run fails before its first
release.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..algorithms import Fit, follows
from ..constraints import Limits, Region
from ..data import BoundedRows, Bounds, RowMap, RowSource
from ..data.threads import one_blas_thread
from ..errors import BudgetExceeded
from ..feature_map import bounds_of_columns
from ..ledger import BudgetLedger, Entry
from ..ledger.holding import held
from ..privacy import GaussianRelease
from ..randomness import Bits, Witness, streams
from ..report import PrivacyReport
from ..report.charge import charge_of_fit
from ..side_releases.alongside import joint_certified_delta, joint_spent_epsilon
from ..side_releases.bounds_advice import ClippedShare, SpreadCounts, release_spread
from ..side_releases.counting import UnboundedRows
from ..side_releases.paid_bounds import PaidBounds, ReleasedBounds, release_bounds
from .about_fit import about_fit
from .preparing import ROUNDING, Prepared, row_map_of


@dataclass(frozen=True)
class Outcome:
    """What a fit released, and what that cost."""

    fit: Fit
    bounds: Bounds  # declared, or paid for
    row_map: RowMap
    beside: tuple[GaussianRelease, ...]  # released beside the method, as recorded
    spread: SpreadCounts | None  # of values within and beyond the bounds
    spent_epsilon: float
    certified_delta: float | None  # in exact mode
    seeded: bool
    limits: Limits | None = None  # on the slopes
    entry: Entry | None = None  # of the ledger
    clipped: tuple[ClippedShare, ...] = ()  # by paid bounds, as their own counts say
    hidden: tuple[int, ...] = ()  # places of features whose ranges the noise hid from paid bounds; the target is last


def carry_out(
    prepared: Prepared,
    random_state: Any = None,
    ledger: BudgetLedger | None = None,
    witness: Witness | None = None,
    *,
    describe: Callable[[Outcome], PrivacyReport],
) -> tuple[Outcome, PrivacyReport]:
    """Run a prepared fit, and return what it released only if its recorded releases are within the budget.

    The ledger keeps the hash of the report that ``describe`` gives of it.

    A ledger is charged first, also for a seeded fit, whose noise others may not be able to remove. The ``witness``
    knows afterwards whether anything was released, also where the fit failed.
    """
    seen = Witness() if witness is None else witness
    bits = seen.watch(streams(random_state, 1))
    what = _what(prepared, seeded=bits[0].seeded)
    relation, about = prepared.relation, about_fit(prepared)
    with held(
        ledger, [prepared.releases], what=what, relation=relation, about=about, released=lambda: seen.released
    ) as hold:
        outcome = replace(_run(prepared, bits), entry=hold.entry)
        planned = prepared.beside.releases
        if ledger is not None and not (outcome.beside == planned and follows(prepared.plan, outcome.fit)):
            raise BudgetExceeded(
                "the recorded releases are not those that the ledger was charged for; nothing is returned. Please "
                "report this as a bug of dpols."
            )
        report = describe(outcome)
        if ledger is not None:
            hold.report = report.digest
    return replace(outcome, entry=hold.entry), report


def _run(prepared: Prepared, bits: Sequence[Bits]) -> Outcome:
    budget, plan, relation, request = prepared.budget, prepared.plan, prepared.relation, prepared.request
    beside = prepared.beside
    with one_blas_thread():
        bounds, recorded, clipped, hidden = _settled_bounds(prepared, bits[0])
        row_map = row_map_of(bounds, request, prepared.source)
        spread = None
        if beside.counts is not None:
            spread, counted = _spread(prepared, bounds, row_map, beside.counts, bits[0])
            recorded = (*recorded, *counted)
        rows = BoundedRows(prepared.source, row_map, request.bad_rows, prepared.arithmetic, request.rows_per_unit)  # type: ignore[arg-type]
        fit = prepared.method.run_within(rows, plan, bits, _region(prepared.limits, row_map))
    spent = joint_spent_epsilon(plan, fit, recorded, budget, relation=relation)
    if not spent <= budget.epsilon * ROUNDING:
        raise BudgetExceeded(
            f"the recorded releases cost epsilon={spent:.6g}, more than the {budget.epsilon:.6g} asked for; "
            "nothing is returned. Please report this as a bug of dpols."
        )
    exact = prepared.arithmetic == "exact"
    proved = joint_certified_delta(plan, fit, recorded, budget, relation=relation) if exact else None
    seeded, limits = bits[0].seeded, prepared.limits
    return Outcome(fit, bounds, row_map, recorded, spread, spent, proved, seeded, limits, None, clipped, hidden)


def _region(limits: Limits | None, row_map: RowMap) -> Region | None:
    """Return the constraints in the coordinates of bounded rows, in which a slope is a multiple of its coefficient."""
    if limits is None:
        return None
    slopes = row_map.coefficient_map()[0][: row_map.n_features, : row_map.n_features].diagonal()
    return limits.region(slopes, intercept=row_map.intercept is not None)


def _what(prepared: Prepared, *, seeded: bool) -> str:
    """Say in a ledger what a fit is."""
    request = prepared.request
    return charge_of_fit(
        prepared.method.name,
        prepared.budget,
        prepared.relation,
        unit=request.unit,
        rows_per_unit=request.rows_per_unit,
        seeded=seeded,
        bounds_origin=request.origin_of(prepared.bounds),
        void=request.void,
    )


def _settled_bounds(prepared: Prepared, bits: Bits) -> ReleasedBounds:
    """Return the declared bounds, or those that the fit pays for, with what was recorded."""
    bounds, planned, fit_intercept = prepared.bounds, prepared.beside.bounds, bool(prepared.request.fit_intercept)
    if not isinstance(bounds, PaidBounds):
        return ReleasedBounds(bounds, (), ())
    return release_bounds(
        bounds,
        planned,
        _unbounded(prepared, prepared.source),
        fit_intercept=fit_intercept,
        bits=bits,
        target_is=prepared.request.target_is,
    )


def _spread(
    prepared: Prepared, bounds: Bounds, row_map: RowMap, release: GaussianRelease, bits: Bits
) -> tuple[SpreadCounts, tuple[GaussianRelease, ...]]:
    """Count values within and beyond bounds; a feature map clips them, so its columns are counted before that."""
    feature_map, raw = prepared.request.feature_map, prepared.unclipped
    if feature_map is None or raw is None:
        return release_spread(bounds, row_map.target, _unbounded(prepared, prepared.source), release, bits)
    declared, target = bounds_of_columns(feature_map), feature_map.target or row_map.target
    return release_spread(declared, target, _unbounded(prepared, raw), release, bits)


def _unbounded(prepared: Prepared, source: RowSource) -> UnboundedRows:
    request = prepared.request
    return UnboundedRows(
        source,
        request.bad_rows,  # type: ignore[arg-type]
        prepared.arithmetic,
        request.rows_per_unit,
        prepared.relation.rows_are_public,
        request.max_weight,
        request.exposure_range,
    )
