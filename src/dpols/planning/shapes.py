"""Made-up tables of a given shape, and public tables resampled to a given number of rows."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data import ArraySource, Bounds, FileSource, TableSource, open_rows
from ..data.source import RowSource
from ..errors import DataError, ParameterError, quoted
from ..feature_map import FeatureMap
from ..feature_map.source import mapped_source
from ..randomness import Bits, standard_normal, streams
from .samples import MOST_ROWS, Array, RepeatedRows, Sample, distinct

REACH = 3.0  # standard deviations to either side that bounds without slack have room for


@dataclass(frozen=True)
class Shape:
    """What is assumed of a table: public knowledge or a guess, never read from the data.

    Features are normal, cut off at 3 standard deviations, with a correlation matrix whose largest eigenvalue is
    ``condition`` times the smallest. All have slopes of the same size, in standard deviations, with signs that
    alternate at random. Bounds reach 3 ``bounds_slack`` standard deviations to either side.
    """

    n_features: int
    r_squared: float = 0.5
    condition: float = 10.0
    bounds_slack: float = 1.0
    bounds: Bounds | None = None
    fit_intercept: bool = True

    def __post_init__(self) -> None:
        whole("d", self.n_features)
        if not (_is_number(self.r_squared) and 0.0 < self.r_squared < 1.0):
            raise ParameterError(
                f"r_squared={self.r_squared!r} must lie strictly between 0 and 1: the share of the target's variance "
                "that you expect features to explain."
            )
        for name, value in (("condition", self.condition), ("bounds_slack", self.bounds_slack)):
            if not (_is_number(value) and 1.0 <= value <= 1e12):
                raise ParameterError(f"{name}={value!r} must be a number from 1, for instance 2.")
        if self.bounds is not None:
            check_bounds(self.bounds)
            if self.bounds.features is not None and len(self.bounds.features) != self.n_features:
                raise ParameterError(
                    f"d={self.n_features} does not match bounds, which have {len(self.bounds.features)} features; "
                    "leave it out, or give bounds for as many features."
                )

    def sample(self, n_rows: int, bits: Bits) -> Sample:
        """Return a table of that many rows."""
        d, m = self.n_features, distinct(n_rows)
        correlation = correlation_matrix(log_spaced(self.condition, d), bits)
        root = np.linalg.cholesky(correlation)
        slopes = np.sign(standard_normal(bits, (d,)))
        slopes *= math.sqrt(self.r_squared / float(slopes @ correlation @ slopes))
        noise = standard_normal(bits, (m,))  # before the features, so that both are prefixes of longer ones
        features = np.clip(standard_normal(bits, (m, d)) @ root.T, -REACH, REACH)
        joined = np.column_stack((features, np.ones(m))) if self.fit_intercept else features
        target = target_within(joined, features @ slopes, noise, 1.0 - self.r_squared, REACH)
        return self._in_units(features, target, n_rows)

    def _in_units(self, features: Array, target: Array, n_rows: int) -> Sample:
        """Stretch a table in standard deviations to the units of the bounds."""
        bounds = self.bounds
        if bounds is None:
            reach = REACH * self.bounds_slack
            bounds = Bounds(features=[(-reach, reach)] * self.n_features, target=(-reach, reach))
        columns = tuple(bounds.features) if isinstance(bounds.features, Mapping) else None
        if bounds.features is not None:
            features = self._stretched(features, np.array(bounds.in_order(self.n_features, columns)))
        else:
            assert bounds.x_norm is not None
            longest = math.sqrt(float(np.einsum("ij,ij->i", features, features).max()))
            features = features * (bounds.x_norm / (self.bounds_slack * longest))
        target = self._stretched(target[:, None], np.array([target_range(bounds)]))[:, 0]
        source = RepeatedRows(features, target, n_rows, columns)
        return Sample(source, bounds, self.fit_intercept, 1.0 - self.r_squared)

    def _stretched(self, values: Array, pairs: Array) -> Array:
        low, high = pairs.T
        # Without an intercept nothing may be shifted, and bounds are scaled about zero.
        centre = 0.5 * (low + high) if self.fit_intercept else np.zeros(len(pairs))
        half = 0.5 * (high - low) if self.fit_intercept else np.maximum(np.abs(low), np.abs(high))
        return np.asarray(centre + values * (half / (REACH * self.bounds_slack)))


@dataclass(frozen=True, repr=False)
class PublicTable:
    """A table that is public by the caller's word, to be resampled."""

    features: Array
    target: Array
    columns: tuple[str, ...] | None
    bounds: Bounds
    r_squared: float
    fit_intercept: bool = True

    @property
    def n_features(self) -> int:
        return int(self.features.shape[1])

    def sample(self, n_rows: int, bits: Bits) -> Sample:
        """Return that many rows, drawn with replacement; beyond 20,000 those are repeated."""
        n = len(self.target)
        words = bits.words(distinct(n_rows))
        chosen = ((words >> np.uint64(11)).astype(np.float64) * 2.0**-53 * n).astype(np.int64)
        source = RepeatedRows(self.features[chosen], self.target[chosen], n_rows, self.columns)
        return Sample(source, self.bounds, self.fit_intercept, 1.0 - self.r_squared)


