"""An attack on the last bits: which of two neighbouring data sets could have produced the doubles that were released?

A product or a sum of doubles does not reach every double, and normals made from finitely many bits do not either. An
attacker who knows both data sets can look for the drawn numbers that each would have needed; where there are none, it
was the other. This tells neighbours apart at any epsilon, without looking at sizes at all. The attack is run against
floating-point releases, where it wins, and against exactly rounded ones, where it must do no better than a coin.
"""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from dpols import Bounds
from dpols.algorithms import algorithm, ihm
from dpols.data import ArraySource, BoundedRows
from dpols.mechanisms import Channel
from dpols.privacy import MixingRelease, PrivacyBudget, epsilon_of
from dpols.randomness import SeededBits
from dpols.statistics import clipped_gradient, gram

TRIES = 150
FLOOR = 512.0
# What pure guessing stays within in all but one of a thousand series, and what counts as a win.
BY_CHANCE = binom.interval(0.999, TRIES, 0.5)
SURE = 0.95 * TRIES


def doubles_near(values, reach):
    """Every value's neighbours among the doubles, up to ``reach`` steps away on either side."""
    bits = np.asarray(values, dtype=np.float64).view(np.int64)
    return (bits + np.arange(-reach, reach + 1).reshape(-1, *[1] * bits.ndim)).view(np.float64)


def products_of(released, factor):
    """Whether each released number is the rounded product of the factor and some double."""
    return (doubles_near(released / factor, 3) * factor == released).any(axis=0)


def squares_of_products_of(released, factor):
    """Whether each released number is the rounded square of a rounded product of the factor and some double."""
    roots = doubles_near(np.sqrt(released), 3)
    return ((roots * roots == released) & products_of(roots, factor)).any(axis=0)


def sums_with_noise(released, exact, stddev):
    """Whether each released number is the exact value plus noise that 52 bits can give."""
    cell = np.floor(ndtr((released - exact) / stddev) * 2.0**52)
    noise = stddev * ndtri((cell + np.arange(-16, 17).reshape(-1, *[1] * cell.ndim) + 0.5) * 2.0**-52)
    return (exact + noise == released).any(axis=0)


def wins(release, possible):
    """How often the attacker names the data set, out of TRIES; 0 has the row and 1 does not."""
    rng = np.random.default_rng(0)
    won = 0
    for attempt in range(TRIES):
        truth = int(rng.integers(2))
        released = release(truth, attempt)
        impossible = [int((~possible(released, candidate)).sum()) for candidate in (0, 1)]
        guess = int(impossible[1] < impossible[0]) if impossible[0] != impossible[1] else int(rng.integers(2))
        won += guess == truth
    return won


@pytest.fixture(scope="module")
def tables():
    rng = np.random.default_rng(3)
    X = rng.uniform(-0.5, 0.5, (40, 3))
    y = rng.uniform(-1.0, 1.0, 40)
    return (X, y), (np.vstack((np.zeros((1, 3)), X[1:])), np.concatenate(([0.0], y[1:])))


def rows_of(table, arithmetic="float"):
    row_map = Bounds(x_norm=1.0, y_abs=1.0).row_map(n_features=3, columns=None, fit_intercept=False)
    return BoundedRows(ArraySource(*table), row_map, "zero", arithmetic)


def roots(tables):
    """The first entry of the root of the sketched matrix, for both data sets."""
    shifted = [gram(rows_of(table)).value + (FLOOR - 1.0) * np.eye(3) for table in tables]
    return [np.linalg.cholesky(matrix)[0, 0] for matrix in shifted]


def test_it_wins_against_rows_of_a_floating_point_sketch(tables):
    factors = [np.linalg.cholesky(X.T @ X + (FLOOR - 1.0) * np.eye(3)) for X, _ in tables]

    def release(truth, attempt):
        return np.random.default_rng([1, attempt]).standard_normal((60, 3)) @ factors[truth].T

    assert epsilon_of([MixingRelease(60, FLOOR)], 1e-6) < 0.15
    assert wins(release, lambda sketch, which: products_of(sketch[:, 0], factors[which][0, 0])) >= SURE


def test_it_is_at_chance_against_rows_of_an_exactly_rounded_sketch(tables):
    first = roots(tables)
    grams = [gram(rows_of(table, "exact")) for table in tables]

    def release(truth, attempt):
        return Channel([SeededBits(attempt)]).mix_rows(grams[truth], rows=60, floor=FLOOR).rows[0, :, 0]

    assert BY_CHANCE[0] <= wins(release, lambda entries, which: products_of(entries, first[which])) <= BY_CHANCE[1]


@pytest.mark.parametrize("arithmetic", ["float", "exact"])
def test_it_wins_against_the_gram_matrix_of_a_floating_point_sketch_only(tables, arithmetic):
    first = roots(tables)
    grams = [gram(rows_of(table, arithmetic)) for table in tables]

    def release(truth, attempt):
        return Channel([SeededBits(attempt)] * 80).mix_gram(grams[truth], rows=4, floor=FLOOR).gram[:, 0, 0]

    assert epsilon_of([MixingRelease(4, FLOOR)] * 80, 1e-6) < 0.2
    won = wins(release, lambda corners, which: squares_of_products_of(corners, first[which]))
    assert won >= SURE if arithmetic == "float" else BY_CHANCE[0] <= won <= BY_CHANCE[1]


@pytest.mark.parametrize("arithmetic", ["float", "exact"])
def test_it_wins_against_the_gradients_of_a_floating_point_fit_only(tables, arithmetic):
    plan = algorithm("ihm").plan(PrivacyBudget(0.15, 1e-6), n_rows=40, n_features=3, n_iterations=2, eigenvalue="off")
    stddev = plan.gradient_multiplier * plan.residual_bound
    start = np.zeros((1, 3))
    exact = [clipped_gradient(rows_of(table), start, residual_bound=plan.residual_bound).value[0] for table in tables]

    def release(truth, attempt):
        fit = ihm.run(rows_of(tables[truth], arithmetic), plan, [SeededBits(attempt)])
        return fit.transcript["gradients"][0, 0]

    won = wins(release, lambda gradient, which: sums_with_noise(gradient, exact[which], stddev))
    assert won >= SURE if arithmetic == "float" else BY_CHANCE[0] <= won <= BY_CHANCE[1]
