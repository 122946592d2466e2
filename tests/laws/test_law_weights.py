"""Law: a row of weight w, of at most W, is the row times the root of w / W, and nothing else of any row changes."""

from dataclasses import replace

import numpy as np
import pytest
from law_cases import bounded, every_arithmetic, problem

from dpols import Bounds
from dpols.algorithms import algorithm
from dpols.data import ArraySource, BoundedRows
from dpols.families import Response
from dpols.privacy import PrivacyBudget
from dpols.randomness import streams
from dpols.statistics import (
    clipped_gradient,
    clipped_gradient_and_counts,
    clipped_squares,
    gram,
    gram_with_target,
    length_counts,
    mean_gradient,
    mean_gradient_and_counts,
    norm_clipped_gradient,
    residual_sums,
    score_counts,
    score_gram,
    sloped_gram,
    totals,
    whiten,
    whitened_gradient,
    whitened_gram,
)

WIDTH = 4
LARGEST = 5.0
LIMIT = np.array([0.4])
EDGES = np.array([[0.0], [0.05], [0.2], [0.6]])
# Methods that tend to least squares as noise vanishes, with enough steps for that; a sketch of fixed size does not.
LINEAR = {"whitened": {}, "whitened-inference": {}, "ihm": {"n_iterations": 15}, "adassp": {}, "boosted-adassp": {}}


def weighted(X, y, weights, largest=LARGEST, **how):
    """Bounded rows with weights."""
    rows = bounded(X, y, **how)
    source = ArraySource(X, np.column_stack((y, weights)))
    return replace(rows, source=source, row_map=replace(rows.row_map, max_weight=largest))


def statistics(rows):
    """Every statistic of some rows at one point and in one metric, by name."""
    d = rows.row_map.n_coordinates
    theta = np.linspace(-0.5, 0.7, d)[None]
    metric = (np.eye(d) + 0.1 * np.arange(d * d).reshape(d, d) / d**2)[None]
    white, response = whiten(rows, metric), Response.of("poisson", (0.0, 2.0), 1.0, 1.0)
    several = {
        "counts": clipped_gradient_and_counts(rows, theta, residual_bound=0.3, edges=EDGES[:, 0]),
        "mean counts": mean_gradient_and_counts(white, theta, response, limit=LIMIT, edges=EDGES),
    }
    return {
        "gram": gram(rows),
        "gram with target": gram_with_target(rows),
        "gradient": clipped_gradient(rows, theta, residual_bound=0.3),
        "squares": clipped_squares(rows, theta, residual_bound=0.3),
        "residuals": residual_sums(rows, theta, residual_bound=np.array([0.3]), edges=EDGES - 0.3),
        "norm-clipped": norm_clipped_gradient(rows, theta, norm_bound=0.2),
        "totals": totals(rows),
        "whitened gram": whitened_gram(white, limit=LIMIT),
        "whitened gradient": whitened_gradient(white, theta, limit=LIMIT),
        "lengths": length_counts(white, edges=EDGES),
        "score counts": score_counts(white, theta, edges=EDGES),
        "scores": score_gram(white, theta, limit=LIMIT),
        "mean gradient": mean_gradient(white, theta, response, limit=LIMIT),
        "curvature": sloped_gram(white, theta, response, limit=LIMIT),
        **{f"{name} {i}": each for name, pair in several.items() for i, each in enumerate(pair)},
    }


def drawn(n_rows=60, seed=0):
    X, y = problem(n_rows, WIDTH, seed=seed)
    return X, y, np.random.default_rng(seed).uniform(0.0, 7.0, n_rows)  # some are above the largest


every_intercept = pytest.mark.parametrize("fit_intercept", [False, True], ids=["no-intercept", "intercept"])


@every_arithmetic
@every_intercept
def test_no_weighted_row_moves_a_statistic_by_more_than_it_states(fit_intercept, arithmetic):
    X, y, weights = drawn()
    how = {"fit_intercept": fit_intercept, "arithmetic": arithmetic}
    everything = statistics(weighted(X, y, weights, **how))
    for row in (0, 7, 31):
        less = statistics(weighted(*(np.delete(part, row, axis=0) for part in (X, y, weights)), **how))
        for name, statistic in everything.items():
            difference = (statistic.value - less[name].value).astype(float)
            assert np.linalg.norm(difference) <= statistic.sensitivity * (1.0 + 1e-9), name


@every_arithmetic
def test_a_long_row_of_the_largest_weight_attains_what_totals_state(arithmetic):
    X, y = np.array([[1.0, 0.0, 0.0, 0.0]]), np.array([1.0])
    statistic = totals(weighted(X, y, np.array([LARGEST]), arithmetic=arithmetic))
    moved = np.linalg.norm(statistic.value.astype(float))
    assert 0.99999 < moved / statistic.sensitivity <= 1.0 + 1e-12


@every_intercept
def test_what_a_weighted_row_adds_depends_on_that_row_alone(fit_intercept):
    X, y, weights = drawn()
    how = {"fit_intercept": fit_intercept, "arithmetic": "exact"}
    whole = statistics(weighted(X, y, weights, **how))
    # One row alone, and the others in another order and in blocks of another size.
    order = np.random.default_rng(1).permutation(np.arange(1, len(y)))
    one = statistics(weighted(X[:1], y[:1], weights[:1], **how))
    others = statistics(weighted(np.asfortranarray(X[order]), y[order], weights[order], **how))
    for name in (
        "gram",
        "gram with target",
        "gradient",
        "squares",
        "residuals",
        "norm-clipped",
        "totals",
        "lengths",
        "scores",
    ):
        np.testing.assert_array_equal(whole[name].value, one[name].value + others[name].value, err_msg=name)


