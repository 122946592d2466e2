"""What releases are charged under the state of a ledger, and what such a state still allows."""

import math

from ..privacy import (
    FailureAllowance,
    GaussianRelease,
    OpaqueRelease,
    Release,
    epsilon_of,
    log_delta_of,
)
from ..privacy.filter import Charge, black_box_charge, filter_charge
from .records import Groups, State


def gaussian_left(state: State, delta: float | None = None) -> float:
    """Return the epsilon, at ``delta``, of the largest Gaussian release that a ledger in this state allows."""
    left = 1.0 - float(state.gaussian)
    if state.closed or left <= 0.0 or state.caps.multiplier == math.inf:
        return 0.0
    largest = GaussianRelease(state.caps.multiplier / math.sqrt(left))
    return epsilon_of([largest], delta or state.budget.delta, relation=state.neighbours)


def charge_under(state: State, groups: Groups) -> tuple[Charge, bool]:
    """Return the charge of some releases, and whether they take the whole ledger instead.

    The first entry that counts may: by itself it is as private as the ledger promises, and no other follows.
    """
    boxes = black_box_charge(groups)
    if boxes is not None and state.allows(boxes):
        return boxes, False
    charge = filter_charge(groups, state.caps)
    if state.counted or state.allows(charge):
        return charge, False
    budget = state.zero_out_budget
    if all(log_delta_of(group, budget.epsilon) <= math.log(budget.delta) for group in groups):
        return Charge(), True
    return charge, False


def worst_of(state: State) -> list[Release]:
    """Return releases that tell as much as all that a ledger can ever release."""
    if state.closed:
        return [OpaqueRelease(state.zero_out_budget.epsilon, state.zero_out_budget.delta)]
    releases: list[Release] = [GaussianRelease(state.caps.multiplier), FailureAllowance(state.caps.leak)]
    if any(state.caps.black_boxes):
        releases.append(OpaqueRelease(*state.caps.black_boxes))
    return releases
