"""The accountant's delta is that of high-precision quadrature, in both directions and out to the extremes."""

import math
import random
import statistics
import time

import oracle
import pytest
from mpmath import mp, mpf

from dpols.privacy import (
    FailureAllowance,
    GaussianRelease,
    MixingRelease,
    Neighbours,
    OpaqueRelease,
    delta_of,
    epsilon_of,
    log_delta_by_direction,
    log_delta_of,
)

# epsilon, rows, floor, mu, delta when a row is removed, and when it is added: thirty-digit quadrature
KNOWN = [
    (1.0, 60, 40.0, 0.4, 2.18087326945e-3, 2.01108629447e-3),
    (1.0, 300, 216.7, 0.127, 2.22570245851e-14, 5.17764827605e-15),
    (0.1, 300, 1991.0, 0.0149, 1.10712701586e-12, 5.0646686865e-13),
    (10.0, 300, 24.2, 1.04, 3.70990434621e-16, 1.50765784003e-17),
    (1.0, 1386, 699.4, 0.0777, 1.92853249195e-32, 6.74778566665e-34),
    (0.5, 1782, 400.0, 0.05, 8.27269971673e-10, 7.46571182647e-11),
]


def mixture(rows, floor, mu):
    """Return the releases, and mu as the accountant sees it."""
    if mu == 0.0:
        return [MixingRelease(rows, floor)], 0
    with mp.workdps(oracle.DIGITS):
        return [MixingRelease(rows, floor), GaussianRelease(1.0 / mu)], 1 / mpf(1.0 / mu)


def error(log_delta, exact):
    """Return how far log delta is off."""
    return float(abs(mpf(log_delta) - mp.log(exact))) if exact > 0 else (0.0 if log_delta == -math.inf else math.inf)


@pytest.mark.parametrize(("epsilon", "rows", "floor", "mu", "remove", "add"), KNOWN)
def test_known_answers_in_both_directions(epsilon, rows, floor, mu, remove, add):
    releases, _ = mixture(rows, floor, mu)
    found = [math.exp(log_delta) for log_delta in log_delta_by_direction(releases, epsilon)]
    assert found == pytest.approx([remove, add], rel=1e-11)
    assert delta_of(releases, epsilon) == max(found)


def test_the_oracle_knows_the_known_answers():
    for epsilon, rows, floor, mu, remove, add in KNOWN[:1]:
        assert [float(delta) for delta in oracle.joint_deltas(rows, floor, mu, epsilon)] == pytest.approx(
            [remove, add], rel=1e-11
        )


@pytest.mark.parametrize(("rows", "floor", "epsilon"), [(1, 3.0, 0.15), (2, 1.0001, 3.0), (61, 40.0, 0.5)])
def test_the_oracles_agree_on_a_sketch_alone(rows, floor, epsilon):
    with mp.workdps(oracle.DIGITS):
        for integral, closed in zip(
            oracle.joint_deltas(rows, floor, 0, epsilon), oracle.sketch_deltas(rows, floor, epsilon), strict=True
        ):
            assert abs(integral / closed - 1) < 1e-20


# rows, floor, mu, epsilon
HARD = {
    "one row": (1, 3.0, 0.0, 0.15),
    "one row far out": (1, 20.0, 0.0, 30.0),
    "two rows and a whiff of noise": (2, 1.3357, 1.89e-4, 4.46),
    "three rows, tiny mu": (3, 12.0, 1e-12, 0.1),
    "epsilon zero": (300, 6256089.59, 7e-11, 0.0),
    "floor just above one": (1, 1.0 + 1e-12, 0.0, 2.0),
    "floor just above one, more rows": (5, 1.0 + 1e-9, 0.0, 1e9),
    "huge floor": (2, 1e15, 0.0, 3e-15),
    "many rows": (10**12, 157075107787.15, 6.5587e-11, 1.1438e-10),
    "very many rows, moderate delta": (10**9, 13579.96, 0.0, 0.0026790807473503187),
    "huge mu": (60, 1.875, 272.6258616373773, 37182.05),
    "mu a million": (3, 50.0, 1e6, 5e11 + 2e6),
    "delta near 1e-300": (60, 40.0, 0.2, 21.0),
    "below the mean loss": (2, 39.146, 0.7556, 0.28),
    "far below the mean loss": (7, 1.01, 3.0, 1.0),
    "near the greatest loss of adding": (60, 40.0, 0.05, 0.7595),
    "beyond the greatest loss of adding": (10, 40.0, 0.05, 0.2),
}


