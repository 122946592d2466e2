"""Law: exposure multiplies the mean of a row, within its declared range, and nothing else of any row changes."""

from dataclasses import replace

import numpy as np
import pytest
from law_cases import bounded, every_arithmetic
from test_law_weights import every_intercept

from dpols import Bounds
from dpols.algorithms import algorithm
from dpols.data import ArraySource
from dpols.families import Response
from dpols.privacy import PrivacyBudget
from dpols.randomness import streams
from dpols.statistics import (
    deviances,
    gram,
    mean_gradient,
    mean_gradient_and_counts,
    predictor_point,
    score_counts,
    score_gram,
    sloped_counts,
    sloped_gram,
    totals,
    unit_score_gram,
    whiten,
)

WIDTH = 4
ENDS = (0.5, 8.0)
HIGH = 30.0
LIMIT = np.array([0.4])
EDGES = np.array([[0.0], [0.05], [0.2], [0.6]])
RESPONSE = Response.of("poisson", (0.0, HIGH), 0.5 * HIGH, 0.5 * HIGH, ENDS[1])


def exposed(X, y, exposure, ends=ENDS, **how):
    """Bounded rows with exposures."""
    rows = bounded(X, y, **how)
    source = ArraySource(X, np.column_stack((y, exposure)))
    return replace(rows, source=source, row_map=replace(rows.row_map, exposure=ends))


def statistics(rows, response=RESPONSE):
    """Every statistic that exposure is part of, at one point and in one metric, by name."""
    d = rows.row_map.n_coordinates
    theta = predictor_point(rows, np.linspace(-0.5, 0.7, d)[None])
    white = whiten(rows, (np.eye(d) + 0.1 * np.arange(d * d).reshape(d, d) / d**2)[None])
    gradient, counts = mean_gradient_and_counts(white, theta, response, limit=LIMIT, edges=EDGES)
    return {
        "totals": totals(rows),
        "gram": gram(rows),
        "gradient": mean_gradient(white, theta, response, limit=LIMIT),
        "gradient with counts": gradient,
        "counts": counts,
        "curvature": sloped_gram(white, theta, response, limit=LIMIT),
        "sloped lengths": sloped_counts(white, theta, response, edges=EDGES),
        "score counts": score_counts(white, theta, response, edges=EDGES),
        "scores": score_gram(white, theta, response, limit=LIMIT),
        "scores of units": unit_score_gram(white, theta, response, limit=LIMIT),
        "deviances": deviances(rows, theta, response, null=np.array([0.3]), bound=np.array([1.5])),
    }


def drawn(n_rows=60):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (n_rows, WIDTH)) / 2.0
    exposure = rng.uniform(0.1, 12.0, n_rows)  # some beyond the range
    exposure[:4] = 1e-30, 1e30, 0.5, 1e3
    return X, rng.uniform(-1.0, 1.0, n_rows), exposure


@every_arithmetic
@every_intercept
def test_no_row_moves_a_statistic_by_more_than_it_states_whatever_its_exposure(fit_intercept, arithmetic):
    X, y, exposure = drawn()
    how = {"fit_intercept": fit_intercept, "arithmetic": arithmetic}
    everything = statistics(exposed(X, y, exposure, **how))
    for row in (0, 1, 3, 31):
        less = statistics(exposed(*(np.delete(part, row, axis=0) for part in (X, y, exposure)), **how))
        for name, statistic in everything.items():
            difference = (statistic.value - less[name].value).astype(float)
            assert np.linalg.norm(difference) <= statistic.sensitivity * (1.0 + 1e-9), name


@every_arithmetic
def test_a_long_row_of_the_largest_exposure_or_more_attains_what_totals_state(arithmetic):
    X, y = np.array([[1.0, 0.0, 0.0, 0.0]]), np.array([1.0])
    for own in (ENDS[1], 1e9):
        statistic = totals(exposed(X, y, np.array([own]), arithmetic=arithmetic))
        moved = np.linalg.norm(statistic.value.astype(float))
        assert 0.99999 < moved / statistic.sensitivity <= 1.0 + 1e-12


@every_intercept
def test_what_a_row_adds_depends_on_that_row_alone(fit_intercept):
    X, y, exposure = drawn()
    how = {"fit_intercept": fit_intercept, "arithmetic": "exact"}
    whole = statistics(exposed(X, y, exposure, **how))
    order = np.random.default_rng(1).permutation(np.arange(1, len(y)))
    one = statistics(exposed(X[:1], y[:1], exposure[:1], **how))
    others = statistics(exposed(np.asfortranarray(X[order]), y[order], exposure[order], **how))
    for name in ("totals", "counts", "sloped lengths", "score counts", "scores", "deviances"):
        np.testing.assert_array_equal(whole[name].value, one[name].value + others[name].value, err_msg=name)


