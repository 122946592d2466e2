"""Bounds with all constants against numbers worked out by hand, and against runs that they must cover."""

import math

import numpy as np
import pytest

from dpols.errors import ParameterError
from dpols.privacy import PrivacyBudget
from dpols.theory import (
    best_linmix,
    joint_eigenvalue_bound,
    no_clipping_level,
    residual_bound_at,
    risk_bound,
    sheffet_saturation,
    theorem_constants,
)


def close(value):
    return pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"theta_norm": 2.0}, 12.0),
        ({"theta_norm": 0.5, "target_bound": 3.0}, 18.0),
        # 2 * 5 - 1 - 2 = 7 and 3 / (1 - 1/7) = 3.5; then 2 * 3 - 1 - 3 = 2 and 3 / (1 - 1/2) = 6.
        ({"theta_norm": 2.0, "sketch_factor": 25.0, "condition_number": 4.0}, 7.0),
        ({"theta_norm": 1.0, "target_bound": 3.0, "sketch_factor": 9.0, "condition_number": 9.0}, 18.0),
    ],
)
def test_the_level_at_which_nothing_is_clipped(given, expected):
    assert no_clipping_level(**given) == close(expected)


def test_a_level_needs_room_and_both_numbers():
    with pytest.raises(ParameterError, match="must exceed 1"):
        no_clipping_level(theta_norm=1.0, sketch_factor=9.0, condition_number=16.0)
    with pytest.raises(ParameterError, match="go together"):
        no_clipping_level(theta_norm=1.0, sketch_factor=9.0)


# sqrt(2 d) + sqrt(4 log(2 T / failure)) = 4 + 6, then 2 + 8.
TEN = {"n_features": 8, "n_iterations": 3, "failure_probability": 6.0 * math.exp(-9.0)}
ALSO_TEN = {"n_features": 2, "n_iterations": 2, "failure_probability": 4.0 * math.exp(-16.0)}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        # r = (1/2) 2 / (3/2) = 2/3; 1 + (1 + 4/9) 9 + 6 / (2 - 3/2) * 10 / 5
        ({**TEN, "iteration": 2, "distortion": 0.5, "smallest": 5.0, "largest": 20.0, "noise": 3.0, "theta_norm": 9.0},
         38.0),
        # r = (1/4) 3 / (7/4) = 3/7; 2 + (1 + 3/7) 7 + 10 / (2 - 1) * 10 / 10
        ({**ALSO_TEN, "iteration": 1, "distortion": 0.25, "smallest": 10.0, "largest": 90.0, "noise": 5.0,
          "theta_norm": 7.0, "target_bound": 2.0}, 22.0),
    ],
)  # fmt: skip
def test_the_bound_on_residuals(given, expected):
    assert residual_bound_at(**given) == close(expected)


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        # 2 chi^2 = 1/2 and (1 - chi/2)^2 = 9/16: 4 / (9/32) * 30^2 / 20; 2 (1/8) 64 * 4; 2 * 15 * 4
        ({**TEN, "distortion": 0.5, "smallest": 5.0, "largest": 49.0, "shift": 15.0, "noise": 3.0, "theta_norm": 2.0},
         (640.0, 64.0, 120.0)),
        # 1/8 and 49/64: 4 / (343/512) * 49^2 / 7; 2 (1/64) 32 * 9; 2 * 4 * 9
        ({**ALSO_TEN, "distortion": 0.25, "smallest": 3.0, "largest": 28.0, "shift": 4.0, "noise": 4.9,
          "theta_norm": 3.0}, (2048.0, 9.0, 72.0)),
    ],
)  # fmt: skip
def test_the_bound_on_the_risk(given, parts):
    found = risk_bound(**given)
    assert (found.noise, found.start, found.shrinkage) == tuple(map(close, parts))
    assert found.total == close(sum(parts))


def test_bounds_are_refused_where_their_proofs_do_not_hold():
    setting = {**TEN, "smallest": 5.0, "largest": 49.0, "noise": 3.0, "theta_norm": 2.0}
    with pytest.raises(ParameterError, match="at most 1/2"):
        risk_bound(**setting, distortion=0.6, shift=0.0)
    with pytest.raises(ParameterError, match="must be positive"):
        risk_bound(**{**setting, "smallest": 0.0}, distortion=0.5, shift=0.0)
    with pytest.raises(ParameterError, match="needs it below 1"):
        residual_bound_at(**setting, distortion=0.8, iteration=1)
    with pytest.raises(ParameterError, match="must be positive"):
        residual_bound_at(**{**setting, "smallest": 0.0}, distortion=0.5, iteration=1)


