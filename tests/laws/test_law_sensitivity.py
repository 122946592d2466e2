"""Law 4: removing a row, whatever it holds, moves each statistic by no more than its stated sensitivity."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from law_cases import bounded
from law_oracles import explicit_rows

from dpols import Bounds
from dpols.data.bounding import bounded_span
from dpols.statistics import (
    clipped_gradient,
    clipped_gradient_and_counts,
    clipped_squares,
    gram,
    gram_and_first_gradient,
    gram_with_target,
    norm_clipped_gradient,
    residual_sums,
)

WIDTH = 3
BOUNDS = {
    "unit norm": Bounds(x_norm=1.0, y_abs=1.0),
    "small norm": Bounds(x_norm=1e-3, y_abs=1e-3),
    "tiny norm": Bounds(x_norm=1e-100, y_abs=1e-100),
    "vast norm": Bounds(x_norm=1e100, y_abs=1e100),
    "features": Bounds(features=[(-1.0, 1.0), (18.0, 90.0), (-5.0, -4.0)], target=(0.0, 200_000.0)),
    "one-sided features": Bounds(features=[(0.0, 7.0), (-1e-9, 0.0), (3.0, 1e9)], target=(-30.0, 10.0)),
    "features and norm": Bounds(features=[(-1.0, 1.0), (0.0, 5.0), (-2.0, 10.0)], x_norm=0.5, y_abs=3.0),
    "features and loose norm": Bounds(features=[(-1.0, 1.0), (0.0, 5.0), (-2.0, 10.0)], x_norm=50.0, y_abs=3.0),
    "far from zero": Bounds(
        features=[(1e16, 1e16 + 2.0), (1e15, 1e15 + 1.0), (-1e9, -1e9 + 1.0)], target=(1e16, 1e16 + 2)
    ),
    "extreme features": Bounds(features=[(-1e100, 1e100), (0.0, 1e-100), (1e99, 1e100)], target=(-1e-100, 1e100)),
}
# Rounding of sums of a few dozen numbers of size one.
ROUNDING = 1e-13

signs = st.sampled_from([-1.0, 1.0])
magnitudes = st.one_of(
    st.sampled_from(
        [0.0, 5e-324, 1e-320, 1e-200, 1e-154, 1e-8, 0.5, 1.0, 18.0, 90.0, 1e8, 1e154, 1.4e154, 1e200, 1e308]
    ),
    st.floats(0.0, 3.0),
    st.floats(0.0, 1.7e308),
    st.integers(-320, 307).map(lambda exponent: float(f"1e{exponent}")),
)
numbers = st.builds(lambda sign, magnitude: sign * magnitude, signs, magnitudes)
rows = st.lists(st.tuples(*[numbers] * (WIDTH + 1)), min_size=1, max_size=6).map(np.array)
thetas = st.lists(
    st.builds(lambda sign, exponent: sign * 10.0**exponent, signs, st.integers(-20, 90)),
    min_size=WIDTH + 1,
    max_size=WIDTH + 1,
).map(np.array)
pytestmark = pytest.mark.filterwarnings("error")
every_bounds = pytest.mark.parametrize("bounds", BOUNDS.values(), ids=BOUNDS)
every_intercept = pytest.mark.parametrize("fit_intercept", [False, True], ids=["no-intercept", "intercept"])


def neighbours(table, bounds, fit_intercept, arithmetic="float"):
    """The rows, and the rows without the last; a row that is not there adds to each sum what a zero row does."""
    kwargs = {"bounds": bounds, "fit_intercept": fit_intercept, "arithmetic": arithmetic}
    return tuple(bounded(t[:, :-1].copy(), t[:, -1].copy(), **kwargs) for t in (table, table[:-1]))


def in_units(statistic):
    """The value in the units of bounded rows."""
    return statistic.value.astype(float) * statistic.step


def moved_squared(more, less):
    """The squared distance of two whole-numbered statistics, in Python's own integers."""
    return sum((int(a) - int(b)) ** 2 for a, b in zip(more.value.ravel(), less.value.ravel(), strict=True))


