"""A method's plan next to other Gaussian releases of the same fit, which the same budget pays for.

A fit may release more than its method does: private quantiles for bounds, and counts of values that they clip. The
multipliers of these side releases are fixed in advance from public numbers, so their dominating pairs compose with
those of the method. What the method may spend is then the largest budget at which all of it together, accounted for
jointly and exactly, costs no more than the whole. Methods in stages, and the paper's accounting, add epsilons and
deltas instead: there the side releases are a stage of their own.
"""

import math
from collections.abc import Sequence
from typing import Any

from ..algorithms.base import (
    Algorithm,
    Fit,
    Plan,
    StagedPlan,
    added_epsilon,
    certified_delta_of,
    spent_epsilon,
    split,
)
from ..algorithms.options import share as checked_share
from ..errors import BudgetExceeded, CalibrationError
from ..privacy.accountant import epsilon_of, log_delta_of
from ..privacy.budget import Neighbours, PrivacyBudget
from ..privacy.calibration import gaussian_multiplier
from ..privacy.certificate import certify
from ..privacy.releases import GaussianRelease
from ..privacy.search import least_noise_for

Sides = Sequence[GaussianRelease]

_DELTA_OF_SIDES = 0.5  # share of delta that side releases get where deltas are added


def release_worth(budget: PrivacyBudget, share: float) -> GaussianRelease:
    """Return the Gaussian release that uses a share of the budget: its squared mu is that share of the whole's.

    The whole's mu is that of one Gaussian release that meets the (zero-out) budget by itself.

    >>> release_worth(PrivacyBudget(1.0, 1e-5), 0.25)  # the whole allows a multiplier of 3.7306
    GaussianRelease(multiplier=7.4612...)
    """
    return GaussianRelease(gaussian_multiplier(budget) / math.sqrt(checked_share("share", share)))


def plan_alongside(method: Algorithm, budget: PrivacyBudget, sides: Sides, **arguments: Any) -> Any:
    """Return the method's plan with the largest budget that the side releases leave of the (zero-out) whole.

    ``arguments`` are those of the method's ``plan`` without the budget. The delta of the plan's own budget is the
    whole's, and its epsilon is the largest at which the joint cost meets the whole budget, to a relative 1e-8 on the
    private side. CalibrationError is raised where the side releases leave nothing.
    """
    if not sides:
        return method.plan(budget, **arguments)
    if not epsilon_of(sides, budget.delta) < budget.epsilon:
        raise CalibrationError(f"the side releases alone cost all of {budget}; give them a smaller share of it.")
    if arguments.get("accounting", "exact") == "exact":
        first = method.plan(_part(budget, _epsilon_left(sides, budget), budget.delta), **arguments)
        if not isinstance(first, StagedPlan):
            return _jointly(method, budget, sides, first.budget.epsilon, arguments)
    return method.plan(split(budget, budget_of_sides(budget, sides))[1], **arguments)


def budget_of_sides(budget: PrivacyBudget, sides: Sides) -> PrivacyBudget:
    """Return what side releases take of a whole (zero-out) budget where epsilons and deltas are added."""
    delta = _DELTA_OF_SIDES * budget.delta
    part = _part(budget, epsilon_of(sides, delta) * (1.0 + 1e-9), delta)
    if not part.epsilon < budget.epsilon:
        raise CalibrationError(
            f"the side releases take epsilon={part.epsilon:.6g} of {budget} where parts are added up, which leaves "
            "nothing for the method; give them a smaller share, or use a method with joint accounting."
        )
    return part


def joint_planned_epsilon(plan: Plan, sides: Sides, budget: PrivacyBudget, *, relation: Neighbours) -> float:
    """Return what a run of the plan and the side releases cost together at the whole budget's delta."""
    if isinstance(plan, StagedPlan):
        return _added_up(plan, sides, budget, relation)
    return epsilon_of((*sides, *plan.releases), budget.delta, relation=relation)


def joint_spent_epsilon(plan: Plan, fit: Fit, sides: Sides, budget: PrivacyBudget, *, relation: Neighbours) -> float:
    """Return what a fit and the side releases cost together, from what was recorded of both."""
    if fit.stages is None:
        return epsilon_of((*sides, *fit.releases), budget.delta, relation=relation)
    spent_epsilon(plan, fit, budget.delta, relation=relation)  # raises where a stage exceeded its part
    return _added_up(plan, sides, budget, relation)


def joint_certified_delta(plan: Plan, fit: Fit, sides: Sides, budget: PrivacyBudget, *, relation: Neighbours) -> float:
    """Return a proved bound on the delta of all that was recorded; BudgetExceeded is raised where there is none."""
    if fit.stages is None:
        return certify((*sides, *fit.releases), budget, relation=relation).delta_bound
    if sides:
        certify(sides, budget_of_sides(budget.for_zero_out(relation), sides))
    certified_delta_of(plan, fit, budget, relation=relation)
    if not _added_up(plan, sides, budget, relation) <= budget.epsilon * (1.0 + 1e-9):
        raise BudgetExceeded(f"the parts of the fit add up to more than {budget}; nothing is returned.")
    return budget.delta


def _jointly(method: Algorithm, budget: PrivacyBudget, sides: Sides, start: float, arguments: dict[str, Any]) -> Any:
    def plan_at(noise: float) -> Any:
        return method.plan(PrivacyBudget(1.0 / noise, budget.delta), **arguments)

    def log_delta(noise: float) -> float:
        return log_delta_of((*sides, *plan_at(noise).releases), budget.epsilon)

    return plan_at(least_noise_for(log_delta, budget, start=1.0 / start))


def _epsilon_left(sides: Sides, budget: PrivacyBudget) -> float:
    """Return the epsilon of what the side releases leave, if the method's releases were Gaussian ones too."""
    left = gaussian_multiplier(budget) ** -2 - math.fsum(release.multiplier**-2 for release in sides)
    return epsilon_of([GaussianRelease(left**-0.5)], budget.delta) if left > 0.0 else 0.5 * budget.epsilon


def _part(budget: PrivacyBudget, epsilon: float, delta: float) -> PrivacyBudget:
    """Return a part of a budget; beside a large delta a release may cost no epsilon at all, which is no part."""
    if not epsilon > 0.0:
        raise CalibrationError(
            f"{budget} cannot be shared between the method and what is released beside it (paid bounds, counts): "
            "delta alone pays for a part. Lower delta to far below 1/n, raise epsilon, or leave these out."
        )
    return PrivacyBudget(epsilon, delta)


def _added_up(plan: Plan, sides: Sides, budget: PrivacyBudget, relation: Neighbours) -> float:
    """Return the sum of all stages' epsilons at the whole delta, with the side releases as one stage more."""
    assert isinstance(plan, StagedPlan)
    part = (budget_of_sides(budget.for_zero_out(relation), sides),) if sides else ()
    return added_epsilon((*part, *plan.stage_budgets), budget.delta, relation=relation)
