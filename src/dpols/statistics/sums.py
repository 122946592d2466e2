"""Sums over bounded rows in their own coordinates."""

import math

import numpy as np

from ..data.rows import BoundedRows
from ..data.source import Array
from ..data.whole_numbers import ONE, SQUARE, from_limbs, quantised
from .products import Products
from .statistic import Statistic, call, counted, of_units, per_unit


@of_units
def gram(rows: BoundedRows) -> Statistic:
    """Return X'X.

    One row x moves it by xx', whose Frobenius norm, like its effect on any eigenvalue, is at most 1.
    """
    return _statistic(rows.total(call, "gram"), sensitivity=1.0)


@of_units
def gram_and_first_gradient(rows: BoundedRows, *, residual_bound: float) -> tuple[Statistic, Statistic]:
    """Return X'X and, from the same pass, X' clip(y): the clipped gradient at zero, of shape (1, d) for all trials.

    One row moves the first by at most 1, as in `gram`, and the second by at most ``residual_bound``.
    """
    values = rows.total(call, "gram_and_first_gradient", residual_bound)
    half = len(values) // 2
    return (
        _statistic(values[:half], sensitivity=1.0),
        _statistic(values[half:], sensitivity=1.0, step=residual_bound),
    )


@of_units
def gram_with_target(rows: BoundedRows) -> Statistic:
    """Return [X, y]'[X, y], the target last.

    One row (x, y) moves it by its outer product, whose Frobenius norm |x|^2 + y^2 is at most 2.
    """
    return _statistic(rows.total(call, "gram_with_target"), sensitivity=2.0)


@of_units
def clipped_gradient(rows: BoundedRows, theta: Array, *, residual_bound: float | Array) -> Statistic:
    """Return X' clip(y - X theta) for each theta of shape (trials, d), with residuals clipped to the trial's bound.

    One row moves it by x times a clipped residual, of norm at most ``residual_bound`` whatever theta is.
    """
    values = rows.total(call, "clipped_gradient", *_point(rows, theta), residual_bound, width=2 * len(theta))
    return _statistic(values, sensitivity=1.0, step=residual_bound)


@of_units
def clipped_gradient_and_counts(
    rows: BoundedRows, theta: Array, *, residual_bound: float | Array, edges: Array
) -> tuple[Statistic, Statistic]:
    """Return the clipped gradient and, from the same pass, counts of absolute residuals between rising edges.

    One row moves the gradient by at most ``residual_bound``, and one of the counts, by 1; the zero row has no residual
    and is not counted.
    """
    width = (2 + len(edges)) * len(theta)
    point = _point(rows, theta)
    *gradient, counts = rows.total(call, "clipped_gradient_and_counts", *point, residual_bound, edges, width=width)
    return _statistic(tuple(gradient), sensitivity=1.0, step=residual_bound), counted(counts, rows.arithmetic)


@of_units
def clipped_squares(rows: BoundedRows, theta: Array, *, residual_bound: float | Array) -> Statistic:
    """Return the sum of squared residuals for each theta of shape (trials, d), clipped to the trial's bound first.

    One row moves it by at most the square of ``residual_bound`` whatever theta is. The shape is (trials, 1).
    """
    values = rows.total(call, "clipped_squares", *_point(rows, theta), residual_bound, width=2 * len(theta))
    return _statistic(values, sensitivity=1.0, step=np.square(residual_bound))


@of_units
def residual_sums(rows: BoundedRows, theta: Array, *, residual_bound: Array, edges: Array) -> Statistic:
    """Return for each bin of fitted values the number of rows, then for each the sum of clipped residuals over a bound.

    One row moves the count of one bin by 1 and its sum by at most 1: together by at most the root of 2 whatever theta,
    bound and edges are. Edges have shape (bins, trials), and the zero row is in no bin. The shape is (trials, 2 bins).
    """
    width = (3 + 2 * len(edges)) * len(theta)
    values = rows.total(call, "residual_sums", *_point(rows, theta), residual_bound, edges, width=width)
    if len(values) == 1:
        return Statistic(values[0], math.sqrt(2.0))
    # A whole number whose square is at least twice 2^40.
    return Statistic(from_limbs(*values), float(math.isqrt(2 * int(ONE) ** 2) + 1), 1.0 / ONE)


@of_units
def norm_clipped_gradient(rows: BoundedRows, theta: Array, *, norm_bound: float) -> Statistic:
    """Return the sum of x (y - x'theta) over rows, each term shrunk to a norm of at most the bound.

    One row moves it by its own term, of norm at most ``norm_bound`` whatever theta is.
    """
    values = rows.total(call, "norm_clipped_gradient", *_point(rows, theta), norm_bound, width=2 * len(theta))
    return _statistic(values, sensitivity=1.0, step=norm_bound)


@of_units
def totals(rows: BoundedRows) -> Statistic:
    """Return twice the sum of targets, then the number of rows that are not zero, and the sums of y^2, |x|^2 and x.

    One row moves the first by at most 2, each of the next three by at most 1, and the last by a vector of norm at most
    1: all together by at most the root of 8. The shape is (4 + d,), for all trials. Where rows have weights, all sums
    but the number of rows are weighted, and the sum of weights over the largest comes last; where they have exposures,
    the sum of these over the largest: together with it, one row moves them by at most 3.
    """
    return _totals(rows, rows.total(call, "totals"))


def totals_and_products(rows: BoundedRows) -> tuple[Statistic, Products | None]:
    """Return the totals and, from the same pass, X'X and X'y of all rows; these in exact arithmetic alone.

    One row moves the totals as `totals` says. Products are no statistic and are never released: they save the sums
    that are a look at every row.
    """
    if rows.arithmetic == "float":
        return totals(rows), None
    *sums, gram_high, gram_low, moment_high, moment_low = rows.total(call, "totals_and_products")
    products = Products(from_limbs(gram_high, gram_low), from_limbs(moment_high, moment_low))
    return per_unit(_totals(rows, tuple(sums)), rows.rows_per_unit), products


def totals_sensitivity(*, one_more: bool) -> float:
    """Return by how much one row can move the totals; ``one_more`` is the sum of weights or of exposures."""
    return 3.0 if one_more else math.sqrt(8.0)


def _totals(rows: BoundedRows, values: tuple[Array, ...]) -> Statistic:
    sums = _statistic(values, sensitivity=1.0)
    most = totals_sensitivity(one_more=rows.row_map.beside is not None)
    return Statistic(sums.value, math.ceil(most * SQUARE) if sums.exact else most, sums.step)


def _point(rows: BoundedRows, theta: Array) -> tuple[Array, ...]:
    """Return theta as the kernels of the rows' arithmetic take it."""
    return quantised(theta) if rows.arithmetic == "exact" else (theta,)


def _statistic(values: tuple[Array, ...], *, sensitivity: float, step: float | Array = 1.0) -> Statistic:
    """Wrap a sum; ``sensitivity`` is in multiples of ``step``, which is what integers of 2^40 stand for."""
    if len(values) == 1:
        return Statistic(values[0], sensitivity, step)
    return Statistic(from_limbs(*values), sensitivity * SQUARE, step / SQUARE)
