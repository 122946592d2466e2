"""Rows to simulate fits on: at most so many distinct ones, repeated until there are as many as asked for.

Every statistic of a method is a sum over rows, so that a table in which each row stands w times has w times the sums of
the distinct rows: exact, at the cost of those alone.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.special import betaincinv

from ..data import ArraySource, BoundedRows, Bounds, Total
from ..data.source import Kernel
from ..linalg import Array as Array

MOST_ROWS = 20_000  # distinct ones
_SPREAD = 4.0  # parameters of the beta law of weights add up to this
_GOLDEN = 0.5 * (5.0**0.5 - 1.0)


def distinct(n_rows: int) -> int:
    """Return how many rows a table that long repeats, so that each stands in it about as often as any other."""
    return n_rows // -(-n_rows // MOST_ROWS)


@dataclass(frozen=True, repr=False)
class RepeatedRows:
    """A source of ``n_rows`` rows that goes through the given ones again and again."""

    features: Array
    target: Array
    n_rows: int
    columns: tuple[str, ...] | None = None

    @property
    def n_features(self) -> int:
        return int(self.features.shape[1])

    @property
    def weights(self) -> Array:
        """How often each distinct row stands in the table."""
        times, more = divmod(self.n_rows, len(self.target))
        return times + (np.arange(len(self.target)) < more)

    def total(self, kernel: Kernel, *args: Any) -> Total:
        times, more = divmod(self.n_rows, len(self.target))
        parts = []
        for rows, weight in ((slice(0, more), times + 1), (slice(more, None), times)):
            if weight and len(self.target[rows]):
                found = ArraySource(self.features[rows], self.target[rows]).total(kernel, *args)
                parts.append(tuple(weight * value for value in found.values))
        return Total(tuple(sum(values) for values in zip(*parts, strict=True)), self.n_rows)  # type: ignore[misc]


@dataclass(frozen=True, repr=False)
class Sample:
    """A made-up or public table of the size that is planned for, with what errors on it are measured by."""

    source: RepeatedRows
    bounds: Bounds
    fit_intercept: bool
    residual_share: float  # 1 - R^2 of the best coefficients in the population
    shares: Array | None = None  # the weight of each distinct row over the largest; None where rows have no weights
    triangle: Array = field(init=False)  # R of the rows [X, 1] = Q R
    best: Array = field(init=False)  # least squares on these rows, the intercept last
    target_variance: float = field(init=False)
    feature_stddevs: Array = field(init=False)

    def __post_init__(self) -> None:
        weights = self._weights()
        features, target = self.source.features, self.source.target
        centre = weights @ features if self.fit_intercept else np.zeros(features.shape[1])
        middle = float(weights @ target) if self.fit_intercept else 0.0
        joined = np.column_stack((features, np.ones(len(target)))) if self.fit_intercept else features
        root = np.sqrt(weights)[:, None]
        triangle = np.asarray(np.linalg.qr(root * np.column_stack((joined, target)), mode="r"))
        width = joined.shape[1]
        found = {
            "triangle": triangle[:width, :width],
            "best": np.linalg.lstsq(triangle[:width, :width], triangle[:width, width], rcond=1e-15)[0],
            "target_variance": float(weights @ (target - middle) ** 2),
            "feature_stddevs": np.sqrt(weights @ (features - centre) ** 2),
        }
        for name, value in found.items():
            object.__setattr__(self, name, value)

    def _weights(self) -> Array:
        """Return how much each distinct row counts, all together 1."""
        weights = self.source.weights / self.source.n_rows
        return weights if self.shares is None else weights * self.shares / float(weights @ self.shares)

    def bounded(self) -> BoundedRows:
        """Return the rows as methods take them."""
        row_map = self.bounds.row_map(
            n_features=self.source.n_features, columns=self.source.columns, fit_intercept=self.fit_intercept
        )
        if self.shares is None:
            return BoundedRows(self.source, row_map)
        source = replace(self.source, target=np.column_stack((self.source.target, self.shares)))
        return BoundedRows(source, replace(row_map, max_weight=1.0))

    def excess(self, coefficients: Array) -> Array:
        """Return by how much the mean squared error on these rows exceeds the least, for each row of coefficients."""
        products = (coefficients - self.best) @ self.triangle.T
        return np.asarray(np.einsum("ij,ij->i", products, products))

    def slope_errors(self, coefficients: Array) -> Array:
        """Return the errors of slopes, in target standard deviations for each standard deviation of the feature."""
        d = self.source.n_features
        return np.asarray((coefficients - self.best)[:, :d] * self.in_stddevs)

    @property
    def in_stddevs(self) -> Array:
        """What a slope is multiplied with to be in standard deviations of target per standard deviation of feature."""
        return np.asarray(self.feature_stddevs / np.sqrt(self.target_variance))

    def sampling_variances(self) -> Array:
        """Return the variance that least squares on so many rows has by chance, of slopes in the same units."""
        d = self.source.n_features
        inverse = np.linalg.pinv(self.triangle)
        variance = self.residual_share * self.target_variance * np.einsum("ij,ij->i", inverse, inverse)[:d]
        # Weights that differ make rows count for fewer: Kish's effective number of them.
        effective = 1.0 / float(np.square(self._weights()) @ (1.0 / self.source.weights))
        return np.asarray(variance * self.in_stddevs**2 / effective)


def weighted(sample: Sample, mean_weight: float) -> Sample:
    """Return a sample whose rows have weights, of a beta law with that mean, whatever else a row holds."""
    if mean_weight == 1.0:
        return sample
    count = len(sample.source.target)
    levels = (np.arange(count) + 0.5) / count
    # Levels that are spread evenly, in an order that has nothing to do with that of the rows.
    order = np.argsort((np.arange(count) * _GOLDEN) % 1.0)
    shares = betaincinv(_SPREAD * mean_weight, _SPREAD * (1.0 - mean_weight), levels)[order]
    return replace(sample, shares=shares)
