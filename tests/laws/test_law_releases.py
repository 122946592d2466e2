"""Law 2: a run performs exactly the plan's releases. The noise door counts, whatever the run records."""

import math
from fractions import Fraction

import numpy as np
import pytest
from law_cases import (
    GAUSSIANS,
    bounded,
    every_case,
    every_numeric,
    implied_gaussians,
    implied_sketches,
    problem,
)

from dpols import mechanisms
from dpols.mechanisms import Channel
from dpols.randomness import streams


class NoiseDoor:
    """Stands in for the functions through which mechanisms get noise, and counts what passes."""

    def __init__(self, monkeypatch):
        self.normals, self.degrees, self.gaussians, self.sketches = [], [], [], []
        true = {
            name: getattr(mechanisms, name)
            for name in ("standard_normal", "chi_square", "rounded_gaussian", "rounded_wishart")
        }

        def standard_normal(bits, shape):
            self.normals.append(math.prod(shape))
            return true["standard_normal"](bits, shape)

        def chi_square(bits, degrees):
            self.degrees.append(tuple(degrees))
            return true["chi_square"](bits, degrees)

        def rounded_gaussian(scale, shape, *, bits):
            self.gaussians.append(math.prod(shape))
            return true["rounded_gaussian"](scale, shape, bits=bits)

        def rounded_wishart(gram, *, rows, **kwargs):
            self.sketches.append(rows)
            return true["rounded_wishart"](gram, rows=rows, **kwargs)

        for replacement in (standard_normal, chi_square, rounded_gaussian, rounded_wishart):
            monkeypatch.setattr(mechanisms, replacement.__name__, replacement)


@pytest.fixture
def door(monkeypatch):
    return NoiseDoor(monkeypatch)


def run(case, numeric, bits, plan=None):
    rows = bounded(*problem(case.n_rows, case.n_features), numeric=numeric)
    return case.algorithm.run(rows, plan or case.plan(), bits)


@every_numeric
@every_case
@pytest.mark.parametrize("trials", [1, 3])
def test_a_run_records_the_releases_of_its_plan(case, numeric, trials):
    plan = case.plan()
    fit = run(case, numeric, streams(0, trials))
    assert fit.releases == plan.releases
    assert len(plan.release_names) == len(plan.releases)
    assert fit.theta.shape == (trials, case.n_features)


@every_case
@pytest.mark.parametrize("trials", [1, 3])
def test_a_run_in_floating_point_draws_exactly_the_noise_that_its_releases_need(case, trials, door):
    plan, d = case.plan(), case.n_features
    run(case, "float", streams(0, trials))
    sketches = implied_sketches(plan)
    in_sketches = sum(d * rows if rows < d else d * (d - 1) // 2 for rows in sketches)
    assert sum(door.normals) == trials * (sum(implied_gaussians(case, plan)) + in_sketches)
    each = [tuple(rows - np.arange(d, dtype=float)) for rows in sketches if rows >= d]
    assert door.degrees == [degrees for degrees in each for _ in range(trials)]
    assert not door.gaussians
    assert not door.sketches


@every_case
@pytest.mark.parametrize("trials", [1, 3])
def test_a_run_in_exact_arithmetic_draws_exactly_the_noise_that_its_releases_need(case, trials, door):
    plan = case.plan()
    run(case, "exact", streams(0, trials))
    assert sorted(door.gaussians) == sorted(implied_gaussians(case, plan) * trials)
    assert sorted(door.sketches) == sorted(implied_sketches(plan) * trials)
    assert not door.normals
    assert not door.degrees


def words_of_an_exact_sketch(rows, d):
    """Normals come in pairs; a chi-square of n degrees takes n // 2 uniforms, and a normal more where n is odd."""
    degrees = [rows - i for i in range(d)] if rows >= d else []
    normals = (d * (d - 1) // 2 if rows >= d else d * rows) + sum(n % 2 for n in degrees)
    return normals + normals % 2 + sum(n // 2 for n in degrees)


@every_numeric
@every_case
def test_a_run_reads_no_bits_but_for_that_noise(case, numeric, monkeypatch):
    plan, d, read = case.plan(), case.n_features, []
    bits = streams(0, 1)[0]
    true_words = bits.words
    monkeypatch.setattr(bits, "words", lambda count: read.append(count) or true_words(count))
    run(case, numeric, [bits])
    gaussians, sketches = implied_gaussians(case, plan), implied_sketches(plan)
    if numeric == "float":
        expected = sum(gaussians) + sum(d * rows if rows < d else d * (d + 1) // 2 for rows in sketches)
    else:
        expected = sum(n + n % 2 for n in gaussians) + sum(words_of_an_exact_sketch(rows, d) for rows in sketches)
    assert sum(read) == expected


@every_numeric
@every_case
def test_each_gaussian_release_has_the_noise_that_its_record_states(case, numeric, monkeypatch):
    """Raise the j-th release's noise from none to one std: nothing before it moves, and it moves by its std."""
    plan = case.plan()
    released, which = [], [None]
    true_gaussian, true_normal = Channel.gaussian, mechanisms.standard_normal
    inside = [False]

    def gaussian(self, statistic, *, multiplier):
        inside[0] = True
        released.append(true_gaussian(self, statistic, multiplier=multiplier))
        inside[0] = False
        return released[-1]

    def standard_normal(bits, shape):
        return np.full(shape, float(len(released) == which[0])) if inside[0] else true_normal(bits, shape)

    def rounded_gaussian(scale, shape, *, bits):
        return np.full(shape, round(Fraction(scale)) if len(released) == which[0] else 0, dtype=np.int64)

    monkeypatch.setattr(Channel, "gaussian", gaussian)
    monkeypatch.setattr(mechanisms, "standard_normal", standard_normal)
    monkeypatch.setattr(mechanisms, "rounded_gaussian", rounded_gaussian)

    def values(noisy):
        released.clear()
        which[0] = noisy
        run(case, numeric, streams(0, 1), plan)
        return list(released)

    quiet = values(None)
    expected = GAUSSIANS[case.method](plan)
    assert [value.shape for value in quiet] == [(1, size) for size, _ in expected]
    for j, (_, stddev) in enumerate(expected):
        loud = values(j)
        measured = loud[j] - quiet[j]
        # Whole-numbered statistics round to 2^-40 of the sensitivity; a certified eigenvalue adds 2^-10 to its own.
        np.testing.assert_allclose(measured, stddev, rtol=1e-6 if numeric == "float" else 1.1 * 2.0**-10)
        assert measured.min() >= stddev * (1.0 - 1e-6)
        for before in range(j):
            np.testing.assert_array_equal(loud[before], quiet[before])