@pytest.mark.parametrize("case", HARD)
def test_delta_agrees_with_quadrature_in_both_directions(case):
    rows, floor, mu, epsilon = HARD[case]
    releases, mu = mixture(rows, floor, mu)
    exact = oracle.joint_deltas(rows, floor, mu, epsilon)
    for log_delta, delta in zip(log_delta_by_direction(releases, epsilon), exact, strict=True):
        assert error(log_delta, delta) < 1e-10 * max(1.0, -log_delta)


@pytest.mark.parametrize("n_floors", [2, 3, 12])
@pytest.mark.parametrize("mu", [0.0, 0.01, 1.0])
@pytest.mark.parametrize("excess", [0.5, 30.0, 1e6])
@pytest.mark.parametrize("stds", [0.0, 3.0, 25.0])
def test_different_floors_agree_with_the_law_of_sums_of_exponentials(n_floors, mu, excess, stds):
    floors = [1.0 + excess * (1.0 + 0.7 * i) for i in range(n_floors)]
    variance = sum((floor - 1.0) ** -2.0 for floor in floors)
    mu *= math.sqrt(variance)
    epsilon = 0.5 * (variance + mu**2) + stds * math.sqrt(variance + mu**2)
    releases = [MixingRelease(2, floor) for floor in floors] + ([GaussianRelease(1.0 / mu)] if mu else [])
    exact = oracle.row_pair_deltas(floors, 1 / mpf(1.0 / mu) if mu else 0, epsilon)
    for log_delta, delta in zip(log_delta_by_direction(releases, epsilon), exact, strict=True):
        assert error(log_delta, delta) < 1e-11 * max(1.0, -log_delta)


def test_two_floors_agree_with_integrating_one_sketch_over_the_other():
    exact = oracle.two_sketch_deltas((7, 12.0), (20, 31.0), 0.3)
    found = log_delta_by_direction([MixingRelease(7, 12.0), MixingRelease(20, 31.0)], 0.3)
    for log_delta, delta in zip(found, exact, strict=True):
        assert error(log_delta, delta) < 1e-12


@pytest.mark.parametrize("epsilon", [0.0, 1e-9, 0.5, 20.0, 1e4])
@pytest.mark.parametrize("multiplier", [1e-2, 0.3, 1.0, 40.0, 1e6])
def test_a_gaussian_release_agrees_with_the_analytic_formula(multiplier, epsilon, monkeypatch):
    monkeypatch.setattr(oracle, "DIGITS", 80)
    with mp.workdps(80):
        mu = 1 / mpf(multiplier)
        if epsilon / float(mu) > 1e4:
            return  # beyond the reach of the oracle's error function
        exact = oracle.gaussian_delta(mu, epsilon)
    assert error(log_delta_of([GaussianRelease(multiplier)], epsilon), exact) < 1e-12 * max(
        1.0, abs(float(mp.log(exact)))
    )
    assert delta_of([GaussianRelease(multiplier)], epsilon) == pytest.approx(float(exact), rel=1e-9)


@pytest.mark.parametrize(("rows", "floor", "epsilon"), [(1, 2.0, 1.0), (4, 15.0, 0.1), (60, 40.0, 0.5)])
def test_a_sketch_alone_agrees_with_its_chi_square_tails(rows, floor, epsilon):
    remove, add = (float(delta) for delta in oracle.sketch_deltas(rows, floor, epsilon))
    found = [math.exp(log_delta) for log_delta in log_delta_by_direction([MixingRelease(rows, floor)], epsilon)]
    assert found == pytest.approx([remove, add], rel=1e-12)
    assert delta_of([MixingRelease(rows, floor)], epsilon) == max(found)


