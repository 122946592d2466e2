"""Symmetric solves and roots of stacks of small matrices that never raise, whatever was drawn."""

from typing import Any, Literal

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


def solve_symmetric(matrices: Array, vectors: Array) -> Array:
    """Solve matrix @ x = vector for each matrix of a stack (..., d, d) and vector (..., d).

    Where a matrix is singular to working precision, its minimum-norm least-squares solution is returned.
    """
    matrices = np.broadcast_to(matrices, (*vectors.shape, vectors.shape[-1]))
    with np.errstate(all="ignore"):
        try:
            solution = np.linalg.solve(matrices, vectors[..., None])[..., 0]
        except np.linalg.LinAlgError:
            if vectors.ndim > 1:  # one singular matrix fails its whole stack
                return np.stack([solve_symmetric(*pair) for pair in zip(matrices, vectors, strict=True)])
            solution = np.full(vectors.shape, np.nan)
    broken = ~np.isfinite(solution).all(axis=-1)
    if broken.any():
        solution[broken] = _minimum_norm(matrices[broken], vectors[broken])
    return solution


def inverse_symmetric(matrix: Array) -> Array:
    """Return the inverse of a symmetric matrix, or its pseudo-inverse where it is singular."""
    identity = np.eye(len(matrix))
    with np.errstate(all="ignore"):
        try:
            inverse = np.linalg.solve(matrix, identity)  # one factorisation for all columns
        except np.linalg.LinAlgError:
            inverse = np.full(matrix.shape, np.nan)
    if np.isfinite(inverse).all():
        return inverse
    return _minimum_norm(matrix, identity)


def inverse_under_noise(matrix: Array, noise: float) -> tuple[Array, Array, Array]:
    """Return eigenvalues and eigenvectors of a noisy matrix, and the eigenvalues of an inverse of what lies below it.

    The noise is symmetric and Gaussian, of standard deviation ``noise`` on the diagonal and half the variance beside
    it. It spreads eigenvalues, and so enlarges the inverse, by a factor of 1 + noise^2 (trace(inverse) / value + 1 /
    value^2) / 2 in second order, which is divided out. Eigenvalues below ``noise`` are taken for that.
    """
    values, vectors = np.linalg.eigh(matrix)
    certain = np.maximum(values, max(noise, np.finfo(float).tiny))
    return values, vectors, 1.0 / (certain + 0.5 * noise**2 * (np.sum(1.0 / certain) + 1.0 / certain))


def positive_part(matrix: Array) -> Array:
    """Return the nearest positive semidefinite matrix to a symmetric one."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)


def root_of(matrices: Array) -> Array:
    """Return R with R @ R.T equal to each positive semidefinite matrix of a stack."""
    try:
        root = np.linalg.cholesky(matrices)
        if np.isfinite(root).all():
            return root
    except np.linalg.LinAlgError:
        if matrices.ndim > 2:  # one matrix without a root of this kind fails its whole stack
            return np.stack([root_of(matrix) for matrix in matrices])
    values, vectors = np.linalg.eigh(matrices)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :])


def spectral_norms(matrices: Array) -> Array:
    """Return the largest singular value of each matrix of a stack."""
    return np.asarray(np.linalg.svd(matrices, compute_uv=False).max(axis=-1))


def extreme_eigenvalue(matrix: Array, which: Literal["smallest", "largest"]) -> float:
    """Return the smallest or the largest eigenvalue of a symmetric matrix."""
    return float(np.linalg.eigvalsh(matrix)[0 if which == "smallest" else -1])


def _minimum_norm(matrices: Array, vectors: Array) -> Array:
    values, bases = np.linalg.eigh(np.nan_to_num(matrices))
    cutoff = np.abs(values).max(axis=-1, keepdims=True) * values.shape[-1] * np.finfo(float).eps
    cutoff = np.maximum(cutoff, np.finfo(float).tiny)  # below, one over an eigenvalue overflows
    inverse = np.divide(1.0, values, out=np.zeros_like(values), where=np.abs(values) > cutoff)
    coordinates = np.einsum("...ji,...j->...i", bases, np.nan_to_num(vectors))
    return np.asarray(np.einsum("...ij,...j->...i", bases, inverse * coordinates))
