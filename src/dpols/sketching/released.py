"""What can be computed from a released sketch, which costs nothing further."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..data import RowMap
from ..errors import ParameterError
from ..linalg import Array, positive_part, solve_symmetric
from ..report.sketch_report import SketchReport


class PrincipalComponents(NamedTuple):
    """Directions in which the columns vary most, one in each row, and the variance along each."""

    components: Array
    variances: Array


@dataclass(frozen=True, eq=False)
class PrivateSketch:
    """A released sketch: public numbers only, free to be stored, published and computed with.

    Attributes
    ----------
    rows_ : array of shape (rows, columns)
        The sketch. Each row has the law N(0, X'X + shift I), where the rows of X are those of the table after each
        column has been mapped to [-1, 1] by its bounds and the whole row divided by the largest norm it can then have.
        Every entry is a multiple of ``report.grid``.
    shift : float
        What was added to the diagonal of X'X, in units of the squared row norm.
    row_map : RowMap
        The map from the user's units to those of ``rows_``, as the bounds define it.
    report : SketchReport
        What was asked, spent, released and assumed.
    """

    rows_: Array
    shift: float
    row_map: RowMap
    report: SketchReport

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, a constant last where there is one."""
        return self.report.columns

    def gram(self) -> Array:
        """Return an estimate of X'X in the user's units, for the rows as bounded; the constant counts as a column of 1.

        It is unbiased, up to the rounding of rows to a millionth of their largest norm, and need not be positive
        semidefinite where the shift exceeds X'X.
        """
        to_user = self._to_user_units()
        return np.asarray(to_user @ self._normalised_gram() @ to_user.T)

    def ridge(self, target: str | int, penalty: float | None = None) -> tuple[Array, float]:
        """Regress one column on the others; return the others' coefficients and the intercept, in the user's units.

        ``penalty`` is added to the diagonal of X'X in units of the squared row norm; by default it is the shift, which
        makes this the plain regression on the rows of the sketch. Without a constant the intercept is 0; with one it
        is not penalised.
        """
        penalty = self.shift if penalty is None else float(penalty)
        if not 0.0 <= penalty < math.inf:
            raise ParameterError(f"penalty={penalty!r} must be finite and not negative.")
        place = self._place(target)
        others = [j for j in range(len(self.columns)) if j != place]
        moments = self._normalised_gram()
        penalties = np.array([penalty if j < self.row_map.n_features else 0.0 for j in others])
        curvature = positive_part(moments[np.ix_(others, others)]) + np.diag(penalties)
        normalised = np.zeros(len(self.columns))
        normalised[others] = solve_symmetric(curvature, moments[others, place])
        return self._coefficients(normalised, place)

    def principal_components(self, n_components: int) -> PrincipalComponents:
        """Return the leading directions and variances of the columns, each mapped to [-1, 1] by its bounds.

        About the mean where the sketch has a constant, else about zero. The shift moves no direction; it is taken off
        the variances, which are not below 0. Where the number of rows is not public, the constant counts them.
        """
        p = self.row_map.n_features
        if int(n_components) != n_components or not 1 <= n_components <= p:
            raise ParameterError(f"n_components={n_components!r} must be a whole number from 1 to {p}.")
        moments = self._normalised_gram()
        spread = moments[:p, :p]
        if self.row_map.intercept is not None:
            sums = moments[:p, p] * self.row_map.row_norm / self.row_map.intercept
            spread = spread - np.outer(sums, sums) / self._n_rows()
        values, vectors = np.linalg.eigh(spread)
        leading = slice(None, -int(n_components) - 1, -1)
        variances = np.maximum(values[leading], 0.0) * self.row_map.row_norm**2 / self._n_rows()
        return PrincipalComponents(vectors[:, leading].T, variances)

    def _n_rows(self) -> float:
        """Return the number of rows: public, or as the sketch of the constant counts them, with its noise."""
        if self.report.n_rows is not None:
            return float(self.report.n_rows)
        if self.row_map.constant is None:
            raise ParameterError(
                "the variance along a component needs the number of rows, which is not public with "
                "neighbours='add-remove'; release the sketch with constant=True, which counts them with noise."
            )
        return max(float(self._normalised_gram()[-1, -1]) / self.row_map.constant**2, 1.0)

    def _normalised_gram(self) -> Array:
        k, d = self.rows_.shape
        return np.asarray(self.rows_.T @ self.rows_ / k - self.shift * np.eye(d))

    def _to_user_units(self) -> Array:
        """Return the matrix that takes a normalised row to the user's, with 1 for the constant."""
        p, norm = self.row_map.n_features, self.row_map.row_norm
        matrix = np.diag(norm * self._scale())
        if self.row_map.intercept is None:
            return np.asarray(matrix)
        per_constant = norm / self.row_map.intercept
        return np.block([[matrix, per_constant * self._centre()[:, None]], [np.zeros(p), np.array([per_constant])]])

    def _coefficients(self, normalised: Array, place: int) -> tuple[Array, float]:
        """Turn coefficients of normalised columns for the one at ``place`` into those of the user's columns."""
        p, scale, centre = self.row_map.n_features, self._scale(), self._centre()
        per_column = scale[place] * normalised[:p] / scale
        intercept = centre[place] - float(per_column @ centre)
        if self.row_map.intercept is not None:
            intercept += scale[place] * self.row_map.intercept * float(normalised[p])
        return np.delete(per_column, place), float(intercept)

    def _scale(self) -> Array:
        return np.ones(self.row_map.n_features) if self.row_map.scale is None else self.row_map.scale

    def _centre(self) -> Array:
        return np.zeros(self.row_map.n_features) if self.row_map.centre is None else self.row_map.centre

    def _place(self, column: str | int) -> int:
        names = self.columns[: self.row_map.n_features]
        if isinstance(column, str) and column in names:
            return names.index(column)
        if isinstance(column, int | np.integer) and 0 <= column < len(names):
            return int(column)
        raise ParameterError(f"target={column!r} is not a column of the sketch; the columns are {list(names)}.")