def test_adding_a_row_beyond_its_greatest_loss_costs_nothing():
    greatest = -30.0 * math.log1p(-1.0 / 40.0)
    assert log_delta_by_direction([MixingRelease(60, 40.0)], greatest * (1.0 + 1e-12))[1] == -math.inf
    assert log_delta_by_direction([MixingRelease(60, 40.0)], greatest * (1.0 - 1e-3))[1] > -math.inf


def test_log_delta_stays_meaningful_where_delta_underflows():
    exact = oracle.row_pair_deltas([11.0, 17.0], 0.1, 1e3)
    found = log_delta_by_direction([MixingRelease(2, 11.0), MixingRelease(2, 17.0), GaussianRelease(10.0)], 1e3)
    for log_delta, delta in zip(found, exact, strict=True):
        assert -1e8 < log_delta < -5e3
        assert log_delta == pytest.approx(float(mp.log(delta)), rel=1e-13)
    assert delta_of([GaussianRelease(10.0)], 1e3) == 0.0


def test_releasing_nothing_costs_nothing():
    for releases in ([], [GaussianRelease(math.inf)], [MixingRelease(9, math.inf)], [FailureAllowance(0.0)]):
        assert delta_of(releases, 0.0) == 0.0
        assert epsilon_of(releases, 1e-300) == 0.0


def test_releasing_everything_cannot_be_private():
    for releases in (
        [GaussianRelease(1e-300)],
        [MixingRelease(2**53, math.nextafter(1.0, 2.0))],
        [FailureAllowance(1.0)],
    ):
        assert delta_of(releases, 1e4) == 1.0
        assert delta_of(releases, 1e4, relation=Neighbours.REPLACE_ONE) == 1.0
    assert epsilon_of([GaussianRelease(1e-300)], 0.5) == math.inf
    assert epsilon_of([FailureAllowance(1e-5)], 1e-6) == math.inf


def extreme_release(rng):
    def power(low, high):
        return 10.0 ** rng.uniform(low, high)

    kind = rng.random()
    if kind < 0.35:
        return GaussianRelease(rng.choice([power(-320, 308), power(-3, 3), power(-20, 20), math.inf]))
    if kind < 0.8:
        rows = rng.choice([1, 2, 3, 300, int(power(0, 15.9)), 2**53])
        floor = rng.choice([1.0 + power(-15.6, 3), power(0.1, 308), math.inf, math.nextafter(1.0, 2.0)])
        return MixingRelease(rows, floor)
    if kind < 0.9:
        return FailureAllowance(rng.choice([0.0, 1.0, power(-320, 0)]))
    return OpaqueRelease(rng.choice([0.0, power(-320, 308), power(-2, 1)]), rng.choice([0.0, power(-320, -0.01)]))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("seed", range(12))
def test_extremes_give_numbers_and_epsilon_meets_its_delta(seed):
    rng = random.Random(seed)
    for _ in range(15):
        releases = [extreme_release(rng) for _ in range(rng.choice([1, 1, 2, 3, 5]))]
        epsilon = rng.choice([0.0, 10.0 ** rng.uniform(-320, 308), 10.0 ** rng.uniform(-3, 4)])
        delta = rng.choice([10.0 ** rng.uniform(-320, -0.001), 10.0 ** rng.uniform(-15, -1), 1.0 - 1e-15])
        for relation in Neighbours:
            assert log_delta_of(releases, epsilon, relation=relation) <= 0.0
            assert 0.0 <= delta_of(releases, epsilon, relation=relation) <= 1.0
            assert epsilon_of(releases, delta, relation=relation) >= 0.0
        least = epsilon_of(releases, delta)
        if least < math.inf:
            assert log_delta_of(releases, least) <= math.log(delta)


def test_epsilon_takes_about_a_millisecond():
    releases = [GaussianRelease(15.0), FailureAllowance(1e-14), MixingRelease(300, 216.7), *[GaussianRelease(13.6)] * 3]
    times = []
    for _ in range(50):
        begin = time.perf_counter()
        epsilon_of(releases, 1e-6)
        times.append(time.perf_counter() - begin)
    assert statistics.median(times) < 0.01
