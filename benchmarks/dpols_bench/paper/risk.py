"""Excess risk of many coefficient vectors at once, accurate also where features are all but dependent."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from dpols.data.threads import map_blocks, one_blas_thread

from .preprocessing import Prepared

Array = np.ndarray[Any, np.dtype[Any]]

_BLOCK = 1 << 13


@dataclass(frozen=True, repr=False)
class Risk:
    """Least squares on the training rows, from their singular values; X = U diag(singular) rotation."""

    n: int
    singular: Array
    rotation: Array
    target_coordinates: Array  # U'y
    loss: float  # L(theta*)
    triangle: Array  # R of the training rows [X, y]
    test_triangle: Array  # R of the test rows [X, y]
    n_test: int
    coefficients: Array  # theta*, of minimum norm

    def train_excess(self, theta: Array) -> Array:
        """Return (L(theta) - L(theta*)) / n for theta of shape (trials, d)."""
        # |diag(s) V theta - U'y|^2 rather than a difference of two losses or a form in X'X: no digits cancel.
        difference = (theta @ self.rotation.T) * self.singular - self.target_coordinates
        return np.asarray(np.einsum("ij,ij->i", difference, difference) / self.n)

    def in_range_excess(self, data: Prepared, theta: Array) -> Array:
        """Return the same for predictions clipped to [-1, 1], the declared range of the target.

        It is below that of raw predictions, and can be negative: least squares itself predicts beyond the range.
        """
        excess = self.train_excess(theta)
        # Rows have norm at most 1, so shorter coefficients predict nothing beyond the range.
        long = np.flatnonzero(np.linalg.norm(theta, axis=1) > 1.0)
        if len(long):
            excess[long] -= _lost_beyond_range(data, theta[long]) / self.n
        return excess

    def test_excess(self, theta: Array) -> Array:
        """Return the mean squared error on the test rows minus that of least squares, which may be negative."""
        return np.asarray(self.test_error(theta) - self.test_error(self.coefficients[None])[0])

    def test_error(self, theta: Array) -> Array:
        """Return the mean squared error on the test rows."""
        joint = np.concatenate((theta, np.full((len(theta), 1), -1.0)), axis=1)
        products = joint @ self.test_triangle.T
        return np.asarray(np.einsum("ij,ij->i", products, products) / self.n_test)


def risk_of(data: Prepared) -> Risk:
    """Return what excess risks on a data set are computed from."""
    n, d = data.features.shape
    triangle = joint_triangle(data.features, data.target)
    with one_blas_thread():
        left, singular, rotation = scipy.linalg.svd(triangle[:d, :d])
    # Minimum norm, with a cutoff at machine precision: a looser one inflates the loss where conditioning is worst.
    keep = singular > np.finfo(float).eps * max(n, d) * singular[0]
    coordinates = left.T[keep] @ triangle[:d, d]
    singular, rotation = singular[keep], rotation[keep]
    coefficients = (coordinates / singular) @ rotation
    residual = data.target - data.features @ coefficients
    return Risk(
        n=n,
        singular=singular,
        rotation=rotation,
        target_coordinates=coordinates,
        loss=float(residual @ residual),
        triangle=triangle,
        test_triangle=joint_triangle(data.test_features, data.test_target),
        n_test=len(data.test_target),
        coefficients=coefficients,
    )


def _lost_beyond_range(data: Prepared, theta: Array) -> Array:
    """Return by how much clipping predictions to [-1, 1] lowers the sum of squared errors on the training rows."""

    def lost(start: int) -> Array:
        target = data.target[start : start + _BLOCK, None]
        beyond = data.features[start : start + _BLOCK] @ theta.T
        clipped = np.clip(beyond, -1.0, 1.0)
        beyond -= clipped
        # (p - y)^2 - (c - y)^2 = (p - c) (p - c + 2 (c - y)), which is 0 where nothing is clipped: no digits cancel.
        return np.asarray(np.einsum("ij,ij->j", beyond, beyond + 2.0 * (clipped - target)))

    return np.asarray(sum(map_blocks(lost, range(0, len(data.target), _BLOCK))))


def joint_triangle(features: Array, target: Array) -> Array:
    """Return the square triangle R of [X, y] = Q R, padded with zeros where there are few rows.

    Blocks are factorised on all cores, then the stack of their triangles.
    """
    width = features.shape[1] + 1

    def triangle(start: int) -> Array:
        block = np.column_stack((features[start : start + _BLOCK], target[start : start + _BLOCK]))
        return np.asarray(np.linalg.qr(block, mode="r"))

    stacked = np.concatenate([np.zeros((width, width)), *map_blocks(triangle, range(0, len(target), _BLOCK))])
    with one_blas_thread():
        return np.asarray(np.linalg.qr(stacked, mode="r"))
