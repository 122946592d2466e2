"""Laws of composition: what merges, what bounds what, and in which direction every parameter pulls."""

import itertools
import math

import oracle
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from dpols.privacy import (
    FailureAllowance,
    GaussianRelease,
    MixingRelease,
    Neighbours,
    OpaqueRelease,
    PrivacyBudget,
    delta_of,
    epsilon_of,
    least_noise,
    log_delta_of,
)

REPLACE = Neighbours.REPLACE_ONE


def powers(low, high):
    return st.floats(low, high).map(lambda x: 10.0**x)


epsilons = powers(-6.0, 3.0)
deltas = powers(-250.0, -0.2)
gaussians = powers(-1.5, 5.0).map(GaussianRelease)
sketches = st.builds(MixingRelease, st.integers(1, 2000), powers(-2.0, 5.0).map(lambda excess: 1.0 + excess))
mixtures = st.lists(gaussians | sketches, min_size=1, max_size=4)
SLACK = 1e-9  # relative, in log delta: rounding


def never_above(log_delta, bound):
    return log_delta <= bound + SLACK * max(1.0, abs(bound))


@given(mixtures, deltas)
def test_epsilon_and_delta_are_inverse(releases, delta):
    epsilon = epsilon_of(releases, delta)
    assert log_delta_of(releases, epsilon) <= math.log(delta)
    if epsilon > 0.0:
        assert log_delta_of(releases, epsilon) == pytest.approx(math.log(delta), rel=1e-9, abs=3e-9)


@given(mixtures, epsilons)
def test_epsilon_of_the_delta_at_epsilon_is_epsilon_rounded_up(releases, epsilon):
    log_delta = log_delta_of(releases, epsilon)
    if -600.0 < log_delta < -1e-3:
        found = epsilon_of(releases, math.exp(log_delta))
        assert found >= epsilon
        assert log_delta_of(releases, found) == pytest.approx(log_delta, rel=1e-9, abs=3e-9)


@given(mixtures, epsilons, powers(-9.0, 2.0))
def test_delta_never_grows_with_epsilon(releases, epsilon, more):
    assert never_above(log_delta_of(releases, epsilon * (1.0 + more)), log_delta_of(releases, epsilon))


@given(powers(-1.5, 5.0), sketches, epsilons, powers(-9.0, 2.0))
def test_delta_never_grows_with_noise(multiplier, sketch, epsilon, more):
    less = log_delta_of([GaussianRelease(multiplier), sketch], epsilon)
    assert never_above(log_delta_of([GaussianRelease(multiplier * (1.0 + more)), sketch], epsilon), less)


@given(sketches, gaussians, epsilons, powers(-9.0, 2.0))
def test_delta_never_grows_with_the_floor(sketch, gaussian, epsilon, more):
    higher = MixingRelease(sketch.rows, sketch.floor * (1.0 + more))
    assert never_above(log_delta_of([higher, gaussian], epsilon), log_delta_of([sketch, gaussian], epsilon))


@given(sketches, gaussians, epsilons, st.integers(1, 500))
def test_delta_never_shrinks_with_rows(sketch, gaussian, epsilon, more):
    longer = MixingRelease(sketch.rows + more, sketch.floor)
    assert never_above(log_delta_of([sketch, gaussian], epsilon), log_delta_of([longer, gaussian], epsilon))


@given(mixtures, gaussians | sketches, epsilons)
def test_releasing_more_never_costs_less(releases, another, epsilon):
    assert never_above(log_delta_of(releases, epsilon), log_delta_of([*releases, another], epsilon))


@given(st.lists(gaussians | sketches, min_size=2, max_size=4), epsilons, st.randoms(use_true_random=False))
def test_the_order_of_releases_does_not_matter(releases, epsilon, rng):
    shuffled = rng.sample(releases, len(releases))
    assert log_delta_of(shuffled, epsilon) == pytest.approx(log_delta_of(releases, epsilon), rel=1e-11, abs=1e-11)


@given(st.integers(1, 900), st.integers(1, 900), powers(-2.0, 4.0), epsilons)
def test_rows_at_equal_floors_add(first, second, excess, epsilon):
    parts = [MixingRelease(first, 1.0 + excess), MixingRelease(second, 1.0 + excess)]
    assert log_delta_of(parts, epsilon) == log_delta_of([MixingRelease(first + second, 1.0 + excess)], epsilon)


@given(powers(-1.0, 4.0), st.integers(1, 30), epsilons)
def test_equal_gaussian_releases_are_one_with_less_noise(multiplier, count, epsilon):
    many = log_delta_of([GaussianRelease(multiplier)] * count, epsilon)
    assert many == pytest.approx(log_delta_of([GaussianRelease(multiplier / math.sqrt(count))], epsilon), rel=1e-11)


