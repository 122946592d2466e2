"""Rows that are simulated on: what they are built to have, they have."""

import numpy as np
import pytest

from dpols import Bounds
from dpols.algorithms import algorithm
from dpols.data import ArraySource, BoundedRows
from dpols.planning.samples import MOST_ROWS, RepeatedRows, distinct
from dpols.planning.shapes import REACH, Shape, correlation_matrix, public_table, target_within
from dpols.privacy import PrivacyBudget
from dpols.randomness import streams

profile_of = pytest.importorskip("dpols_bench.profile").profile_of


@pytest.fixture
def bits():
    return streams(5, 1)[0]


@pytest.mark.parametrize("method", ["whitened", "ihm", "adassp", "dp-gd"])
def test_repeated_rows_give_the_fits_of_the_table_written_out(method):
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, (70, 3)), rng.uniform(-1, 1, 70)
    repeated = RepeatedRows(X, y, 250)
    order = np.repeat(np.arange(70), repeated.weights)
    assert len(order) == 250
    row_map = Bounds(features=[(-1, 1)] * 3, target=(-1, 1)).row_map(n_features=3, columns=None, fit_intercept=True)
    plan = algorithm(method).plan(PrivacyBudget(5.0, 1e-4), n_rows=250, n_features=4)
    thetas = [
        algorithm(method).run(BoundedRows(source, row_map), plan, streams(3, 4)).theta
        for source in (repeated, ArraySource(X[order], y[order]))
    ]
    np.testing.assert_allclose(*thetas, rtol=1e-8)


def test_a_correlation_matrix_has_the_eigenvalues_asked_for(bits):
    eigenvalues = np.array([4.0, 1.5, 0.4, 0.1])
    eigenvalues *= 4.0 / eigenvalues.sum()
    matrix = correlation_matrix(eigenvalues, bits)
    np.testing.assert_allclose(np.diag(matrix), 1.0)
    np.testing.assert_allclose(np.linalg.eigvalsh(matrix)[::-1], eigenvalues, rtol=1e-9)
    assert np.abs(matrix - np.diag(np.diag(matrix))).max() > 0.1


def test_targets_have_the_signal_the_residuals_and_the_bound(bits):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((500, 3))
    signal = X @ np.array([0.2, -0.1, 0.1])
    y = target_within(X, signal, rng.standard_t(3, 500), 0.09, 1.0)
    np.testing.assert_allclose(np.linalg.lstsq(X, y, rcond=None)[0], [0.2, -0.1, 0.1], rtol=1e-9)
    assert np.mean((y - signal) ** 2) == pytest.approx(0.09)
    assert np.abs(y).max() < 1.02


@pytest.mark.parametrize(("r_squared", "condition", "slack"), [(0.2, 1.0, 1.0), (0.8, 50.0, 4.0)])
def test_a_shape_has_its_r_squared_condition_and_room(bits, r_squared, condition, slack):
    sample = Shape(6, r_squared, condition, slack).sample(15_000, bits)
    X, y = sample.source.features, sample.source.target
    residual = y - np.column_stack((X, np.ones(len(y)))) @ sample.best
    assert 1.0 - residual @ residual / np.sum((y - y.mean()) ** 2) == pytest.approx(r_squared, abs=0.02)
    eigenvalues = np.linalg.eigvalsh(np.corrcoef(X.T))
    assert eigenvalues[-1] / eigenvalues[0] == pytest.approx(condition, rel=0.15)
    low, high = sample.bounds.features[0]
    assert high - low == pytest.approx(2 * REACH * slack)
    assert np.abs(X).max() <= REACH


def test_a_shape_is_stretched_to_the_units_of_the_bounds(bits):
    bounds = Bounds(features={"age": (20, 80), "pay": (0, 6000)}, target=(100, 160))
    sample = Shape(2, bounds=bounds, bounds_slack=2.0).sample(5_000, bits)
    np.testing.assert_allclose(sample.feature_stddevs, [5.0, 500.0], rtol=0.05)
    np.testing.assert_allclose(sample.source.features.mean(axis=0), [50.0, 3000.0], rtol=0.02)
    assert np.sqrt(sample.target_variance) == pytest.approx(5.0, rel=0.05)


def test_long_tables_have_few_distinct_rows_and_the_right_number(bits):
    sample = Shape(2).sample(1_000_003, bits)
    assert 0.9 * MOST_ROWS < len(sample.source.target) <= MOST_ROWS
    assert np.ptp(sample.source.weights) <= 1
    assert sample.source.n_rows == sample.source.weights.sum() == 1_000_003


