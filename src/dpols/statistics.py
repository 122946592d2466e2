"""Exact sums over bounded rows, each with how far one row can move it.

The door for sums: algorithms get their statistics here, and every statistic carries its own sensitivity with respect
to replacing one row by the zero row, or all rows of one unit where units have several. A statistic is an argument or a
local, never stored.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from .data.fixed_point import ONE, SQUARE, FixedPointSpan, from_limbs, quantised
from .data.rows import BoundedRows
from .data.span import Span

Array = np.ndarray[Any, np.dtype[Any]]
AnySpan = Span | FixedPointSpan
P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, repr=False)
class Statistic:
    """A value, and a bound on the Euclidean distance that one row can move it, both in multiples of ``step``.

    In exact arithmetic both are whole numbers and the bound holds of the program's own integers.
    """

    value: Array
    sensitivity: float
    step: float | Array = 1.0  # one for all trials, or one for each
    rows_at_once: int = 1  # how many rows can be gone, each of which moves it by an equal part of the sensitivity

    @property
    def exact(self) -> bool:
        """Whether the value is held in whole numbers."""
        return self.value.dtype.kind != "f"


def per_unit(statistic: Statistic, rows_per_unit: int) -> Statistic:
    """Return the same sum for neighbours that differ in so many rows: it moves that much more, and is counted in units.

    By the triangle inequality the sensitivity grows by that factor. The step shrinks by it, so that the
    sensitivity is the same in terms of it, and the data looks to a method like as many rows as there may be units.
    """
    if rows_per_unit == 1:
        return statistic
    return Statistic(
        statistic.value, statistic.sensitivity * rows_per_unit, statistic.step / rows_per_unit, rows_per_unit
    )


def _of_units(function: "Callable[Concatenate[BoundedRows, P], R]") -> "Callable[Concatenate[BoundedRows, P], R]":
    """Make sums over rows ones whose sensitivity is that of the rows' units."""

    @wraps(function)
    def for_units(rows: BoundedRows, /, *args: P.args, **kwargs: P.kwargs) -> R:
        result: Any = function(rows, *args, **kwargs)
        if isinstance(result, Statistic):
            return per_unit(result, rows.rows_per_unit)  # type: ignore[return-value]
        return tuple(per_unit(statistic, rows.rows_per_unit) for statistic in result)  # type: ignore[return-value]

    return for_units


@_of_units
def gram(rows: BoundedRows) -> Statistic:
    """Return X'X.

    One row x moves it by xx', whose Frobenius norm, like its effect on any eigenvalue, is at most 1.
    """
    return _statistic(rows.total(_gram), sensitivity=1.0)


@_of_units
def gram_and_first_gradient(rows: BoundedRows, *, residual_bound: float) -> tuple[Statistic, Statistic]:
    """Return X'X and, from the same pass, X' clip(y): the clipped gradient at zero, of shape (1, d) for all trials.

    One row moves the first by at most 1, as in `gram`, and the second by at most ``residual_bound``.
    """
    values = rows.total(_gram_and_first_gradient, residual_bound)
    half = len(values) // 2
    return (
        _statistic(values[:half], sensitivity=1.0),
        _statistic(values[half:], sensitivity=1.0, step=residual_bound),
    )


@_of_units
def gram_with_target(rows: BoundedRows) -> Statistic:
    """Return [X, y]'[X, y], the target last.

    One row (x, y) moves it by its outer product, whose Frobenius norm |x|^2 + y^2 is at most 2.
    """
    return _statistic(rows.total(_gram_with_target), sensitivity=2.0)


@_of_units
def clipped_gradient(rows: BoundedRows, theta: Array, *, residual_bound: float | Array) -> Statistic:
    """Return X' clip(y - X theta) for each theta of shape (trials, d), with residuals clipped to the trial's bound.

    One row moves it by x times a clipped residual, of norm at most ``residual_bound`` whatever theta is.
    """
    values = rows.total(_clipped_gradient, *_point(rows, theta), residual_bound, width=2 * len(theta))
    return _statistic(values, sensitivity=1.0, step=residual_bound)


@_of_units
def clipped_gradient_and_counts(
    rows: BoundedRows, theta: Array, *, residual_bound: float | Array, edges: Array
) -> tuple[Statistic, Statistic]:
    """Return the clipped gradient and, from the same pass, counts of absolute residuals between rising edges.

    One row moves the gradient by at most ``residual_bound``, and one of the counts, by 1; the zero row has no residual
    and is not counted.
    """
    width = (2 + len(edges)) * len(theta)
    *gradient, counts = rows.total(
        _clipped_gradient_and_counts, *_point(rows, theta), residual_bound, edges, width=width
    )
    return _statistic(tuple(gradient), sensitivity=1.0, step=residual_bound), _counted(rows, counts)


