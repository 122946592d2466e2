"""Regression without privacy, to compare with: least squares, and the sketches that the private methods build on.

Nothing here protects anyone. Arrays in, coefficients out; the data is not bounded, clipped or scaled.
"""

from typing import Any

import numpy as np
from scipy.linalg import lstsq

from dpols.errors import ParameterError
from dpols.linalg import solve_symmetric

Array = np.ndarray[Any, np.dtype[Any]]


def minimum_norm_least_squares(X: Array, y: Array) -> Array:
    """Return the least-squares coefficients of smallest norm, with the rank cut off at machine precision.

    A looser cut-off drops directions that the data does determine, and so overstates the best loss.

    >>> minimum_norm_least_squares(np.array([[1.0, 1.0], [2.0, 2.0]]), np.array([2.0, 4.0]))
    array([1., 1.])
    """
    return np.asarray(lstsq(X, y, cond=np.finfo(np.float64).eps)[0])


def sketch_and_solve(X: Array, y: Array, *, sketch_size: int, rng: np.random.Generator) -> Array:
    """Return least squares on S X and S y with S of ``sketch_size`` rows of independent standard normals.

    Its excess risk is about d / k of the loss, however large the data.
    """
    joint = _gaussian_sketch(np.column_stack((X, y)), sketch_size, rng)
    return minimum_norm_least_squares(joint[:, :-1], joint[:, -1])


def iterative_hessian_sketch(
    X: Array, y: Array, *, sketch_size: int, n_iterations: int, rng: np.random.Generator
) -> Array:
    """Return the last of ``n_iterations`` Newton steps from 0, each with a fresh sketch of X'X and the exact gradient.

    Pilanci and Wainwright, "Iterative Hessian sketch" (2016): the error to least squares falls by about sqrt(d / k) in
    each step.
    """
    if n_iterations < 1:
        raise ParameterError(f"n_iterations={n_iterations!r} must be a positive whole number.")
    theta = np.zeros(X.shape[1])
    for _ in range(n_iterations):
        sketch = _gaussian_sketch(X, sketch_size, rng)
        theta = theta + solve_symmetric(sketch.T @ sketch / sketch_size, X.T @ (y - X @ theta))
    return theta


def _gaussian_sketch(matrix: Array, rows: int, rng: np.random.Generator) -> Array:
    if rows < 1:
        raise ParameterError(f"sketch_size={rows!r} must be a positive whole number.")
    return np.asarray(rng.standard_normal((rows, len(matrix))) @ matrix)
