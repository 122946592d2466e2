"""Law: a row adds to one bin of a calibration, and there no more than was stated, whatever it holds."""

from dataclasses import replace

import numpy as np
import pytest
from law_cases import bounded, every_arithmetic
from test_law_exposure import ENDS as EXPOSURES
from test_law_exposure import exposed
from test_law_weights import every_intercept

from dpols.families import Response
from dpols.statistics import calibration_sums, predictor_point

WIDTH = 4
EDGES = np.array([[-np.inf], [-0.4], [0.0], [0.1], [0.1], [0.6]])
RESPONSES = {
    "binomial": Response("binomial", 1.0, 0.5, 0.5),
    "poisson": Response("poisson", 60.0, 30.0, 30.0),
    "exposed": Response.of("poisson", (0.0, 60.0), 30.0, 30.0, EXPOSURES[1]),
}
every_response = pytest.mark.parametrize("name", RESPONSES)


def drawn(n_rows=80):
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1.0, 1.0, (n_rows, WIDTH)) / 2.0, rng.uniform(-1.0, 1.0, n_rows)
    y[:2] = 1.0, -1.0
    return X, y, rng.uniform(0.1, 12.0, n_rows)


def sums(name, table, most=None, **how):
    """The statistic, with outcomes and means cut at a size."""
    X, y, exposure = table
    rows = exposed(X, y, exposure, **how) if name == "exposed" else bounded(X, y, **how)
    response = RESPONSES[name]
    theta = predictor_point(rows, np.linspace(-0.9, 1.4, rows.row_map.n_coordinates)[None])
    most = response.high if most is None else most
    ends = np.vstack(([0.0], np.minimum(response.mean(EDGES[1:]), most), [most]))
    return calibration_sums(rows, theta, response, edges=EDGES, ends=ends), theta[0], ends[:, 0]


def less(table, row):
    return tuple(np.delete(part, row, axis=0) for part in table)


@every_arithmetic
@every_intercept
@every_response
@pytest.mark.parametrize("most", [None, 0.3])
def test_no_row_moves_it_by_more_than_it_states(name, fit_intercept, arithmetic, most):
    table, how = drawn(), {"fit_intercept": fit_intercept, "arithmetic": arithmetic}
    whole, *_ = sums(name, table, most, **how)
    moves = []
    for row in range(20):
        other, *_ = sums(name, less(table, row), most, **how)
        assert other.sensitivity == whole.sensitivity
        moves.append(np.linalg.norm((whole.value - other.value).astype(float)) / whole.sensitivity)
    assert max(moves) <= 1.0 + 1e-12
    assert max(moves) > (0.95 if most == 0.3 else 0.6)


@every_response
def test_what_a_row_adds_depends_on_that_row_alone(name):
    table, how = drawn(), {"arithmetic": "exact"}
    order = np.random.default_rng(1).permutation(np.arange(3, 80))
    whole, *_ = sums(name, table, **how)
    parts = [sums(name, tuple(part[rows] for part in table), **how)[0].value for rows in ([0], [1, 2], order)]
    np.testing.assert_array_equal(whole.value, sum(parts))


@every_arithmetic
@every_response
def test_it_is_that_of_the_definition(name, arithmetic):
    X, y, exposure = table = drawn()
    found, theta, ends = sums(name, table, arithmetic=arithmetic)
    response = RESPONSES[name]
    eta = X @ theta + (np.log(np.clip(exposure, *EXPOSURES)) if name == "exposed" else 0.0)
    mean = 1.0 / (1.0 + np.exp(-eta)) if name == "binomial" else np.minimum(np.exp(eta), response.high)
    outcome = response.centre + response.scale * y
    bins = np.digitize(eta, EDGES[1:, 0], right=True)
    value = np.ravel(found.value).astype(float) * found.step
    np.testing.assert_allclose(value[:6], [(bins == k).sum() for k in range(6)], rtol=1e-9)
    np.testing.assert_allclose(value[6:12], [(outcome[bins == k] / ends[-1]).sum() for k in range(6)], atol=1e-3)
    width = np.maximum(np.diff(ends), 1e-250)
    places = 0.5 * np.clip((mean - ends[bins]) / width[bins], 0.0, 1.0)
    np.testing.assert_allclose(value[12:], [places[bins == k].sum() for k in range(6)], atol=1e-3)


@every_arithmetic
@every_response
def test_a_row_of_zeros_is_in_no_bin(name, arithmetic):
    table = drawn()
    X = table[0].copy()
    X[:5] = np.nan
    how = {"arithmetic": arithmetic, "bad_rows": "zero", "fit_intercept": True}
    one, other = sums(name, (X, *table[1:]), **how)[0], sums(name, less(table, slice(0, 5)), **how)[0]
    np.testing.assert_allclose(one.value.astype(float), other.value.astype(float), atol=1e-12)


def test_units_of_several_rows_move_it_by_as_many_rows():
    X, y, _ = drawn()
    rows = replace(bounded(X, y, arithmetic="exact"), rows_per_unit=3)
    ends = np.vstack(([0.0], RESPONSES["binomial"].mean(EDGES[1:]), [1.0]))
    found = calibration_sums(rows, np.zeros((1, WIDTH)), RESPONSES["binomial"], edges=EDGES, ends=ends)
    alone = calibration_sums(
        bounded(X, y, arithmetic="exact"), np.zeros((1, WIDTH)), RESPONSES["binomial"], edges=EDGES, ends=ends
    )
    assert found.sensitivity * found.step * 3 == pytest.approx(alone.sensitivity * alone.step * 3)
    np.testing.assert_allclose(found.value.astype(float) * found.step * 3, alone.value.astype(float) * alone.step)
