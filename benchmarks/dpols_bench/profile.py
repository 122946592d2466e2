"""Made-up rows with the statistics of a given table: its spectrum, its signal along it, and whose residuals are large.

A method that clips residuals is pulled aside by those rows whose residuals it clips. So the made-up rows have not only
the table's X'X and X'y, but also its residuals by fitted value and its mean rows by residual.
"""

import math
from dataclasses import dataclass

import numpy as np

from dpols.data import Bounds
from dpols.planning.samples import Array, RepeatedRows, Sample
from dpols.planning.shapes import target_within
from dpols.randomness import Bits, standard_normal

_ROWS_PER_BIN, _MOST_BINS = 15, 20
# Close to each other at both ends, where residuals are clipped.
_TAIL = 0.05 * 2.0 ** -np.arange(1.0, 11.0)
_LEVELS = np.concatenate(([0.0], _TAIL[::-1], np.linspace(0.05, 0.95, 19), 1.0 - _TAIL, [1.0]))
_SIZES = 2.0 ** np.arange(-3.0, 0.0, 0.5)  # of residuals, in units of the target's bound
_ROUNDS = 20  # at most, of drawing in rows that are too long
_LEAST_SHARE = 0.03  # of the largest singular value; weights that differ less count as the same


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
    mean_rows: Array  # means of each principal component, weighted by each of the functions of residuals

    def sample(self, bits: Bits) -> Sample:
        """Return made-up rows with these statistics, as far as rows within the bounds can have them."""
        n, r = self.n_rows, len(self.eigenvalues)
        fitted, residual = self._fitted_and_residuals(bits)
        components = math.sqrt(n) * self._components(fitted, residual, bits)
        features = np.zeros((n, self.n_features))
        features[:, :r] = components * np.sqrt(self.eigenvalues)
        target = target_within(components, components @ self.signal, residual, self.residual_square, 1.0)
        share = self.residual_square / (self.residual_square + float(self.signal @ self.signal))
        bounds = Bounds(x_norm=1.0, y_abs=1.0)
        return Sample(RepeatedRows(features, target, n), bounds, fit_intercept=False, residual_share=share)

    def _fitted_and_residuals(self, bits: Bits) -> tuple[Array, Array]:
        """Return a fitted value and a residual for each row."""
        places = _shuffled(bits, self.n_rows)
        bins = np.minimum((places * len(self.residual_levels)).astype(np.int64), len(self.residual_levels) - 1)
        residual = np.empty(self.n_rows)
        for i, levels in enumerate(self.residual_levels):
            mine = bins == i
            residual[mine] = np.interp(_shuffled(bits, int(mine.sum())), _LEVELS, levels)
        square = float(residual @ residual) / self.n_rows
        if square > 0.0:
            residual *= math.sqrt(self.residual_square / square)
        return np.interp(places, _LEVELS, self.fitted_levels), residual

    def _components(self, fitted: Array, residual: Array, bits: Bits) -> Array:
        """Return principal components as orthonormal columns: the signal along the fitted values, means by residual."""
        n, r = self.n_rows, len(self.eigenvalues)
        direction, along = _unit(self.signal)[:, None], _unit(fitted)[:, None]
        # All but the direction, as columns of an orthogonal matrix whose first column is the direction.
        others = np.linalg.svd(direction.T)[2][1:].T if direction.any() else np.eye(r)
        weights = _weights(residual)
        held = np.column_stack((residual, weights))
        wanted = np.column_stack((np.zeros(r), self.mean_rows * weights.sum(axis=0) / math.sqrt(n)))
        frame, shares = _frame(held - along @ (along.T @ held), others.T @ wanted, most=n - r - 1)
        fixed = along @ direction.T + frame @ shares @ others.T
        left, singular, _ = np.linalg.svd(shares.T, full_matrices=False)
        narrowed = np.eye(others.shape[1]) + (left * (np.sqrt(np.maximum(1.0 - singular**2, 0.0)) - 1.0)) @ left.T
        # Signs have principal components of one size in all rows, so that rows are as short as their mean square.
        near = np.sign(standard_normal(bits, (n, r))) @ others
        for _ in range(_ROUNDS):
            free = near - along @ (along.T @ near)
            free = _orthonormal(free - frame @ (frame.T @ free))
            components = fixed + free @ narrowed @ others.T
            lengths = np.sqrt(n * components**2 @ self.eigenvalues)
            if lengths.max() <= 1.0:
                break
            near *= np.minimum(1.0, 0.95 / np.maximum(lengths, 0.95))[:, None]
        return np.asarray(components)


def profile_of(features: Array, target: Array) -> Profile:
    """Measure a public table of bounded rows."""
    n, d = features.shape
    left, singular, _ = np.linalg.svd(features, full_matrices=False)
    keep = singular > np.finfo(float).eps * max(n, d) * singular[0]
    left = left[:, keep]
    coordinates = left.T @ target
    fitted = left @ coordinates
    residual = target - fitted
    bins = max(1, min(_MOST_BINS, n // _ROWS_PER_BIN))
    parts = np.array_split(residual[np.argsort(fitted, kind="stable")], bins)
    weights = _weights(residual)
    totals = weights.sum(axis=0)
    return Profile(
        n_rows=n,
        n_features=d,
        eigenvalues=singular[keep] ** 2 / n,
        signal=coordinates / math.sqrt(n),
        residual_square=float(residual @ residual) / n,
        fitted_levels=np.quantile(fitted, _LEVELS),
        residual_levels=np.array([np.quantile(part, _LEVELS) for part in parts]),
        mean_rows=math.sqrt(n) * (left.T @ weights) / np.where(totals > 0.0, totals, 1.0),
    )


def _weights(residual: Array) -> Array:
    """Return for each row whether its residual lies between two sizes, and by how much it exceeds each of them."""
    edges = np.concatenate((-_SIZES[::-1], _SIZES))
    between = np.searchsorted(edges, residual)[:, None] == np.arange(len(edges) + 1)
    above, below = (np.maximum(sign * residual[:, None] - _SIZES, 0.0) for sign in (1.0, -1.0))
    return np.concatenate((between, above, below), axis=1)


def _frame(held: Array, wanted: Array, *, most: int) -> tuple[Array, Array]:
    """Return orthonormal columns that span what is held, and which share of each free component lies along them.

    With these shares the components' products with what is held are the wanted ones, as nearly as orthonormal
    components can have them.
    """
    sizes = np.linalg.norm(held, axis=0)
    some = sizes > 0.0
    left, singular, right = np.linalg.svd(held[:, some] / sizes[some], full_matrices=False)
    count = max(0, min(int((singular > _LEAST_SHARE * singular.max(initial=0.0)).sum()), most))
    shares = right[:count] @ (wanted[:, some] / sizes[some]).T / singular[:count, None]
    inner, size, outer = np.linalg.svd(shares, full_matrices=False)
    return left[:, :count], (inner * np.minimum(size, 1.0)) @ outer


def _shuffled(bits: Bits, count: int) -> Array:
    """Return evenly spaced numbers from 0 to 1 in random order."""
    return np.asarray(np.argsort(standard_normal(bits, (count,))) / max(count - 1, 1))


def _unit(values: Array) -> Array:
    size = float(np.linalg.norm(values))
    return values / size if size > 0.0 else values


def _orthonormal(matrix: Array) -> Array:
    """Return the matrix with orthonormal columns that lies nearest."""
    columns, triangle = np.linalg.qr(matrix)
    left, _, right = np.linalg.svd(triangle)
    return np.asarray(columns @ (left @ right))
