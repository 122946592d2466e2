"""The rows of a search: which of them can be used, which are for scoring, and by what statistic candidates compare."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from ..data import RowSource
from ..data.bounding import finite_rows
from ..data.rows import BadRows, check_total
from ..data.weights import apart
from ..errors import DataError, ParameterError
from ..estimators import PrivateRegression
from ..families import FAMILIES, FamilyName, predictor_range
from ..randomness import Bits
from ..statistics import Statistic

Array = np.ndarray[Any, np.dtype[Any]]

_STEPS = 2**20  # to which an error is rounded, in its unit


def in_scoring_part(n_rows: int, share: float, coins: Bits | None = None) -> Array:
    """Return which rows are for scoring: about a share of them, by a fixed hash of their place and nothing else.

    With ``coins`` each row falls into its part by a coin of its own: where a row can be added, places tell of others.
    """
    if not 0.0 < share < 1.0:
        raise ParameterError(f"scoring_share={share!r} must lie strictly between 0 and 1.")
    if coins is not None:
        return np.asarray(coins.words(n_rows) >> np.uint64(11) < share * 2.0**53)
    # The finaliser of splitmix64, a bijection whose values look random.
    mixed = np.arange(1, n_rows + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    scoring = (mixed ^ (mixed >> np.uint64(31))) >> np.uint64(11) < share * 2.0**53
    if scoring.all() or not scoring.any():
        raise DataError(f"there are too few rows to keep a share of {share} of them for scoring.")
    return np.asarray(scoring)


def sources_of(models: Sequence[PrivateRegression], X: Any, y: Array, weights: Array | None = None) -> list[RowSource]:
    """Return the rows as each model takes them: a feature map is the model's own, and so are labels."""
    return [opened(clone(model), X, y, weights) for model in models]


def opened(model: PrivateRegression, X: Any, y: Array, weights: Array | None) -> RowSource:
    """Return the rows of a part of a search as a model takes them."""
    return model._source(*model._outcomes(X, y), weights)


def check_rows(sources: Sequence[RowSource], bad_rows: BadRows) -> None:
    """Refuse rows that could not be fitted or scored, those of both parts in one pass.

    The error is a function of all rows and never of the parts. Otherwise searches that fail, which cost nothing, would
    find the place of a bad row by moving the border between the parts.
    """
    for source in sources:
        total = source.total(_count_bad)
        check_total(total, int(total.values[0]), n_rows=source.n_rows, bad_rows=bad_rows)


@dataclass(frozen=True)
class Measure:
    """By what candidates compare: squared errors in squared ranges, or deviances in the largest that counts."""

    family: FamilyName
    low: float  # the public range of outcomes
    high: float
    unit: float

    @classmethod
    def squared(cls, interval: tuple[float, float]) -> "Measure":
        """Return the squared error, with targets and predictions clipped to a public range."""
        low, high = interval
        return cls("gaussian", low, high, (high - low) ** 2)

    @property
    def name(self) -> str:
        """What results call its mean."""
        return "mean_squared_error" if self.family == "gaussian" else "mean_deviance"

    def errors(self, target: Array, predictor: Array) -> Array:
        """Return the error of each row, in units; it depends on that row alone."""
        targets = np.clip(target, self.low, self.high)
        if self.family == "gaussian":
            return np.asarray(((np.clip(predictor, self.low, self.high) - targets) / (self.high - self.low)) ** 2)
        family = FAMILIES[self.family]
        mean = family.mean(np.clip(predictor, *predictor_range(self.family, self.high)))
        return np.asarray(family.deviance(targets, mean) / self.unit)


def scores_of(
    models: Sequence[PrivateRegression],
    X: Any,
    y: Array,
    measure: Measure,
    weights: Array | None = None,
    largest: float | None = None,
) -> Statistic:
    """Return for each model the sum over rows of its error, at most one unit, less one half.

    One row moves each sum by at most one half, and all together by half the root of their number; the zero row, and to
    each sum a row of which that model's features or the target are not finite, adds nothing. Where rows have weights,
    each term is multiplied by its weight over the largest, and half the sum of these is one sum more.
    """
    sources = sources_of(models, X, y, weights)
    sums = [
        source.total(
            _sum_of_steps, np.ravel(model.coef_), float(np.ravel(model.intercept_)[0]), measure, largest
        ).values[0]
        for model, source in zip(models, sources, strict=True)
    ]
    if largest is not None:
        sums.append(sources[0].total(_sum_of_weights, largest).values[0])
    sensitivity = math.isqrt(len(sums) * (_STEPS // 2) ** 2 - 1) + 1  # the root, rounded up
    return Statistic(np.array(sums, dtype=np.int64), sensitivity, 1.0 / _STEPS)


def _sum_of_steps(
    features: Array,
    target: Array,
    coefficients: Array,
    intercept: float,
    measure: Measure,
    largest: float | None,
) -> tuple[Array, ...]:
    """Sum rounded errors, each less one half, over one block."""
    target, weights = apart(target)
    good = finite_rows(features, target, weights)
    rows = np.ascontiguousarray(np.where(good[:, None], features, 0.0), dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        # A row's own products in a fixed order: what it adds does not depend on the other rows.
        values = np.einsum("ij,j->i", rows, coefficients) + intercept
    errors = measure.errors(np.where(good, target, measure.low), np.nan_to_num(values, nan=measure.low))
    steps = np.rint(_STEPS * np.minimum(errors, 2.0)).astype(np.int64)  # a sum of steps beyond would overflow
    terms = (np.minimum(steps, _STEPS) - _STEPS // 2) * good
    if weights is not None and largest is not None:
        terms = np.rint(terms * _shares(weights, good, largest)).astype(np.int64)
    return (terms.sum(),)


def _sum_of_weights(features: Array, target: Array, largest: float) -> tuple[Array, ...]:
    """Sum half of each weight over the largest, rounded, over one block."""
    target, weights = apart(target)
    assert weights is not None
    shares = _shares(weights, finite_rows(features, target, weights), largest)
    return (np.rint(_STEPS // 2 * shares).astype(np.int64).sum(),)


def _shares(weights: Array, good: Array, largest: float) -> Array:
    """Return weights over the largest, to which they are clipped; zero for bad rows."""
    return np.asarray(np.minimum(np.where(good, weights, 0.0), largest) / largest)


def _count_bad(features: Array, target: Array) -> tuple[Array, ...]:
    target, weights = apart(target)
    return ((~finite_rows(features, target, weights)).sum(),)
