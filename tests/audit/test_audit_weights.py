"""Replay and audit of weighted rows: a row moves no release by more than was declared, whatever its weight is."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_replay import BOUNDS, WIDTH, assert_that_it_holds, drawn, magnitudes, numbers

from dpols.algorithms import ALGORITHMS, GENERALISED
from dpols.audit import replay
from dpols.audit.lower_bound import audit
from dpols.audit.replay import without_row
from dpols.audit.subjects import BUDGET, Subject
from dpols.data import ArraySource, BoundedRows, Bounds
from dpols.mechanisms import Channel
from dpols.privacy import PrivacyBudget, gaussian_multiplier
from dpols.statistics import clipped_gradient, totals

RUNS = 15_000
MAX_WEIGHT = 3.0
weights = st.one_of(st.sampled_from([0.0, -0.0, 1e-30, 1.0, 2.5, 3.0, 3.1, -1.0, np.nan, np.inf]), magnitudes)
tables = st.lists(st.tuples(*[numbers] * (WIDTH + 1), weights), min_size=1, max_size=5).map(np.array)


@pytest.mark.parametrize("arithmetic", ["exact", "float"])
@pytest.mark.parametrize("method", [*ALGORITHMS, *GENERALISED])
@settings(max_examples=12)
@given(data=st.data())
def test_one_weighted_row_moves_every_release_by_no_more_than_declared_and_nothing_else(method, arithmetic, data):
    table = data.draw(tables)
    report = replay(
        method,
        (table[:, :WIDTH], table[:, WIDTH]),
        data.draw(st.integers(0, len(table) - 1)),
        weights=table[:, -1],
        max_weight=data.draw(st.sampled_from([1e-100, 1.0, MAX_WEIGHT, 1e100])),
        bounds=data.draw(st.sampled_from(BOUNDS)),
        arithmetic=arithmetic,
        **drawn(data, method),
    )
    assert_that_it_holds(report, arithmetic)


@pytest.mark.parametrize("arithmetic", ["exact", "float"])
@pytest.mark.parametrize("method", ["ihm", "adassp", "boosted-adassp", "dp-gd"])
def test_a_row_of_the_largest_weight_or_more_attains_what_is_declared(method, arithmetic):
    X, y = np.repeat(np.eye(2), (1, 8), axis=0), np.repeat([1.0, -1.0], (1, 8))
    options = {"eigenvalue": "off"} if method == "ihm" else {}
    for own in (MAX_WEIGHT, 1e6):
        report = replay(
            method,
            (X, y),
            0,
            weights=np.array([own, *[1.0] * 8]),
            max_weight=MAX_WEIGHT,
            bounds=Bounds(x_norm=1.0, y_abs=1.0),
            budget=PrivacyBudget(1.0, 1e-6),
            fit_intercept=False,
            arithmetic=arithmetic,
            options=options,
        )
        assert report.holds
        assert report.worst_ratio > 0.999


@dataclass(frozen=True)
class Weighted(Subject):
    """Data whose first row has a weight above the largest, which the neighbour lacks; others have a third of it."""

    def neighbours(self, arithmetic):
        row_map = Bounds(x_norm=1.0, y_abs=1.0).row_map(n_features=2, columns=None, fit_intercept=False)
        row_map = replace(row_map, max_weight=MAX_WEIGHT)
        X, y = self.data
        beside = np.column_stack((y, [10.0 * MAX_WEIGHT, *[1.0] * (len(y) - 1)]))
        sides = ((X, beside), without_row(X, beside, 0))
        return tuple(BoundedRows(ArraySource(*side), row_map, "zero", arithmetic) for side in sides)


def data():
    return np.repeat(np.eye(2), (1, 8), axis=0), np.repeat([1.0, -1.0], (1, 8))


def gradient(rows, bits):
    start = np.zeros((1, 2))
    Channel(bits).gaussian(clipped_gradient(rows, start, residual_bound=1.0), multiplier=gaussian_multiplier(BUDGET))


def all_totals(rows, bits):
    Channel(bits).gaussian(totals(rows), multiplier=gaussian_multiplier(BUDGET))


def totals_charged_without_weights(rows, bits):
    statistic = totals(rows)
    cheap = replace(statistic, sensitivity=statistic.sensitivity / 3.0)
    Channel(bits).gaussian(cheap, multiplier=gaussian_multiplier(BUDGET))


@pytest.mark.parametrize(("program", "least"), [(gradient, 2.5), (all_totals, 2.3)])
def test_no_attack_finds_more_than_is_claimed_for_weighted_rows(program, least):
    found = audit(Weighted("weights", program, BUDGET, data()), runs=RUNS, seed=1)
    assert found.holds
    assert least < found.lower_bound <= BUDGET.epsilon


def test_an_attack_finds_totals_that_are_charged_too_little():
    assert not audit(Weighted("weights", totals_charged_without_weights, BUDGET, data()), runs=RUNS, seed=1).holds
