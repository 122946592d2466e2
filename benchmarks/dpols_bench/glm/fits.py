"""One private fit on a split of a table, and what its predictions are worth."""

import hashlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from dpols import Bounds, PrivateLogisticRegression, PrivatePoissonRegressor
from dpols.families import FAMILIES, predictor_range
from dpols.privacy import PrivacyBudget

from ..tables.other_library import DIFFPRIVLIB, Task, diffprivlib_coefficients
from ..tables.rows import Rows
from .descent import SETTINGS
from .descent import coefficients as descended
from .rows import split, table

Array = np.ndarray[Any, np.dtype[Any]]

OWN = "dpols"
DELTA = 1e-6  # diffprivlib is purely epsilon-private, and gets none
DESCENTS = {setting.name: setting for setting in SETTINGS}


@dataclass(frozen=True)
class Fit:
    """A method at an epsilon on a split."""

    table: str
    method: str
    epsilon: float
    split: int

    @property
    def seed(self) -> int:
        """A seed of its own, so that what else is fitted changes nothing here."""
        text = f"{self.table}/{self.method}/{self.epsilon!r}/{self.split}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4])


@dataclass(frozen=True)
class Outcome:
    """Mean deviances on the test rows of the fit, of the non-private fit and of a constant; and other measures."""

    fit: Fit
    n_rows: int
    rate: float  # mean outcome on the training rows
    deviance: float
    best: float
    constant: float
    auc: float  # of yes/no outcomes; nan of counts
    best_auc: float
    excess: float  # mean deviance on the training rows over that of the non-private fit

    @property
    def share(self) -> float:
        """The share of what the non-private fit gains over a constant."""
        return (self.constant - self.deviance) / (self.constant - self.best)


def run_fits(fits: Sequence[Fit], python: Path | None = None) -> list[Outcome]:
    """Do fits of one method on one table; ``python`` is where diffprivlib is."""
    if fits[0].method == DIFFPRIVLIB:
        rows = {fit.split: split(fit.table, fit.split)[0] for fit in fits}
        tasks = [Task(fit.split, fit.epsilon, 1.0, fit.seed) for fit in fits]
        found = diffprivlib_coefficients("logistic", rows, tasks, python)
        return [_outcome(fit, coefficients) for fit, (coefficients, _) in zip(fits, found, strict=True)]
    return [_outcome(fit, _coefficients(fit)) for fit in fits]


def _coefficients(fit: Fit) -> Array:
    """Return slopes and, last, the intercept."""
    train = split(fit.table, fit.split)[0]
    if fit.method in DESCENTS:
        return descended(train, DESCENTS[fit.method], PrivacyBudget(fit.epsilon, DELTA), fit.seed)
    given: dict[str, Any] = {"arithmetic": "float", "random_state": fit.seed}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a method says of its fit is measured here
        if table(fit.table).family == "binomial":
            bounds = Bounds(features=train.ranges)
            yes = PrivateLogisticRegression(fit.epsilon, DELTA, bounds, classes=(0, 1), **given)
            yes.fit(train.features, train.target)
            return np.append(yes.coef_[0], yes.intercept_)
        bounds = Bounds(features=train.ranges, target=train.target_range)
        counts = PrivatePoissonRegressor(fit.epsilon, DELTA, bounds, **given).fit(train.features, train.target)
    return np.append(counts.coef_, counts.intercept_)


def _outcome(fit: Fit, coefficients: Array) -> Outcome:
    from sklearn.metrics import roc_auc_score

    train, test = split(fit.table, fit.split)
    best, family = _best(fit.table, fit.split), table(fit.table).family
    deviance = FAMILIES[family].deviance
    means = [_means(test, each, family) for each in (coefficients, best)]
    aucs = [float(roc_auc_score(test.target, mean)) if family == "binomial" else float("nan") for mean in means]
    on_training = [float(deviance(train.target, _means(train, each, family)).mean()) for each in (coefficients, best)]
    return Outcome(
        fit,
        n_rows=len(train.target) + len(test.target),
        rate=float(train.target.mean()),
        deviance=float(deviance(test.target, means[0]).mean()),
        best=float(deviance(test.target, means[1]).mean()),
        constant=float(deviance(test.target, np.full(len(test.target), train.target.mean())).mean()),
        auc=aucs[0],
        best_auc=aucs[1],
        excess=on_training[0] - on_training[1],
    )


@lru_cache(maxsize=64)
def _best(name: str, number: int) -> Array:
    """Return the coefficients of the non-private fit, all but without a penalty."""
    from sklearn.linear_model import LogisticRegression, PoissonRegressor

    train = split(name, number)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of steps that are too many for a tolerance
        model = (
            LogisticRegression(C=1e6, solver="newton-cholesky", tol=1e-8)
            if table(name).family == "binomial"
            else PoissonRegressor(alpha=1e-8, solver="newton-cholesky", tol=1e-8)
        ).fit(train.scaled_features(), train.target)
    return train.in_units(np.append(np.ravel(model.coef_), np.ravel(model.intercept_)))


def _means(rows: Rows, coefficients: Array, family: str) -> Array:
    limits = predictor_range(family, rows.target_range[1])
    return FAMILIES[family].mean(np.clip(rows.features @ coefficients[:-1] + coefficients[-1], *limits))
