"""Replay: what one row can move, in every method, is no more than was declared; and replay sees it where it is."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpols import Bounds
from dpols.algorithms import ALGORITHMS, GENERALISED
from dpols.audit import replay
from dpols.audit.replay import replay_program, without_row
from dpols.audit.subjects import end_to_end
from dpols.audit.tape import MECHANISMS
from dpols.data import ArraySource, BoundedRows
from dpols.mechanisms import Channel
from dpols.privacy import GaussianRelease, PrivacyBudget
from dpols.randomness import SeededBits, streams
from dpols.statistics import Statistic, clipped_gradient, gram

WIDTH = 2
BOUNDS = (
    Bounds(x_norm=1.0, y_abs=1.0),
    Bounds(x_norm=1e-100, y_abs=1e100),
    Bounds(features=[(0.0, 7.0), (-5.0, 90.0)], target=(0.0, 200_000.0)),
    Bounds(features=[(-1.0, 1.0), (1e9, 1e9 + 1.0)], x_norm=0.5, target=(-30.0, 10.0)),
)
BUDGETS = (PrivacyBudget(1e-2, 1e-9), PrivacyBudget(1.0, 1e-6), PrivacyBudget(300.0, 1e-3))
# Choices beyond a method's own, to reach every kind of release.
OPTIONS = {
    "ihm": ({}, {"eigenvalue": "on", "ridge": True}, {"eigenvalue": "off"}),
    "linmix": ({}, {"eigenvalue": "on"}),
}

magnitudes = st.one_of(
    st.sampled_from([0.0, 5e-324, 1e-154, 1e-8, 0.5, 1.0, 90.0, 1e9, 1.4e154, 1.7e308]),
    st.floats(0.0, 3.0),
    st.integers(-320, 307).map(lambda exponent: float(f"1e{exponent}")),
)
numbers = st.builds(lambda sign, magnitude: sign * magnitude, st.sampled_from([-1.0, 1.0]), magnitudes)
tables = st.lists(st.tuples(*[numbers] * (WIDTH + 1)), min_size=1, max_size=5).map(np.array)


class ExtremeBits:
    """A stream whose words are all alike: the smallest, largest or middlemost numbers that can be drawn."""

    seeded = True

    def __init__(self, word):
        self._word = word

    def words(self, count):
        return np.full(count, self._word, dtype=np.uint64)

    def spawn(self):
        return SeededBits(0)


all_bits = st.one_of(
    st.integers(0, 2**32).map(SeededBits), st.sampled_from([0, 1, 2**40, 2**63, 2**64 - 1]).map(ExtremeBits)
)


def drawn(data, method):
    """Draw what every replay needs beside rows and bounds."""
    return {
        "budget": data.draw(st.sampled_from(BUDGETS)),
        "fit_intercept": data.draw(st.booleans()),
        "options": data.draw(st.sampled_from(OPTIONS.get(method, ({},)))),
        "direction": data.draw(st.sampled_from(["remove", "add"])),
        "bits": [data.draw(all_bits)],
    }


def assert_that_it_holds(report, arithmetic):
    assert report.calls
    assert report.same_path
    assert report.same_output
    assert report.accounted
    assert all(call.within for call in report.calls)
    if arithmetic == "exact":
        assert report.worst_ratio <= 1.0


@pytest.mark.parametrize("arithmetic", ["exact", "float"])
@pytest.mark.parametrize("method", [*ALGORITHMS, *GENERALISED])
@settings(max_examples=40)
@given(data=st.data())
def test_one_row_moves_every_release_by_no_more_than_declared_and_nothing_else(method, arithmetic, data):
    table = data.draw(tables)
    report = replay(
        method,
        (table[:, :-1], table[:, -1]),
        data.draw(st.integers(0, len(table) - 1)),
        bounds=data.draw(st.sampled_from(BOUNDS)),
        arithmetic=arithmetic,
        **drawn(data, method),
    )
    assert_that_it_holds(report, arithmetic)


@pytest.mark.parametrize("arithmetic", ["exact", "float"])
def test_several_trials_are_compared_one_by_one(arithmetic):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 3)), rng.standard_normal(40)
    report = replay(
        "ihm",
        (X, y),
        5,
        bounds=Bounds(x_norm=1.0, y_abs=1.0),
        budget=PrivacyBudget(1.0, 1e-6),
        arithmetic=arithmetic,
        bits=streams(1, 4),
    )
    assert report.holds
    assert [call.mechanism for call in report.calls] == ["mix_gram", "gaussian"] * 3


def test_the_longest_row_attains_what_is_declared():
    X, y = np.repeat(np.eye(2), (1, 8), axis=0), np.repeat([1.0, -1.0], (1, 8))
    report = replay(
        "ihm",
        (X, y),
        0,
        bounds=Bounds(x_norm=1.0, y_abs=1.0),
        budget=PrivacyBudget(1.0, 1e-6),
        fit_intercept=False,
        options={"residual_bound": 0.1},
    )
    assert report.holds
    assert all(0.9999 < call.ratio <= 1.0 for call in report.calls)


@pytest.mark.parametrize("arithmetic", ["exact", "float"])
@pytest.mark.parametrize("method", GENERALISED)
def test_the_subjects_of_an_audit_attain_what_generalised_models_declare(method, arithmetic):
    subject = end_to_end(method)[0]
    report = replay_program(subject.program, *subject.neighbours(arithmetic), bits=streams(1, 1))
    assert report.holds
    assert 0.999 < report.worst_ratio <= 1.0 + 1e-12


def test_every_way_out_of_a_channel_is_on_tape():
    """A way out is a mechanism of the tape or calls them; a new one needs a rule for what its input may move."""
    made_of_mechanisms = {"eigenvalue", "certain_smallest_eigenvalue"}
    ways_out = {name for name, value in vars(Channel).items() if callable(value) and not name.startswith("_")}
    assert ways_out == {*MECHANISMS, *made_of_mechanisms}


@dataclass(frozen=True)
class Result:
    """What the programs below return."""

    theta: np.ndarray
    releases: tuple
    transcript: dict = field(default_factory=dict)


def seen(program, *, arithmetic="float"):
    """Replay a program on three rows, of which the second is zeroed."""
    X, y = np.array([[0.6, 0.0], [0.8, 0.6], [0.0, 0.7]]), np.array([0.5, -1.0, 0.25])
    row_map = Bounds(x_norm=1.0, y_abs=1.0).row_map(n_features=2, columns=None, fit_intercept=False)
    pair = [BoundedRows(ArraySource(*side), row_map, "zero", arithmetic) for side in ((X, y), without_row(X, y, 1))]
    return replay_program(program, *pair, bits=streams(0, 1))


@pytest.mark.parametrize("mechanism", ["mix_gram", "mix_rows"])
def test_rows_and_gram_matrices_of_sketches_are_measured_alike(mechanism):
    def program(rows, bits):
        channel = Channel(bits)
        certain = channel.certain_smallest_eigenvalue(gram(rows), multiplier=1.0, margin=4.0)
        mixed = getattr(channel, mechanism)(gram(rows), rows=5, floor=3.0, certain=certain)
        return Result(mixed.gram if mechanism == "mix_gram" else mixed.rows, channel.releases)

    report = seen(program, arithmetic="exact")
    assert report.holds
    assert [call.mechanism for call in report.calls] == ["gaussian", mechanism]
    # The row's leverage in X'X + 3 I, over one third.
    X = np.array([[0.6, 0.0], [0.8, 0.6], [0.0, 0.7]])
    assert report.calls[1].ratio == pytest.approx(
        3.0 * X[1] @ np.linalg.solve(X.T @ X + 3.0 * np.eye(2), X[1]), rel=1e-4
    )


def honest(rows, bits, *, floor=3.0):
    channel = Channel(bits)
    hessian = gram(rows)
    channel.symmetric_gaussian(hessian, multiplier=2.0)
    channel.mix_gram(hessian, rows=5, floor=floor)
    gradient = clipped_gradient(rows, np.zeros((1, 2)), residual_bound=1.0)
    return Result(channel.gaussian(gradient, multiplier=2.0), channel.releases)


@pytest.mark.parametrize("arithmetic", ["exact", "float"])
def test_an_honest_program_passes(arithmetic):
    report = seen(honest, arithmetic=arithmetic)
    assert report.holds
    assert len(report.calls) == 3


@pytest.mark.parametrize("arithmetic", ["exact", "float"])
@pytest.mark.parametrize("statistic", ["gram", "gradient"])
@pytest.mark.parametrize("share", [0.5, 0.999])
def test_a_sensitivity_below_the_actual_change_is_seen(arithmetic, statistic, share):
    def program(rows, bits):
        channel = Channel(bits)
        true = gram(rows) if statistic == "gram" else clipped_gradient(rows, np.zeros((1, 2)), residual_bound=1.0)
        stated = Statistic(true.value, float(int(share * true.sensitivity)) or share, true.step)
        way_out = channel.symmetric_gaussian if statistic == "gram" else channel.gaussian
        return Result(way_out(stated, multiplier=2.0), channel.releases)

    report = seen(program, arithmetic=arithmetic)
    assert report.worst_ratio == pytest.approx(1.0 / share, rel=1e-4)
    assert not report.holds


@pytest.mark.parametrize("arithmetic", ["exact", "float"])
def test_a_shift_that_leaves_more_leverage_than_the_floor_allows_is_seen(arithmetic):
    def program(rows, bits):
        channel = Channel(bits)
        hessian = gram(rows)
        # As if 2 of the floor of 3 were already there.
        mixed = channel.mix_gram(hessian, rows=5, floor=3.0, certain=np.array([2.0]))
        return Result(mixed.gram, channel.releases)

    report = seen(program, arithmetic=arithmetic)
    assert report.calls[0].failed_bounds == 1
    assert not report.accounted


def test_a_sketch_of_a_matrix_that_a_row_enters_twice_is_seen():
    def program(rows, bits):
        channel = Channel(bits)
        hessian = gram(rows)
        doubled = Statistic(2.0 * hessian.value, hessian.sensitivity)
        return Result(channel.mix_gram(doubled, rows=5, floor=3.0).gram, channel.releases)

    assert seen(program).worst_ratio > 1.0


def test_data_that_bypass_the_channel_are_seen():
    def program(rows, bits):
        fit = honest(rows, bits)
        return Result(fit.theta / gram(rows).value.trace(), fit.releases)

    report = seen(program)
    assert report.same_path
    assert not report.same_output


def test_public_numbers_that_depend_on_the_data_are_seen():
    report = seen(lambda rows, bits: honest(rows, bits, floor=2.0 + gram(rows).value.trace()))
    assert not report.same_path


def test_a_release_that_depends_on_the_data_is_seen():
    def program(rows, bits):
        fit = honest(rows, bits)
        if gram(rows).value.trace() > 1.0:
            Channel(bits).gaussian(gram(rows), multiplier=2.0)
        return fit

    assert not seen(program).same_path


def test_a_release_that_is_not_stated_is_seen():
    def program(rows, bits):
        fit = honest(rows, bits)
        return Result(fit.theta, (*fit.releases[:-1], GaussianRelease(4.0)))

    report = seen(program)
    assert report.same_path
    assert report.same_output
    assert not report.accounted


@pytest.mark.parametrize("arithmetic", ["exact", "float"])
@pytest.mark.parametrize("method", GENERALISED)
def test_curvature_which_only_longer_tables_release_and_calibration_are_replayed_too(method, arithmetic):
    rng = np.random.default_rng(3)
    X, y = rng.uniform(-1.0, 1.0, (60, WIDTH)), rng.integers(0, 2, 60).astype(float)
    report = replay(
        method,
        (X, y),
        7,
        bounds=Bounds(features=[(-1.0, 1.0)] * WIDTH, target=(0.0, 1.0)),
        arithmetic=arithmetic,
        budget=PrivacyBudget(300.0, 1e-3),
        fit_intercept=True,
        options={"calibration": True},
        direction="remove",
        bits=[SeededBits(1)],
    )
    # Two Gram matrices whiten, and one more is the curvature.
    assert sum(call.mechanism == "symmetric_gaussian" for call in report.calls) >= 3
    assert_that_it_holds(report, arithmetic)