@pytest.mark.parametrize(
    ("given", "a0", "a1", "a2"),
    # a2 from f + f (1 + sqrt(kappa) / (2 sqrt(8) - 1)), f = 1 / (1 - 1 / (2 sqrt(8) - 1 - sqrt(kappa))).
    [
        ({}, 96.0, 1.0, 3.04833103535038),
        ({"condition_number": 4.0, "c0": 20.0, "c1": 0.1, "c2": 0.04}, 200.0, 0.5, 3.89579202005485),
    ],
)
def test_the_constants_of_the_theorem(given, a0, a1, a2):
    found = theorem_constants(**given)
    assert (found.a0, found.a1, found.a2) == (a0, a1, close(a2))
    assert found.a3 == close(36.0 - 16.0 * math.sqrt(2.0))
    with pytest.raises(ParameterError, match="below a3"):
        theorem_constants(condition_number=13.4)


@pytest.mark.parametrize(("n_features", "expected"), [(50, 4800), (5, 960)])
def test_the_sketch_that_the_theorem_asks_for(n_features, expected):
    failure = 12.0 * math.exp(-10.0 + 1e-12)  # log(4 T / failure) is a hair below 10 for T = 3
    constants = theorem_constants()
    assert constants.sketch_size(n_features=n_features, n_iterations=3, failure_probability=failure) == expected
    # Every part of the condition is met: 8 max(c0 d, log(4 T c1 / failure) / c2, (sqrt(2 d) + sqrt(4 log))^2).
    log = math.log(6.0 / failure)
    assert 8.0 * max(n_features, 10.0, (math.sqrt(2.0 * n_features) + math.sqrt(4.0 * log)) ** 2) <= expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"n_features": 25, "sketch_size": 100, "loss": 40.0, "failure_probability": 0.1}, 20.0),
        ({"n_features": 4, "sketch_size": 64, "loss": 10.0, "failure_probability": 2.0 * math.exp(-16.0)}, 5.0),
        ({"n_features": 9, "sketch_size": 144, "loss": 6.0, "failure_probability": 0.1, "c0": 4.0}, 3.0),
    ],
)
def test_where_sheffets_sketch_saturates(given, expected):
    assert sheffet_saturation(**given) == close(expected)


# gamma_m = sqrt(25 * 16) / 2 = 10; then sqrt(8 * 2) / 10 = 0.4, sqrt(8 log) = 4 and sqrt(1 + 10 / 8) - 1 = 1/2.
FIRST = {"budget": PrivacyBudget(2.0, math.exp(-16.0)), "n_features": 9, "failure_probability": math.exp(-25.0)}
SECOND = {
    "budget": PrivacyBudget(10.0, math.exp(-2.0)), "n_features": 8, "failure_probability": 0.5, "target_bound": 2.0
}  # fmt: skip


@pytest.mark.parametrize(
    ("setting", "smallest", "loss", "theta_norm", "floor", "bound"),
    [
        (FIRST, 15.0, 515.0, 2.0, 50.0, 360.0),  # sqrt(20 * 500) / 2; 20 + 35 * 4 + 20 * 500 / 50
        (SECOND, 3.0, 21.0, 0.5, 12.0, 7.25),  # sqrt(2 * 18) / 0.5; 2 + 9 / 4 + 2 * 18 / 12
        (SECOND, 1.0, 19.0, 6.0, 2.0, 56.0),  # gamma_m (1 + C_Y^2) itself; 2 + 36 + 2 * 18 / 2
        (SECOND, 3.0, 21.0, 6.0, 3.0, 14.0),  # no noise at all; 2 * 21 / 3
    ],
)
def test_the_best_sketch_of_linmix(setting, smallest, loss, theta_norm, floor, bound):
    found = best_linmix(**setting, smallest_joint=smallest, loss=loss, theta_norm=theta_norm)
    assert (found.floor, found.bound) == (close(floor), close(bound))
    if setting is SECOND:
        assert found.sketch_size == close((floor * 4.0 * 0.5 / 5.0) ** 2)
    else:
        assert found.sketch_size == close(50.0**2 * 128.0 * (math.sqrt(33.0 / 32.0) - 1.0) ** 2 / 4.0)


