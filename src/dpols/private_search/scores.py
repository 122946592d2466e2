"""Which rows are for scoring, and the statistic by which candidates are compared."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..data.memory import real_numbers
from ..errors import DataError, ParameterError
from ..estimators import PrivateLinearRegression
from ..feature_map import finite_features
from ..statistics import Statistic

Array = np.ndarray[Any, np.dtype[Any]]

_STEPS = 2**20  # to which a squared error is rounded, in units of the squared range


def in_scoring_part(n_rows: int, share: float) -> Array:
    """Return which rows are for scoring: about a share of them, by a fixed hash of their place and nothing else."""
    if not 0.0 < share < 1.0:
        raise ParameterError(f"scoring_share={share!r} must lie strictly between 0 and 1.")
    # The finaliser of splitmix64, a bijection whose values look random.
    mixed = np.arange(1, n_rows + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    scoring = (mixed ^ (mixed >> np.uint64(31))) >> np.uint64(11) < share * 2.0**53
    if scoring.all() or not scoring.any():
        raise DataError(f"{n_rows} rows are too few to keep a share of {share} of them for scoring.")
    return np.asarray(scoring)


def check_rows(models: Sequence[PrivateLinearRegression], X: Any, y: Array) -> None:
    """Refuse rows that could not be scored, before anything is fitted."""
    _rows_and_good(models, X, y)
    for model in models:
        if (feature_map := getattr(model, "feature_map", None)) is not None:
            finite_features(feature_map, X)


def squared_errors(
    models: Sequence[PrivateLinearRegression], X: Any, y: Array, interval: tuple[float, float]
) -> Statistic:
    """Return for each model the sum over rows of its clipped squared error, less one half, in squared ranges.

    One row moves each sum by at most one half, and all together by half the root of their number; the zero row, and a
    row that is not finite and is taken for one, adds nothing.
    """
    low, high = interval
    rows, good = _rows_and_good(models, X, y)
    targets = np.clip(np.where(good, y, low), low, high)
    if rows is not None:
        rows = np.where(good[:, None], rows, 0.0)
    sums = []
    for model in models:
        with np.errstate(over="ignore", invalid="ignore"):
            # A row's own products in a fixed order: what it adds does not depend on the other rows.
            values = model.predict(X) if rows is None else np.einsum("ij,j->i", rows, model.coef_) + model.intercept_
        predicted = np.clip(np.nan_to_num(values, nan=low), low, high)
        steps = np.rint(_STEPS * ((predicted - targets) / (high - low)) ** 2).astype(np.int64)
        sums.append(int(((np.minimum(steps, _STEPS) - _STEPS // 2) * good).sum()))
    sensitivity = math.isqrt(len(models) * (_STEPS // 2) ** 2 - 1) + 1  # the root, rounded up
    return Statistic(np.array(sums, dtype=np.int64), sensitivity, 1.0 / _STEPS)


def _rows_and_good(models: Sequence[PrivateLinearRegression], X: Any, y: Array) -> tuple[Array | None, Array]:
    """Return the rows as numbers, None where models have maps of their own, and which of them are finite."""
    mapped = any(getattr(model, "feature_map", None) is not None for model in models)
    rows = None if mapped else np.ascontiguousarray(real_numbers(X, "X"), dtype=np.float64)
    good = np.isfinite(y) if rows is None else np.isfinite(y) & np.isfinite(rows).all(axis=1)
    if models[0].bad_rows == "raise" and not good.all():
        raise DataError("rows for scoring contain NaN or infinity; remove these rows, or pass bad_rows='zero'.")
    return rows, good
