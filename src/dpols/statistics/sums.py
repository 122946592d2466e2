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
from flint import fmpz_mat

from .data.fixed_point import ONE, SQUARE, FixedPointSpan, from_limbs, quantised
from .data.fixed_point import on_grid as grid_point
from .data.rows import BoundedRows, NumberedRows
from .data.span import Span, count_between

Array = np.ndarray[Any, np.dtype[Any]]
AnySpan = Span | FixedPointSpan
P = ParamSpec("P")
R = TypeVar("R")
Rows = TypeVar("Rows", BoundedRows, "WhitenedRows")


@dataclass(frozen=True, repr=False)
class Statistic:
    """A value, and a bound on the Euclidean distance that one row can move it, both in multiples of ``unit``.

    In exact arithmetic both are whole numbers and the bound holds of the program's own integers.
    """

    value: Array
    sensitivity: float
    unit: float | Array = 1.0  # one for all trials, or one for each
    rows_at_once: int = 1  # how many rows can be gone, each of which moves it by an equal part of the sensitivity

    @property
    def exact(self) -> bool:
        """Whether the value is held in whole numbers."""
        return self.value.dtype.kind != "f"


def per_unit(statistic: Statistic, rows_per_unit: int) -> Statistic:
    """Return the same sum for neighbours that differ in so many rows: it moves that much more, and is counted in units.

    By the triangle inequality the sensitivity grows by that factor. The unit of measurement shrinks by it, so that the
    sensitivity is the same in terms of it, and the data looks to a method like as many rows as there may be units.
    """
    if rows_per_unit == 1:
        return statistic
    return Statistic(
        statistic.value, statistic.sensitivity * rows_per_unit, statistic.unit / rows_per_unit, rows_per_unit
    )


def _of_units(function: "Callable[Concatenate[Rows, P], R]") -> "Callable[Concatenate[Rows, P], R]":
    """Make sums over rows ones whose sensitivity is that of the rows' units."""

    @wraps(function)
    def for_units(rows: Rows, /, *args: P.args, **kwargs: P.kwargs) -> R:
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
        _statistic(values[half:], sensitivity=1.0, unit=residual_bound),
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
    return _statistic(values, sensitivity=1.0, unit=residual_bound)


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
    return _statistic(tuple(gradient), sensitivity=1.0, unit=residual_bound), _counted(rows, counts)


@_of_units
def clipped_gradient_and_squares(
    rows: BoundedRows, theta: Array, *, residual_bound: float | Array
) -> tuple[Statistic, Statistic]:
    """Return the clipped gradient and, from the same pass, the sum of squared clipped residuals, (trials, 1).

    One row moves the gradient by at most ``residual_bound`` and the sum of squares by at most its square.
    """
    values = rows.total(_clipped_gradient_and_squares, *_point(rows, theta), residual_bound, width=2 * len(theta))
    half = len(values) // 2
    gradient = _statistic(values[:half], sensitivity=1.0, unit=residual_bound)
    return gradient, _statistic(values[half:], sensitivity=1.0, unit=np.square(residual_bound))


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
    return _counted(rows, counts), Statistic(pair.value, root, pair.unit)


@_of_units
def norm_clipped_gradient(rows: BoundedRows, theta: Array, *, norm_bound: float) -> Statistic:
    """Return the sum of x (y - x'theta) over rows, each term shrunk to a norm of at most the bound.

    One row moves it by its own term, of norm at most ``norm_bound`` whatever theta is.
    """
    values = rows.total(_norm_clipped_gradient, *_point(rows, theta), norm_bound, width=2 * len(theta))
    return _statistic(values, sensitivity=1.0, unit=norm_bound)


@dataclass(frozen=True, repr=False)
class WhitenedRows:
    """Bounded rows x in the coordinates M'x, with the length of each there beside it; M is computed from releases.

    In exact arithmetic the columns of M are whole numbers in steps of 2^-exponent.
    """

    numbered: NumberedRows
    metric: Array  # M of each trial, (trials, d, d)
    columns: Array  # M' as the rows' arithmetic takes it, and its exponents, (trials, d), zero in floating point
    exponent: Array

    @property
    def bounded(self) -> BoundedRows:
        return self.numbered.rows

    @property
    def rows_per_unit(self) -> int:
        """In how many rows neighbouring data sets may differ."""
        return self.bounded.rows_per_unit


