"""The privacy filter: never below exact joint accounting, and proof against one who plans after seeing results."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from dpols.errors import ParameterError
from dpols.privacy import (
    FailureAllowance,
    GaussianRelease,
    MixingRelease,
    OpaqueRelease,
    PrivacyBudget,
    delta_of,
    epsilon_of,
    gaussian_multiplier,
    log_delta_by_direction,
)
from dpols.privacy.filter import Caps, Charge, black_box_charge, filter_charge

BUDGETS = [PrivacyBudget(1.0, 1e-6), PrivacyBudget(8.0, 1e-4), PrivacyBudget(0.05, 1e-3)]
PLANS = {
    "sketch": (MixingRelease(60, 150.0),),
    "few rows": (MixingRelease(2, 40.0),),
    "sketches": (MixingRelease(60, 300.0), MixingRelease(9, 80.0), GaussianRelease(30.0)),
    "with a test": (GaussianRelease(25.0), FailureAllowance(1e-9), MixingRelease(60, 200.0), GaussianRelease(40.0)),
    "black box": (OpaqueRelease(0.05, 1e-9),),
    "pure": (OpaqueRelease(0.02),),
    "stages": (OpaqueRelease(0.02, 1e-9), OpaqueRelease(0.1, 1e-9)),
    "failure": (FailureAllowance(1e-8),),
}


def gaussian_delta_by_tails(ratio, epsilon):
    return norm.sf(epsilon / ratio - ratio / 2) - np.exp(epsilon + norm.logsf(epsilon / ratio + ratio / 2))


def charge(releases, caps):
    return filter_charge([releases], caps)


def fits(charges):
    return sum(c.gaussian for c in charges) <= 1.0 and sum(c.leak for c in charges) <= 1.0


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_a_plans_curve_lies_below_that_of_its_share_everywhere_and_touches_it(budget, plan):
    caps = Caps.of(budget)
    share = charge(plan, caps)
    assert share.gaussian == share.leak > 0.0
    if math.isinf(share.gaussian):
        pytest.skip("dearer than any share of this budget")
    grid = np.concatenate([np.linspace(0.0, 3.0, 1201), np.geomspace(3.0, 40.0, 60)])
    own = np.array([delta_of(plan, epsilon) for epsilon in grid])

    def covering(scale):
        leak = caps.leak * share.leak * scale
        return leak + (1.0 - leak) * gaussian_delta_by_tails(math.sqrt(share.gaussian * scale) / caps.multiplier, grid)

    assert (own <= covering(1.0) * (1.0 + 1e-7) + 1e-15).all()
    assert (own > covering(0.97)).any()


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("relation_of_sizes", [0.8, 3.0])
def test_what_the_filter_admits_is_within_the_budget_by_exact_joint_accounting(budget, relation_of_sizes):
    """Of releases that happen to be fixed in advance the filter admits no more than exact accounting does."""
    rng = np.random.default_rng(7)
    caps = Caps.of(budget)
    admitted, charges = [], []
    scale = relation_of_sizes * caps.multiplier
    for _ in range(24):
        rows = int(rng.integers(1, 300))
        plan = (
            (GaussianRelease(scale * rng.uniform(2, 8)),),
            (MixingRelease(rows, 1.0 + scale * math.sqrt(rows) * rng.uniform(2, 8)),),
            (GaussianRelease(scale * rng.uniform(2, 8)), FailureAllowance(budget.delta * rng.uniform(0, 0.01))),
            (OpaqueRelease(rng.uniform(0, 0.2) / scale, budget.delta * rng.uniform(0, 0.01)),),
        )[rng.integers(4)]
        new = charge(plan, caps)
        if fits([*charges, new]):
            admitted += plan
            charges.append(new)
    assert len(charges) > 1
    assert delta_of(admitted, budget.epsilon) <= budget.delta


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_all_gaussian_releases_lose_nothing_where_no_delta_is_set_aside(budget):
    caps = Caps.of(budget, failure_share=0.0)
    assert caps.multiplier == pytest.approx(gaussian_multiplier(budget), rel=1e-9)
    half = charge([GaussianRelease(2.0 * caps.multiplier)] * 2, caps)
    assert half == Charge(gaussian=0.5)
    assert charge([MixingRelease(3, 50.0)], caps).gaussian == math.inf


def test_small_black_boxes_are_charged_as_gaussian_releases_that_tell_as_much():
    caps = Caps.of(PrivacyBudget(1.0, 1e-6))
    # e-DP is mu-GDP for mu = 2 Phi^-1(e^e / (1 + e^e)), and no less (Dong, Roth and Su, 2022).
    ratio = 2.0 * norm.ppf(1.0 / (1.0 + math.exp(-0.01)))
    assert charge([OpaqueRelease(0.01)], caps).gaussian == pytest.approx((ratio * caps.multiplier) ** 2, rel=1e-3)
    assert charge([OpaqueRelease(0.0, 1e-7)], caps).leak == pytest.approx(0.2, rel=1e-2)


def test_black_boxes_add_up_and_of_groups_the_larger_counts():
    boxes = [OpaqueRelease(0.1, 1e-7), OpaqueRelease(0.2)], [OpaqueRelease(0.25, 2e-7)]
    found = black_box_charge(boxes)
    assert found.epsilon == pytest.approx(0.3)
    assert found.epsilon >= 0.1 + 0.2 - 1e-17
    assert found.delta == 2e-7
    assert black_box_charge([[GaussianRelease(1.0)]]) is None
    caps = Caps.of(PrivacyBudget(1.0, 1e-6))
    groups = [GaussianRelease(9.0)], [MixingRelease(50, 200.0)]
    shares = [charge(group, caps) for group in groups]
    assert filter_charge(groups, caps) == Charge(max(s.gaussian for s in shares), max(s.leak for s in shares))


def test_what_is_set_apart_for_black_boxes_is_taken_from_the_rest():
    budget = PrivacyBudget(1.0, 1e-6)
    caps = Caps.of(budget, black_boxes=(0.25, 4e-7))
    everything = [GaussianRelease(caps.multiplier), FailureAllowance(caps.leak), OpaqueRelease(0.25, 4e-7)]
    assert delta_of(everything, budget.epsilon) <= budget.delta
    assert epsilon_of([GaussianRelease(caps.multiplier)], 3e-7) == pytest.approx(0.75, rel=1e-6)
    assert Caps.of(budget, black_boxes=(1.0, 1e-6)).multiplier == math.inf
    for wrong in ((1.1, 0.0), (0.1, 1e-5), (-0.1, 0.0)):
        with pytest.raises(ParameterError, match="black_boxes"):
            Caps.of(budget, black_boxes=wrong)
    with pytest.raises(ParameterError, match="failure_share"):
        Caps.of(budget, failure_share=1.0)


def curve(releases, direction, x):
    """Delta of fixed releases at any real x, in one direction."""
    if x >= 0.0:
        return math.exp(log_delta_by_direction(releases, x)[direction])
    return 1.0 - math.exp(x) + math.exp(x + log_delta_by_direction(releases, -x)[1 - direction])


def adversarys_delta(first_ratio, options, epsilon, direction):
    """Delta against one who sees the loss of a Gaussian release and then takes the option that tells most.

    By quadrature over the first loss, which is normal with mean half its variance.
    """
    z = np.linspace(-9.0, 9.0, 361)
    losses = first_ratio * z + 0.5 * first_ratio**2
    best = [max(curve(option, direction, epsilon - loss) for option in options) for loss in losses]
    return float(np.sum(np.array(best) * norm.pdf(z)) * (z[1] - z[0]))


def least(passes, low, high):
    """The least scale of noise that passes."""
    for _ in range(22):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if passes(middle) else (middle, high)
    return high


FAMILIES = [
    lambda noise: [GaussianRelease(noise)],
    lambda noise: [MixingRelease(1, 1.0 + noise)],
    lambda noise: [MixingRelease(40, 1.0 + 4.5 * noise)],
    lambda noise: [OpaqueRelease(1.0 / noise, 1e-7)],
]


@pytest.mark.parametrize("direction", [0, 1])
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_planning_after_seeing_a_result_gains_nothing_against_the_filter(epsilon, direction):
    """The same adversary breaks accounting that looks at each option together with the past, but not the filter."""
    budget = PrivacyBudget(epsilon, 1e-4)
    caps = Caps.of(budget, failure_share=0.3)
    first = GaussianRelease(caps.multiplier / math.sqrt(0.5))
    left = 1.0 - charge([first], caps).gaussian

    def covered(option):
        found = charge(option, caps)
        return found.gaussian <= left and found.leak <= 1.0

    filtered = [family(least(lambda n, f=family: covered(f(n)), 1e-3, 1e6)) for family in FAMILIES]
    joint = [
        family(least(lambda n, f=family: delta_of([first, *f(n)], epsilon) <= budget.delta, 1e-3, 1e6))
        for family in FAMILIES
    ]
    for option in filtered:
        assert delta_of([first, *option], epsilon) <= budget.delta
    ratio = 1.0 / first.multiplier
    assert adversarys_delta(ratio, [*filtered, []], epsilon, direction) <= budget.delta
    assert adversarys_delta(ratio, [*joint, []], epsilon, direction) > 1.05 * budget.delta


def test_extreme_budgets_and_releases_have_finite_or_infinite_shares_and_never_fail():
    for epsilon, delta in ((1e3, 1e-300), (1e-6, 1e-12), (50.0, 0.1)):
        caps = Caps.of(PrivacyBudget(epsilon, delta))
        for plan in (*PLANS.values(), (GaussianRelease(1e-9),), (MixingRelease(10**6, 1.001),), (OpaqueRelease(1e4),)):
            share = charge(plan, caps).gaussian
            assert share > 0.0 or math.isinf(share) or plan == PLANS["failure"]


def test_nothing_costs_nothing():
    caps = Caps.of(PrivacyBudget(1.0, 1e-6))
    assert charge([], caps) == charge([OpaqueRelease(0.0), FailureAllowance(0.0)], caps) == Charge()
    assert filter_charge([], caps) == Charge()
    for faint in (GaussianRelease(math.inf), MixingRelease(5, math.inf), MixingRelease(5, 1e70)):
        assert charge([faint, MixingRelease(2, 1e75)], caps).gaussian < 1e-12
    assert delta_of([MixingRelease(1, 1e6)], 1.0) < 1e-6
