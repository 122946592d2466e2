"""The Newton step that closes a fit with intervals, and its noise, by a Gram matrix that was released with noise."""

import math

import numpy as np

from ..linalg import inverse_under_noise
from .base import Array

_WEAK = 2.5  # eigenvalues of the Gram matrix below so many standard deviations of its noise are not inverted


def newton_step(gram: Array, noise: Array, gradient: Array) -> Array:
    """Return the step along each trial's gradient."""
    inverse = np.stack([inverse_of(*each)[0] for each in zip(gram, noise, strict=True)])
    return np.asarray(np.einsum("tij,tj->ti", inverse, gradient))


def inverse_of(gram: Array, noise: float) -> tuple[Array, Array]:
    """Return the inverse of a released Gram matrix for the closing step, and its eigenvalues.

    Along directions that the noise hides, the step is a plain gradient step.
    """
    values, vectors, inverses = inverse_under_noise(gram, noise)
    inverses = np.where(values < _WEAK * noise, np.minimum(inverses, 1.0), inverses)
    return np.asarray((vectors * inverses) @ vectors.T), values


def step_noise(of: dict[str, Array]) -> Array:
    """Return the covariance of the noise that the inverse turns into the closing step's.

    It is that of the gradient, and of the Gram matrix times the step; beside its diagonal that has half the variance.
    """
    step, d = of["step"], len(of["step"])
    outer = float(step @ step) * np.eye(d) + np.outer(step, step)
    return np.asarray(float(of["gradient_noise"]) ** 2 * np.eye(d) + 0.5 * float(of["gram_noise"]) ** 2 * outer)


def closing_noise(of: dict[str, Array]) -> Array:
    """Return the covariance of the noise in the closing point.

    Along directions that the Gram matrix hides, the step does not undo the noise of the point that it starts from.
    """
    noise = float(of["gram_noise"])
    inverse, values = inverse_of(of["gram"], noise)
    hidden = np.linalg.eigh(of["gram"])[1][:, values < _WEAK * noise]
    return np.asarray(inverse @ step_noise(of) @ inverse + float(of["point_noise"]) ** 2 * hidden @ hidden.T)


def explained(of: dict[str, Array], *, intercept: bool) -> tuple[float, float, float]:
    """Return the sum of squares that the slopes explain, its standard deviation, and what noise adds to a fit's.

    With an intercept the constant is taken off, orthogonally in the released Gram matrix.
    """
    gram, gram_noise = of["gram"], float(of["gram_noise"])
    closed, rest = of["point"] + of["step"], np.eye(len(gram))
    if intercept:
        constant = np.linalg.inv(of["metric"])[:, -1]
        weights = gram @ constant
        along = float(weights @ constant)
        if along > gram_noise * float(constant @ constant):  # else nothing is seen of the constant
            rest = rest - np.outer(constant, weights) / along
    slopes = rest @ closed
    pulled = gram @ slopes
    noise = closing_noise(of)
    within = rest.T @ gram @ rest @ noise
    feigned = max(float(np.trace(within)), 0.0)
    variance = (
        4.0 * float(pulled @ noise @ pulled)
        + 2.0 * float(np.sum(within * within.T))
        + gram_noise**2 * float(slopes @ slopes) ** 2
    )
    return float(slopes @ pulled) - feigned, math.sqrt(max(variance, 0.0)), feigned
