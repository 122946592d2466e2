"""Parts that the methods' ``evidence`` share: how noise travels into theta, and the gain over a constant."""

import math
from collections.abc import Iterable

import numpy as np

from .base import Array, Evidence, RowCount


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


def covariance_of_sketched_steps(
    curvature: Array,
    basis: Array,
    shift: float,
    theta: Array,
    *,
    ridge: bool,
    rows: int,
    n_steps: int,
    stddev: float,
) -> Array:
    """Return the covariance of the last iterate over sketches and gradient noise; infinite for too small a sketch.

    Step t is theta <- theta + H^-1 (pull (solution - theta) + noise), where rows * H is Wishart of ``rows`` degrees and
    parameter base = X'X + shift I. Moments of the inverse Wishart (von Rosen, 1988) carry the mean and the second
    moment of theta - solution from step to step; ``theta`` stands in for the solution. ``curvature`` and ``basis`` are
    the eigenvalues of X'X and its eigenvectors, in columns; among these all factors are diagonal.
    """
    d, free = len(theta), rows - len(theta)
    if free <= 3:
        return np.full((d, d), math.inf)
    base = curvature + shift
    pull = base if ridge else curvature
    inverse = np.divide(1.0, base, out=np.zeros(d), where=base > 0.0)
    drift = rows / (free - 1.0) * inverse * pull
    spread = rows**2 / (free * (free - 1.0) ** 2 * (free - 3.0))
    both_sides, trace_part = (rows / (free - 1.0)) ** 2 + spread * (free + 1.0), spread * (free - 1.0)
    start = -theta @ basis
    # Beside the diagonal each entry is multiplied by the same factor in every step.
    factor = 1.0 - drift[:, None] - drift + both_sides * np.outer(inverse * pull, inverse * pull)
    second, diagonal = np.outer(start, start), start**2
    for _ in range(n_steps):
        inner = pull**2 * diagonal + stddev**2
        stepped = both_sides * inverse**2 * inner + trace_part * float(inverse @ inner) * inverse
        diagonal = diagonal * (1.0 - 2.0 * drift) + stepped
        second *= factor
    second[np.diag_indices(d)] = diagonal
    mean = (1.0 - drift) ** n_steps * start
    return np.asarray(basis @ (second - np.outer(mean, mean)) @ basis.T)


def evidence_against_constant(
    covariance: Array,
    change: float,
    variance: float,
    *,
    total: float,
    total_variance: float,
    n_rows: int | None,
    constant: float | None,
    squares: RowCount | None = None,
) -> Evidence:
    """Turn the change in sum of squares from predicting 0 into that from predicting the best constant.

    ``constant`` is the intercept's coordinate, None without one; ``total`` estimates that coordinate of X'y, and
    ``squares`` its sum of squares, which counts rows; it is needed where there is no public ``n_rows``.
    """
    counted: RowCount | None = None
    slopes = len(covariance)
    if constant is not None:
        slopes -= 1
        if squares is not None:
            counted = RowCount(squares.value / constant**2, squares.stddev / constant**2)
        if n_rows is None:
            assert squares is not None
            weight = max(squares.value, constant**2)
        else:
            weight = n_rows * constant**2
        change += max(total**2 - total_variance, 0.0) / weight
        variance += (2.0 * total / weight) ** 2 * total_variance
    # Least squares gains from pure noise too: its variance, at most 1 for targets in [-1, 1], times a chi-square of
    # as many degrees of freedom as there are slopes.
    change += slopes
    variance += 2.0 * slopes
    return Evidence(covariance, change, math.sqrt(variance) if variance >= 0.0 else math.nan, rows=counted)