def whiten(rows: BoundedRows, metric: Array) -> WhitenedRows:
    """Return the rows in the coordinates M'x for each trial's M, which is public."""
    trials, d, _ = metric.shape
    if rows.arithmetic == "float":
        numbered = rows.numbered(_lengths, metric, width=2 * d)
        return WhitenedRows(numbered, metric, metric.swapaxes(1, 2), np.zeros((trials, d)))
    flat, exponents = quantised(metric.swapaxes(1, 2).reshape(-1, d))
    columns, exponent = flat.reshape(trials, d, d), exponents.reshape(trials, d)
    numbered = rows.numbered(_lengths, columns, exponent, width=2 * d)
    return WhitenedRows(numbered, (columns * 2.0 ** -exponent[:, :, None]).swapaxes(1, 2), columns, exponent)


def on_grid(rows: BoundedRows, theta: Array) -> Array:
    """Return the points near theta at which the rows' arithmetic computes whitened gradients."""
    if rows.arithmetic == "float":
        return theta
    numbers, exponent = grid_point(theta)
    return np.asarray(numbers * 2.0 ** -exponent[:, None])


@_of_units
def squared_lengths(rows: BoundedRows) -> Statistic:
    """Return the sum of |x|^2 over rows, of shape (1,) for all trials.

    One row moves it by its own squared norm, which is at most 1.
    """
    return _statistic(rows.total(_squared_lengths), sensitivity=1.0)


@_of_units
def length_counts(rows: WhitenedRows, *, edges: Array) -> Statistic:
    """Return counts of |M'x| between rising edges of shape (edges, trials).

    One row moves one of the counts, by 1; the zero row has no length and is not counted.
    """
    (counts,) = rows.numbered.total(_length_counts, edges, width=2 * rows.metric.shape[0])
    return _counted(rows.bounded, counts)


@_of_units
def whitened_gram(rows: WhitenedRows, *, limit: Array) -> Statistic:
    """Return the sum of M'xx'M over rows, each M'x shortened to a length of at most the trial's limit.

    One row moves it by an outer product, of Frobenius norm at most the square of ``limit``; in exact arithmetic each
    entry is rounded down to 2^-40 of that, which adds at most d such steps.
    """
    d = rows.metric.shape[-1]
    if rows.bounded.arithmetic == "float":
        (sums,) = rows.numbered.total(_shortened_gram, limit, width=2 * d)
        inside = rows.metric.swapaxes(1, 2) @ sums @ rows.metric
        return Statistic(inside / np.square(limit)[:, None, None], 1.0, np.square(limit))
    # Cutting off to whole numbers moves a row by at most sqrt(d) steps of 2^-20.
    slack = np.sqrt(d * np.square(rows.metric).sum(axis=(1, 2))) / ONE * (1.0 + 2.0**-30)
    sums = from_limbs(*rows.numbered.total(_shortened_gram, limit, slack, width=2 * d))
    values = [_whole_gram(*each) for each in zip(sums, rows.columns, rows.exponent, limit, strict=True)]
    return Statistic(np.array(values, dtype=object), SQUARE + d, np.square(limit) / SQUARE)


@_of_units
def whitened_gradient(rows: WhitenedRows, theta: Array, *, limit: Array) -> Statistic:
    """Return the sum of M'x (y - x'theta) over rows, each term shortened to a length of at most the trial's limit.

    One row moves it by its own term, of norm at most ``limit`` whatever theta is; in exact arithmetic each entry is
    rounded down to 2^-40 of that, which adds at most the root of d such steps.
    """
    point = _grid_point(rows.bounded, theta)
    return _in_metric(rows, rows.numbered.total(_shortened_gradient, *point, limit, width=6 * len(theta)), point, limit)


@_of_units
def whitened_gradient_and_counts(
    rows: WhitenedRows, theta: Array, *, limit: Array, edges: Array
) -> tuple[Statistic, Statistic]:
    """Return the same and, from the same pass, counts of |M'x| |y - x'theta| between edges of shape (edges, trials).

    One row moves the gradient by at most ``limit``, and one of the counts, by 1; the zero row is not counted.
    """
    point = _grid_point(rows.bounded, theta)
    width = (6 + len(edges)) * len(theta)
    *sums, counts = rows.numbered.total(_shortened_gradient_and_counts, *point, limit, edges, width=width)
    return _in_metric(rows, tuple(sums), point, limit), _counted(rows.bounded, counts)


def _grid_point(rows: BoundedRows, theta: Array) -> tuple[Array, ...]:
    """Return theta as the kernels of whitened gradients take it."""
    return grid_point(theta) if rows.arithmetic == "exact" else (theta,)


