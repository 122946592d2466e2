"""The affine map of rows that bounds define, and the way back to coefficients in the units of the data."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from .source import Array

Interval = tuple[float, float]
Beside = Literal["weight", "exposure"]


@dataclass(frozen=True, eq=False)
class RowMap:
    """The affine map, clip levels and norms that ``Bounds`` defines for one table. Public numbers only."""

    centre: Array | None
    scale: Array | None
    low: Array | None  # of a mapped feature: one for each, or one for all
    high: Array | None
    feature_norm: float
    norm_is_implied: bool  # clipping each feature already bounds the norm
    intercept: float | None
    target: Interval
    target_centre: float
    target_scale: float
    n_features: int
    linked: bool = False  # whether theta gives a linear predictor, which has no units, and not the target itself
    labelled: bool = False  # whether targets are one of two labels, the ends of their range, so that others are none
    max_weight: float | None = None  # the largest weight of a row; None where rows have no weights
    exposure: Interval | None = None  # the range of exposure, above 0; None where rows have no exposure

    @property
    def beside(self) -> Beside | None:
        """What stands beside the targets of rows, where anything does."""
        return "exposure" if self.exposure is not None else None if self.max_weight is None else "weight"

    @property
    def largest_exposure(self) -> float:
        """The largest exposure of a row; 1 where rows have no exposure."""
        return 1.0 if self.exposure is None else self.exposure[1]

    @property
    def n_coordinates(self) -> int:
        """Number of coefficients to fit, intercept included."""
        return self.n_features + (self.intercept is not None)

    @property
    def row_norm(self) -> float:
        """The bound on a mapped row's norm, intercept included; rows are divided by it."""
        return math.hypot(self.feature_norm, self.intercept or 0.0)

    @property
    def constant(self) -> float | None:
        """The intercept's coordinate in every row; None without an intercept."""
        return None if self.intercept is None else self.intercept / self.row_norm

    def coefficient_map(self) -> tuple[Array, Array]:
        """Return (A, b) such that A @ theta + b are the coefficients and then the intercept in the user's units."""
        p = self.n_features
        scale = np.ones(p) if self.scale is None else self.scale
        centre = np.zeros(p) if self.centre is None else self.centre
        target_centre, target_scale = (0.0, 1.0) if self.linked else (self.target_centre, self.target_scale)
        per_feature = target_scale / (self.row_norm * scale)
        matrix = np.zeros((p + 1, self.n_coordinates))
        matrix[:p, :p] = np.diag(per_feature)
        matrix[p, :p] = -per_feature * centre
        if self.intercept is not None:
            matrix[p, p] = target_scale * self.intercept / self.row_norm
        offset = np.zeros(p + 1)
        offset[p] = target_centre
        return matrix, offset