def test_the_best_sketch_is_a_minimum_of_its_bound():
    def bound(floor):  # the first case of the paper's formula, at another floor
        return 2.0 + (floor - 3.0) * 0.25 + 2.0 * 18.0 / floor

    found = best_linmix(**SECOND, smallest_joint=3.0, loss=21.0, theta_norm=0.5)
    assert found.bound <= min(bound(found.floor * factor) for factor in (0.5, 0.9, 0.99, 1.01, 1.1, 2.0))


def test_impossible_settings_of_linmix_are_refused():
    with pytest.raises(ParameterError, match="theta_norm"):
        best_linmix(**SECOND, smallest_joint=3.0, loss=21.0, theta_norm=0.0)
    with pytest.raises(ParameterError, match="loss"):
        best_linmix(**SECOND, smallest_joint=3.0, loss=2.0, theta_norm=1.0)


@pytest.mark.parametrize(
    ("smallest", "loss", "theta_norm", "expected"),
    [(10.0, 40.0, 1.0, 10.0), (30.0, 40.0, 1.0, 20.0), (9.0, 50.0, 2.0, 9.0), (11.0, 50.0, 2.0, 10.0)],
)
def test_the_joint_eigenvalue(smallest, loss, theta_norm, expected):
    assert joint_eigenvalue_bound(smallest=smallest, loss=loss, theta_norm=theta_norm) == close(expected)


@pytest.mark.parametrize("seed", range(5))
def test_no_table_exceeds_the_joint_eigenvalue(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 4)) * [1.0, 0.5, 2.0, 0.1]
    y = X @ rng.standard_normal(4) + 0.1 * rng.standard_normal(30)
    theta = np.linalg.lstsq(X, y, rcond=None)[0]
    smallest = float(np.linalg.eigvalsh(X.T @ X)[0])
    loss = float(np.sum((y - X @ theta) ** 2))
    joint = np.column_stack((X, y))
    bound = joint_eigenvalue_bound(smallest=smallest, loss=loss, theta_norm=float(np.linalg.norm(theta)))
    assert np.linalg.eigvalsh(joint.T @ joint)[0] <= bound * (1.0 + 1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_runs_of_the_analysed_method_keep_within_both_bounds(seed):
    """Newton steps on explicit sketches, with the distortion that each of them really has."""
    rng = np.random.default_rng(seed)
    n, d, rows, steps, noise, shift = 60, 3, 6000, 4, 0.3, 5.0
    X = rng.standard_normal((n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = np.clip(X @ [0.6, -0.4, 0.2] + 0.1 * rng.standard_normal(n), -1.0, 1.0)
    tall = np.vstack((X, math.sqrt(shift) * np.eye(d)))
    basis, metric = np.linalg.qr(tall)[0], tall.T @ tall
    theta, distortion, residuals, lengths = np.zeros(d), 0.0, [], []
    for _ in range(steps):
        residuals.append(np.abs(y - X @ theta).max())
        sketch = rng.standard_normal((rows, n + d))
        distortion = max(distortion, 2.0 * np.linalg.norm(sketch.T @ (sketch @ basis) / rows - basis, 2))
        draw = rng.standard_normal(d)
        lengths.append(np.linalg.norm(draw))
        gradient = X.T @ (y - X @ theta) - shift * theta + noise * draw
        theta = theta + np.linalg.solve((sketch @ tall).T @ (sketch @ tall) / rows, gradient)
    assert max(lengths) < math.sqrt(2.0 * d) + math.sqrt(4.0 * math.log(2.0 * steps / 0.1))  # the event of the proof
    best = np.linalg.lstsq(X, y, rcond=None)[0]
    values = np.linalg.eigvalsh(metric)
    common = {
        "n_iterations": steps,
        "n_features": d,
        "distortion": float(distortion),
        "noise": noise,
        "theta_norm": float(np.linalg.norm(best)),
        "failure_probability": 0.1,
    }
    risk = float((theta - best) @ (X.T @ X) @ (theta - best))
    assert risk <= risk_bound(**common, smallest=values[0] - shift, largest=values[-1] - shift, shift=shift).total
    for iteration, residual in enumerate(residuals):
        assert residual <= residual_bound_at(**common, iteration=iteration, smallest=values[0], largest=values[-1])
