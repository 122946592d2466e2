"""Limits on slopes: how they are given, and the nearest point within them against the conditions of a minimum."""

import numpy as np
import pytest
from scipy.optimize import minimize, nnls

from dpols import Constraints
from dpols.constraints import Limits
from dpols.errors import ParameterError

NAMES = ["a", "b", "c", "d"]
SCALE = np.array([0.5, 2.0, 1.0, 10.0])


def metric(seed, size, spread=1.0):
    """A positive definite matrix whose eigenvalues span so many powers of ten."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.standard_normal((size, size)))[0]
    return (basis * np.logspace(0.0, -spread, size)) @ basis.T


def nearest(constraints, h, point, *, intercept):
    region = constraints.limits(NAMES).region(SCALE, intercept=intercept)
    return region.nearest(h[None], point[None])[0]


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("spread", [0.0, 2.0, 6.0])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("lower", "upper"),
    [(0.0, None), (-0.3, 0.4), ([None, 0.5, None, -0.1], [0.2, None, None, 0.1]), (None, {"b": 0.0})],
)
def test_a_box_gives_a_point_at_which_nothing_can_be_gained(lower, upper, seed, spread, intercept):
    h, point = metric(seed, 4 + intercept, spread), np.random.default_rng(seed).standard_normal(4 + intercept)
    constraints = Constraints(lower, upper)
    found = nearest(constraints, h, point, intercept=intercept)
    limits = constraints.limits(NAMES)
    slopes, pull = found[:4] * SCALE, h @ (found - point)
    at_lower, at_upper = slopes <= limits.lower + 1e-9, slopes >= limits.upper - 1e-9
    assert np.all((limits.lower - 1e-12 <= slopes) & (slopes <= limits.upper + 1e-12))
    tolerance = 1e-6 * np.abs(h @ point).max()
    assert np.all(np.abs(pull[:4][~at_lower & ~at_upper]) <= tolerance)
    assert np.all(pull[:4][at_lower] >= -tolerance)
    assert np.all(pull[:4][at_upper] <= tolerance)
    assert np.all(np.abs(pull[4:]) <= tolerance)  # the intercept follows freely


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("spread", [0.0, 2.0, 6.0])
@pytest.mark.parametrize("norm", [1e-3, 0.5, 3.0])
@pytest.mark.parametrize("seed", range(4))
def test_a_ball_gives_a_point_that_a_multiplier_explains(seed, norm, spread, intercept):
    h, point = metric(seed, 4 + intercept, spread), 3.0 + np.random.default_rng(seed).standard_normal(4 + intercept)
    found = nearest(Constraints(norm=norm), h, point, intercept=intercept)
    slopes, pull = found[:4] * SCALE, h @ (found - point)
    assert np.linalg.norm(slopes) == pytest.approx(norm, rel=1e-9)
    outward = SCALE**2 * found[:4]
    multiplier = -float(pull[:4] @ outward) / float(outward @ outward)
    assert multiplier > 0.0
    scale = np.abs(h @ point).max()
    np.testing.assert_allclose(pull[:4], -multiplier * outward, atol=1e-6 * scale)
    np.testing.assert_allclose(pull[4:], 0.0, atol=1e-6 * scale)


@pytest.mark.parametrize(
    "constraints", [Constraints(lower=-100.0, upper=100.0), Constraints(norm=1e3), Constraints(lower={"a": -50.0})]
)
def test_a_point_within_stays_where_it_is(constraints):
    point = np.array([1.0, -2.0, 0.5, 3.0, 7.0])
    np.testing.assert_array_equal(nearest(constraints, metric(0, 5), point, intercept=True), point)


def test_nonnegative_slopes_are_those_of_nonnegative_least_squares():
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((50, 4)), rng.standard_normal(50)
    free = np.linalg.lstsq(X, y, rcond=None)[0]
    found = Constraints(lower=0.0).limits(NAMES).region(np.ones(4), intercept=False)
    np.testing.assert_allclose(found.nearest((X.T @ X)[None], free[None])[0], nnls(X, y)[0], atol=1e-9)


def test_a_ball_agrees_with_a_general_optimiser():
    h, point = metric(3, 4, 1.0), np.array([2.0, -1.0, 4.0, 1.0])
    found = nearest(Constraints(norm=2.0), h, point, intercept=False)
    other = minimize(
        lambda t: (t - point) @ h @ (t - point),
        np.zeros(4),
        jac=lambda t: 2.0 * h @ (t - point),
        constraints={"type": "ineq", "fun": lambda t: 4.0 - np.sum((SCALE * t) ** 2)},
        options={"ftol": 1e-15, "maxiter": 500},
    ).x
    np.testing.assert_allclose(found, other, atol=1e-4)


@pytest.mark.parametrize("constraints", [Constraints(lower=0.0), Constraints(norm=1.0)])
@pytest.mark.parametrize(
    "h",
    [
        np.zeros((5, 5)),
        -np.eye(5),
        np.full((5, 5), np.nan),
        np.diag([1.0, 0.0, 0.0, 0.0, 0.0]),
        1e200 * np.eye(5),
        np.full((5, 5), 1e-300),
    ],
    ids=["zero", "negative", "nan", "rank 1", "huge", "tiny"],
)
@pytest.mark.parametrize("size", [1.0, 1e18, np.nan])
def test_whatever_was_released_a_point_within_is_found(constraints, h, size):
    limits = constraints.limits(NAMES)
    found = limits.region(SCALE, intercept=True).nearest(h[None], np.full((1, 5), -size))[0]
    slopes = limits.settled(SCALE * found[:4])
    assert np.isfinite(found).all()
    assert np.all(slopes >= 0.0) if constraints.norm is None else np.linalg.norm(slopes) <= 1.0


def test_rounding_is_settled_exactly():
    limits = Constraints(lower=0.3, upper=0.7).limits(NAMES)
    values = np.array([np.nextafter(0.3, 0.0), 0.5, np.nextafter(0.7, 1.0), 0.3])
    assert limits.settled(values).tolist() == [0.3, 0.5, 0.7, 0.3]
    ball = Constraints(norm=1.0).limits(NAMES)
    for seed in range(50):
        direction = np.random.default_rng(seed).standard_normal(4)
        assert np.linalg.norm(ball.settled(direction / np.linalg.norm(direction) * (1.0 + 4e-16))) <= 1.0


@pytest.mark.parametrize(
    ("constraints", "words"),
    [
        (Constraints(lower=0), ("every slope at least 0",)),
        (Constraints(lower={"b": 0, "c": -1}, upper={"c": 1}), ("slope of b at least 0", "slope of c from -1 to 1")),
        (Constraints(upper=[1, None, None, 2.5]), ("slope of a at most 1", "slope of d at most 2.5")),
        (Constraints(norm=2), ("norm of the slopes at most 2",)),
    ],
)
def test_limits_are_said_in_words(constraints, words):
    limits = constraints.limits(NAMES)
    assert isinstance(limits, Limits)
    assert limits.describe() == words


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "limits nothing"),
        ({"norm": 1.0, "lower": 0.0}, "box or by a ball"),
        ({"norm": 0.0}, "norm=0.0 must be positive"),
        ({"norm": float("nan")}, "must be a number"),
        ({"norm": 1e-300}, "must be positive"),
        ({"lower": -1e200}, "within 1e\\+50 of 0"),
        ({"lower": "zero"}, "lower='zero' must be a number"),
        ({"lower": float("nan")}, "use None for no limit"),
        ({"lower": [0.0, 1.0]}, "lower has 2 limits, but there are 4 features"),
        ({"upper": {"e": 1.0}}, "unknown features"),
        ({"lower": 1.0, "upper": {"c": 1.0}}, "of 'c' must satisfy lower < upper"),
    ],
)
def test_impossible_limits_are_refused(given, words):
    with pytest.raises(ParameterError, match=words):
        Constraints(**given).limits(NAMES)


@pytest.mark.parametrize("scale", [1e-200, 1e-100, 1e100, 1e200])
@pytest.mark.parametrize("constraints", [Constraints(lower=1e40), Constraints(norm=1e-40), Constraints(norm=1e40)])
def test_units_of_any_size_give_finite_coefficients(constraints, scale):
    limits = constraints.limits(NAMES)
    scales = np.array([scale, 1.0, scale, 1.0])
    for point in (np.ones((1, 5)), np.full((1, 5), -1e60)):
        found = limits.region(scales, intercept=True).nearest(metric(0, 5, 3.0)[None], point)[0]
        assert np.isfinite(found).all()
        slopes = limits.settled(np.nan_to_num(scales * found[:4]))
        assert np.all(slopes >= limits.lower)
        assert constraints.norm is None or np.linalg.norm(slopes) <= constraints.norm
