"""What every algorithm is: a plan made from public numbers, and a run that follows it.

Most plans fix every release in advance, and what they cost is computed jointly. A staged plan chooses the releases of
a later stage from what an earlier one released. Joint accounting does not cover that, although each choice alone would
meet the budget; each stage has a budget of its own, fixed in advance, and the budgets add up.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from ..constraints import Region
from ..data.rows import BoundedRows
from ..errors import BudgetExceeded, ParameterError
from ..families import FamilyName
from ..linalg import Array as Array
from ..privacy.accountant import epsilon_of
from ..privacy.budget import Neighbours, PrivacyBudget
from ..privacy.certificate import certify
from ..privacy.releases import OpaqueRelease, Release
from ..randomness import Bits
from .options import Accounting, PlannedFor

MOVED = "moved"  # in a transcript: whether constraints changed the coefficients after the last release
Stages = tuple[tuple[Release, ...], ...]  # the releases of each stage


class Plan(Protocol):
    """Every public number of a run, fixed before the first look at the data."""

    @property
    def releases(self) -> tuple[Release, ...]:
        """What a run releases, in order."""

    @property
    def release_names(self) -> tuple[str, ...]:
        """What each release is of, in the same order."""


@runtime_checkable
class StagedPlan(Plan, Protocol):
    """A plan whose later releases depend on earlier ones; its ``releases`` are black boxes, one for each stage."""

    @property
    def stage_budgets(self) -> tuple[PrivacyBudget, ...]:
        """What each stage may cost, whatever the earlier ones released."""

    def allows(self, stages: Stages) -> bool:
        """Whether these recorded releases are one of the outcomes that the plan lists."""


@dataclass(frozen=True)
class TestedFirst(PlannedFor):
    """What staged plans share that begin with noisy eigenvalues."""

    stage_budgets: tuple[PrivacyBudget, ...]
    eigenvalue_multiplier: float

    @property
    def releases(self) -> tuple[Release, ...]:
        """Each stage as a black box of its budget: the worst that any outcome can be."""
        return tuple(OpaqueRelease(budget.epsilon, budget.delta) for budget in self.stage_budgets)


@dataclass(frozen=True)
class Fit:
    """What a run releases: nothing in it is exact. All arrays have a leading trial axis."""

    theta: Array
    releases: tuple[Release, ...]  # as recorded; where trials of a staged plan differ, those of the first
    transcript: dict[str, Array] = field(default_factory=dict, repr=False)
    release_names: tuple[str, ...] | None = None  # None: those of the plan
    stages: tuple[Stages, ...] | None = None  # for a staged plan what each trial recorded, stage by stage


class RowCount(NamedTuple):
    """A number of rows, or of units of several rows, as it was released, and the standard deviation of its noise."""

    value: float
    stddev: float


@dataclass(frozen=True)
class Evidence:
    """What a fit's own releases say of it, at no further cost."""

    noise_covariance: Array  # of theta, over the noise of a run
    # Estimate of the sum of squares at theta minus that of predicting a constant, less what fitting noise gains.
    risk_change: float
    risk_change_stddev: float
    shortened: float = 0.0  # about which share of rows counted with less than their whole gradient, at the least
    biased: bool = False  # whether that is so much that the risk change says little
    rows: RowCount | None = None  # where releases count them


@dataclass(frozen=True)
class Algorithm:
    """One row of the table of methods."""

    name: str
    title: str
    reference: str
    plan_for: Callable[..., Any]  # of a `PlannedFor` and the method's own options
    run: Callable[..., Fit]  # of rows, a plan and streams of bits, and where `steps_within` of a region, too
    evidence: Callable[[Any, Fit, int, float | None], Evidence]
    staged: bool = False  # whether its plans are staged ones
    family: FamilyName = "gaussian"  # of the outcomes that it is for
    needs_rows: str | None = None  # what follows from a public number of rows; None where it can do without
    inconsistent: str | None = None  # why it does not tend to least squares as n times epsilon grows; None if it does
    steps_within: bool = False  # whether each of its steps can end within a region
    curvature: Callable[[Fit], Array] | None = None  # released, in which a finished fit is brought within a region

    def plan(
        self,
        budget: PrivacyBudget,
        *,
        n_rows: int | None,
        n_features: int,
        accounting: Accounting = "exact",
        **options: Any,
    ) -> Any:
        """Choose every number of a run from public ones; the method's own ``plan`` says what options there are.

        ``n_rows`` is None where the number of rows is not public.
        """
        if n_rows is None and self.needs_rows is not None:
            raise ParameterError(
                f"method={self.name!r} needs a public number of rows, as {self.needs_rows}, and with "
                "neighbours='add-remove' it is not public. Use another method, such as 'whitened', or other neighbours."
            )
        return self.plan_for(PlannedFor.checked(budget, n_rows, n_features, accounting), **options)

    @property
    def takes_constraints(self) -> bool:
        """Whether fits can be brought within a region."""
        return self.steps_within or self.curvature is not None

    def run_within(self, rows: BoundedRows, plan: Any, bits: Sequence[Bits], region: Region | None) -> Fit:
        """Follow the plan to coefficients within a region: the same releases, and nothing more is read or drawn."""
        if region is None:
            return self.run(rows, plan, bits)
        if self.steps_within:
            return self.run(rows, plan, bits, region=region)
        assert self.curvature is not None
        fit = self.run(rows, plan, bits)
        theta = region.nearest(self.curvature(fit), fit.theta)
        return replace(fit, theta=theta, transcript={**fit.transcript, MOVED: np.any(theta != fit.theta, axis=1)})


