"""Law 4 with mean functions: what a row adds is short, and depends on that row and on releases alone, bit for bit."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from law_cases import Case, bounded, every_arithmetic
from test_law_sensitivity import BOUNDS, WIDTH, every_bounds, every_intercept, moved_squared, neighbours, rows, thetas
from test_law_whitened import EDGES, ROUNDING, limits, metric_of, ready, scales, seeds

from dpols import Bounds
from dpols.data import ArraySource, BoundedRows
from dpols.families import FAMILIES, Response, exponential, logarithm
from dpols.randomness import streams
from dpols.statistics import (
    deviances,
    mean_gradient,
    mean_gradient_and_counts,
    predictor_point,
    score_counts,
    score_gram,
    sloped_counts,
    sloped_gram,
    unit_score_gram,
    whiten,
)

pytestmark = pytest.mark.filterwarnings("error")
RESPONSES = {
    "binomial": Response("binomial", 1.0, 0.5, 0.5),
    "labels -1 and 1": Response.of("binomial", (-1.0, 1.0), 0.0, 1.0),
    "poisson": Response("poisson", 60.0, 30.0, 30.0),
    "poisson without intercept": Response("poisson", 1e4, 0.0, 1e4),
}
every_response = pytest.mark.parametrize("response", RESPONSES.values(), ids=RESPONSES)


def sums_of(rows, metric, theta, limit, response):
    """Every statistic with a mean function."""
    white = whiten(rows, metric)
    limits = np.array([limit, 0.5 * limit])
    gradient, counts = mean_gradient_and_counts(white, theta, response, limit=limits, edges=EDGES)
    return {
        "gradient": mean_gradient(white, theta, response, limit=limits),
        "gradient with counts": gradient,
        "counts": counts,
        "curvature": sloped_gram(white, theta, response, limit=limits),
        "counts of sloped lengths": sloped_counts(white, theta, response, edges=EDGES),
        "counts alone": score_counts(white, theta, response, edges=EDGES),
        "scores": score_gram(white, theta, response, limit=limits),
        "scores of units": unit_score_gram(white, theta, response, limit=limits),
        "deviances": deviances(rows, theta, response, null=np.array([0.3, -2.0]), bound=np.array([1.5, 0.2])),
    }


@every_arithmetic
@every_bounds
@every_intercept
@settings(max_examples=8)
@given(table=rows, theta=thetas, seed=seeds, scale=scales, limit=limits, name=st.sampled_from(sorted(RESPONSES)))
def test_removing_a_row_moves_sums_by_at_most_the_sensitivity(
    bounds, fit_intercept, arithmetic, table, theta, seed, scale, limit, name
):
    width = WIDTH + fit_intercept
    theta = np.stack((theta[:width], 1e-3 * theta[:width]))
    pair = neighbours(table, bounds, fit_intercept, arithmetic)
    sides = [sums_of(side, metric_of(seed, scale, width), theta, limit, RESPONSES[name]) for side in pair]
    for what, more in sides[0].items():
        less = sides[1][what]
        assert more.sensitivity == less.sensitivity
        for one, other in zip(more.value, less.value, strict=True):
            if arithmetic == "exact":
                moved = sum((int(a) - int(b)) ** 2 for a, b in zip(one.ravel(), other.ravel(), strict=True))
                assert moved <= int(more.sensitivity) ** 2, what
            else:
                size = 1.0 + np.abs(one).max() / more.sensitivity
                assert np.linalg.norm(one - other) <= more.sensitivity * (1.0 + ROUNDING * size), what


@every_response
@every_arithmetic
def test_sums_are_those_of_the_definition(arithmetic, response):
    X, y = ready()
    metric, limits = metric_of(5, 3.0, 5), np.array([0.4, 0.05])
    bounded_rows = bounded(X, y, arithmetic=arithmetic)
    theta = predictor_point(bounded_rows, 3.0 * np.random.default_rng(2).standard_normal((2, 5)))
    white = whiten(bounded_rows, metric)
    gradient = mean_gradient(white, theta, response, limit=limits)
    curvature = sloped_gram(white, theta, response, limit=limits)
    low, high = response.predictors
    for trial, limit in enumerate(limits):
        V, eta = X @ metric[trial], np.clip(X @ theta[trial], low, high)
        mean = 1.0 / (1.0 + np.exp(-eta)) if response.family == "binomial" else np.exp(eta)
        slope = (mean * (1.0 - mean) if response.family == "binomial" else mean) / response.scale
        lengths, r = np.linalg.norm(V, axis=1), y - np.clip((mean - response.centre) / response.scale, -1.0, 1.0)
        terms = V * (r * np.minimum(1.0, limit / (lengths * np.abs(r))))[:, None]
        step = np.atleast_1d(gradient.step)[trial]
        np.testing.assert_allclose(gradient.value[trial].astype(float) * step, terms.sum(axis=0), atol=2e-3 * limit)
        short = V * np.minimum(np.sqrt(slope), limit / lengths)[:, None]
        step = np.atleast_1d(curvature.step)[trial]
        np.testing.assert_allclose(
            curvature.value[trial].astype(float) * step, short.T @ short, atol=4e-3 * len(X) * limit**2
        )


@every_response
@every_arithmetic
def test_scores_and_deviances_are_those_of_the_definition(arithmetic, response):
    X, y = ready()
    metric, limits = metric_of(5, 3.0, 5), np.array([0.4, 0.05])
    bounded_rows = bounded(X, y, arithmetic=arithmetic)
    theta = predictor_point(bounded_rows, 3.0 * np.random.default_rng(2).standard_normal((2, 5)))
    null, bound = np.array([0.3, -2.0]), np.array([1.5, 0.2])
    scores = score_gram(whiten(bounded_rows, metric), theta, response, limit=limits)
    deviance = deviances(bounded_rows, theta, response, null=null, bound=bound)
    family, outcome = FAMILIES[response.family], np.clip(response.centre + response.scale * y, 0.0, response.high)
    for trial, limit in enumerate(limits):
        V, eta = X @ metric[trial], X @ theta[trial]
        r = y - response.expected(eta)
        terms = V * (r * np.minimum(1.0, limit / (np.linalg.norm(V, axis=1) * np.abs(r))))[:, None]
        found = scores.value[trial].astype(float) * np.atleast_1d(scores.step)[trial]
        np.testing.assert_allclose(found, terms.T @ terms, atol=4e-3 * len(X) * limit**2)
        means = response.mean(eta), response.mean(np.full(len(X), null[trial]))
        sums = [np.minimum(family.deviance(outcome, mean), bound[trial]).sum() for mean in means]
        found = deviance.value[trial].astype(float) * np.atleast_1d(deviance.step)[trial]
        np.testing.assert_allclose(found, sums, rtol=1e-4)


@every_response
def test_what_is_expected_of_a_row_does_not_depend_on_its_place(response):
    """The lengths, starts and strides of arrays decide which instructions numpy takes."""
    values = np.random.default_rng(3).uniform(-20.0, 20.0, 1003)
    outcomes = np.where(np.arange(1003) % 3 == 0, response.high, 0.0)
    for function in (response.expected, response.slope, lambda eta: response.deviance(outcomes[0], eta)):
        whole = function(values)
        for start in (0, 1, 2, 3, 5, 7, 11):
            for length in (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64):
                np.testing.assert_array_equal(function(values[start : start + length]), whole[start : start + length])
        np.testing.assert_array_equal(function(values[::3]), whole[::3])
        np.testing.assert_array_equal(function(values[::-1]), whole[::-1])
        np.testing.assert_array_equal(function(np.stack((values, values), axis=1)), np.stack((whole, whole), axis=1))


def test_the_logarithm_is_that_of_the_definition():
    values = np.concatenate((np.geomspace(1e-300, 1e300, 20_001), [1.0, 0.5, 2.0, math.sqrt(0.5), math.e]))
    expected = np.array([math.log(value) for value in values])
    np.testing.assert_allclose(logarithm(values), expected, rtol=1e-15, atol=1e-16)
    assert logarithm(np.ones(1))[0] == 0.0


def test_the_exponential_is_that_of_the_definition():
    values = np.concatenate((np.linspace(-30.0, 30.0, 20_001), [0.0, 1.0, -1.0, math.log(2.0), 700.0, -700.0]))
    expected = np.array([math.exp(value) for value in values])
    np.testing.assert_allclose(exponential(values), expected, rtol=4e-16 * 4)
    assert exponential(np.zeros(1))[0] == 1.0


@every_response
def test_expected_targets_are_bounded_and_rise_with_the_predictor(response):
    eta = np.concatenate(([-1e300, -1e3], np.linspace(-30.0, 30.0, 5001), [1e3, 1e300]))
    expected, slope = response.expected(eta), response.slope(eta)
    assert np.abs(expected).max() <= 1.0
    assert (np.diff(expected) >= 0.0).all()
    assert 0.0 < slope.max() <= response.steepest * (1.0 + 1e-12)


@every_response
@pytest.mark.parametrize("cut", [1, 150, 299])
def test_exact_sums_do_not_depend_on_how_rows_are_cut(cut, response):
    X, y = ready()
    metric, theta = metric_of(5, 3.0, 5), np.full((2, 5), 1.7)
    row_map = BOUNDS["unit norm"].row_map(n_features=5, columns=None, fit_intercept=False)

    class Parts:
        """The same rows in two parts, read anew in every pass."""

        n_rows, n_features, columns = len(y), 5, None

        def total(self, kernel, *args):
            one, two = (ArraySource(X[part], y[part]).total(kernel, *args) for part in (slice(cut), slice(cut, None)))
            return type(one)(tuple(a + b for a, b in zip(one.values, two.values, strict=True)), one.n_rows + two.n_rows)

    sides = [
        sums_of(BoundedRows(source, row_map, "raise", "exact"), metric, theta, 0.3, response)
        for source in (ArraySource(X, y), Parts())
    ]
    for name, one in sides[0].items():
        assert moved_squared(one, sides[1][name]) == 0


@every_response
@every_arithmetic
def test_a_row_of_zeros_adds_nothing(arithmetic, response):
    X, y = ready(n_rows=20)
    nothing = np.full((1, 5), np.nan)
    metric, theta = metric_of(5, 3.0, 5), np.full((2, 5), 0.4)
    sides = [
        sums_of(bounded(*table, bad_rows="zero", arithmetic=arithmetic), metric, theta, 0.3, response)
        for table in ((X, y), (np.vstack((X, nothing)), np.append(y, 0.0)))
    ]
    for name, one in sides[0].items():
        np.testing.assert_allclose(
            one.value.astype(float), sides[1][name].value.astype(float), rtol=1e-12, atol=1e-12, err_msg=name
        )


def maximum_likelihood(X, y, family):
    """Iteratively reweighted least squares, with nothing of the package in it."""
    theta = np.zeros(X.shape[1])
    theta[-1] = np.log(y.mean() / (1.0 - y.mean())) if family == "binomial" else np.log(y.mean())
    for _ in range(50):
        eta = X @ theta
        mean = 1.0 / (1.0 + np.exp(-eta)) if family == "binomial" else np.exp(eta)
        weight = mean * (1.0 - mean) if family == "binomial" else mean
        theta = theta + np.linalg.solve((X.T * weight) @ X, X.T @ (y - mean))
    return theta


@every_arithmetic
@pytest.mark.parametrize("rate", [-3.5, 0.0, 1.0])
@pytest.mark.parametrize("method", ["logistic", "poisson"])
def test_an_endless_budget_leads_to_maximum_likelihood(method, rate, arithmetic):
    rng = np.random.default_rng(7)
    X = rng.uniform(-1.0, 1.0, (6000, 3))
    eta = rate + X @ [1.5, -1.0, 0.0]
    family = {"logistic": "binomial", "poisson": "poisson"}[method]
    y = rng.random(6000) < 1.0 / (1.0 + np.exp(-eta)) if method == "logistic" else rng.poisson(np.exp(eta))
    high = 1.0 if method == "logistic" else float(y.max() + 1)
    rows = bounded(
        X,
        y.astype(float),
        Bounds(features=[(-1.0, 1.0)] * 3, target=(0.0, high)),
        fit_intercept=True,
        arithmetic=arithmetic,
    )
    best = maximum_likelihood(np.column_stack((X, np.ones(6000))), y.astype(float), family)
    for name, atol in ((method, 0.02), (f"{method}-inference", 0.005)):
        plan = Case(name).plan(epsilon=1e9, n_rows=6000, n_features=4)
        theta = Case(name).algorithm.run(rows, plan, streams(1, 2)).theta
        np.testing.assert_allclose(theta / 2.0, np.stack((best, best)), atol=atol)  # rows are divided by their norm, 2


def test_the_table_of_families_agrees_with_itself():
    """Slope, link and deviance follow from the mean function."""
    for family in FAMILIES.values():
        eta = np.linspace(-3.0, 3.0, 61)
        mean = family.mean(eta)
        np.testing.assert_allclose(family.link(mean), eta, atol=1e-12)
        step = 1e-6
        np.testing.assert_allclose(
            (family.mean(eta + step) - family.mean(eta - step)) / (2.0 * step), family.variance(mean), rtol=1e-7
        )
        outcome = np.where(eta > 0.0, 1.0, 0.0)
        slope = (
            family.deviance(outcome, family.mean(eta + step)) - family.deviance(outcome, family.mean(eta - step))
        ) / (2.0 * step)
        np.testing.assert_allclose(slope, -2.0 * (outcome - mean), atol=1e-6)