@given(st.lists(sketches, min_size=2, max_size=4), epsilons)
def test_different_floors_cost_at_least_the_largest_part_and_at_most_all_rows_at_the_smallest(parts, epsilon):
    together = log_delta_of(parts, epsilon)
    assert never_above(max(log_delta_of([part], epsilon) for part in parts), together)
    lowest = MixingRelease(sum(part.rows for part in parts), min(part.floor for part in parts))
    assert never_above(together, log_delta_of([lowest], epsilon))


@given(st.integers(1, 500), powers(-2.0, 4.0), epsilons)
def test_floors_that_differ_by_a_rounding_cost_as_if_equal(rows, excess, epsilon):
    floor = 1.0 + excess
    apart = [MixingRelease(rows, floor), MixingRelease(rows, math.nextafter(floor, math.inf))]
    assert log_delta_of(apart, epsilon) == pytest.approx(
        log_delta_of([MixingRelease(2 * rows, floor)], epsilon), rel=1e-9, abs=1e-9
    )


@given(mixtures, epsilons, powers(-200.0, -1.0), powers(-200.0, -1.0))
def test_failures_add_to_delta(releases, epsilon, first, second):
    failures = [FailureAllowance(first), FailureAllowance(second)]
    expected = min(delta_of(releases, epsilon) + first + second, 1.0)
    assert delta_of([*releases, *failures], epsilon) == pytest.approx(expected, rel=1e-12)


def test_what_fails_with_more_than_delta_has_no_epsilon():
    assert epsilon_of([GaussianRelease(10.0), FailureAllowance(1e-6)], 1e-6) == math.inf
    assert epsilon_of([GaussianRelease(10.0), FailureAllowance(0.999e-6)], 1e-6) < math.inf


@pytest.mark.parametrize("epsilon", [0.0, 0.2, 1.0, 2.5, 7.0])
@pytest.mark.parametrize("boxes", [[(1.0, 1e-4)], [(1.0, 0.0)], [(0.5, 1e-3), (0.5, 1e-3), (2.0, 0.0)], [(0.0, 0.01)]])
def test_black_boxes_beside_gaussian_noise_follow_their_definition(boxes, epsilon):
    releases = [GaussianRelease(2.5), *(OpaqueRelease(*box) for box in boxes)]
    with mp.workdps(oracle.DIGITS):
        mu = 1 / mpf(2.5)
    exact = oracle.with_black_boxes(lambda e: oracle.gaussian_delta(mu, e), boxes, epsilon)
    assert delta_of(releases, epsilon) == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.0, 0.4, 3.0, 30.0])
def test_black_boxes_beside_sketches_follow_their_definition_in_both_directions(epsilon):
    # Losses below zero are asked for, where the other direction's integral answers.
    floors, boxes = [3.0, 7.0], [(1.5, 1e-6), (0.7, 0.0)]
    releases = [
        *(MixingRelease(2, floor) for floor in floors),
        GaussianRelease(4.0),
        *itertools.starmap(OpaqueRelease, boxes),
    ]
    exact = max(
        oracle.with_black_boxes(lambda e, i=i: oracle.row_pair_deltas(floors, 0.25, e)[i], boxes, epsilon)
        for i in (0, 1)
    )
    assert delta_of(releases, epsilon) == pytest.approx(float(exact), rel=1e-12)


def test_a_black_box_alone_costs_what_it_says():
    assert epsilon_of([OpaqueRelease(1.3)], 1e-12) == pytest.approx(1.3, rel=1e-11)
    assert delta_of([OpaqueRelease(1.3)], 1.3) == 0.0
    assert delta_of([OpaqueRelease(1.3, 1e-5)], 1.3) == pytest.approx(1e-5, rel=1e-12)
    assert epsilon_of([OpaqueRelease(1.3, 1e-5)], 0.99e-5) == math.inf


def test_black_boxes_compose_to_no_more_than_their_sum():
    boxes = [OpaqueRelease(0.1 * (i + 1), 1e-6) for i in range(5)]
    assert delta_of(boxes, 1.5) <= 5e-6
    assert epsilon_of(boxes, 5e-6) <= 1.5 * (1.0 + 1e-11)


def test_many_equal_black_boxes_cost_the_binomial_sum():
    count, eps0, epsilon = 100, 0.1, 3.0
    with mp.workdps(40):
        up = mp.exp(mpf(eps0)) / (1 + mp.exp(mpf(eps0)))
        exact = mp.fsum(
            mp.binomial(count, j)
            * up**j
            * (1 - up) ** (count - j)
            * max(-mp.expm1(epsilon - (2 * j - count) * mpf(eps0)), 0)
            for j in range(count + 1)
        )
    assert delta_of([OpaqueRelease(eps0)] * count, epsilon) == pytest.approx(float(exact), rel=1e-11)


