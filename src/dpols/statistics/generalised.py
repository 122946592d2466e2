"""Sums over bounded rows in whitened coordinates, with the mean function of a family of outcomes.

The expected target of a row depends on that row, on a point that is computed from releases and on public numbers alone,
bit for bit, whatever its place; so does what the row adds to a sum.
"""

import math

import numpy as np

from ..data.rows import BoundedRows
from ..data.source import Array
from ..data.whole_numbers import ONE, RESIDUAL_BITS, SQUARE, from_limbs, quantised
from ..families import Response
from .statistic import Statistic, call, counted, of_units
from .whitened import WhitenedRows, _call, _in_metric, predictor_numbers


def predictor_point(rows: BoundedRows, theta: Array) -> Array:
    """Return the points near theta at which the rows' arithmetic computes linear predictors."""
    if rows.arithmetic == "float":
        return theta
    numbers, exponent = quantised(theta)
    return np.asarray(numbers * 2.0 ** -exponent[:, None])


@of_units
def mean_gradient(rows: WhitenedRows, theta: Array, response: Response, *, limit: Array) -> Statistic:
    """Return the sum of M'x (y - m(x'theta)) over rows, each term shortened to a length of at most the trial's limit.

    One row moves it by its own term, of norm at most ``limit`` whatever theta and the mean function m are; in exact
    arithmetic each entry is rounded down to 2^-40 of that, which adds at most the root of d such steps.
    """
    point = predictor_numbers(rows.bounded, theta)
    sums = rows.numbered.total(_call, "mean_gradient", *point, response, limit, width=10 * len(theta))
    return _in_metric(rows, sums, _residual_steps(theta), limit)


@of_units
def mean_gradient_and_counts(
    rows: WhitenedRows, theta: Array, response: Response, *, limit: Array, edges: Array
) -> tuple[Statistic, Statistic]:
    """Return the same and, from the same pass, counts of |M'x| |y - m(x'theta)| between edges, (edges, trials).

    One row moves the gradient by at most ``limit``, and one of the counts, by 1; the zero row is not counted.
    """
    point, width = predictor_numbers(rows.bounded, theta), (10 + len(edges)) * len(theta)
    *sums, counts = rows.numbered.total(_call, "mean_gradient_and_counts", *point, response, limit, edges, width=width)
    return _in_metric(rows, tuple(sums), _residual_steps(theta), limit), counted(counts, rows.bounded.arithmetic)


@of_units
def sloped_gram(rows: WhitenedRows, theta: Array, response: Response, *, limit: Array) -> Statistic:
    """Return the sum of m'(x'theta) M'xx'M over rows, the curvature at theta, each row within the trial's limit.

    One row moves it by an outer product, of Frobenius norm at most the square of ``limit``, to which the row times the
    root of its slope m' is shortened; in exact arithmetic each entry is rounded down to 2^-40 of that, which adds at
    most d such steps.
    """
    d, point = rows.metric.shape[-1], predictor_numbers(rows.bounded, theta)
    if rows.bounded.arithmetic == "float":
        (sums,) = rows.numbered.total(_call, "sloped_gram", *point, response, limit, width=2 * d)
        inside = rows.metric.swapaxes(1, 2) @ sums @ rows.metric
        return Statistic(inside / np.square(limit)[:, None, None], 1.0, np.square(limit))
    # Cutting off to whole numbers moves a row by at most sqrt(d) steps of 2^-20.
    slack = np.sqrt(d * np.square(rows.metric).sum(axis=(1, 2))) / ONE * (1.0 + 2.0**-30)
    sums = from_limbs(*rows.numbered.total(_call, "sloped_gram", *point, response, limit, slack, width=2 * d))
    values = [metric.gram(*each) for metric, *each in zip(rows.whole_metric, sums, limit, strict=True)]
    return Statistic(np.stack(values), SQUARE + d, np.square(limit) / SQUARE)


@of_units
def sloped_counts(rows: WhitenedRows, theta: Array, response: Response, *, edges: Array) -> Statistic:
    """Return counts of |M'x| times the root of the slope m'(x'theta), between edges of shape (edges, trials).

    One row moves one of the counts, by 1; the zero row has no length and is not counted.
    """
    point, width = predictor_numbers(rows.bounded, theta), (10 + len(edges)) * len(theta)
    (counts,) = rows.numbered.total(_call, "sloped_counts", *point, response, edges, width=width)
    return counted(counts, rows.bounded.arithmetic)


@of_units
def deviances(rows: BoundedRows, theta: Array, response: Response, *, null: Array, bound: Array) -> Statistic:
    """Return the sums over rows of the deviance at theta, and of that at the linear predictor ``null``.

    One row moves each of the two by at most the trial's ``bound``, to which its deviances are cut; a row of zeros adds
    nothing.
    """
    point, width = predictor_numbers(rows, theta), 12 * len(theta)
    sums = rows.total(call, "deviances", *point, response, null, bound, width=width)
    if len(sums) == 1:
        return Statistic(sums[0], math.sqrt(2.0), bound)
    return Statistic(from_limbs(*sums), float(math.isqrt(2 * int(ONE) ** 2 - 1) + 1), bound / ONE)


@of_units
def calibration_sums(rows: BoundedRows, theta: Array, response: Response, *, edges: Array, ends: Array) -> Statistic:
    """Return for each bin of linear predictors the number of rows, then sums of outcomes and of places of means.

    One row moves the count of one bin by 1, its sum of outcomes, over the last of the ``ends``, by at most 1, and that
    of places by at most 1/2: together by at most 3/2 whatever theta, edges and ends are. Edges have shape (bins,
    trials), ends are the means there and one more, and the zero row is in no bin. The shape is (trials, 3 bins).
    """
    point, width = predictor_numbers(rows, theta), (10 + 3 * len(edges)) * len(theta)
    sums = rows.total(call, "calibration_sums", *point, response, edges, ends, width=width)
    if len(sums) == 1:
        return Statistic(sums[0], 1.5)
    return Statistic(from_limbs(*sums), 1.5 * ONE, 1.0 / ONE)


def _residual_steps(theta: Array) -> tuple[Array, Array]:
    """Return what stands for a point on the grid of residuals, whose steps are the same for every theta."""
    return theta, np.full(len(theta), float(RESIDUAL_BITS))
