"""Sums in two limbs are the sums of the whole numbers, however many rows there are."""

import ast
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpols import Bounds, data
from dpols.data import ArraySource, BoundedRows, rounding
from dpols.data.fixed_point import FixedPointSpan
from dpols.data.source import Total
from dpols.data.whole_numbers import ONE, from_limbs, to_limbs
from dpols.statistics import gram, gram_with_target, totals


@pytest.mark.parametrize(("smaller", "within"), [(1.0, True), (1.001, False)])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_rows_that_rounding_leaves_too_long_are_zero_where_limits_do_not_rule_them_out(fit_intercept, smaller, within):
    corners = np.array([[-1.0, 2.0, 0.5], [1.0, -2.0, -0.5], [0.1, 0.1, 0.1]])
    bounds = Bounds(features=[(-1.0, 1.0), (-2.0, 2.0), (-0.5, 0.5)], y_abs=1.0)
    row_map = bounds.row_map(n_features=3, columns=None, fit_intercept=fit_intercept)
    norm = row_map.feature_norm / smaller
    row_map = replace(row_map, feature_norm=norm, intercept=norm if fit_intercept else None)
    assert rounding.is_within(row_map) == within
    bounded = BoundedRows(ArraySource(corners, np.ones(3)), row_map, arithmetic="exact")
    count = totals(bounded).value[1] >> 40
    assert count == (3 if within else 1)
    assert np.trace(gram(bounded).value) <= 2**40 * count


products = st.integers(-(2**53), 2**53).map(float)


@given(values=st.lists(products, min_size=1, max_size=6), times=st.integers(1, 2**31 - 1))
def test_limbs_that_are_added_many_times_stand_for_the_sum(values, times):
    high, low = to_limbs(np.array(values))
    found = from_limbs(high * times, low * times)
    assert [int(value) for value in found] == [int(value) * times for value in values]


@pytest.mark.parametrize("exponent", [28, 29, 30])
@pytest.mark.parametrize("below", [-1, 0, 1])
def test_limbs_at_the_border_of_64_bits(exponent, below):
    high, low = np.array([(1 << exponent) + below, -(1 << exponent) - below]), np.array([0, (1 << 62) - 1])
    assert [int(v) for v in from_limbs(high, low)] == [int(h) * 2**32 + int(v) for h, v in zip(high, low, strict=True)]


class Repeated:
    """A table whose rows stand in it so many times."""

    columns, n_features = None, 2

    def __init__(self, X, y, times):
        self.source, self.times, self.n_rows = ArraySource(X, y), times, len(y) * times

    def total(self, kernel, *args):
        total = self.source.total(kernel, *args)
        return Total(tuple(value * self.times for value in total.values), self.n_rows)


@pytest.mark.parametrize("times", [1, 2**20, 2**22, 2**23, 2**26, 2**30])
@pytest.mark.parametrize("statistic", [gram, gram_with_target, totals], ids=["gram", "with target", "totals"])
def test_statistics_of_many_rows_are_multiples_of_those_of_a_few(statistic, times):
    X, y = np.array([[1.0, 0.0], [0.6, -0.8], [-1.0, 0.0]]), np.array([1.0, -1.0, -0.25])
    row_map = Bounds(x_norm=1.0, y_abs=1.0).row_map(n_features=2, columns=None, fit_intercept=False)

    def of(source):
        return statistic(BoundedRows(source, row_map, "raise", "exact"))

    few, many = of(ArraySource(X, y)), of(Repeated(X, y, times))
    assert (many.value.astype(object) == few.value.astype(object) * times).all()
    assert (many.sensitivity, many.step) == (few.sensitivity, few.step)


LENGTHS, ONE_TRIAL = np.full((20_001, 1), 1.0), np.ones(1)
SUMS = {
    "gram": (),
    "gram_and_first_gradient": (1.0,),
    "gram_with_target": (),
    "clipped_gradient": (np.zeros((1, 2)), np.zeros(1), 1.0),
    "clipped_squares": (np.zeros((1, 2)), np.zeros(1), 1.0),
    "norm_clipped_gradient": (np.zeros((1, 2)), np.zeros(1), 1.0),
    "totals_and_products": (),
    "shortened_gram": (LENGTHS, ONE_TRIAL, 0.0 * ONE_TRIAL),
    "shortened_gradient": (LENGTHS, np.zeros((1, 2)), np.full(1, 20.0), 2.0 * ONE_TRIAL),
    "shortened_scores": (
        LENGTHS,
        np.zeros((1, 2)),
        np.zeros(1),
        None,
        ONE_TRIAL,
        ONE * np.eye(2)[None],
        np.full((1, 2), 20.0),
    ),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", SUMS)
def test_a_sum_over_more_rows_than_products_may_have_is_exact(name, weighted):
    """Odd numbers as large as they may be: a sum of products of all rows at once would lose its last bits."""
    n = len(LENGTHS)
    rows = np.column_stack((np.full(n, ONE - 1.0), np.full(n, 1.0)))
    root = np.full(n, ONE - 1.0) if weighted else None
    span = FixedPointSpan(rows, np.full(n, ONE - 1.0), root)

    def whole(part, start, stop):
        args = (arg[start:stop] if arg is LENGTHS else arg for arg in SUMS[name])
        limbs = getattr(part, name)(*args)
        return [high.astype(object) * 2**32 + low for high, low in zip(limbs[::2], limbs[1::2], strict=True)]

    found = whole(span, 0, n)
    expected = None
    for start in range(0, n, 1000):
        stop = min(start + 1000, n)
        part = FixedPointSpan(rows[start:stop], span.target[start:stop], None if root is None else root[start:stop])
        sums = whole(part, start, stop)
        expected = sums if expected is None else [a + b for a, b in zip(expected, sums, strict=True)]
    for one, other in zip(found, expected, strict=True):
        assert (one == other).all()


def test_products_over_rows_let_other_threads_run():
    """``@`` keeps the interpreter's lock where the result is small; ``np.dot`` never does."""
    folder = Path(data.__file__).parent
    for file in (*folder.glob("*.py"), *folder.glob("files/*.py")):
        nodes = ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        assert not any(isinstance(node, ast.MatMult) for node in nodes), file.name
