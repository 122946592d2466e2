"""Maximum likelihood of a family with its sandwich, without privacy and with nothing of the package in its steps."""

from typing import Any, NamedTuple

import numpy as np

from dpols.families import FAMILIES, FamilyName

Array = np.ndarray[Any, np.dtype[Any]]
_STEPS = 60


class Likelihood(NamedTuple):
    """A solution, the inverse of its curvature, the scores of its rows, and deviances."""

    solution: Array
    inverse: Array
    scores: Array
    deviance: float
    null_deviance: float


def maximum_likelihood(rows: Array, y: Array, family: FamilyName) -> Likelihood:
    """Fit by Newton steps; the last column of the rows is the constant."""
    theta = np.zeros(rows.shape[1])
    mean = np.clip(y.mean(), 1e-9, None)
    theta[-1] = np.log(mean / (1.0 - mean)) if family == "binomial" else np.log(mean)
    for _ in range(_STEPS):
        mu = _mean(rows @ theta, family)
        weight = mu * (1.0 - mu) if family == "binomial" else mu
        inverse = np.linalg.pinv((rows * weight[:, None]).T @ rows)
        step = inverse @ (rows.T @ (y - mu))
        theta = theta + step * min(1.0, 5.0 / max(float(np.abs(step).max()), 1e-300))
        if np.abs(step).max() < 1e-10:
            break
    deviance = FAMILIES[family].deviance
    null = float(deviance(y, np.full_like(y, y.mean())).sum())
    return Likelihood(theta, inverse, rows * (y - mu)[:, None], float(deviance(y, mu).sum()), null)


def _mean(predictor: Array, family: FamilyName) -> Array:
    predictor = np.clip(predictor, -30.0, 30.0)
    return np.asarray(1.0 / (1.0 + np.exp(-predictor)) if family == "binomial" else np.exp(predictor))
