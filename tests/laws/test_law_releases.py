"""Law 2: a run performs exactly the plan's releases. The noise door counts, whatever the run records."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from law_cases import DRAWS, Gaussian, Sketch, SymmetricGaussian, bounded, every_arithmetic, every_case, problem

from dpols import mechanisms
from dpols.algorithms import StagedPlan, follows, names_of
from dpols.mechanisms import Channel
from dpols.privacy import GaussianRelease, MixingRelease
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


def run(case, arithmetic, bits, plan=None):
    rows = bounded(*problem(case.n_rows, case.n_features), arithmetic=arithmetic)
    return case.algorithm.run(rows, plan or case.plan(), bits)


_RUNS = {}  # by case, arithmetic and number of trials


def seeded_run(case, arithmetic, trials):
    """A run that several laws look at, made once."""
    key = str(case), arithmetic, trials
    if key not in _RUNS:
        _RUNS[key] = run(case, arithmetic, streams(0, trials))
    return _RUNS[key]


def all_draws(case, plan, fit):
    return [draw for trial in range(len(fit.theta)) for draw in DRAWS[case.method](plan, fit, trial)]


def sizes_of_noise(draws):
    """How many numbers each draw of Gaussian noise is asked for."""
    sizes = [[draw.size] if isinstance(draw, Gaussian) else [] for draw in draws]
    parts = [[d.width, d.width * (d.width - 1) // 2] if isinstance(d, SymmetricGaussian) else [] for d in draws]
    return [size for group in (*sizes, *parts) for size in group]


@every_arithmetic
@every_case
@pytest.mark.parametrize("trials", [1, 3])
def test_a_run_records_the_releases_of_its_plan_or_an_outcome_that_it_lists(case, arithmetic, trials):
    plan, fit = case.plan(), seeded_run(case, arithmetic, trials)
    assert fit.theta.shape == (trials, case.n_features)
    assert follows(plan, fit)
    assert len(plan.release_names) == len(plan.releases)
    assert len(names_of(plan, fit)) == len(fit.releases)
    assert isinstance(plan, StagedPlan) is case.algorithm.staged
    if not isinstance(plan, StagedPlan):
        assert fit.releases == plan.releases
        return
    assert len(fit.stages) == trials
    assert sum(fit.stages[0], ()) == fit.releases
    for stages in fit.stages:
        assert plan.allows(stages)
        assert not plan.allows(stages[:1])
        assert not plan.allows((stages[0], (*stages[1], GaussianRelease(1e9))))
        assert not plan.allows((stages[0][:1], stages[1]))


@every_arithmetic
@every_case
def test_the_releases_of_each_trial_are_of_what_was_drawn(case, arithmetic):
    plan, fit = case.plan(), seeded_run(case, arithmetic, 3)
    for trial in range(3):
        releases = fit.releases if fit.stages is None else sum(fit.stages[trial], ())
        draws = DRAWS[case.method](plan, fit, trial)
        assert sum(isinstance(r, GaussianRelease) for r in releases) == sum(not isinstance(d, Sketch) for d in draws)
        recorded = [r.rows for r in releases if isinstance(r, MixingRelease)]
        assert recorded == [d.rows for d in draws if isinstance(d, Sketch)]


@every_case
@pytest.mark.parametrize("trials", [1, 3])
def test_a_run_in_floating_point_draws_exactly_the_noise_that_its_releases_need(case, trials, door):
    plan = case.plan()
    draws = all_draws(case, plan, run(case, "float", streams(0, trials)))
    sketches = [draw for draw in draws if isinstance(draw, Sketch)]
    in_sketches = [s.width * (s.rows if s.rows < s.width else (s.width - 1) / 2) for s in sketches]
    assert sum(door.normals) == sum(sizes_of_noise(draws)) + sum(in_sketches)
    degrees = [tuple(s.rows - np.arange(s.width, dtype=float)) for s in sketches if s.rows >= s.width]
    assert Counter(door.degrees) == Counter(degrees)
    assert not door.gaussians
    assert not door.sketches


@every_case
@pytest.mark.parametrize("trials", [1, 3])
def test_a_run_in_exact_arithmetic_draws_exactly_the_noise_that_its_releases_need(case, trials, door):
    plan = case.plan()
    draws = all_draws(case, plan, run(case, "exact", streams(0, trials)))
    assert Counter(door.gaussians) == Counter(sizes_of_noise(draws))
    assert Counter(door.sketches) == Counter(draw.rows for draw in draws if isinstance(draw, Sketch))
    assert not door.normals
    assert not door.degrees


def words_of_an_exact_sketch(rows, d):
    """Normals come in pairs; a chi-square of n degrees takes n // 2 uniforms, and a normal more where n is odd."""
    degrees = [rows - i for i in range(d)] if rows >= d else []
    normals = (d * (d - 1) // 2 if rows >= d else d * rows) + sum(n % 2 for n in degrees)
    return normals + normals % 2 + sum(n // 2 for n in degrees)


@every_arithmetic
@every_case
def test_a_run_reads_no_bits_but_for_that_noise(case, arithmetic, monkeypatch):
    plan, read = case.plan(), []
    bits = streams(0, 1)[0]
    true_words = bits.words
    monkeypatch.setattr(bits, "words", lambda count: read.append(count) or true_words(count))
    draws = all_draws(case, plan, run(case, arithmetic, [bits]))
    noise, sketches = sizes_of_noise(draws), [(d.rows, d.width) for d in draws if isinstance(d, Sketch)]
    if arithmetic == "float":
        expected = sum(noise) + sum(d * rows if rows < d else d * (d + 1) // 2 for rows, d in sketches)
    else:
        expected = sum(n + n % 2 for n in noise) + sum(words_of_an_exact_sketch(rows, d) for rows, d in sketches)
    assert sum(read) == expected


@every_arithmetic
@every_case
def test_each_gaussian_release_has_the_noise_that_its_record_states(case, arithmetic, monkeypatch):
    """Raise the j-th release's noise from none to one std: nothing before it moves, and it moves by its std.

    All of these runs are trials of one, with a stream each that is the same but for that noise.
    """
    plan = case.plan()
    released, noisy, inside = {}, {}, [False]  # what was released, and which release is noisy, by stream
    true_normal = mechanisms.standard_normal

    def watched(mechanism):
        def release(self, statistic, *, multiplier):
            inside[0] = True
            values = mechanism(self, statistic, multiplier=multiplier)
            inside[0] = False
            for bits, value in zip(self._bits, values, strict=True):
                released[id(bits)].append(value)
            return values

        return release

    def is_noisy(bits):
        return len(released[id(bits)]) == noisy[id(bits)]

    def standard_normal(bits, shape):
        return np.full(shape, float(is_noisy(bits))) if inside[0] else true_normal(bits, shape)

    def rounded_gaussian(scale, shape, *, bits):
        return np.full(shape, round(Fraction(scale)) if is_noisy(bits) else 0, dtype=np.int64)

    monkeypatch.setattr(Channel, "gaussian", watched(Channel.gaussian))
    monkeypatch.setattr(Channel, "symmetric_gaussian", watched(Channel.symmetric_gaussian))
    monkeypatch.setattr(mechanisms, "standard_normal", standard_normal)
    monkeypatch.setattr(mechanisms, "rounded_gaussian", rounded_gaussian)

    def values(which):
        alike = [streams(0, 1)[0] for _ in which]
        noisy.update((id(bits), place) for bits, place in zip(alike, which, strict=True))
        released.update((id(bits), []) for bits in alike)
        fit = run(case, arithmetic, alike, plan)
        return [released[id(bits)] for bits in alike], fit

    (alone,), fit = values([None])
    expected = [draw for draw in DRAWS[case.method](plan, fit, 0) if not isinstance(draw, Sketch)]
    assert len(alone) == len(expected)
    (quiet, *louds), _ = values([None, *range(len(expected))])
    for j, (draw, loud) in enumerate(zip(expected, louds, strict=True)):
        stddev = np.full(draw.size, draw.stddev) if isinstance(draw, Gaussian) else symmetric(draw)
        measured = loud[j] - quiet[j]
        assert measured.shape == stddev.shape
        # Whole-numbered statistics round to 2^-40 of the sensitivity; a certified eigenvalue adds 2^-10 to its own.
        np.testing.assert_allclose(measured, stddev, rtol=1e-6 if arithmetic == "float" else 1.1 * 2.0**-10)
        assert (measured >= stddev * (1.0 - 1e-6)).all()
        for before in range(j):
            # Exact sums have the same bits in every trial; how BLAS rounds others may depend on a trial's place.
            rounding = 0.0 if arithmetic == "exact" else 1e-9 * expected[before].stddev
            np.testing.assert_allclose(loud[before], quiet[before], rtol=0.0, atol=rounding)


def symmetric(draw):
    """The standard deviation of each entry: half of the variance off the diagonal, where every number stands twice."""
    return draw.stddev * np.where(np.eye(draw.width) > 0, 1.0, math.sqrt(0.5))
