"""One private fit on a split of a table, and what its predictions are worth."""

import hashlib
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from dpols.data import Bounds
from dpols.estimators import PrivateLinearRegression

from .other_library import DIFFPRIVLIB, Task, diffprivlib_coefficients
from .rows import Rows, split
from .theil_sen import OPENDP, opendp_coefficients

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Fit:
    """A method at an epsilon on a split, with ranges so many times as wide as stated."""

    table: str
    method: str
    epsilon: float
    widening: float
    split: int
    one_column: bool = False  # on the column that explains most of the target, alone

    @property
    def seed(self) -> int:
        """A seed of its own, so that what else is fitted changes nothing here."""
        text = f"{self.table}/{self.method}/{self.epsilon!r}/{self.widening!r}/{self.split}"
        text += "/one column" if self.one_column else ""
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4])

    @property
    def rows(self) -> tuple[Rows, Rows]:
        """Training and test rows."""
        return split(self.table, self.split, one_column=self.one_column)


@dataclass(frozen=True)
class Outcome:
    """R^2 on the test rows, and the excess error on the training rows, over the variance of the target."""

    fit: Fit
    r2: float
    r2_in_range: float  # of predictions clipped to the declared range of the target
    least_squares_r2: float
    excess: float  # mean squared error minus that of least squares
    seconds: float


def run_fits(fits: Sequence[Fit], python: Path | None = None) -> list[Outcome]:
    """Do fits of one method on one table; ``python`` is where diffprivlib is."""
    return [_outcome(fit, *found) for fit, found in zip(fits, _all_coefficients(fits, python), strict=True)]


def _all_coefficients(fits: Sequence[Fit], python: Path | None) -> Iterator[tuple[Array, float]]:
    """Return slopes and, last, the intercept of each fit, and the seconds that it took."""
    if fits[0].method == DIFFPRIVLIB:
        rows = {fit.split: fit.rows[0] for fit in fits}
        tasks = [Task(fit.split, fit.epsilon, fit.widening, fit.seed) for fit in fits]
        yield from diffprivlib_coefficients("linear", rows, tasks, python)
        return
    for fit in fits:
        train = fit.rows[0].widened(fit.widening)
        yield opendp_coefficients(train, fit.epsilon) if fit.method == OPENDP else _coefficients(train, fit)


def _coefficients(train: Rows, fit: Fit) -> tuple[Array, float]:
    model = PrivateLinearRegression(
        fit.epsilon,
        "1/n^2",
        Bounds(features=train.ranges, target=train.target_range),
        method=fit.method,
        arithmetic="float",
        random_state=fit.seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a method says of its fit is measured here
        start = time.perf_counter()
        model.fit(train.features, train.target)
    return np.append(model.coef_, model.intercept_), time.perf_counter() - start


def _outcome(fit: Fit, coefficients: Array, seconds: float) -> Outcome:
    train, test = fit.rows
    best = _least_squares(fit.table, fit.split, fit.one_column)
    raw = _predictions(test, coefficients)
    in_range = np.clip(raw, *test.widened(fit.widening).target_range)
    change = _predictions(train, coefficients) - _predictions(train, best)
    return Outcome(
        fit,
        r2=_r2(test.target, raw),
        r2_in_range=_r2(test.target, in_range),
        least_squares_r2=_r2(test.target, _predictions(test, best)),
        # Residuals of least squares are orthogonal to every change of the predictions.
        excess=float(np.mean(change**2) / np.var(train.target)),
        seconds=seconds,
    )


@lru_cache(maxsize=64)
def _least_squares(table: str, number: int, one_column: bool) -> Array:
    train = split(table, number, one_column=one_column)[0]
    scaled = np.column_stack((train.scaled_features(), np.ones(len(train.target))))
    return train.in_units(np.linalg.lstsq(scaled, train.target)[0])


def _predictions(rows: Rows, coefficients: Array) -> Array:
    return np.asarray(rows.features @ coefficients[:-1] + coefficients[-1])


def _r2(target: Array, predictions: Array) -> float:
    return float(1.0 - np.mean((target - predictions) ** 2) / np.var(target))