def planned_epsilon(plan: Plan, delta: float, *, relation: Neighbours = Neighbours.ZERO_OUT) -> float:
    """Return what a run of the plan costs at ``delta``: jointly, or for a staged plan the sum over its stages."""
    if not isinstance(plan, StagedPlan):
        return epsilon_of(plan.releases, delta, relation=relation)
    return added_epsilon(plan.stage_budgets, delta, relation=relation)


def added_epsilon(
    budgets: Sequence[PrivacyBudget], delta: float, *, relation: Neighbours = Neighbours.ZERO_OUT
) -> float:
    """Return what stages of these (zero-out) budgets cost together at ``delta`` by basic composition."""
    epsilon = math.fsum(budget.epsilon for budget in budgets)
    needed = math.fsum(budget.delta for budget in budgets)
    if relation.steps == 2:
        # Two zero-out steps of (e, d) are one step of (2 e, (1 + exp(e)) d).
        epsilon, log_needed = 2.0 * epsilon, math.log(needed) + float(np.logaddexp(0.0, epsilon))
    else:
        log_needed = math.log(needed)
    return epsilon if log_needed <= math.log(delta) + 1e-9 else math.inf


def spent_epsilon(plan: Plan, fit: Fit, delta: float, *, relation: Neighbours = Neighbours.ZERO_OUT) -> float:
    """Return what a fit cost at ``delta``, from its recorded releases.

    Releases that were fixed in advance are accounted for jointly. A fit in stages costs the sum of what was reserved
    for them, also where the outcome was a cheap one; BudgetExceeded is raised where a stage exceeded its part.
    """
    if fit.stages is None:
        return epsilon_of(fit.releases, delta, relation=relation)
    assert isinstance(plan, StagedPlan)
    for stages in fit.stages:
        for recorded, budget in zip(stages, plan.stage_budgets, strict=True):
            spent = epsilon_of(recorded, budget.delta)
            if not spent <= budget.epsilon * (1.0 + 1e-9):
                raise BudgetExceeded(
                    f"a stage cost epsilon={spent:.6g}, more than the {budget.epsilon:.6g} reserved for it; "
                    "nothing is returned. Please report this as a bug of dpols."
                )
    return planned_epsilon(plan, delta, relation=relation)


def certified_delta_of(plan: Plan, fit: Fit, budget: PrivacyBudget, *, relation: Neighbours) -> float:
    """Return a proved bound on the delta of a fit's recorded releases; BudgetExceeded is raised where there is none.

    The stages of a staged plan are proved one by one, and the whole is as private as the budget that they share.
    """
    if fit.stages is None:
        return certify(fit.releases, budget, relation=relation).delta_bound
    assert isinstance(plan, StagedPlan)
    for stages in fit.stages:
        for recorded, part in zip(stages, plan.stage_budgets, strict=True):
            certify(recorded, part)
    return budget.delta


def follows(plan: Plan, fit: Fit) -> bool:
    """Return whether the recorded releases are the plan's, or outcomes that a staged plan lists."""
    if isinstance(plan, StagedPlan):
        return fit.stages is not None and all(plan.allows(stages) for stages in fit.stages)
    return fit.releases == plan.releases


def names_of(plan: Plan, fit: Fit) -> tuple[str, ...]:
    """Return what each recorded release is of."""
    return plan.release_names if fit.release_names is None else fit.release_names


def in_two_stages(budget: PrivacyBudget, first_share: float) -> tuple[PrivacyBudget, PrivacyBudget]:
    """Split a budget by basic composition: a share of epsilon, and half of delta, for the first stage."""
    return split(budget, PrivacyBudget(first_share * budget.epsilon, 0.5 * budget.delta))


def split(budget: PrivacyBudget, first: PrivacyBudget) -> tuple[PrivacyBudget, PrivacyBudget]:
    """Return the first part of a budget and the rest of it.

    The rest falls short by a hair, so that neither rounding nor the accountant's margin lets both exceed the whole.
    """
    short = 1.0 - 1e-8
    return first, PrivacyBudget(short * (budget.epsilon - first.epsilon), short * (budget.delta - first.delta))


def joined(fits: Sequence[Fit]) -> Fit:
    """Put single trials of a staged plan together."""
    first = fits[0]
    return Fit(
        theta=np.concatenate([fit.theta for fit in fits]),
        releases=first.releases,
        transcript={name: np.concatenate([fit.transcript[name] for fit in fits]) for name in first.transcript},
        release_names=first.release_names,
        stages=tuple(stages for fit in fits for stages in fit.stages or ()),
    )
