"""Rows that are rounded at once have the bits of rows that are clipped first."""

import numpy as np
import pytest

from dpols import Bounds
from dpols.data import bounding, rounding
from dpols.data.fixed_point import FixedPointSpan

FEATURES = {
    "alike": [(-1.0, 1.0)] * 4,
    "around zero": [(-2.0, 2.0)] * 4,
    "ranges": [(0.0, 3.0), (-7.0, 2.0), (1e-3, 2e-3), (-1e6, 1e7)],
}


def table(features, width, n_rows, dtype, order):
    """Rows within ``width`` times the half of their ranges, and targets that exceed theirs."""
    low, high = np.array(features).T
    rng = np.random.default_rng(n_rows)
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    X = middle + half * rng.uniform(-width, width, (n_rows, len(low)))
    return np.asarray(X, dtype=dtype, order=order), rng.uniform(-2.0, 7.0, n_rows)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("width", [0.5, 3.0])
@pytest.mark.parametrize("kind", FEATURES)
def test_rows_rounded_at_once_are_those_clipped_first(kind, width, dtype, order, fit_intercept):
    bounds = Bounds(features=FEATURES[kind], target=(-1.0, 5.0))
    row_map = bounds.row_map(n_features=4, columns=None, fit_intercept=fit_intercept)
    assert rounding.is_by_column(row_map)
    for n_rows in (1, 3, 20_001):
        X, y = table(FEATURES[kind], width, n_rows, dtype, order)
        rows, target = rounding.rounded_rows(X, y, row_map, np.empty((n_rows, row_map.n_coordinates), order=order))
        span, bad = bounding.bounded_span(X, y, row_map, np.empty(X.shape, order=order))
        expected = FixedPointSpan.of(span, np.empty(rows.shape, order=order), within=True)
        assert bad == 0
        np.testing.assert_array_equal(rows, expected.rows)
        np.testing.assert_array_equal(target, expected.target)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1.7e308])
@pytest.mark.parametrize("kind", FEATURES)
def test_rows_that_may_be_bad_are_left_to_the_general_way(kind, value):
    X, y = table(FEATURES[kind], 1.0, 20_001, "f8", "C")
    row_map = Bounds(features=FEATURES[kind], target=(-1.0, 5.0)).row_map(
        n_features=4, columns=None, fit_intercept=True
    )
    buffer = np.empty((len(X), 5))
    X[20_000, 2] = value
    assert rounding.rounded_rows(X, y, row_map, buffer) is None
    X[20_000, 2], y[7] = 0.0, np.nan
    assert rounding.rounded_rows(X, y, row_map, buffer) is None
