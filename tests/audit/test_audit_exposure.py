"""Replay of rows with exposure: a row moves no release by more than was declared, whatever its exposure is."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_replay import BOUNDS, WIDTH, assert_that_it_holds, drawn, magnitudes, numbers

from dpols.audit import replay
from dpols.data import Bounds
from dpols.privacy import PrivacyBudget

exposures = st.one_of(st.sampled_from([0.0, -0.0, 1e-30, 1.0, 2.5, 3.0, 3.1, -1.0, np.nan, np.inf, 1e30]), magnitudes)
tables = st.lists(st.tuples(*[numbers] * (WIDTH + 1), exposures), min_size=1, max_size=5).map(np.array)


@pytest.mark.parametrize("arithmetic", ["exact", "float"])
@pytest.mark.parametrize("method", ["poisson", "poisson-inference"])
@settings(max_examples=12)
@given(data=st.data())
def test_one_row_moves_every_release_by_no_more_than_declared_and_nothing_else(method, arithmetic, data):
    table = data.draw(tables)
    report = replay(
        method,
        (table[:, :WIDTH], table[:, WIDTH]),
        data.draw(st.integers(0, len(table) - 1)),
        exposure=table[:, -1],
        exposure_range=data.draw(st.sampled_from([(1e-100, 1e-99), (0.5, 3.0), (1e-3, 1e3), (1e99, 1e100)])),
        bounds=data.draw(st.sampled_from(BOUNDS)),
        arithmetic=arithmetic,
        **drawn(data, method),
    )
    assert_that_it_holds(report, arithmetic)


@pytest.mark.parametrize("arithmetic", ["exact", "float"])
@pytest.mark.parametrize("own", [3.0, 1e6])
def test_a_row_of_the_largest_exposure_or_more_attains_what_is_declared_of_totals(own, arithmetic):
    X, y = np.repeat(np.eye(2), (1, 8), axis=0), np.repeat([1.0, 0.0], (1, 8))
    report = replay(
        "poisson",
        (X, y),
        0,
        exposure=np.array([own, *[1.0] * 8]),
        exposure_range=(0.5, 3.0),
        bounds=Bounds(x_norm=1.0, target=(0.0, 1.0)),
        budget=PrivacyBudget(1.0, 1e-6),
        fit_intercept=False,
        arithmetic=arithmetic,
    )
    assert_that_it_holds(report, arithmetic)
    assert report.calls[0].ratio > 0.999
