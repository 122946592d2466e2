"""Small linear algebra that never raises, and treats each matrix of a stack as if it were alone."""

import numpy as np
import pytest

from dpols.linalg import extreme_eigenvalue, inverse_symmetric, root_of, solve_symmetric


def positive(d=4, *, seed=0):
    rows = np.random.default_rng(seed).standard_normal((3 * d, d))
    return rows.T @ rows


SINGULAR = {
    "zero": np.zeros((3, 3)),
    "rank one": np.outer([1.0, 2.0, -1.0], [1.0, 2.0, -1.0]),
    "duplicate": np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 2.0]]),
    "nearly singular": np.diag([1.0, 1e-30, 1.0]),
    "tiny": np.full((3, 3), 1e-320),
    "huge": 1e300 * np.eye(3),
    "indefinite": np.diag([1.0, -2.0, 3.0]),
}


def test_regular_systems_are_solved():
    matrices = np.stack([positive(seed=seed) for seed in range(5)])
    vectors = np.random.default_rng(9).standard_normal((5, 4))
    solutions = solve_symmetric(matrices, vectors)
    np.testing.assert_allclose(np.einsum("tij,tj->ti", matrices, solutions), vectors, atol=1e-9)


@pytest.mark.parametrize("matrix", SINGULAR.values(), ids=SINGULAR)
def test_singular_systems_have_finite_solutions(matrix):
    vectors = np.array([[1.0, -1.0, 2.0], [0.0, 0.0, 0.0]])
    assert np.isfinite(solve_symmetric(np.stack([matrix, matrix]), vectors)).all()


def test_singular_systems_get_the_solution_of_least_norm():
    matrix, vector = SINGULAR["duplicate"], np.array([2.0, 2.0, 3.0])
    np.testing.assert_allclose(solve_symmetric(matrix[None], vector[None])[0], [1.0, 1.0, 1.5], atol=1e-12)
    np.testing.assert_allclose(solve_symmetric(SINGULAR["zero"][None], vector[None])[0], 0.0)


def test_a_singular_neighbour_in_the_stack_changes_nothing():
    good, bad = np.diag([1.0, 1e-9, 1e9]), SINGULAR["rank one"]
    vectors = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, -1.0]])
    together = solve_symmetric(np.stack([good, bad]), vectors)
    np.testing.assert_array_equal(together[0], solve_symmetric(good[None], vectors[:1])[0])
    np.testing.assert_array_equal(together[1], solve_symmetric(bad[None], vectors[1:])[0])


def test_values_that_are_not_finite_do_not_raise():
    for value in (np.nan, np.inf):
        assert solve_symmetric(np.full((1, 2, 2), value), np.ones((1, 2))).shape == (1, 2)
        assert root_of(np.stack([np.eye(2), np.full((2, 2), 1.0)])).shape == (2, 2, 2)


@pytest.mark.parametrize("matrix", [positive(3), *(m for n, m in SINGULAR.items() if n != "indefinite")], ids=str)
def test_a_root_times_its_transpose_is_the_matrix(matrix):
    root = root_of(matrix[None])[0]
    np.testing.assert_allclose(root @ root.T, matrix, atol=1e-12 * np.abs(matrix).max(initial=1e-300))


def test_a_matrix_without_a_cholesky_root_changes_no_other_root():
    good, bad = positive(3), SINGULAR["rank one"]
    together = root_of(np.stack([good, bad, good]))
    np.testing.assert_array_equal(together[0], root_of(good[None])[0])
    np.testing.assert_array_equal(together[2], together[0])
    np.testing.assert_allclose(together[1] @ together[1].T, bad, atol=1e-12)


def test_inverses_and_pseudo_inverses():
    np.testing.assert_allclose(inverse_symmetric(positive()) @ positive(), np.eye(4), atol=1e-9)
    matrix = SINGULAR["duplicate"]
    np.testing.assert_allclose(inverse_symmetric(matrix), np.linalg.pinv(matrix), atol=1e-12)
    assert np.isfinite(inverse_symmetric(SINGULAR["zero"])).all()


def test_extreme_eigenvalues():
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    matrix = turn @ np.diag([5.0, -1.0, 2.0]) @ turn.T
    assert extreme_eigenvalue(matrix, "smallest") == pytest.approx(-1.0)
    assert extreme_eigenvalue(matrix, "largest") == pytest.approx(5.0)
