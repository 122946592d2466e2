"""The accountant against what shares nothing with it: simulated losses and a privacy-loss-distribution library."""

import math

import numpy as np
import pytest
from scipy.stats import chi2

from dpols.privacy import GaussianRelease, MixingRelease, OpaqueRelease, delta_of, log_delta_by_direction

STEP = 2e-3


def simulated_losses(rows, floor, mu, *, size, rng):
    """Return privacy losses when a row is removed and when it is added, drawn from the two pairs of normal laws."""
    p = 1.0 / floor
    squares = rng.chisquare(rows, size)
    gaussian = rng.normal(mu * mu / 2.0, mu, size)
    remove = 0.5 * rows * math.log1p(-p) + 0.5 * p / (1.0 - p) * squares
    add = -0.5 * rows * math.log1p(-p) - 0.5 * p * squares
    return remove + gaussian, add + gaussian


@pytest.mark.parametrize(
    ("rows", "floor", "mu", "epsilon"), [(1, 1.5, 0.5, 0.3), (60, 40.0, 0.4, 0.5), (400, 9.0, 1.0, 2.5)]
)
def test_simulated_losses_accept_delta_and_reject_two_thirds_and_three_halves_of_floor_or_noise(
    rows, floor, mu, epsilon
):
    rng = np.random.default_rng(20260)
    for direction, loss in enumerate(simulated_losses(rows, floor, mu, size=1_000_000, rng=rng)):
        sample = np.maximum(0.0, -np.expm1(epsilon - loss))

        def deviation(scale_floor, scale_noise, direction=direction, sample=sample):
            releases = [MixingRelease(rows, 1.0 + (floor - 1.0) * scale_floor), GaussianRelease(scale_noise / mu)]
            delta = math.exp(log_delta_by_direction(releases, epsilon)[direction])
            return (delta - sample.mean()) / (sample.std() / math.sqrt(sample.size))

        assert abs(deviation(1.0, 1.0)) < 4.5
        assert deviation(2 / 3, 1.0) > 4.5
        assert deviation(1.0, 2 / 3) > 4.5
        assert deviation(3 / 2, 1.0) < -4.5
        assert deviation(1.0, 3 / 2) < -4.5


def sketch_distributions(rows, floor, *, pessimistic):
    """Return the library's loss distributions of a sketch when a row is removed and when it is added."""
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    p, half = 1.0 / floor, 0.5 * rows

    def removed(loss):
        return chi2.cdf(2.0 * (loss - half * math.log1p(-p)) * (1.0 - p) / p, rows)

    def added(loss):
        return chi2.sf(2.0 * (-half * math.log1p(-p) - loss) / p, rows)

    return [
        pld.create_from_cdf(cdf, pessimistic_estimate=pessimistic, value_discretization_interval=STEP)
        for cdf in (removed, added)
    ]


def gaussian_distribution(multiplier, *, pessimistic):
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    return pld.from_gaussian_mechanism(
        multiplier, pessimistic_estimate=pessimistic, value_discretization_interval=STEP, use_connect_dots=False
    )


@pytest.mark.extras
@pytest.mark.parametrize("multiplier", [0.7, 3.0])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_gaussian_releases_lie_between_the_librarys_estimates(multiplier, epsilon):
    low, high = (gaussian_distribution(multiplier, pessimistic=side).self_compose(3) for side in (False, True))
    delta = delta_of([GaussianRelease(multiplier)] * 3, epsilon)
    assert low.get_delta_for_epsilon(epsilon) <= delta <= high.get_delta_for_epsilon(epsilon)
    assert high.get_delta_for_epsilon(epsilon) == pytest.approx(delta, rel=0.1)


@pytest.mark.extras
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.0])
def test_a_sketch_with_gaussian_noise_lies_between_the_librarys_estimates(epsilon):
    rows, floor, multiplier = 60, 40.0, 2.5
    found = log_delta_by_direction([MixingRelease(rows, floor), GaussianRelease(multiplier)], epsilon)
    estimates = [
        [
            sketch.compose(gaussian_distribution(multiplier, pessimistic=side)).get_delta_for_epsilon(epsilon)
            for sketch in sketch_distributions(rows, floor, pessimistic=side)
        ]
        for side in (False, True)
    ]
    for direction in (0, 1):
        low, high = estimates[0][direction], estimates[1][direction]
        assert low <= math.exp(found[direction]) <= high
        assert high < 1.1 * low


@pytest.mark.extras
@pytest.mark.parametrize("epsilon", [0.4, 2.0, 3.2])
def test_a_black_box_beside_gaussian_noise_agrees_with_the_library(epsilon):
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    common = pytest.importorskip("dp_accounting.pld.common")
    box = pld.from_privacy_parameters(
        common.DifferentialPrivacyParameters(1.2, 1e-3), value_discretization_interval=STEP
    )
    estimate = box.compose(gaussian_distribution(2.0, pessimistic=True)).get_delta_for_epsilon(epsilon)
    delta = delta_of([OpaqueRelease(1.2, 1e-3), GaussianRelease(2.0)], epsilon)
    assert delta <= estimate * (1.0 + 1e-9)
    assert estimate == pytest.approx(delta, rel=0.02)
