"""Made-up rows with the statistics of a given table: its spectrum, its signal along it, and its residuals' sizes."""

import math
from dataclasses import dataclass

import numpy as np

from ..data import Bounds
from ..randomness import Bits, standard_normal
from .rows import MOST_ROWS, Array, RepeatedRows, Sample
from .shapes import target_within

# Close to each other at the upper end, where residuals are clipped.
_LEVELS = np.concatenate((np.linspace(0.0, 0.95, 20), 1.0 - 0.05 * 2.0 ** -np.arange(1.0, 11.0), [1.0]))


@dataclass(frozen=True, repr=False)
class Profile:
    """Statistics of a table whose rows have norm at most 1 and whose targets lie in [-1, 1], without an intercept.

    They are exact and so not private: for tables that are public.
    """

    n_rows: int
    n_features: int
    eigenvalues: Array  # of X'X / n, from large to small, zero ones left out
    signal: Array  # mean over rows of the target times each unit-square principal component
    residual_square: float  # mean square of the residuals of least squares
    residual_levels: Array  # quantiles of absolute residuals, at fixed levels

    def sample(self, bits: Bits) -> Sample:
        """Return made-up rows with these statistics, as far as rows within the bounds can have them."""
        m, r = min(self.n_rows, MOST_ROWS), len(self.eigenvalues)
        # Signs have principal components of one size in all rows, so that rows are as short as their mean square.
        basis = _orthonormal(np.sign(standard_normal(bits, (m, r)))) * math.sqrt(m)
        features = np.zeros((m, self.n_features))
        features[:, :r] = basis * np.sqrt(self.eigenvalues)
        uniform = (np.argsort(standard_normal(bits, (m,))) + 0.5) / m
        noise = np.sign(standard_normal(bits, (m,))) * np.interp(uniform, _LEVELS, self.residual_levels)
        target = target_within(basis, basis @ self.signal, noise, self.residual_square, 1.0)
        share = self.residual_square / (self.residual_square + float(self.signal @ self.signal))
        bounds = Bounds(x_norm=1.0, y_abs=1.0)
        return Sample(RepeatedRows(features, target, self.n_rows), bounds, fit_intercept=False, residual_share=share)


def profile_of(features: Array, target: Array) -> Profile:
    """Measure a public table of bounded rows."""
    n, d = features.shape
    left, singular, _ = np.linalg.svd(features, full_matrices=False)
    keep = singular > np.finfo(float).eps * max(n, d) * singular[0]
    coordinates = left[:, keep].T @ target
    residual = target - left[:, keep] @ coordinates
    return Profile(
        n_rows=n,
        n_features=d,
        eigenvalues=singular[keep] ** 2 / n,
        signal=coordinates / math.sqrt(n),
        residual_square=float(residual @ residual) / n,
        residual_levels=np.quantile(np.abs(residual), _LEVELS),
    )


def _orthonormal(matrix: Array) -> Array:
    """Return the matrix with orthonormal columns that lies nearest."""
    left, _, right = np.linalg.svd(matrix, full_matrices=False)
    return np.asarray(left @ right)