@every_bounds
@every_intercept
@settings(max_examples=20)
@given(table=rows)
def test_bounded_rows_have_norm_at_most_one_and_targets_at_most_one(bounds, fit_intercept, table):
    row_map = bounds.row_map(n_features=WIDTH, columns=None, fit_intercept=fit_intercept)
    span, bad = bounded_span(table[:, :-1], table[:, -1], row_map, np.empty((len(table), WIDTH)))
    mapped = span.features * span.weight
    if span.constant is not None:
        mapped = np.column_stack((mapped, np.broadcast_to(span.constant, (len(table), 1))))
    assert bad == 0
    assert mapped.shape == (len(table), row_map.n_coordinates)
    assert all(math.hypot(*row) <= 1.0 + 1e-14 for row in mapped)
    assert np.abs(span.target).max() <= 1.0


@every_bounds
@every_intercept
@settings(max_examples=20)
@given(table=rows)
def test_bounded_rows_are_those_of_the_definition(bounds, fit_intercept, table):
    features, targets = table[:, :-1], table[:, -1]
    row_map = bounds.row_map(n_features=WIDTH, columns=None, fit_intercept=fit_intercept)
    span, _ = bounded_span(features, targets, row_map, np.empty((len(table), WIDTH)))
    expected, expected_targets = explicit_rows(features, targets, bounds, fit_intercept=fit_intercept)
    # Where bounds lie far from zero, the doubles between them are few, and so is what a difference of them can say.
    coarse = bounds is BOUNDS["far from zero"] and fit_intercept
    np.testing.assert_allclose((span.features * span.weight), expected[:, :WIDTH], atol=0.8 if coarse else 1e-13)
    np.testing.assert_allclose(span.target, expected_targets, atol=1.0 if coarse else 1e-13)
    if fit_intercept:
        np.testing.assert_allclose(
            np.broadcast_to(span.constant, (len(table), 1))[:, 0], expected[:, WIDTH], rtol=1e-14
        )


@every_bounds
@every_intercept
@settings(max_examples=20)
@given(table=rows)
def test_removing_a_row_moves_the_gram_matrix_and_its_eigenvalues_by_at_most_the_sensitivity(
    bounds, fit_intercept, table
):
    for statistic in (gram, gram_with_target):
        more, less = (statistic(r) for r in neighbours(table, bounds, fit_intercept))
        assert more.sensitivity == less.sensitivity == {gram: 1.0, gram_with_target: 2.0}[statistic]
        assert np.linalg.norm(more.value - less.value) <= more.sensitivity + ROUNDING
        moved = np.linalg.eigvalsh(more.value) - np.linalg.eigvalsh(less.value)
        assert np.abs(moved).max() <= more.sensitivity + ROUNDING
        assert moved.min() >= -ROUNDING


@every_bounds
@every_intercept
@settings(max_examples=20)
@given(table=rows, theta=thetas, bound=st.sampled_from([1e-3, 0.25, 1.0, 10.0]))
def test_removing_a_row_moves_the_clipped_gradients_by_at_most_the_sensitivity(
    bounds, fit_intercept, table, theta, bound
):
    theta = theta[None, : WIDTH + fit_intercept]
    pair = neighbours(table, bounds, fit_intercept)
    for more, less in (
        [clipped_gradient(r, theta, residual_bound=bound) for r in pair],
        [norm_clipped_gradient(r, theta, norm_bound=bound) for r in pair],
    ):
        np.testing.assert_allclose([s.sensitivity * s.step for s in (more, less)], bound, rtol=1e-15)
        assert more.value.shape == theta.shape
        moved = np.linalg.norm(more.value - less.value)
        assert moved <= more.sensitivity * (1.0 + len(table) * ROUNDING)


@every_bounds
@every_intercept
@settings(max_examples=20)
@given(table=rows, theta=thetas, bound=st.sampled_from([1e-3, 0.25, 1.0, 10.0]))
def test_in_exact_arithmetic_sensitivities_hold_of_the_integers_themselves(bounds, fit_intercept, table, theta, bound):
    theta = theta[None, : WIDTH + fit_intercept]
    pair = neighbours(table, bounds, fit_intercept, "exact")
    for more, less in (
        [gram(r) for r in pair],
        [gram_with_target(r) for r in pair],
        [clipped_gradient(r, theta, residual_bound=bound) for r in pair],
        [norm_clipped_gradient(r, theta, norm_bound=bound) for r in pair],
    ):
        assert more.exact
        assert more.sensitivity == less.sensitivity == int(more.sensitivity)
        assert moved_squared(more, less) <= int(more.sensitivity) ** 2


