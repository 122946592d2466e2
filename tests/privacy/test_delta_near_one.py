"""Far from privacy delta is close to 1, and there too it is accurate: searches pass through such settings."""

import itertools
import math

import mpmath
import oracle
import pytest

from dpols.privacy import (
    GaussianRelease,
    MixingRelease,
    PrivacyBudget,
    delta_of,
    epsilon_of,
    least_noise,
    log_delta_of,
)


def worse_direction(rows, floor, epsilon):
    """The difference of chi-square tails, with digits enough for exp(epsilon) times a tail."""
    with mpmath.workdps(250):
        half, p, eps = mpmath.mpf(rows) / 2, 1 / mpmath.mpf(floor), mpmath.mpf(epsilon)

        def upper(x):
            return mpmath.gammainc(half, x, regularized=True)

        w = max(eps - half * mpmath.log1p(-p), 0) * (1 - p) / p
        remove = upper(w) - mpmath.exp(eps) * upper(w / (1 - p))
        w = max(-half * mpmath.log1p(-p) - eps, 0) / p
        add = (1 - upper(w)) - mpmath.exp(eps) * (1 - upper((1 - p) * w))
        return float(max(remove, add))


@pytest.mark.parametrize("rows", [1, 2, 7, 60, 180])
@pytest.mark.parametrize("floor", [1.0008, 1.01, 1.3, 3.0])
@pytest.mark.parametrize("epsilon", [0.0, 1.0, 10.0, 100.0])
def test_delta_of_a_sketch_whose_loss_is_far_above_epsilon(rows, floor, epsilon):
    expected = worse_direction(rows, floor, epsilon)
    assert delta_of([MixingRelease(rows, floor)], epsilon) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("multiplier", [1e-3, 0.01, 0.1, 0.5])
@pytest.mark.parametrize("epsilon", [0.0, 1.0, 100.0, 1e4])
def test_delta_of_a_gaussian_release_whose_loss_is_far_above_epsilon(multiplier, epsilon):
    expected = float(oracle.gaussian_delta(1 / mpmath.mpf(multiplier), epsilon))
    assert delta_of([GaussianRelease(multiplier)], epsilon) == pytest.approx(expected, rel=1e-9)


SETTINGS = tuple(itertools.product((1, 20, 1000), (1.0001, 3.0, 40.0), (1e-3, 1.0, 30.0, 1e4), (0.5, 1e-6, 1e-100)))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("rows", "floor", "multiplier", "delta"), SETTINGS)
def test_epsilon_is_finite_and_the_one_that_delta_belongs_to(rows, floor, multiplier, delta):
    releases = (MixingRelease(rows, floor), GaussianRelease(multiplier))
    epsilon = epsilon_of(releases, delta)
    assert math.isfinite(epsilon)
    if epsilon > 0.0:
        assert log_delta_of(releases, epsilon) == pytest.approx(math.log(delta), abs=1e-7)


@pytest.mark.parametrize("epsilon", [1e-6, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("delta", [0.1, 1e-6, 1e-100])
@pytest.mark.parametrize("start", [1e-3, 1.0, 1e3])
def test_calibration_ends_at_the_same_noise_wherever_it_begins(epsilon, delta, start):
    def releases_at(noise):
        return (MixingRelease(60, 1.0 + noise), GaussianRelease(noise))

    budget = PrivacyBudget(epsilon, delta)
    noise = least_noise(releases_at, budget, start=start)
    assert noise == pytest.approx(least_noise(releases_at, budget), rel=1e-8)
    assert epsilon_of(releases_at(noise), delta) <= epsilon
