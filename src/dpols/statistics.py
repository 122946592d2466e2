"""Exact sums over bounded rows, each with how far one row can move it.

The door for sums: algorithms get their statistics here, and every statistic carries its own sensitivity with respect
to replacing one row by the zero row. A statistic is an argument or a local, never stored.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .data.rows import BoundedRows, Span

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, repr=False)
class Statistic:
    """An exact value, and a bound on the Euclidean distance that one row can move it."""

    value: Array
    sensitivity: float


def gram(rows: BoundedRows) -> Statistic:
    """Return X'X.

    One row x moves it by xx', whose Frobenius norm, like its effect on any eigenvalue, is at most 1.
    """
    (value,) = rows.total(_gram_of_span)
    return Statistic(value, 1.0)


def gram_with_target(rows: BoundedRows) -> Statistic:
    """Return [X, y]'[X, y], the target last.

    One row (x, y) moves it by its outer product, whose Frobenius norm |x|^2 + y^2 is at most 2.
    """
    (value,) = rows.total(_gram_with_target_of_span)
    return Statistic(value, 2.0)


def clipped_gradient(rows: BoundedRows, theta: Array, *, residual_bound: float) -> Statistic:
    """Return X' clip(y - X theta) for each theta of shape (trials, d), with residuals clipped to the bound.

    One row moves it by x times a clipped residual, of norm at most ``residual_bound`` whatever theta is.
    """
    (value,) = rows.total(_gradient_of_span, theta, residual_bound, width=2 * len(theta))
    return Statistic(value, residual_bound)


def norm_clipped_gradient(rows: BoundedRows, theta: Array, *, norm_bound: float) -> Statistic:
    """Return the sum of x (y - x'theta) over rows, each term shrunk to a norm of at most the bound.

    One row moves it by its own term, of norm at most ``norm_bound`` whatever theta is.
    """
    (value,) = rows.total(_norm_clipped_gradient_of_span, theta, norm_bound, width=2 * len(theta))
    return Statistic(value, norm_bound)


def _gram_of_span(span: Span) -> tuple[Array, ...]:
    return (span.gram(),)


def _gram_with_target_of_span(span: Span) -> tuple[Array, ...]:
    features = span.gram()
    cross = span.transposed_dot(span.target[:, None])
    square = np.array([[span.target @ span.target]])
    return (np.block([[features, cross.T], [cross, square]]),)


def _gradient_of_span(span: Span, theta: Array, residual_bound: float) -> tuple[Array, ...]:
    residuals = span.residuals(theta)
    np.clip(residuals, -residual_bound, residual_bound, out=residuals)
    return (span.transposed_dot(residuals),)


def _norm_clipped_gradient_of_span(span: Span, theta: Array, norm_bound: float) -> tuple[Array, ...]:
    residuals = span.residuals(theta)
    # Shrinking x r to norm C is the same as clipping r to C / |x|.
    with np.errstate(over="ignore"):
        level = norm_bound / np.maximum(np.sqrt(span.squared_norms()), np.finfo(float).tiny)[:, None]
    np.clip(residuals, -level, level, out=residuals)
    return (span.transposed_dot(residuals),)