@every_bounds
@every_intercept
@settings(max_examples=20)
@given(table=rows)
def test_exact_and_floating_point_statistics_agree_to_the_grid_of_rows(bounds, fit_intercept, table):
    theta = np.linspace(-1.0, 1.0, WIDTH + fit_intercept)[None]
    (exact, _), (floating, _) = (
        neighbours(table, bounds, fit_intercept, arithmetic) for arithmetic in ("exact", "float")
    )
    for statistic in (
        gram,
        gram_with_target,
        lambda r: clipped_gradient(r, theta, residual_bound=0.5),
        lambda r: norm_clipped_gradient(r, theta, norm_bound=0.5),
    ):
        one, other = statistic(exact), statistic(floating)
        np.testing.assert_allclose(one.sensitivity * one.step, other.sensitivity * other.step, rtol=1e-15)
        np.testing.assert_allclose(in_units(one), in_units(other), atol=len(table) * 2.0**-16)


@every_bounds
@every_intercept
@pytest.mark.parametrize("arithmetic", ["float", "exact"])
@settings(max_examples=20)
@given(table=rows, bound=st.sampled_from([1e-3, 0.25, 1.0, 10.0]))
def test_what_one_pass_gives_at_once_is_what_two_give(bounds, fit_intercept, arithmetic, table, bound):
    both, _ = neighbours(table, bounds, fit_intercept, arithmetic)
    zero = np.zeros((1, WIDTH + fit_intercept))
    apart = gram(both), clipped_gradient(both, zero, residual_bound=bound)
    for one, other in zip(gram_and_first_gradient(both, residual_bound=bound), apart, strict=True):
        np.testing.assert_array_equal(one.value, other.value)
        assert (one.sensitivity, one.step) == (other.sensitivity, other.step)


EDGES = np.array([0.0, 0.1, 0.5, 1.0, 2.0])


@pytest.mark.parametrize("arithmetic", ["float", "exact"])
@pytest.mark.parametrize("name", ["unit norm", "features", "one-sided features", "features and norm"])
@every_intercept
@settings(max_examples=20)
@given(table=rows, theta=thetas, bound=st.sampled_from([1e-3, 0.25, 1.0]))
def test_removing_a_row_moves_the_counts_of_residuals_by_at_most_one(
    name, fit_intercept, arithmetic, table, theta, bound
):
    theta = theta[None, : WIDTH + fit_intercept]
    spoilt = np.vstack((table[:-1], np.full((1, WIDTH + 1), np.nan)))
    both = [
        bounded(t[:, :-1], t[:, -1], BOUNDS[name], fit_intercept=fit_intercept, arithmetic=arithmetic, bad_rows="zero")
        for t in (table, table[:-1], spoilt)
    ]
    more, less, zero = (clipped_gradient_and_counts(r, theta, residual_bound=bound, edges=EDGES) for r in both)
    for a, b, c in zip(more, less, zero, strict=True):
        np.testing.assert_allclose(b.value.astype(float), c.value.astype(float), atol=1e-12)
        moved = math.sqrt(moved_squared(a, b)) if a.exact else np.linalg.norm(a.value - b.value)
        assert moved <= a.sensitivity * (1.0 + len(table) * ROUNDING)
    counts = in_units(more[1])
    assert counts.shape == (1, len(EDGES))
    assert counts.sum() <= len(table)
    np.testing.assert_allclose(in_units(more[0]), in_units(clipped_gradient(both[0], theta, residual_bound=bound)))