@every_arithmetic
@every_intercept
def test_weights_of_one_are_no_weights(fit_intercept, arithmetic):
    X, y, _ = drawn()
    how = {"fit_intercept": fit_intercept, "arithmetic": arithmetic}
    plain = statistics(bounded(X, y, **how))
    for name, statistic in statistics(weighted(X, y, np.ones(len(y)), largest=1.0, **how)).items():
        value = statistic.value[..., :-1] if name == "totals" else statistic.value  # the sum of weights is one more
        if arithmetic == "exact":
            np.testing.assert_array_equal(value, plain[name].value, err_msg=name)
        else:
            np.testing.assert_allclose(value, plain[name].value, rtol=1e-9, atol=1e-12, err_msg=name)


@every_arithmetic
@every_intercept
def test_a_row_of_weight_zero_and_a_bad_weight_are_rows_of_zeros(fit_intercept, arithmetic):
    X, y, weights = drawn()
    how = {"fit_intercept": fit_intercept, "arithmetic": arithmetic, "bad_rows": "zero"}
    less = statistics(weighted(X[4:], y[4:], weights[4:], **how))
    weights[:4] = 0.0, np.nan, -1.0, np.inf
    for name, statistic in statistics(weighted(X, y, weights, **how)).items():
        np.testing.assert_allclose(statistic.value.astype(float), less[name].value.astype(float), atol=1e-12)


@every_intercept
def test_only_weights_over_the_largest_matter_and_larger_ones_are_clipped(fit_intercept):
    X, y, weights = drawn()
    how = {"fit_intercept": fit_intercept, "arithmetic": "exact"}
    once = statistics(weighted(X, y, weights, **how))
    clipped = statistics(weighted(X, y, np.minimum(weights, LARGEST), **how))
    scaled = statistics(weighted(X, y, 1024.0 * weights, largest=1024.0 * LARGEST, **how))
    for name, statistic in once.items():
        np.testing.assert_array_equal(statistic.value, clipped[name].value, err_msg=name)
        np.testing.assert_array_equal(statistic.value, scaled[name].value, err_msg=name)


@every_arithmetic
@pytest.mark.parametrize("method", LINEAR)
def test_without_noise_a_weighted_fit_is_weighted_least_squares_and_one_of_repeated_rows(method, arithmetic):
    X, y = problem(3000, WIDTH, seed=3)
    weights = np.random.default_rng(3).integers(0, 5, len(y)).astype(float)
    y = y + 0.2 * np.where(weights > 2.0, 1.0, -1.0) * X[:, 0]  # else weights would hardly matter
    design = np.column_stack((X, np.ones(len(y))))
    root = np.sqrt(weights)
    oracle = np.linalg.lstsq(design * root[:, None], y * root, rcond=None)[0]
    plain = np.linalg.lstsq(design, y, rcond=None)[0]
    repeated = np.repeat(np.arange(len(y)), weights.astype(int))
    fits = (
        noise_free(method, weighted(X, y, weights, largest=4.0, fit_intercept=True, arithmetic=arithmetic)),
        noise_free(method, bounded(X[repeated], y[repeated], fit_intercept=True, arithmetic=arithmetic)),
    )
    for found in fits:
        np.testing.assert_allclose(found, oracle, atol=4e-3)
    assert np.abs(plain - oracle).max() > 0.03


@every_arithmetic
@pytest.mark.parametrize(("method", "target"), [("logistic", (0.0, 1.0)), ("poisson", (0.0, 12.0))])
def test_without_noise_a_weighted_generalised_fit_is_one_of_repeated_rows(method, target, arithmetic):
    rng = np.random.default_rng(4)
    X = rng.uniform(-1.0, 1.0, (4000, 2))
    weights = rng.integers(0, 5, len(X)).astype(float)
    predictor = 0.8 * X[:, 0] + 0.5 * (weights - 2.0) * X[:, 1]
    mean = 1.0 / (1.0 + np.exp(-predictor)) if method == "logistic" else np.exp(0.5 * predictor)
    y = (rng.uniform(size=len(X)) < mean) * 1.0 if method == "logistic" else np.minimum(rng.poisson(mean), 12.0) * 1.0
    bounds = Bounds(features=[(-1.0, 1.0)] * 2, target=target)
    how = {"bounds": bounds, "fit_intercept": True, "arithmetic": arithmetic}
    repeated = np.repeat(np.arange(len(y)), weights.astype(int))
    found = noise_free(method, weighted(X, y, weights, largest=4.0, **how))
    other = noise_free(method, bounded(X[repeated], y[repeated], **how))
    np.testing.assert_allclose(found, other, atol=6e-3)
    assert np.abs(noise_free(method, bounded(X, y, **how)) - other).max() > 0.1


def noise_free(method, rows: BoundedRows):
    """Coefficients at a budget of which the noise is not felt, in the units of the data."""
    chosen = algorithm(method)
    rows = replace(rows, row_map=replace(rows.row_map, linked=method in ("logistic", "poisson")))
    plan = chosen.plan(
        PrivacyBudget(1e8, 0.1), n_rows=rows.n_rows, n_features=rows.row_map.n_coordinates, **LINEAR.get(method, {})
    )
    matrix, offset = rows.row_map.coefficient_map()
    return matrix @ chosen.run(rows, plan, streams(5, 1)).theta[0] + offset