@_of_units
def clipped_gradient_and_squares(
    rows: BoundedRows, theta: Array, *, residual_bound: float | Array
) -> tuple[Statistic, Statistic]:
    """Return the clipped gradient and, from the same pass, the sum of squared clipped residuals, (trials, 1).

    One row moves the gradient by at most ``residual_bound`` and the sum of squares by at most its square.
    """
    values = rows.total(_clipped_gradient_and_squares, *_point(rows, theta), residual_bound, width=2 * len(theta))
    half = len(values) // 2
    gradient = _statistic(values[:half], sensitivity=1.0, step=residual_bound)
    return gradient, _statistic(values[half:], sensitivity=1.0, step=np.square(residual_bound))


@_of_units
def counts_and_moments(rows: BoundedRows, theta: Array, *, edges: Array) -> tuple[Statistic, Statistic]:
    """Return counts of absolute residuals between rising edges, and the pair of the sums of targets and their squares.

    One row moves one of the counts, by 1, and the pair by (y, y^2), of norm at most the root of 2; the zero row has no
    residual and is not counted.
    """
    width = (2 + len(edges)) * len(theta)
    counts, *moments = rows.total(_counts_and_moments, *_point(rows, theta), edges, width=width)
    pair = _statistic(tuple(moments), sensitivity=1.0)
    root = math.ceil(math.sqrt(2.0) * SQUARE) if pair.exact else math.sqrt(2.0)
    return _counted(rows, counts), Statistic(pair.value, root, pair.step)


@_of_units
def norm_clipped_gradient(rows: BoundedRows, theta: Array, *, norm_bound: float) -> Statistic:
    """Return the sum of x (y - x'theta) over rows, each term shrunk to a norm of at most the bound.

    One row moves it by its own term, of norm at most ``norm_bound`` whatever theta is.
    """
    values = rows.total(_norm_clipped_gradient, *_point(rows, theta), norm_bound, width=2 * len(theta))
    return _statistic(values, sensitivity=1.0, step=norm_bound)


def _point(rows: BoundedRows, theta: Array) -> tuple[Array, ...]:
    """Return theta as the kernels of the rows' arithmetic take it."""
    return quantised(theta) if rows.arithmetic == "exact" else (theta,)


def _counted(rows: BoundedRows, counts: Array) -> Statistic:
    """Wrap counts; whole-numbered ones are held in steps of 2^-20, so that rounding their noise costs nothing."""
    steps = ONE if rows.arithmetic == "exact" else 1.0
    return Statistic(counts * np.asarray(steps, dtype=counts.dtype), steps, 1.0 / steps)


def _statistic(values: tuple[Array, ...], *, sensitivity: float, step: float | Array = 1.0) -> Statistic:
    """Wrap a sum; ``sensitivity`` is in multiples of ``step``, which is what integers of 2^40 stand for."""
    if len(values) == 1:
        return Statistic(values[0], sensitivity, step)
    return Statistic(from_limbs(*values), sensitivity * SQUARE, step / SQUARE)


def _gram(span: AnySpan) -> tuple[Array, ...]:
    return span.gram()


def _gram_and_first_gradient(span: AnySpan, *args: Any) -> tuple[Array, ...]:
    return span.gram_and_first_gradient(*args)


def _gram_with_target(span: AnySpan) -> tuple[Array, ...]:
    return span.gram_with_target()


def _clipped_gradient(span: AnySpan, *args: Any) -> tuple[Array, ...]:
    return span.clipped_gradient(*args)


def _clipped_gradient_and_counts(span: AnySpan, *args: Any) -> tuple[Array, ...]:
    return span.clipped_gradient_and_counts(*args)


def _clipped_gradient_and_squares(span: AnySpan, *args: Any) -> tuple[Array, ...]:
    return span.clipped_gradient_and_squares(*args)


def _counts_and_moments(span: AnySpan, *args: Any) -> tuple[Array, ...]:
    return span.counts_and_moments(*args)


def _norm_clipped_gradient(span: AnySpan, *args: Any) -> tuple[Array, ...]:
    return span.norm_clipped_gradient(*args)
