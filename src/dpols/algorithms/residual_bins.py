"""Residuals by fitted value: in each bin the number of rows and the sum of residuals, in one Gaussian release.

Bins are about the mean of the fitted values, in units of their standard deviation; both follow from what was released
before, so that the edges depend on no row. One row is in one bin, with a residual that is clipped to the bound.
"""

from dataclasses import dataclass

import numpy as np

from ..data.rows import BoundedRows
from ..mechanisms import Channel
from ..statistics import on_grid, residual_sums
from .base import Array
from .whitening import Totals

BINS = np.array([-np.inf, -2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0])  # lower edges, in standard deviations
_LEAST = 1e-3  # standard deviation of fitted values, where noise leaves none


@dataclass(frozen=True)
class FittedSpread:
    """Mean and standard deviation of fitted values, for each trial, as far as noise lets one tell."""

    mean: Array
    stddev: Array


def fitted_spread(gram: Array, point: Array, known: Totals, theta: Array) -> FittedSpread:
    """Return mean and spread of x'theta from released means, and from the Gram matrix of rows about its start."""
    mean = (known.noisy_features * theta).sum(axis=1)
    square = np.einsum("ti,tij,tj->t", point, gram, point) / known.mass
    away = mean - known.target  # the start predicts the mean target
    return FittedSpread(mean, np.sqrt(np.maximum(square - np.square(away), _LEAST**2)))


def release_residuals(
    rows: BoundedRows, channel: Channel, theta: Array, spread: FittedSpread, bound: Array, *, multiplier: float
) -> dict[str, Array]:
    """Release residuals by fitted value; return edges, counts, sums in multiples of the bound, and their noise."""
    edges = spread.mean + spread.stddev * BINS[:, None]
    exact = residual_sums(rows, on_grid(rows, theta), residual_bound=bound, edges=edges)
    counts, sums = np.split(channel.gaussian(exact, multiplier=multiplier), 2, axis=1)
    noise = np.full(channel.trials, np.sqrt(2.0) * multiplier)
    return {"bin_edges": edges[1:].T, "bin_counts": counts, "bin_sums": sums, "bin_noise": noise}
