"""Products with a metric are rounded down as fractions are, whatever way is taken to find them."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpols.data.whole_numbers import quantised
from dpols.statistics.whole_products import WholeMetric


def a_metric(rng, d, spread=1.0):
    return WholeMetric(*quantised(rng.standard_normal((d, d)) * np.exp(spread * rng.standard_normal(d))[:, None]))


def sums_of(rng, d, largest):
    sums = np.array([rng.integers(-largest, largest, endpoint=True) for _ in range(d * d)]).reshape(d, d)
    return np.triu(sums) + np.triu(sums, 1).T


def true_gram(metric, sums, limit):
    step = [Fraction(2) ** -int(power) for power in metric.exponent]
    columns = [[int(entry) * own for entry in line] for line, own in zip(metric.columns, step, strict=True)]
    half = [[dot(line, column) for column in sums.T.tolist()] for line in columns]
    return [[math.floor(dot(line, other) / Fraction(limit) ** 2) for other in columns] for line in half]


def dot(left, right):
    return sum(a * b for a, b in zip(left, right, strict=True))


@pytest.mark.parametrize("d", [1, 2, 5, 17])
@pytest.mark.parametrize("largest", [0, 1, 10**6, 2**45, 2**60])
@pytest.mark.parametrize("limit", [1e-3, 0.37, 1.0, 12.5])
def test_a_gram_matrix_is_rounded_down(d, largest, limit):
    rng = np.random.default_rng([d, largest])
    metric, sums = a_metric(rng, d), sums_of(rng, d, largest)
    assert metric.gram(sums, limit).tolist() == true_gram(metric, sums, limit)


@pytest.mark.parametrize("d", [3, 20, 60])
def test_most_gram_matrices_need_no_integers(d):
    rng = np.random.default_rng(d)
    metric, sums = a_metric(rng, d), sums_of(rng, d, 2**38)
    found = metric._gram_by_limbs(sums, 0.37)
    assert found is not None
    assert found.dtype == np.int64
    assert (found == metric._gram_by_integers(sums, 0.37)).all()


def test_what_cancels_is_rounded_down():
    """Large terms that leave a small difference are not known to the last step, so integers decide."""
    rng = np.random.default_rng(4)
    metric = WholeMetric(*quantised(np.ones((6, 6)) + 1e-9 * rng.standard_normal((6, 6))))
    signs = np.array([1, -1, 1, -1, 1, -1])
    sums = np.outer(signs, signs) * 2**58 + sums_of(rng, 6, 3)
    assert metric.gram(sums, 0.7).tolist() == true_gram(metric, sums, 0.7)


def test_whole_numbers_are_left_to_integers():
    """Where rounding down is a step, doubles do not tell the side."""
    metric, sums = WholeMetric(*quantised(np.eye(4))), sums_of(np.random.default_rng(5), 4, 2**50)
    assert metric._gram_by_limbs(sums, 1.0) is None
    assert metric.gram(sums, 1.0).tolist() == sums.tolist()


@pytest.mark.parametrize("limit", [1e-100, 1e-30, 1e30, 1e100])
def test_limits_far_from_one(limit):
    rng = np.random.default_rng(6)
    metric, sums = a_metric(rng, 5), sums_of(rng, 5, 2**40)
    assert metric.gram(sums, limit).tolist() == true_gram(metric, sums, limit)


def test_sums_beyond_64_bits():
    rng = np.random.default_rng(7)
    metric, sums = a_metric(rng, 5), sums_of(rng, 5, 2**40).astype(object) * 2**30
    assert metric.gram(sums, 0.37).tolist() == true_gram(metric, sums, 0.37)


@pytest.mark.parametrize("scale", [1e-200, 1e-20, 1e20, 1e200])
def test_metrics_far_from_one(scale):
    rng = np.random.default_rng(8)
    metric = WholeMetric(*quantised(scale * rng.standard_normal((5, 5))))
    sums = sums_of(rng, 5, 2**40)
    assert metric.gram(sums, 0.37).tolist() == true_gram(metric, sums, 0.37)


def test_many_columns_of_the_largest_entries():
    """Entries of equal sign and of the largest size come closest to what a double holds."""
    d = 300
    columns = np.full((d, d), np.floor(2.0**33 / math.sqrt(d)))
    metric, sums = WholeMetric(columns, np.full(d, 30.0)), np.full((d, d), 2**61 - 1)
    found = metric._gram_by_limbs(sums, 1.0e4)
    true = math.floor(Fraction(int(columns[0, 0]) * d) ** 2 * (2**61 - 1) / Fraction(2**30 * 10**4) ** 2)
    assert found is not None
    assert (found == true).all()
