"""Laws of `certified_eigenvalue`: the bounds hold, and they are tight."""

from __future__ import annotations

import numpy as np
import pytest
from flint import arb, ctx

from dpols.exact.eigenvalue_bounds import certified_eigenvalue


def eigenvalues_below(matrix: np.ndarray, level: float) -> int:
    """The number of eigenvalues below `level`, by Sylvester's law of inertia with 4000 bits of precision."""
    table = [[int(entry) for entry in row] for row in matrix.tolist()]
    size = len(table)
    with ctx.workprec(4000):
        rest = [
            [arb(entry) - (arb(level) if i == j else 0) for j, entry in enumerate(row)] for i, row in enumerate(table)
        ]
        negative = 0
        for k in range(size):
            pivot = rest[k][k]
            assert pivot > 0 or pivot < 0
            negative += pivot < 0
            for i in range(k + 1, size):
                ratio = rest[i][k] / pivot
                for j in range(k + 1, i + 1):
                    rest[i][j] = rest[j][i] = rest[i][j] - ratio * rest[j][k]
    return negative


def bracketed(matrix: np.ndarray) -> tuple[float, float]:
    """The bounds, after a check that the smallest eigenvalue lies between them; a lower bound of 0 needs no check."""
    lower, upper = certified_eigenvalue(matrix, "smallest")
    assert 0 <= lower <= upper
    if lower > 0:
        assert eigenvalues_below(matrix, lower) == 0
    assert eigenvalues_below(matrix, float(np.nextafter(upper, np.inf))) >= 1
    return lower, upper


@pytest.mark.parametrize("size", [1, 2, 5, 12, 30])
@pytest.mark.parametrize("spread", [0, 4, 12])
def test_bounds_hold_and_are_tight(size, spread):
    rng = np.random.default_rng(size * 100 + spread)
    data = np.rint(rng.normal(size=(2 * size, size)) * 2.0 ** np.linspace(20 - spread, 20, size)).astype(np.int64)
    gram = data.T @ data
    lower, upper = bracketed(gram)
    assert upper - lower <= 1e-12 * np.trace(gram)


def test_bounds_hold_at_77_columns():
    rng = np.random.default_rng(1)
    data = np.rint(rng.normal(size=(400, 77)) * 2**17).astype(np.int64)
    lower, upper = bracketed(data.T @ data)
    assert 0 < upper - lower <= 1e-12 * np.trace(data.T @ data)


def test_entries_may_exceed_doubles_and_words():
    rng = np.random.default_rng(2)
    data = rng.integers(-(2**50), 2**50, size=(20, 6)).astype(object)
    gram = data.T @ data
    lower, upper = bracketed(gram)
    assert upper - lower <= 1e-12 * float(np.trace(gram))


def test_singular_matrices_have_the_lower_bound_zero():
    vector = np.array([3, -70000, 5, 2**20])
    for gram in (np.outer(vector, vector), np.diag([5, 0, 7]), np.ones((4, 4), dtype=int)):
        lower, upper = certified_eigenvalue(gram, "smallest")
        assert lower == 0
        assert upper <= 1e-12 * np.trace(gram)
    assert certified_eigenvalue(np.zeros((3, 3), dtype=int), "smallest")[0] == 0
    assert certified_eigenvalue(np.zeros((3, 3), dtype=int), "smallest")[1] < 1e-300


def test_diagonal_matrices():
    lower, upper = bracketed(np.diag([2**60 + 1, 10**6, 10**9]))
    assert lower <= 10**6 <= upper


def test_entries_that_doubles_round_are_charged(monkeypatch):
    hadamard = np.array([[1, 1, 1, 1], [-1, 1, -1, 1], [1, -1, -1, 1], [-1, -1, 1, 1]])
    gram = np.full((4, 4), 2**60 - 50) + 100 * np.eye(4, dtype=int)
    assert (gram.astype(float) == 2.0**60).all()
    monkeypatch.setattr(np.linalg, "eigh", lambda _: (np.array([0, 0, 0, 2.0**62]), hadamard / 2))
    lower, upper = certified_eigenvalue(gram, "smallest")
    assert lower <= 100 <= upper


@pytest.mark.parametrize("error", [1e-14, 1e-9, 1e-3, 0.3])
def test_bounds_hold_whatever_the_eigensolver_returns(error, monkeypatch):
    rng = np.random.default_rng(3)
    data = np.rint(rng.normal(size=(40, 6)) * 2**10).astype(np.int64)
    values, vectors = np.linalg.eigh(data.T @ data)
    for _ in range(20):
        wrong_values = np.sort(values * (1 + error * rng.normal(size=6)))
        wrong_vectors = vectors + error * rng.normal(size=(6, 6))
        wrong_lengths = (values / (1 + error) ** 2, vectors * (1 + error))
        for answer in [(wrong_values, vectors), (values, wrong_vectors), wrong_lengths]:
            monkeypatch.setattr(np.linalg, "eigh", lambda _, answer=answer: answer)
            bracketed(data.T @ data)


def test_entries_beyond_the_range_of_the_proof_are_refused():
    with pytest.raises(ValueError, match="below"):
        certified_eigenvalue(np.array([[2**600]], dtype=object), "smallest")


@pytest.mark.parametrize("size", [1, 3, 12])
def test_bounds_on_the_largest_eigenvalue_hold(size: int) -> None:
    data = np.random.default_rng(size).integers(-1000, 1000, (3 * size, size))
    gram = data.T @ data
    lower, upper = certified_eigenvalue(gram, "largest")
    assert eigenvalues_below(gram, lower * (1 - 1e-15)) < size
    assert eigenvalues_below(gram, float(np.nextafter(upper, np.inf))) == size
    assert upper - lower <= 1e-11 * np.trace(gram)
