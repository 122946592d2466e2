"""Parts that the methods' ``evidence`` share: how noise travels into theta, and the gain over a constant."""

import math
from collections.abc import Iterable

import numpy as np

from .base import Array, Evidence


def noise_covariance_of_steps(maps: Iterable[Array], target: Array, stddev: float) -> Array:
    """Return the covariance of the last iterate that noise on each gradient causes.

    Step t is theta <- theta + map_t (gradient(theta) + noise), and the gradient falls by ``target`` times theta.
    """
    d = len(target)
    covariance = np.zeros((d, d))
    for step in maps:
        carry = np.eye(d) - step @ target
        covariance = carry @ covariance @ carry.T + stddev**2 * step @ step
    return covariance


def evidence_against_constant(
    covariance: Array,
    change: float,
    variance: float,
    *,
    total: float,
    total_variance: float,
    n_rows: int,
    constant: float | None,
) -> Evidence:
    """Turn the change in sum of squares from predicting 0 into that from predicting the best constant.

    ``constant`` is the intercept's coordinate, None without one; ``total`` estimates that coordinate of X'y.
    """
    if constant is not None:
        weight = n_rows * constant**2
        change += max(total**2 - total_variance, 0.0) / weight
        variance += (2.0 * total / weight) ** 2 * total_variance
    return Evidence(covariance, change, math.sqrt(variance) if variance >= 0.0 else math.nan)


def positive_part(matrix: Array) -> Array:
    """Return the nearest positive semidefinite matrix."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)
