"""Least squares on one released sketch of [X, y]: what LinMix, its dynamic form and Sheffet's method share."""

import math

import numpy as np

from ..linalg import inverse_symmetric, solve_symmetric
from ..privacy.budget import PrivacyBudget
from ..privacy.calibration import least_noise
from ..privacy.releases import MixingRelease
from ..theory import suggested_linmix_size
from .base import Array, Evidence, Fit, RowCount
from .judging import evidence_against_constant
from .options import sketch_rows


def solve_sketch(gram: Array) -> Array:
    """Return the least-squares coefficients of the last column on the others, for Gram matrices (trials, d+1, d+1)."""
    return solve_symmetric(gram[:, :-1, :-1], gram[:, :-1, -1])


def checked_sketch_size(sketch_size: int | None, n_features: int, failure: float) -> int:
    """Return the given number of sketch rows, or the paper's for the whole of [X, y]."""
    if sketch_size is None:
        return suggested_linmix_size(n_features=n_features, failure_probability=failure)
    return sketch_rows("sketch_size", sketch_size, least=n_features + 1)


def least_sketch(rows: int, budget: PrivacyBudget) -> MixingRelease:
    """Return the sketch of so many rows with the least floor that meets the budget."""
    excess = least_noise(lambda x: [MixingRelease(rows, 1.0 + x)], budget, start=math.sqrt(rows) / budget.epsilon)
    return MixingRelease(rows, 1.0 + excess)


def sketch_evidence(fit: Fit, trial: int, *, sketch_size: int, n_rows: int | None, constant: float | None) -> Evidence:
    """Judge a fit by the Gram matrix of its sketch, whose rows are independent N(0, [X, y]'[X, y] + shift I).

    So theta is ordinary least squares on Gaussian rows, and the classical theory of linear regression applies as it
    stands: covariance s^2 (X~'X~)^-1 around the ridge solution, and an unbiased risk that counts the optimism.
    """
    theta, gram = fit.theta[trial], fit.transcript["sketch"][trial]
    k, d = sketch_size, len(theta)
    features, cross, square = gram[:d, :d], gram[:d, d], float(gram[d, d])
    residual = max(square - float(cross @ theta), 0.0)
    if k <= d + 1:
        return Evidence(np.full((d, d), math.nan), math.nan, math.nan)
    noise = residual / (k - d)
    risk = noise * (k - 1) / (k - d - 1)
    fitted = max(square / k - noise, 0.0)
    variance = (2.0 * fitted**2 + 4.0 * fitted * noise) / k + 2.0 * (risk - noise) ** 2 / (k - d)
    total = float(cross[-1]) / k
    return evidence_against_constant(
        noise * inverse_symmetric(features),
        risk - square / k - float(fit.transcript["shift"][trial]) * float(theta @ theta),
        variance,
        total=total,
        total_variance=(float(features[-1, -1]) * square / k**2 + total**2) / k,
        n_rows=n_rows,
        constant=constant,
        squares=RowCount(
            float(features[-1, -1]) / k - float(fit.transcript["shift"][trial]),
            math.sqrt(2.0 / k) * float(features[-1, -1]) / k,
        ),
    )
