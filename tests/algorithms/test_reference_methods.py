"""The non-private references."""

import numpy as np
import pytest
from method_problems import easy_problem, loss
from nonprivate import iterative_hessian_sketch, minimum_norm_least_squares, sketch_and_solve

from dpols.errors import ParameterError


def test_least_squares_is_the_minimum_norm_solution():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 4)) @ rng.standard_normal((4, 7))
    y = rng.standard_normal(30)
    theta = minimum_norm_least_squares(X, y)
    np.testing.assert_allclose(theta, np.linalg.pinv(X) @ y, rtol=1e-8)


def test_least_squares_keeps_small_directions_that_the_data_determines():
    X = np.vstack((np.eye(2), [[0.0, 1e-9]])) * [1.0, 1e-9]
    y = np.array([1.0, 1e-9 * 3.0, 0.0])
    np.testing.assert_allclose(minimum_norm_least_squares(X, y), [1.0, 3.0], rtol=1e-6)


@pytest.mark.parametrize("sketch_size", [50, 400])
def test_sketch_and_solve_loses_about_d_over_k(sketch_size):
    X, y = easy_problem(1000, 5)
    best = loss(X, y, minimum_norm_least_squares(X, y))
    rng = np.random.default_rng(1)
    losses = [loss(X, y, sketch_and_solve(X, y, sketch_size=sketch_size, rng=rng)) for _ in range(40)]
    assert np.mean(losses) / best - 1.0 == pytest.approx(5 / sketch_size, rel=0.5)


def test_the_iterative_hessian_sketch_converges_geometrically():
    X, y = easy_problem(3000, 5)
    solution = minimum_norm_least_squares(X, y)
    errors = []
    for n_iterations in (1, 4, 12):
        rng = np.random.default_rng(2)
        theta = iterative_hessian_sketch(X, y, sketch_size=120, n_iterations=n_iterations, rng=rng)
        errors.append(np.linalg.norm(theta - solution) / np.linalg.norm(solution))
    assert errors[1] < 0.1 * errors[0]
    assert errors[2] < 1e-3 * errors[1]


def test_a_sketch_without_rows_and_no_iterations_are_refused():
    X, y = easy_problem(10, 2)
    rng = np.random.default_rng(0)
    with pytest.raises(ParameterError, match="sketch_size"):
        sketch_and_solve(X, y, sketch_size=0, rng=rng)
    with pytest.raises(ParameterError, match="n_iterations"):
        iterative_hessian_sketch(X, y, sketch_size=5, n_iterations=0, rng=rng)