@pytest.mark.parametrize("arithmetic", ["float", "exact"])
@pytest.mark.parametrize("name", ["unit norm", "features", "one-sided features", "features and norm"])
@every_intercept
@settings(max_examples=20)
@given(table=rows, theta=thetas, bound=st.sampled_from([1e-3, 0.25, 1.0]))
def test_removing_a_row_moves_the_sum_of_squared_residuals_by_at_most_its_sensitivity(
    name, fit_intercept, arithmetic, table, theta, bound
):
    theta = theta[None, : WIDTH + fit_intercept]
    spoilt = np.vstack((table[:-1], np.full((1, WIDTH + 1), np.nan)))
    both = [
        bounded(t[:, :-1], t[:, -1], BOUNDS[name], fit_intercept=fit_intercept, arithmetic=arithmetic, bad_rows="zero")
        for t in (table, table[:-1], spoilt)
    ]
    more, less, zero = (clipped_squares(r, theta, residual_bound=np.array([bound])) for r in both)
    np.testing.assert_allclose(less.value.astype(float), zero.value.astype(float), atol=1e-12)
    if more.exact:
        assert more.sensitivity == int(more.sensitivity)
        assert moved_squared(more, less) <= int(more.sensitivity) ** 2
    else:
        assert np.linalg.norm(more.value - less.value) <= more.sensitivity * (1.0 + len(table) * ROUNDING)
    np.testing.assert_allclose(more.sensitivity * more.step, bound**2, rtol=1e-9)
    assert 0.0 <= in_units(more)[0, 0] <= len(table) * bound**2 * (1.0 + 1e-12)


@pytest.mark.parametrize("arithmetic", ["float", "exact"])
@pytest.mark.parametrize("name", ["unit norm", "features", "one-sided features", "features and norm"])
@every_intercept
@settings(max_examples=20)
@given(table=rows, theta=thetas, bound=st.sampled_from([1e-3, 0.25, 1.0]))
def test_removing_a_row_moves_residuals_by_fitted_value_by_at_most_their_sensitivity(
    name, fit_intercept, arithmetic, table, theta, bound
):
    theta = theta[None, : WIDTH + fit_intercept]
    edges = np.array([[-np.inf], [-0.3], [0.0], [0.4]])
    spoilt = np.vstack((table[:-1], np.full((1, WIDTH + 1), np.nan)))
    both = [
        bounded(t[:, :-1], t[:, -1], BOUNDS[name], fit_intercept=fit_intercept, arithmetic=arithmetic, bad_rows="zero")
        for t in (table, table[:-1], spoilt)
    ]
    more, less, zero = (residual_sums(r, theta, residual_bound=np.array([bound]), edges=edges) for r in both)
    np.testing.assert_allclose(less.value.astype(float), zero.value.astype(float), atol=1e-9)
    if more.exact:
        assert more.sensitivity == int(more.sensitivity)
        assert moved_squared(more, less) <= int(more.sensitivity) ** 2
    else:
        assert np.linalg.norm(more.value - less.value) <= more.sensitivity * (1.0 + len(table) * ROUNDING)
    np.testing.assert_allclose(more.sensitivity * more.step, math.sqrt(2.0), rtol=1e-5)
    counts, sums = np.split(in_units(more), 2, axis=1)
    assert (np.abs(sums) <= counts + 1e-9).all()
    assert counts.sum() <= len(table) + 1e-9


@pytest.mark.parametrize("arithmetic", ["float", "exact"])
def test_residuals_by_fitted_value_are_those_of_the_definition(arithmetic):
    rng = np.random.default_rng(6)
    X, y = rng.uniform(-0.5, 0.5, (80, WIDTH)), rng.uniform(-1.0, 1.0, 80)
    X[:5], y[:5] = 0.0, 0.0  # zero rows are in no bin
    theta = np.array([[0.5, -0.3, 0.2], [-1.0, 0.4, 0.0]])
    bound, edges = np.array([0.4, 10.0]), np.array([[-np.inf, -0.2], [0.01, 0.01], [0.2, 0.3]])
    found = in_units(residual_sums(bounded(X, y, arithmetic=arithmetic), theta, residual_bound=bound, edges=edges))
    fitted, used = X @ theta.T, np.arange(80) >= 5
    for trial in range(2):
        upper = [*edges[1:, trial], np.inf]
        residuals = np.clip((y - fitted[:, trial]) / bound[trial], -1.0, 1.0)
        for k, (low, high) in enumerate(zip(edges[:, trial], upper, strict=True)):
            here = used & (fitted[:, trial] > low) & (fitted[:, trial] <= high)
            np.testing.assert_allclose(found[trial, [k, 3 + k]], [here.sum(), residuals[here].sum()], atol=2e-4)


