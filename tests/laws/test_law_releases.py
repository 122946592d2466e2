"""Law 2: a run performs exactly the plan's releases. The noise door counts, whatever the run records."""

import math

import numpy as np
import pytest
from law_cases import GAUSSIANS, bounded, every_case, implied_draws, problem

from dpols import mechanisms
from dpols.mechanisms import Channel
from dpols.privacy import GaussianRelease, MixingRelease
from dpols.randomness import streams


class NoiseDoor:
    """Stands in for the two functions through which mechanisms get noise; counts and, if told, replaces it."""

    def __init__(self, monkeypatch, *, replace=None):
        self.normals, self.chi_squares, self.calls = [], [], 0
        self._replace = replace
        true_normal, true_chi_square = mechanisms.standard_normal, mechanisms.chi_square

        def standard_normal(bits, shape):
            self.normals.append(math.prod(shape))
            return true_normal(bits, shape)

        def chi_square(bits, degrees):
            self.chi_squares.append(tuple(degrees))
            return true_chi_square(bits, degrees)

        monkeypatch.setattr(mechanisms, "standard_normal", standard_normal)
        monkeypatch.setattr(mechanisms, "chi_square", chi_square)


@pytest.fixture
def door(monkeypatch):
    return NoiseDoor(monkeypatch)


def run(case, *, trials=1, seed=0):
    plan = case.plan()
    fit = case.algorithm.run(bounded(*problem(case.n_rows, case.n_features)), plan, streams(seed, trials))
    return plan, fit


@every_case
@pytest.mark.parametrize("trials", [1, 3])
def test_a_run_records_the_releases_of_its_plan(case, trials):
    plan, fit = run(case, trials=trials)
    assert fit.releases == plan.releases
    assert len(plan.release_names) == len(plan.releases)
    assert fit.theta.shape == (trials, case.n_features)


@every_case
@pytest.mark.parametrize("trials", [1, 3])
def test_a_run_draws_exactly_the_noise_that_its_releases_need(case, trials, door):
    plan, _ = run(case, trials=trials)
    normals, chi_squares = implied_draws(case, plan)
    assert sum(door.normals) == trials * normals
    assert sum(map(len, door.chi_squares)) == trials * chi_squares


@every_case
def test_a_run_makes_a_fresh_sketch_of_the_stated_rows_for_each_that_it_records(case, door):
    plan, _ = run(case)
    d = plan.n_features
    sketches = [r.rows for r in plan.releases if isinstance(r, MixingRelease) and r.rows >= d]
    assert door.chi_squares == [tuple(rows - np.arange(d, dtype=float)) for rows in sketches]


@every_case
def test_a_run_reads_no_bits_beyond_the_noise_door(case, monkeypatch, door):
    read = []
    bits = streams(0, 1)[0]
    true_words = bits.words
    monkeypatch.setattr(bits, "words", lambda count: read.append(count) or true_words(count))
    case.algorithm.run(bounded(*problem(case.n_rows, case.n_features)), case.plan(), [bits])
    assert sum(read) == sum(door.normals) + sum(map(len, door.chi_squares))


@every_case
def test_each_gaussian_release_has_the_noise_that_its_record_states(case, monkeypatch):
    """Raise the j-th release's noise from none to one std: nothing before it moves, and it moves by its std."""
    plan = case.plan()
    rows = bounded(*problem(case.n_rows, case.n_features))
    released, noisy = [], [None]
    true_gaussian = Channel.gaussian

    def gaussian(self, statistic, *, multiplier):
        released.append(true_gaussian(self, statistic, multiplier=multiplier))
        return released[-1]

    def standard_normal(bits, shape):
        inside_a_sketch = len(shape) == 2 or (len(shape) == 1 and shape[0] == 6 and plan.n_features == 4)
        return np.full(shape, float(not inside_a_sketch and len(released) == noisy[0]))

    monkeypatch.setattr(Channel, "gaussian", gaussian)
    monkeypatch.setattr(mechanisms, "standard_normal", standard_normal)

    def values(which):
        released.clear()
        noisy[0] = which
        case.algorithm.run(rows, plan, streams(0, 1))
        return list(released)

    quiet = values(None)
    gaussians = [r for r in plan.releases if isinstance(r, GaussianRelease)]
    assert len(quiet) == len(gaussians)
    for j, (size, stddev) in enumerate(GAUSSIANS[case.method](plan)):
        loud = values(j)
        assert quiet[j].shape == (1, size)
        np.testing.assert_allclose(loud[j] - quiet[j], stddev, rtol=1e-6)
        for before in range(j):
            np.testing.assert_array_equal(loud[before], quiet[before])
