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


def clipped_gradient(rows: BoundedRows, theta: Array, *, residual_bound: float) -> Statistic:
    """Return X' clip(y - X theta) for each theta of shape (trials, d), with residuals clipped to the bound.

    One row moves it by x times a clipped residual, of norm at most ``residual_bound`` whatever theta is.
    """
    (value,) = rows.total(_gradient_of_span, theta, residual_bound, width=2 * len(theta))
    return Statistic(value, residual_bound)


def _gram_of_span(span: Span) -> tuple[Array, ...]:
    return (span.gram(),)


def _gradient_of_span(span: Span, theta: Array, residual_bound: float) -> tuple[Array, ...]:
    residuals = span.dot(theta)
    np.subtract(span.target[:, None], residuals, out=residuals)
    np.clip(residuals, -residual_bound, residual_bound, out=residuals)
    return (span.transposed_dot(residuals),)