@pytest.mark.parametrize("arithmetic", ["float", "exact"])
def test_sums_of_squares_are_those_of_the_definition(arithmetic):
    rng = np.random.default_rng(5)
    X, y = rng.uniform(-0.5, 0.5, (50, WIDTH)), rng.uniform(-1.0, 1.0, 50)
    theta = np.array([[0.5, -0.3, 0.2], [0.0, 0.0, 0.0]])
    bound = np.array([0.4, 10.0])
    squares = clipped_squares(bounded(X, y, arithmetic=arithmetic), theta, residual_bound=bound)
    clipped = np.clip(y[:, None] - X @ theta.T, -bound, bound)
    step = np.reshape(squares.step, (-1, 1))
    np.testing.assert_allclose(squares.value.astype(float) * step, (clipped**2).sum(axis=0)[:, None], rtol=1e-4)


near_ties = st.builds(
    # Half-way between two whole numbers of the fixed-point grid, or a few units in the last place beside it.
    lambda whole, nudge, width: (whole + 0.5) * (1.0 + nudge * 2.0**-52) / (2.0**20 - 0.5 * math.sqrt(width) - 1.0),
    st.integers(-(2**20), 2**20),
    st.integers(-3, 3),
    st.sampled_from([3, 4]),
)
tied_rows = st.lists(st.tuples(*[near_ties] * (WIDTH + 1)), min_size=2, max_size=8).map(np.array)


@pytest.mark.parametrize("name", ["unit norm", "features", "features and norm", "features and loose norm"])
@every_intercept
@settings(max_examples=40)
@given(table=st.one_of(tied_rows, rows))
def test_in_exact_arithmetic_a_sum_is_the_sum_of_what_each_row_gives_alone(name, fit_intercept, table):
    """Else removing one row could move others, by their rounding, and no sensitivity would hold."""
    theta = np.array([[0.3, -2.0, 1.0, 0.5]])[:, : WIDTH + fit_intercept]
    together, *alone = (
        bounded(t[:, :-1], t[:, -1], BOUNDS[name], fit_intercept=fit_intercept, arithmetic="exact")
        for t in (table, *table[:, None])
    )
    for statistic in (
        gram_with_target,
        lambda r: clipped_gradient(r, theta, residual_bound=0.5),
        lambda r: norm_clipped_gradient(r, theta, norm_bound=0.5),
    ):
        np.testing.assert_array_equal(statistic(together).value, sum(statistic(row).value for row in alone))


@every_intercept
@pytest.mark.parametrize("name", ["unit norm", "features"])
def test_sensitivities_are_attained(name, fit_intercept):
    """A bound that no row reaches would cost accuracy for nothing."""
    bounds = BOUNDS[name]
    far = 1e6 * np.array([[1.0, 1.0, -1.0, 1.0]])
    table = np.concatenate((np.zeros((1, WIDTH + 1)), far))
    more, less = neighbours(table, bounds, fit_intercept)
    np.testing.assert_allclose(np.linalg.norm(gram(more).value - gram(less).value), 1.0)
    theta = np.zeros((1, WIDTH + fit_intercept))
    gradients = [in_units(clipped_gradient(r, theta, residual_bound=0.5)) for r in (more, less)]
    np.testing.assert_allclose(np.linalg.norm(gradients[0] - gradients[1]), 0.5)


@every_bounds
@every_intercept
@settings(max_examples=20)
@given(table=rows)
def test_a_bad_row_counted_as_zero_is_as_good_as_absent(bounds, fit_intercept, table):
    theta = np.linspace(-1.0, 1.0, WIDTH + fit_intercept)[None]
    for bad in (np.nan, np.inf, -np.inf):
        for column in (0, WIDTH):
            spoilt = np.concatenate((table, table[:1]))
            spoilt[0, column] = bad
            with_bad = bounded(spoilt[:, :-1], spoilt[:, -1], bounds, fit_intercept=fit_intercept, bad_rows="zero")
            without = bounded(spoilt[1:, :-1], spoilt[1:, -1], bounds, fit_intercept=fit_intercept)
            np.testing.assert_allclose(gram_with_target(with_bad).value, gram_with_target(without).value, atol=1e-12)
            for r in (with_bad, without):
                assert np.isfinite(gram(r).value).all()
            np.testing.assert_allclose(
                clipped_gradient(with_bad, theta, residual_bound=1.0).value,
                clipped_gradient(without, theta, residual_bound=1.0).value,
                atol=1e-12,
            )