def test_the_offset_of_a_row_does_not_depend_on_its_place():
    shares = np.random.default_rng(3).uniform(1e-9, 1.0, 1003)
    whole = RESPONSE.offset(shares)
    np.testing.assert_allclose(whole, np.log(shares * ENDS[1]), rtol=1e-13, atol=1e-14)
    for start in (0, 1, 3, 7):
        for length in (1, 2, 3, 5, 8, 17, 64):
            np.testing.assert_array_equal(
                RESPONSE.offset(shares[start : start + length]), whole[start : start + length]
            )
    np.testing.assert_array_equal(RESPONSE.offset(shares[::3]), whole[::3])


@every_arithmetic
def test_sums_are_those_of_the_definition(arithmetic):
    X, y, exposure = drawn()
    rows = exposed(X, y, exposure, arithmetic=arithmetic)
    found = statistics(rows)
    theta = predictor_point(rows, np.linspace(-0.5, 0.7, WIDTH)[None])[0]
    metric = np.eye(WIDTH) + 0.1 * np.arange(WIDTH * WIDTH).reshape(WIDTH, WIDTH) / WIDTH**2
    within = np.clip(exposure, *ENDS)
    mean = np.minimum(within * np.exp(X @ theta), HIGH)
    V, r = X @ metric, y - (mean / (0.5 * HIGH) - 1.0)
    terms = V * (r * np.minimum(1.0, LIMIT[0] / (np.linalg.norm(V, axis=1) * np.abs(r))))[:, None]
    gradient = found["gradient"]
    value = gradient.value[0].astype(float) * np.atleast_1d(gradient.step)[0]
    np.testing.assert_allclose(value, terms.sum(axis=0), atol=2e-3 * LIMIT[0])
    total = found["totals"]
    last = np.ravel(total.value)[-1].astype(float) * np.atleast_1d(total.step)[0]
    np.testing.assert_allclose(last, (within / ENDS[1]).sum(), rtol=1e-4)
    assert abs(last - (exposure / ENDS[1]).sum()) > 1.0


@every_arithmetic
@every_intercept
def test_a_bad_exposure_is_a_row_of_zeros(fit_intercept, arithmetic):
    X, y, exposure = drawn()
    how = {"fit_intercept": fit_intercept, "arithmetic": arithmetic, "bad_rows": "zero"}
    less = statistics(exposed(X[4:], y[4:], exposure[4:], **how))
    exposure[:4] = 0.0, np.nan, -1.0, np.inf
    for name, statistic in statistics(exposed(X, y, exposure, **how)).items():
        np.testing.assert_allclose(statistic.value.astype(float), less[name].value.astype(float), atol=1e-12)


@every_arithmetic
@every_intercept
def test_exposure_of_one_is_none(fit_intercept, arithmetic):
    X, y, _ = drawn()
    how = {"fit_intercept": fit_intercept, "arithmetic": arithmetic}
    response = replace(RESPONSE, exposure=1.0)
    plain = statistics(bounded(X, y, **how), response)
    for name, statistic in statistics(exposed(X, y, np.ones(len(y)), (0.5, 1.0), **how), response).items():
        value = statistic.value[..., :-1] if name == "totals" else statistic.value  # the sum of exposures is one more
        np.testing.assert_allclose(value.astype(float), plain[name].value.astype(float), rtol=1e-9, atol=1e-12)


def maximum_likelihood(X, y, offset):
    """Poisson regression with an offset, by Newton steps, with nothing of the package in it."""
    theta = np.zeros(X.shape[1])
    for _ in range(60):
        mean = np.exp(X @ theta + offset)
        theta = theta + np.linalg.solve((X.T * mean) @ X, X.T @ (y - mean))
    return theta


@every_arithmetic
@pytest.mark.parametrize("unit", [1.0, 365.0])
@pytest.mark.parametrize(("method", "atol"), [("poisson", 0.02), ("poisson-inference", 0.006)])
def test_an_endless_budget_leads_to_maximum_likelihood_with_the_offset(method, atol, unit, arithmetic):
    rng = np.random.default_rng(7)
    X = rng.uniform(-1.0, 1.0, (6000, 3))
    exposure = np.exp(rng.uniform(-2.0, 0.0, 6000) * (1.0 + 0.5 * X[:, 1]))
    y = rng.poisson(exposure * np.exp(0.7 + X @ [1.0, -0.5, 0.0])).astype(float)
    ends = (float(exposure.min()), float(exposure.max()))
    bounds = Bounds(features=[(-1.0, 1.0)] * 3, target=(0.0, float(y.max() + 1)))
    scaled = (unit * ends[0], unit * ends[1])
    rows = exposed(X, y, unit * exposure, scaled, bounds=bounds, fit_intercept=True, arithmetic=arithmetic)
    chosen = algorithm(method)
    plan = chosen.plan(PrivacyBudget(1e9, 0.1), n_rows=6000, n_features=4)
    theta = chosen.run(rows, plan, streams(1, 1)).theta[0] / 2.0  # rows are divided by their norm, 2
    design = np.column_stack((X, np.ones(6000)))
    best = maximum_likelihood(design, y, np.log(exposure))
    best[-1] -= np.log(unit)
    np.testing.assert_allclose(theta, best, atol=atol)
    without = maximum_likelihood(design, y, np.zeros(6000))
    assert np.abs(without[:-1] - best[:-1]).max() > 0.1