def _in_metric(rows: WhitenedRows, sums: tuple[Array, ...], point: tuple[Array, ...], limit: Array) -> Statistic:
    """Return M' times the sum over rows, in multiples of the limit."""
    if len(sums) == 1:
        inside = np.einsum("tji,tj->ti", rows.metric, sums[0])
        return Statistic(inside / limit[:, None], 1.0, limit)
    d = rows.metric.shape[-1]
    upper, lower = np.split(from_limbs(*sums).astype(object), 2)
    whole = upper * int(ONE) + lower
    values = [_whole_product(*each) for each in zip(whole, rows.columns, rows.exponent, point[1], limit, strict=True)]
    return Statistic(np.array(values, dtype=object), SQUARE + math.isqrt(d) + 1, limit / SQUARE)


def _whole_gram(sums: Array, columns: Array, exponent: Array, limit: float) -> list[list[int]]:
    """Return M'SM in steps of limit^2 / 2^40, rounded down, for whole-numbered S in steps of 2^-40."""
    left = fmpz_mat([[int(value) for value in column] for column in columns])
    inside = (left * fmpz_mat([[int(value) for value in row] for row in sums]) * left.transpose()).tolist()
    mantissa, power = _dyadic(limit)
    shifts = [int(value) for value in exponent]
    return [
        [_floor(int(value), mantissa**2, -shifts[i] - shifts[j] - 2 * power) for j, value in enumerate(row)]
        for i, row in enumerate(inside)
    ]


def _whole_product(sums: Array, columns: Array, exponent: Array, point_exponent: float, limit: float) -> list[int]:
    """Return M's in steps of limit / 2^40, rounded down, for whole-numbered s in steps of 2^-(40 + exponent)."""
    left = fmpz_mat([[int(value) for value in column] for column in columns])
    inside = (left * fmpz_mat([[int(value)] for value in sums])).tolist()
    mantissa, power = _dyadic(limit)
    return [
        _floor(int(value), mantissa, -int(shift) - int(point_exponent) - power)
        for (value,), shift in zip(inside, exponent, strict=True)
    ]


def _dyadic(number: float) -> tuple[int, int]:
    """Return the whole number and the power of two whose product is a double."""
    mantissa, power = math.frexp(number)
    return int(mantissa * 2**53), power - 53


def _floor(number: int, divisor: int, power: int) -> int:
    """Return number * 2^power / divisor, rounded down."""
    return (number << power) // divisor if power >= 0 else number // (divisor << -power)


def _point(rows: BoundedRows, theta: Array) -> tuple[Array, ...]:
    """Return theta as the kernels of the rows' arithmetic take it."""
    return quantised(theta) if rows.arithmetic == "exact" else (theta,)


def _counted(rows: BoundedRows, counts: Array) -> Statistic:
    """Wrap counts; whole-numbered ones are held in steps of 2^-20, so that rounding their noise costs nothing."""
    steps = ONE if rows.arithmetic == "exact" else 1.0
    return Statistic(counts * np.asarray(steps, dtype=counts.dtype), steps, 1.0 / steps)


def _statistic(values: tuple[Array, ...], *, sensitivity: float, unit: float | Array = 1.0) -> Statistic:
    """Wrap a sum; ``sensitivity`` is in multiples of ``unit``, which is what integers of 2^40 stand for."""
    if len(values) == 1:
        return Statistic(values[0], sensitivity, unit)
    return Statistic(from_limbs(*values), sensitivity * SQUARE, unit / SQUARE)


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


def _lengths(span: AnySpan, *args: Any) -> Array:
    return span.lengths(*args)


def _squared_lengths(span: AnySpan) -> tuple[Array, ...]:
    return span.squared_lengths()


def _length_counts(span: AnySpan, lengths: Array, edges: Array) -> tuple[Array, ...]:
    counts = count_between(lengths, edges)
    return (counts.astype(np.float64 if isinstance(span, Span) else np.int64),)


def _shortened_gram(span: AnySpan, *args: Any) -> tuple[Array, ...]:
    return span.shortened_gram(*args)


def _shortened_gradient(span: AnySpan, *args: Any) -> tuple[Array, ...]:
    return span.shortened_gradient(*args)


def _shortened_gradient_and_counts(span: AnySpan, *args: Any) -> tuple[Array, ...]:
    return span.shortened_gradient_and_counts(*args)