def test_many_different_black_boxes_are_bounded_from_above_and_quickly():
    boxes = [OpaqueRelease(0.1 * (1.0 + 1e-3 * i)) for i in range(40)]
    epsilon = epsilon_of(boxes, 1e-6)
    at_most = epsilon_of([OpaqueRelease(max(box.epsilon for box in boxes))] * 40, 1e-6)
    at_least = epsilon_of([OpaqueRelease(min(box.epsilon for box in boxes))] * 40, 1e-6)
    assert at_least <= epsilon <= 1.05 * at_most


@settings(max_examples=30)
@given(mixtures, epsilons, deltas)
@example([GaussianRelease(5.0)], 1.0, 1e-6)
def test_replacing_a_row_is_two_steps(releases, epsilon, delta):
    half = epsilon / 2.0
    two_steps = min(log_delta_of(releases, half) + math.log1p(math.exp(min(half, 700.0))), 0.0)
    assert never_above(log_delta_of(releases, epsilon, relation=REPLACE), two_steps)
    found = epsilon_of(releases, delta, relation=REPLACE)
    assert found >= 2.0 * epsilon_of(releases, delta / 2.0) * (1.0 - 1e-9)
    if found < math.inf:
        assert log_delta_of(releases, found, relation=REPLACE) <= math.log(delta)


@pytest.mark.parametrize("epsilon", [1e-3, 0.5, 2.0, 30.0])
@pytest.mark.parametrize("delta", [0.1, 1e-6, 1e-100])
def test_noise_for_the_zero_out_budget_meets_the_budget_for_replaced_rows(epsilon, delta):
    asked = PrivacyBudget(epsilon, delta)

    def releases_at(noise):
        return [GaussianRelease(noise), MixingRelease(60, 2.0 + noise)]

    releases = releases_at(least_noise(releases_at, asked.for_zero_out(REPLACE)))
    assert epsilon_of(releases, delta, relation=REPLACE) == pytest.approx(epsilon, rel=1e-6)
    assert epsilon_of(releases, delta, relation=REPLACE) <= epsilon
    assert delta_of(releases, epsilon, relation=REPLACE) <= delta


def test_a_failure_leaves_replaced_rows_a_finite_epsilon_up_to_which_delta_falls():
    # (1 + exp(e)) times the failure alone exceeds delta from e = 2.2 on; the least epsilon lies before.
    releases = [GaussianRelease(5.0), FailureAllowance(1e-7)]
    epsilon = epsilon_of(releases, 1e-6, relation=REPLACE)
    assert 1.8 < epsilon < 2.0 * math.log(9.0)
    assert delta_of(releases, epsilon, relation=REPLACE) <= 1e-6
    assert delta_of(releases, 40.0, relation=REPLACE) <= delta_of(releases, epsilon, relation=REPLACE)
    assert epsilon_of([GaussianRelease(5.0), FailureAllowance(0.6e-6)], 1e-6, relation=REPLACE) == math.inf


def test_a_floor_below_two_is_never_enough_for_replaced_rows_at_tiny_delta():
    # There delta falls more slowly than exp(-epsilon).
    assert epsilon_of([MixingRelease(300, 1.5)], 1e-6, relation=REPLACE) == math.inf


def test_the_relation_may_be_given_by_name():
    releases = [GaussianRelease(3.0)]
    assert epsilon_of(releases, 1e-6, relation="replace-one") == epsilon_of(releases, 1e-6, relation=REPLACE)
    assert delta_of(releases, 1.0, relation="zero-out") == delta_of(releases, 1.0)
    assert PrivacyBudget(1.0, 1e-6).for_zero_out("replace-one").epsilon == 0.5


def test_a_huge_epsilon_for_replaced_rows_is_split_within_the_range_of_floats():
    for budget in (PrivacyBudget(1e4, 1e-5), PrivacyBudget(1e4, 1e-300)):
        step = budget.for_zero_out(REPLACE)
        assert 0.0 < step.epsilon <= budget.epsilon / 2.0
        assert math.log(step.delta) + math.log1p(math.exp(step.epsilon)) == pytest.approx(
            math.log(budget.delta), rel=1e-12
        )


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("rows", "floor", "delta", "epsilon"),
    [(1, 2.0206109348142007, 0.05057530529555688, 17.338), (2, 2.093577471294328, 0.0741342629676704, 24.639)],
)
def test_a_leap_beyond_the_least_epsilon_for_replaced_rows_leads_back_to_it(rows, floor, delta, epsilon):
    """Where what is needed grows nearly as fast as what is there, steps towards the solution are long."""
    releases = [MixingRelease(rows, floor)]
    found = epsilon_of(releases, delta, relation=REPLACE)
    assert found == pytest.approx(epsilon, abs=1e-3)
    assert delta_of(releases, found, relation=REPLACE) <= delta < delta_of(releases, 0.999 * found, relation=REPLACE)