def public_table(
    table: Any, target: Any, *, bounds: Bounds | FeatureMap | None, bounds_slack: float, fit_intercept: bool
) -> PublicTable:
    """Read a public table; bounds that are not given are its ranges, widened by the slack."""
    if target is None:
        raise ParameterError("target is required with public_table: the name of its target's column, or the values.")
    if isinstance(bounds, FeatureMap):
        files = isinstance(table, FileSource)  # they name their target themselves
        source, bounds = mapped_source(bounds, table, None if files else target), bounds.bounds()
    else:
        source = open_rows(table, target)
    features, values = _all_rows(source)
    if len(values) < source.n_features + 3:
        raise DataError(
            f"public_table has {len(values)} rows, too few for {source.n_features} features; use a longer table."
        )
    if not (np.isfinite(features).all() and np.isfinite(values).all()):
        raise DataError(
            "public_table has empty or infinite cells; remove or impute these rows, or let a feature map say what an "
            "empty cell counts as."
        )
    if bounds is None:
        # A margin m extends a range to 1 + 2 m times its width.
        bounds = Bounds.from_reference(table, target=target, margin=0.5 * (bounds_slack - 1.0))
    else:
        check_bounds(bounds)
    r_squared = _r_squared(features, values, fit_intercept=fit_intercept)
    return PublicTable(features, values, source.columns, bounds, r_squared, fit_intercept)


def correlation_matrix(eigenvalues: Array, bits: Bits) -> Array:
    """Return a correlation matrix with these eigenvalues, whose sum is their number.

    A random rotation, then plane rotations that make one diagonal entry after the other 1 (Davies and Higham, 2000).
    """
    d = len(eigenvalues)
    rotation = np.linalg.qr(standard_normal(bits, (d, d)))[0]
    matrix = (rotation * eigenvalues) @ rotation.T
    for _ in range(d - 1):
        diagonal = np.diag(matrix)
        i, j = int(np.argmin(diagonal)), int(np.argmax(diagonal))
        if diagonal[j] - 1.0 < 1e-12 or 1.0 - diagonal[i] < 1e-12:
            break
        # The tangent of the angle is a root of (a_jj - 1) t^2 + 2 a_ij t + a_ii - 1 = 0.
        lead, half, last = matrix[j, j] - 1.0, matrix[i, j], matrix[i, i] - 1.0
        tangent = (-half + math.copysign(math.sqrt(half * half - lead * last), -half)) / lead
        cosine = 1.0 / math.hypot(1.0, tangent)
        sine = tangent * cosine
        plane = np.array([[cosine, sine], [-sine, cosine]])
        matrix[[i, j]] = plane @ matrix[[i, j]]
        matrix[:, [i, j]] = matrix[:, [i, j]] @ plane.T
        matrix[i, i] = 1.0
    scale = np.sqrt(np.diag(matrix))
    return np.asarray(matrix / np.outer(scale, scale))