@pytest.mark.parametrize("n", [1, 19_999, 20_000, 20_001, 36_624, 999_999])
def test_distinct_rows_are_few_and_stand_about_as_often_as_each_other(n):
    m = distinct(n)
    assert min(n, MOST_ROWS // 2) <= m <= min(n, MOST_ROWS)
    weights = RepeatedRows(np.zeros((m, 1)), np.zeros(m), n).weights
    assert np.mean(weights > weights.min()) < 0.005


def test_a_public_table_is_resampled_from_its_own_rows(bits):
    rng = np.random.default_rng(2)
    X = rng.uniform(0, 1, (200, 2))
    y = X @ [1.0, 2.0] + rng.normal(0, 0.1, 200)
    table = public_table(X, y, bounds=None, bounds_slack=2.0, fit_intercept=True)
    sample = table.sample(1000, bits)
    assert {tuple(row) for row in sample.source.features} <= {tuple(row) for row in X}
    assert len(np.unique(sample.source.target)) > 190
    low, high = table.bounds.features[0]
    assert high - low == pytest.approx(2.0 * np.ptp(X[:, 0]))
    assert table.r_squared == pytest.approx(1 - 0.01 / (0.01 + 5 / 12), abs=0.01)


def test_excess_is_that_of_the_losses(bits):
    sample = Shape(3).sample(400, bits)
    joined = np.column_stack((sample.source.features, np.ones(400)))
    coefficients = np.array([[0.1, 0.2, 0.3, -0.1], [0.0, 0.0, 0.0, 0.0]])
    losses = [np.mean((sample.source.target - joined @ c) ** 2) for c in (*coefficients, sample.best)]
    np.testing.assert_allclose(sample.excess(coefficients), np.array(losses[:2]) - losses[2], rtol=1e-8)


def test_made_up_rows_have_the_statistics_of_a_profile(bits):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((3000, 4)) * [1.0, 0.5, 0.2, 0.05]
    X /= np.linalg.norm(X, axis=1).max()
    signal = X @ [1.0, -1.0, 0.5, 2.0]
    y = signal + (0.02 + np.abs(signal)) * rng.standard_t(6, 3000)  # the larger, the less certain
    y /= np.abs(y).max()
    profile = profile_of(X, y)
    source = profile.sample(bits).source
    made_up = profile_of(source.features, source.target)
    np.testing.assert_allclose(made_up.eigenvalues, profile.eigenvalues, rtol=1e-8)
    np.testing.assert_allclose(np.abs(made_up.signal), np.abs(profile.signal), rtol=1e-6)
    assert made_up.residual_square == pytest.approx(profile.residual_square)
    # Quantiles within bins are those of 150 rows, and so close on average only.
    np.testing.assert_allclose(made_up.fitted_levels[11:-11], profile.fitted_levels[11:-11], rtol=0.02, atol=2e-3)
    difference = (made_up.residual_levels - profile.residual_levels)[:, 11:-11]
    assert np.abs(difference).mean() < 0.1 * profile.residual_levels[:, 11:-11].std()


def test_a_profile_keeps_that_residuals_grow_with_fitted_values(bits):
    rng = np.random.default_rng(4)
    X = rng.uniform(-0.5, 0.5, (2000, 2))
    y = np.clip(X @ [0.5, 0.2] * (1.0 + rng.standard_normal(2000)), -1, 1)

    def growth(features, target):
        fitted = features @ np.linalg.lstsq(features, target, rcond=None)[0]
        return np.corrcoef(np.abs(fitted), np.abs(target - fitted))[0, 1]

    source = profile_of(X, y).sample(bits).source
    assert growth(X, y) > 0.3
    assert growth(source.features, source.target) == pytest.approx(growth(X, y), abs=0.05)


def pulled(features, target, clip):
    """How far from least squares, in mean square, clipped residuals balance."""
    solve = np.linalg.pinv(features)
    best = solve @ target
    theta = best
    for _ in range(200):
        theta = theta + solve @ np.clip(target - features @ theta, -clip, clip)
    return np.mean((features @ (theta - best)) ** 2)


def one_sided(n):
    """Rows of which those with a large first feature have skewed residuals, and the others none to speak of."""
    rng = np.random.default_rng(6)
    X = rng.uniform(-0.5, 0.5, (n, 3))
    y = 0.1 * X[:, 1] + 0.01 * rng.standard_normal(n) + np.where(X[:, 0] > 0.3, rng.exponential(0.25, n), 0.0)
    return X, np.clip(y, -1, 1)


@pytest.mark.parametrize("clip", [0.125, 0.25, 0.5])
def test_made_up_rows_are_pulled_aside_by_clipping_as_the_table_is(bits, clip):
    X, y = one_sided(3000)
    source = profile_of(X, y).sample(bits).source
    assert pulled(source.features, source.target, clip) == pytest.approx(pulled(X, y, clip), rel=0.15)


def test_residuals_without_the_rows_that_have_them_would_not_be_pulled_aside_so():
    X, y = one_sided(3000)
    solve = np.linalg.pinv(X)
    fitted = X @ (solve @ y)
    shuffled = np.random.default_rng(7).permutation(y - fitted)
    assert pulled(X, fitted + shuffled - X @ (solve @ shuffled), 0.25) < 0.5 * pulled(X, y, 0.25)


def test_made_up_rows_are_no_longer_than_the_bound(bits):
    rng = np.random.default_rng(8)
    X = rng.standard_t(3, (400, 5)) * [1.0, 1.0, 0.5, 0.2, 0.1]
    X /= np.linalg.norm(X, axis=1).max()
    y = np.clip(2.0 * X[:, 0] + rng.standard_t(3, 400) * 0.1, -1, 1)
    lengths = np.linalg.norm(profile_of(X, y).sample(bits).source.features, axis=1)
    assert np.maximum(lengths**2 - 1.0, 0.0).sum() < 1e-3 * (lengths**2).sum()


@pytest.mark.parametrize("case", ["no signal", "no residuals", "hardly more rows than features", "dependent features"])
def test_a_profile_of_an_odd_table_gives_rows_with_its_moments(bits, case):
    rng = np.random.default_rng(9)
    n, d = (12, 8) if case == "hardly more rows than features" else (60, 4)
    X = rng.uniform(-0.3, 0.3, (n, d))
    if case == "dependent features":
        X[:, 3] = X[:, 0] - X[:, 1]
    y = X @ np.full(d, 0.3)
    if case != "no residuals":
        y = y + 0.1 * rng.standard_normal(n)
    if case == "no signal":
        y -= X @ (np.linalg.pinv(X) @ y)
    source = profile_of(X, y).sample(bits).source
    np.testing.assert_allclose(
        np.linalg.eigvalsh(source.features.T @ source.features), np.linalg.eigvalsh(X.T @ X), atol=1e-9
    )
    assert np.linalg.norm(source.target) == pytest.approx(np.linalg.norm(y))
