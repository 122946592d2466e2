"""Law 4 in whitened coordinates: what a row adds to a sum is short, and depends on that row and on releases alone."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from law_cases import bounded, every_arithmetic
from test_law_sensitivity import BOUNDS, WIDTH, every_bounds, every_intercept, moved_squared, neighbours, rows, thetas

from dpols.data import ArraySource, BoundedRows
from dpols.data.fixed_point import FixedPointSpan
from dpols.statistics import (
    length_counts,
    on_grid,
    score_counts,
    score_gram,
    totals,
    unit_score_gram,
    whiten,
    whitened_gradient,
    whitened_gradient_and_counts,
    whitened_gram,
)

pytestmark = pytest.mark.filterwarnings("error")
ROUNDING = 1e-9  # of floating-point sums, in units of the sensitivity
EDGES = np.vstack((np.zeros(2), np.array([1e-3, 0.1, 1.0, 10.0])[:, None] * np.ones(2)))

seeds = st.integers(0, 2**32 - 1)
scales = st.integers(-8, 8).map(lambda exponent: 10.0**exponent)
limits = st.sampled_from([1e-6, 1e-3, 0.3, 1.0, 40.0])


def metric_of(seed, scale, width):
    """Two metrics whose axes differ in size a thousandfold."""
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.standard_normal((2, width, width)))[0]
    return turn * scale * 10.0 ** rng.uniform(-3.0, 0.0, (2, 1, width))


def sums_of(rows, metric, theta, limit):
    """Every statistic in whitened coordinates, with the number of steps by which one row may move it."""
    white = whiten(rows, metric)
    limits = np.array([limit, 0.5 * limit])
    gradient, counts = whitened_gradient_and_counts(white, theta, limit=limits, edges=EDGES)
    return {
        "totals": totals(rows),
        "lengths": length_counts(white, edges=EDGES),
        "gram": whitened_gram(white, limit=limits),
        "gradient": whitened_gradient(white, theta, limit=limits),
        "gradient with counts": gradient,
        "counts": counts,
        "counts alone": score_counts(white, theta, edges=EDGES),
        "scores": score_gram(white, theta, limit=limits),
        "scores of units": unit_score_gram(white, theta, limit=limits),
    }


@every_arithmetic
@every_bounds
@every_intercept
@settings(max_examples=15)
@given(table=rows, theta=thetas, seed=seeds, scale=scales, limit=limits)
def test_removing_a_row_moves_sums_by_at_most_the_sensitivity(
    bounds, fit_intercept, arithmetic, table, theta, seed, scale, limit
):
    width = WIDTH + fit_intercept
    theta = np.stack((theta[:width], 1e-3 * theta[:width]))
    pair = neighbours(table, bounds, fit_intercept, arithmetic)
    sides = [sums_of(side, metric_of(seed, scale, width), theta, limit) for side in pair]
    for name, more in sides[0].items():
        less = sides[1][name]
        assert more.sensitivity == less.sensitivity
        trials = [(more.value, less.value)] if more.value.ndim == 1 else zip(more.value, less.value, strict=True)
        for one, other in trials:
            if arithmetic == "exact":
                moved = sum((int(a) - int(b)) ** 2 for a, b in zip(one.ravel(), other.ravel(), strict=True))
                assert moved <= int(more.sensitivity) ** 2, name
            else:
                size = 1.0 + np.abs(one).max() / more.sensitivity
                assert np.linalg.norm(one - other) <= more.sensitivity * (1.0 + ROUNDING * size), name


def ready(seed=1, n_rows=300, width=5):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n_rows, width)) * np.geomspace(0.01, 1.0, width)
    return X / np.sqrt(width), rng.uniform(-1.0, 1.0, n_rows)


def lengths_of(X, metric):
    """The lengths of rows in exact arithmetic, as a span holds them."""
    seen = []
    original = FixedPointSpan.length_counts

    def watch(self, lengths, edges):
        seen.append(lengths)
        return original(self, lengths, edges)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FixedPointSpan, "length_counts", watch)
        rows = bounded(X, np.zeros(len(X)), arithmetic="exact")
        length_counts(whiten(rows, metric), edges=EDGES)
    return np.concatenate(seen)


@pytest.mark.parametrize("width", [1, 2, 5, 17, 64])
def test_the_length_of_a_row_does_not_depend_on_its_place(width):
    X, _ = ready(width=width, n_rows=700)
    metric = metric_of(3, 7.0, width)
    whole = lengths_of(X, metric)
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_array_equal(lengths_of(X[order], metric), whole[order])
    np.testing.assert_array_equal(lengths_of(np.asfortranarray(X), metric), whole)
    np.testing.assert_array_equal(np.concatenate([lengths_of(X[i : i + 1], metric) for i in range(40)]), whole[:40])
    for start in (1, 3, 13):
        np.testing.assert_array_equal(lengths_of(X[start:], metric), whole[start:])


def test_lengths_are_those_of_the_definition():
    X, _ = ready()
    metric = metric_of(5, 3.0, 5)
    expected = np.stack([np.linalg.norm(X @ each, axis=1) for each in metric], axis=1)
    np.testing.assert_allclose(lengths_of(X, metric), expected, rtol=1e-4)


@every_arithmetic
def test_sums_are_those_of_the_definition(arithmetic):
    X, y = ready()
    metric, limits = metric_of(5, 3.0, 5), np.array([0.4, 0.05])
    bounded_rows = bounded(X, y, arithmetic=arithmetic)
    theta = on_grid(bounded_rows, np.random.default_rng(2).standard_normal((2, 5)))
    white = whiten(bounded_rows, metric)
    gram, gradient = whitened_gram(white, limit=limits), whitened_gradient(white, theta, limit=limits)
    clipped = 0
    for trial, limit in enumerate(limits):
        V = X @ metric[trial]
        lengths, r = np.linalg.norm(V, axis=1), y - X @ theta[trial]
        short = V * np.minimum(1.0, limit / lengths)[:, None]
        step = np.atleast_1d(gram.step)[trial]
        np.testing.assert_allclose(
            gram.value[trial].astype(float) * step, short.T @ short, atol=2e-3 * len(X) * limit**2
        )
        terms = V * (r * np.minimum(1.0, limit / (lengths * np.abs(r))))[:, None]
        step = np.atleast_1d(gradient.step)[trial]
        np.testing.assert_allclose(gradient.value[trial].astype(float) * step, terms.sum(axis=0), atol=1e-3 * limit)
        clipped += (lengths * np.abs(r) > limit).sum()
    assert 100 < clipped < 500


def test_rows_that_are_not_shortened_contribute_whole_numbers_as_they_are():
    """The sum equals that over fractions, rounded down once: no row was rounded."""
    X, y = ready(n_rows=50, width=3)
    seen = []
    original = FixedPointSpan.shortened_gradient

    def watch(self, lengths, theta, exponent, limit):
        seen.append((self.rows.copy(), self.target.copy(), theta.copy(), exponent.copy()))
        return original(self, lengths, theta, exponent, limit)

    rows = bounded(X, y, arithmetic="exact")
    white = whiten(rows, metric_of(1, 1.0, 3)[:1])
    theta = np.array([[0.37, -0.21, 0.11]])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FixedPointSpan, "shortened_gradient", watch)
        released = whitened_gradient(white, theta, limit=np.array([50.0]))
    ((whole, target, point, exponent),) = seen
    scale = Fraction(2) ** int(exponent[0])
    residuals = [
        Fraction(t) * scale - sum(Fraction(a) * Fraction(b) for a, b in zip(x, point[0], strict=True))
        for x, t in zip(whole, target, strict=True)
    ]
    assert all(residual.denominator == 1 for residual in residuals)
    sums = [sum(Fraction(x[i]) * r for x, r in zip(whole, residuals, strict=True)) for i in range(3)]
    for column in range(3):
        inside = sum(Fraction(white.metric[0, i, column]) * sums[i] for i in range(3))
        steps = inside / (scale * 2**40) / (Fraction(50) / 2**40)
        assert released.value[0, column] == steps.numerator // steps.denominator


@pytest.mark.parametrize("cut", [1, 150, 299])
def test_exact_sums_do_not_depend_on_how_rows_are_cut(cut):
    X, y = ready()
    metric, theta = metric_of(5, 3.0, 5), np.full((2, 5), 0.2)
    row_map = BOUNDS["unit norm"].row_map(n_features=5, columns=None, fit_intercept=False)

    class Parts:
        """The same rows in two parts, read anew in every pass."""

        n_rows, n_features, columns = len(y), 5, None

        def total(self, kernel, *args):
            one, two = (ArraySource(X[part], y[part]).total(kernel, *args) for part in (slice(cut), slice(cut, None)))
            return type(one)(tuple(a + b for a, b in zip(one.values, two.values, strict=True)), one.n_rows + two.n_rows)

    sides = [
        sums_of(BoundedRows(source, row_map, "raise", "exact"), metric, theta, 0.3)
        for source in (ArraySource(X, y), Parts())
    ]
    for name, one in sides[0].items():
        assert moved_squared(one, sides[1][name]) == 0


@every_arithmetic
def test_a_row_of_zeros_adds_nothing(arithmetic):
    X, y = ready(n_rows=40)
    more = np.vstack((X, np.full((1, 5), np.nan))), np.append(y, 0.3)
    sides = [
        sums_of(
            bounded(*table, arithmetic=arithmetic, bad_rows="zero"), metric_of(5, 3.0, 5), np.full((2, 5), 0.2), 0.3
        )
        for table in ((X, y), more)
    ]
    for name, one in sides[0].items():
        np.testing.assert_allclose(one.value.astype(float), sides[1][name].value.astype(float), rtol=1e-12)


@pytest.mark.parametrize("norm", [1e-3, 1.0, 30.0, 1e5, 1e7, 1e300])
def test_points_at_which_gradients_are_computed_are_near_those_asked_for(norm):
    theta = np.random.default_rng(0).standard_normal((4, 6))
    theta *= norm / np.linalg.norm(theta, axis=1, keepdims=True)
    rows = bounded(*ready(width=6), arithmetic="exact")
    found = on_grid(rows, theta)
    np.testing.assert_array_equal(on_grid(rows, found), found)
    if norm < 2**19:
        np.testing.assert_allclose(found, theta, atol=3e-6 * (1.0 + norm))
    else:
        assert not found.any()
    np.testing.assert_array_equal(on_grid(bounded(*ready(width=6)), theta), theta)
