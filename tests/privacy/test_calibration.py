"""Calibrated noise is private, and by no more than a relative 1e-6 above the least noise that is."""

import math

import oracle
import pytest
from mpmath import mp, mpf

from dpols.errors import CalibrationError
from dpols.privacy import (
    FailureAllowance,
    GaussianRelease,
    MixingRelease,
    PrivacyBudget,
    delta_of,
    epsilon_of,
    gaussian_multiplier,
    least_noise,
)

EPSILONS = [1e-9, 1e-4, 0.1, 1.0, 10.0, 300.0, 1e4]
DELTAS = [0.5, 0.01, 1e-6, 1e-30, 1e-100, 1e-300]


def assert_least(exact_deltas, noise, delta):
    """Check by the oracle that delta is met at ``noise`` and not at a relative 1e-6 below it."""
    assert all(exact <= delta for exact in exact_deltas(noise))
    assert any(exact > delta for exact in exact_deltas(noise / (1.0 + 1e-6)))


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_gaussian_multiplier_is_the_least(epsilon, delta):
    budget = PrivacyBudget(epsilon, delta)
    multiplier = gaussian_multiplier(budget)

    def exact(noise):
        with mp.workdps(80):
            return [oracle.gaussian_delta(1 / mpf(noise), epsilon)]

    assert_least(exact, multiplier, delta)
    assert least_noise(lambda x: [GaussianRelease(x)], budget, start=1e3) == pytest.approx(multiplier, rel=1e-11)


@pytest.mark.parametrize(
    ("rows", "epsilon", "delta"),
    [
        (1, 1e-9, 1e-300),
        (1, 1e4, 0.5),
        (2, 1.0, 1e-6),
        (60, 1e-4, 1e-30),
        (1386, 10.0, 1e-100),
        (10**6, 1e4, 1e-300),
    ],
)
def test_the_floor_of_a_sketch_alone_is_the_least(rows, epsilon, delta):
    excess = least_noise(lambda x: [MixingRelease(rows, 1.0 + x)], PrivacyBudget(epsilon, delta))
    assert_least(lambda x: oracle.joint_deltas(rows, 1.0 + x, 0, epsilon), excess, delta)


@pytest.mark.parametrize(
    ("rows", "share", "weight", "epsilon", "delta"),
    [
        (300, 1.0, 240.0, 1.0, 1e-6),
        (300, 1.0, 240.0, 1e-9, 1e-100),
        (1386, 0.3, 1e4, 1e4, 1e-300),
        (3, 2.0, 1.0, 1e3, 0.5),
    ],
)
def test_the_joint_noise_of_sketches_and_gradients_is_the_least(rows, share, weight, epsilon, delta):
    def settings(noise):
        return math.sqrt(1.0 + weight * noise * noise), noise * share

    def releases_at(noise):
        floor, multiplier = settings(noise)
        return [MixingRelease(rows, floor), GaussianRelease(multiplier)]

    def exact(noise):
        floor, multiplier = settings(noise)
        with mp.workdps(oracle.DIGITS):
            return oracle.joint_deltas(rows, floor, 1 / mpf(multiplier), epsilon)

    noise = least_noise(releases_at, PrivacyBudget(epsilon, delta))
    assert_least(exact, noise, delta)
    assert epsilon_of(releases_at(noise), delta) <= epsilon


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_what_is_calibrated_costs_what_was_asked_and_not_more(epsilon, delta):
    def releases_at(noise):
        return [MixingRelease(60, 1.0 + 7.0 * noise), *[GaussianRelease(noise)] * 3]

    releases = releases_at(least_noise(releases_at, PrivacyBudget(epsilon, delta)))
    assert epsilon_of(releases, delta) <= epsilon
    assert delta_of(releases, epsilon) == pytest.approx(delta, rel=1e-8)


def test_noise_never_grows_with_the_budget():
    def noise(epsilon, delta):
        return least_noise(lambda x: [MixingRelease(300, 1.0 + x), GaussianRelease(x)], PrivacyBudget(epsilon, delta))

    by_epsilon = [noise(epsilon, 1e-6) for epsilon in EPSILONS]
    assert by_epsilon == sorted(by_epsilon, reverse=True)
    by_delta = [noise(1.0, delta) for delta in DELTAS]
    assert by_delta == sorted(by_delta)


def test_a_budget_that_no_noise_meets_is_refused():
    with pytest.raises(CalibrationError, match=r"no noise up to 1e\+60 meets .*epsilon=1.*delta=1e-06"):
        least_noise(lambda x: [GaussianRelease(x), FailureAllowance(1e-5)], PrivacyBudget(1.0, 1e-6))


def test_a_budget_that_any_noise_meets_is_refused():
    with pytest.raises(CalibrationError, match="any noise"):
        least_noise(lambda x: [FailureAllowance(1e-9)], PrivacyBudget(1.0, 1e-6))
