"""Replay with a whole unit zeroed: no release moves by more than was declared, and replay sees it if one does."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_replay import WIDTH, assert_that_it_holds, drawn, numbers

from dpols import Bounds
from dpols.algorithms import ALGORITHMS, GENERALISED
from dpols.audit import replay
from dpols.audit.replay import replay_program, without_row
from dpols.data import ArraySource, BoundedRows
from dpols.data.units import source_of_units
from dpols.mechanisms import Channel
from dpols.privacy import PrivacyBudget
from dpols.randomness import streams
from dpols.statistics import gram

BOUNDS = (
    Bounds(x_norm=1.0, y_abs=1.0),
    Bounds(features=[(0.0, 7.0), (-5.0, 90.0)], target=(0.0, 200_000.0)),
)
tables = st.lists(st.tuples(*[numbers] * (WIDTH + 1)), min_size=1, max_size=8).map(np.array)


@pytest.mark.parametrize("arithmetic", ["exact", "float"])
@pytest.mark.parametrize("method", [*ALGORITHMS, *GENERALISED])
@settings(max_examples=15)
@given(data=st.data())
def test_one_unit_moves_every_release_by_no_more_than_declared_and_nothing_else(method, arithmetic, data):
    table = data.draw(tables)
    report = replay(
        method,
        (table[:, :-1], table[:, -1]),
        data.draw(st.integers(0, len(table) - 1)),
        ids=data.draw(st.lists(st.sampled_from("abc"), min_size=len(table), max_size=len(table))),
        max_rows_per_unit=data.draw(st.integers(1, 4)),
        bounds=data.draw(st.sampled_from(BOUNDS)),
        arithmetic=arithmetic,
        **drawn(data, method),
    )
    assert_that_it_holds(report, arithmetic)


def longest(equal: bool):
    """A unit of two rows of norm 1, the same one twice or two that are orthogonal, and a dozen others."""
    own = np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0] if equal else [0.0, 1.0, 0.0]])
    X = np.vstack((own, np.tile([0.0, 0.0, 1.0], (12, 1))))
    return X, np.array([1.0, 1.0, *[-1.0] * 12]), ["own", "own", *range(12)]


@pytest.mark.parametrize("method", ["ihm", "adassp", "boosted-adassp", "dp-gd", "linmix"])
@pytest.mark.parametrize("arithmetic", ["exact", "float"])
def test_a_unit_of_equal_rows_attains_what_is_declared_of_sums(method, arithmetic):
    X, y, ids = longest(equal=True)
    options = {"eigenvalue": "off"} if method in ("ihm", "linmix") else {}
    report = replay(
        method,
        (X, y),
        0,
        ids=ids,
        max_rows_per_unit=2,
        bounds=Bounds(x_norm=1.0, y_abs=1.0),
        budget=PrivacyBudget(1.0, 1e-6),
        fit_intercept=False,
        arithmetic=arithmetic,
        options=options,
    )
    assert report.holds
    others = [call for call in report.calls if call.mechanism != "mix_gram"]
    first = [call for call in others if call.ratio > 0.999]
    assert first or method == "linmix"


def test_orthogonal_rows_of_a_unit_attain_the_floor_of_a_sketch():
    X, y, ids = longest(equal=False)
    report = replay(
        "ihm",
        (X, y),
        0,
        ids=ids,
        max_rows_per_unit=2,
        bounds=Bounds(x_norm=1.0, y_abs=1.0),
        budget=PrivacyBudget(1.0, 1e-6),
        fit_intercept=False,
        options={"eigenvalue": "off"},
    )
    assert report.holds
    sketches = [call.ratio for call in report.calls if call.mechanism == "mix_gram"]
    assert all(0.9999 < ratio <= 1.0 for ratio in sketches)


@pytest.mark.parametrize("arithmetic", ["exact", "float"])
def test_replay_sees_a_unit_that_is_charged_as_one_row(arithmetic):
    X, y, ids = longest(equal=True)
    row_map = Bounds(x_norm=1.0, y_abs=1.0).row_map(n_features=3, columns=None, fit_intercept=False)
    pair = [
        BoundedRows(
            source_of_units(ArraySource(*arrays), ids, max_rows=2, bad_rows="zero"), row_map, "zero", arithmetic, 2
        )
        for arrays in ((X, y), without_row(X, y, np.array([0, 1])))
    ]

    def released(statistic_of, rows, bits):
        channel = Channel(bits)
        noisy = channel.symmetric_gaussian(statistic_of(rows), multiplier=1.0)

        class Result:
            releases, theta, transcript = channel.releases, noisy, {}

        return Result

    honest = replay_program(lambda *a: released(gram, *a), *pair, bits=streams(0, 1))
    assert honest.holds
    assert honest.worst_ratio == pytest.approx(1.0, abs=1e-5)

    def of_one_row(rows):
        statistic = gram(rows)
        return replace(statistic, sensitivity=statistic.sensitivity / 2)

    assert not replay_program(lambda *a: released(of_one_row, *a), *pair, bits=streams(0, 1)).holds


def test_rows_beyond_the_number_of_a_unit_add_nothing():
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, (9, 2)), rng.uniform(-1, 1, 9)
    ids = ["a", "b", "a", "a", "b", "c", "a", "b", None]
    row_map = Bounds(x_norm=2.0, y_abs=1.0).row_map(n_features=2, columns=None, fit_intercept=True)
    source = source_of_units(ArraySource(X, y), ids, max_rows=2, bad_rows="zero")
    kept = np.flatnonzero(source.kept)
    assert sorted(ids[place] for place in kept) == ["a", "a", "b", "b", "c"]
    by_units = gram(BoundedRows(source, row_map, "raise", "exact", 2))
    plain = gram(BoundedRows(ArraySource(X[kept], y[kept]), row_map, "raise", "exact"))
    assert source.n_rows == 9
    np.testing.assert_array_equal(by_units.value, plain.value)
    assert by_units.sensitivity == 2 * plain.sensitivity
    assert by_units.step == plain.step / 2
