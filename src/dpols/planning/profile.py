"""Made-up rows with the statistics of a given table: its spectrum, its signal along it, residuals by fitted values."""

import math
from dataclasses import dataclass

import numpy as np

from ..data import Bounds
from ..randomness import Bits, standard_normal
from .rows import MOST_ROWS, Array, RepeatedRows, Sample
from .shapes import target_within

_ROWS_PER_BIN, _MOST_BINS = 15, 20
# Close to each other at both ends, where residuals are clipped.
_TAIL = 0.05 * 2.0 ** -np.arange(1.0, 11.0)
_LEVELS = np.concatenate(([0.0], _TAIL[::-1], np.linspace(0.05, 0.95, 19), 1.0 - _TAIL, [1.0]))


@dataclass(frozen=True, repr=False)
class Profile:
    """Statistics of a table whose rows have norm at most 1 and whose targets lie in [-1, 1], without an intercept.

    They are exact and so not private: for tables that are public.
    """

    n_rows: int
    n_features: int
    eigenvalues: Array  # of X'X / n, from large to small, zero ones left out
    signal: Array  # mean over rows of the target times each principal component of mean square 1
    residual_square: float  # mean square of the residuals of least squares
    fitted_levels: Array  # quantiles of fitted values, at fixed levels
    residual_levels: Array  # those of residuals, in each of some bins of the fitted values, from small to large

    def sample(self, bits: Bits) -> Sample:
        """Return made-up rows with these statistics, as far as rows within the bounds can have them."""
        m, r = min(self.n_rows, MOST_ROWS), len(self.eigenvalues)
        places = _shuffled(bits, m)
        strength = float(np.linalg.norm(self.signal))
        fitted = np.interp(places, _LEVELS, self.fitted_levels)
        bins = len(self.residual_levels)
        inside, noise = _shuffled(bits, m), np.empty(m)
        for i, levels in enumerate(self.residual_levels):
            mine = (places * bins).astype(np.int64) == i
            noise[mine] = np.interp(inside[mine], _LEVELS, levels)
        # Signs have principal components of one size in all rows, so that rows are as short as their mean square.
        signs = np.sign(standard_normal(bits, (m, r)))
        basis = _with_component(signs, fitted, self.signal) if strength > 0.0 else _orthonormal(signs)
        if _too_long(m * basis**2 @ self.eigenvalues):
            # Such fitted values need rows that would be shrunk; residuals are then independent of them.
            basis = _orthonormal(signs)
        basis *= math.sqrt(m)
        features = np.zeros((m, self.n_features))
        features[:, :r] = basis * np.sqrt(self.eigenvalues)
        target = target_within(basis, basis @ self.signal, noise, self.residual_square, 1.0)
        share = self.residual_square / (self.residual_square + strength**2)
        bounds = Bounds(x_norm=1.0, y_abs=1.0)
        return Sample(RepeatedRows(features, target, self.n_rows), bounds, fit_intercept=False, residual_share=share)


def profile_of(features: Array, target: Array) -> Profile:
    """Measure a public table of bounded rows."""
    n, d = features.shape
    left, singular, _ = np.linalg.svd(features, full_matrices=False)
    keep = singular > np.finfo(float).eps * max(n, d) * singular[0]
    coordinates = left[:, keep].T @ target
    fitted = left[:, keep] @ coordinates
    residual = target - fitted
    bins = max(1, min(_MOST_BINS, n // _ROWS_PER_BIN))
    parts = np.array_split(residual[np.argsort(fitted, kind="stable")], bins)
    return Profile(
        n_rows=n,
        n_features=d,
        eigenvalues=singular[keep] ** 2 / n,
        signal=coordinates / math.sqrt(n),
        residual_square=float(residual @ residual) / n,
        fitted_levels=np.quantile(fitted, _LEVELS),
        residual_levels=np.array([np.quantile(part, _LEVELS) for part in parts]),
    )


def _shuffled(bits: Bits, count: int) -> Array:
    """Return evenly spaced numbers between 0 and 1 in random order."""
    return np.asarray((np.argsort(standard_normal(bits, (count,))) + 0.5) / count)


def _with_component(matrix: Array, values: Array, weights: Array) -> Array:
    """Return a nearby matrix of orthonormal columns whose product with the weights is along the values."""
    direction = weights / np.linalg.norm(weights)
    along = values / np.linalg.norm(values)
    # All but the direction, as columns of an orthogonal matrix whose first column is the direction.
    others = np.linalg.svd(direction[None])[2][1:].T
    rest = matrix @ others
    rest -= np.outer(along, along @ rest)
    return np.asarray(np.outer(along, direction) + _orthonormal(rest) @ others.T)


def _too_long(squares: Array) -> bool:
    """Whether shrinking rows of these squared norms to norm 1 would change X'X by more than a thousandth."""
    return bool(np.maximum(squares - 1.0, 0.0).sum() > 1e-3 * squares.sum())


def _orthonormal(matrix: Array) -> Array:
    """Return the matrix with orthonormal columns that lies nearest."""
    left, _, right = np.linalg.svd(matrix, full_matrices=False)
    return np.asarray(left @ right)
