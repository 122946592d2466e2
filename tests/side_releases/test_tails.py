"""Where tails begin, from noisy counts: near the wanted quantile for columns of all shapes, and to neither side."""

import numpy as np
import pytest

from dpols import PaidBounds, PrivateLinearRegression
from dpols.side_releases.bounds_advice import ClippedShare, advice_on_paid
from dpols.side_releases.tails import Counts, finer_edges, left_out, median, upper_end, without_tails

POWERS = 1e-3 * 2.0 ** np.arange(40)
COARSE = np.concatenate((-POWERS[::-1], POWERS))
SHAPES = {
    "normal": lambda rng, n: rng.normal(0.0, 3.0, n),
    "far from zero": lambda rng, n: rng.normal(40.0, 4.0, n),
    "exponential": lambda rng, n: rng.exponential(50.0, n),
    "lognormal": lambda rng, n: rng.lognormal(9.0, 1.0, n),
    "both signs, skewed": lambda rng, n: rng.exponential(5.0, n) ** 1.5 - 3.0,
}


def counted(values, edges, noise, rng):
    counts = np.bincount(np.searchsorted(edges[1:-1], values, side="right"), minlength=len(edges) - 1)
    return Counts(edges, counts + rng.normal(0.0, noise, len(counts)), noise)


def found(values, noise, rng):
    first = counted(values, COARSE, noise, rng)
    return without_tails(counted(values, finer_edges(first), noise, rng), 0.004 * len(values))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("noise", [0.0005, 0.008])
def test_about_as_many_values_are_left_out_as_wanted_also_where_noise_hides_them(shape, noise):
    shares = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        values = SHAPES[shape](rng, 6000)
        low, high = found(values, noise * 6000, rng)
        shares.append(((values < low) | (values > high)).mean())
    assert 0.0005 <= np.median(shares) <= 0.02
    assert np.quantile(shares, 0.9) <= 0.05


def test_without_noise_the_quantile_is_found():
    rng = np.random.default_rng(0)
    values = rng.normal(10.0, 2.0, 200_000)
    counts = counted(values, np.linspace(0.0, 20.0, 401), 1e-9, rng)
    assert median(counts) == pytest.approx(10.0, abs=0.05)
    assert upper_end(counts, 10.0, 800.0) == pytest.approx(np.quantile(values, 0.996), abs=0.1)
    low, high = without_tails(counts, 800.0)
    beyond, noise = left_out(counts, (low, high))
    assert beyond == pytest.approx(1600.0, rel=0.1)
    assert noise < 1e-6


def test_noise_far_beyond_all_values_is_taken_for_no_tail():
    worst = 0.0
    for seed in range(1500):  # a tail of 78 values, as large as three standard deviations of the noise
        rng = np.random.default_rng(seed)
        values = rng.normal(1000.0, 5.0, 19_500)
        low, high = found(values, 25.0, rng)
        worst = max(worst, -low, high)
    assert worst < 2100.0


def test_a_few_percent_far_beyond_all_others_are_kept():
    rng = np.random.default_rng(3)
    values = np.concatenate((rng.normal(1000.0, 5.0, 9_500), rng.normal(1e6, 1e4, 500)))
    assert found(values, 25.0, rng)[1] > 9e5


def test_no_bound_has_a_sign_that_no_values_have():
    rng = np.random.default_rng(1)
    low, high = found(rng.exponential(1.0, 6000), 40.0, rng)
    assert low == 0.0
    low, high = found(-rng.exponential(1.0, 6000), 40.0, rng)
    assert high == 0.0


@pytest.mark.parametrize("n", [1, 5, 100])
def test_few_values_still_give_a_range(n):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        low, high = found(rng.normal(0.0, 1.0, n), 50.0, rng)
        assert COARSE[0] <= low < high <= COARSE[-1]


def test_reports_say_where_paid_bounds_clip_values_or_may():
    fine, clipped, hidden = ClippedShare("a", 0.01, 0.01), ClippedShare("b", 0.09, 0.01), ClippedShare("c", 0.05, 0.2)
    assert advice_on_paid([fine]) == ()
    said = advice_on_paid([fine, clipped, hidden])
    assert len(said) == 2
    assert "9.0% (+- 1.0%) of the values of 'b'" in said[0]
    assert "'c'" in said[1]
    assert "may be 25%" in said[1]
    rng = np.random.default_rng(0)
    X = rng.normal(0.0, 1.0, (300, 3))
    for rows, warned in ((1, True), (100, False)):
        data = np.tile(X, (rows, 1))
        fit = PrivateLinearRegression(1.0, 1e-7, PaidBounds(), random_state=0).fit(data, data @ (1.0, 1.0, 1.0))
        assert any("the noise hides how many values the paid bounds" in a for a in fit.privacy_report_.advice) == warned