def target_within(features: Array, signal: Array, noise: Array, variance: float, bound: float) -> Array:
    """Return targets within the bound whose least squares is the signal, with residuals of that mean square.

    Where the bound is too tight for all three the last two hold, as nearly as alternating between them gets.
    """
    basis = np.linalg.qr(features)[0]
    residual = noise
    for _ in range(30):
        residual = residual - basis @ (basis.T @ residual)
        square = float(residual @ residual) / len(residual)
        if square > 0.0:
            residual = residual * math.sqrt(variance / square)
        target = signal + residual
        if float(np.abs(target).max()) <= bound:
            break
        residual = np.clip(target, -bound, bound) - signal
    return np.asarray(target)


def samples_of(table: Shape | PublicTable, n_rows: int, seed: int) -> tuple[Sample, ...]:
    """Return tables to simulate on: several where they are short, since those differ most."""
    count = max(1, min(8, MOST_ROWS // (4 * n_rows)))
    return tuple(table.sample(n_rows, bits) for bits in streams(seed, count))


def check_bounds(bounds: Any) -> None:
    """Refuse what is no declared bounds of a regression."""
    if not isinstance(bounds, Bounds):
        kind = type(bounds).__name__
        raise ParameterError(f"bounds must be a dpols.Bounds, a dpols.FeatureMap or None, not of type {kind}.")
    if bounds.target is None and bounds.y_abs is None:
        raise ParameterError("bounds need target=(low, high) or y_abs=... to plan a regression.")


def whole(name: str, value: Any, least: int = 1) -> int:
    """Return a whole number that is large enough."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise ParameterError(f"{name}={quoted(value)} must be a whole number of at least {least}.")
    return int(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and math.isfinite(value)


def target_range(bounds: Bounds) -> tuple[float, float]:
    """Return the range of the target that bounds declare."""
    return bounds.target if bounds.target is not None else (-(bounds.y_abs or 1.0), bounds.y_abs or 1.0)


def log_spaced(condition: float, d: int) -> Array:
    """Return eigenvalues whose sum is their number, the largest of which is so many times the smallest."""
    values = np.geomspace(condition, 1.0, d)
    return np.asarray(values * (d / values.sum()))


def _all_rows(source: RowSource) -> tuple[Array, Array]:
    """Return all rows of a source in memory, in their order."""
    if isinstance(source, ArraySource):
        parts = [(source.features, source.target)]
    elif isinstance(source, TableSource):
        parts = [source.read(0, source.n_rows)]
    elif isinstance(source, FileSource):
        parts = list(source.blocks())
    else:
        raise DataError("public_table must be an array, a table in memory or dpols.read(...); convert it to one.")
    features, target = (np.concatenate([part[i] for part in parts]).astype(np.float64) for i in (0, 1))
    return features, target


def _r_squared(features: Array, target: Array, *, fit_intercept: bool) -> float:
    """Return R^2 of least squares on a table, allowing for the number of coefficients."""
    n, d = features.shape
    joined = np.column_stack((features, np.ones(n))) if fit_intercept else features
    residual = target - joined @ np.linalg.lstsq(joined, target, rcond=None)[0]
    middle = float(target.mean()) if fit_intercept else 0.0
    total = float(np.sum((target - middle) ** 2))
    if not total > 0.0:
        raise DataError("the target of public_table does not vary; choose another target.")
    free = (n - fit_intercept) / max(n - d - fit_intercept, 1)
    return float(np.clip(1.0 - free * float(residual @ residual) / total, 0.0, 1.0 - 1e-12))
