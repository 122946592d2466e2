"""Sums over bounded rows x in the coordinates M'x, for a metric M that is computed from releases.

The length |M'x| of a row depends on that row and on M alone, bit for bit, whatever its place. In exact arithmetic rows
that are not shortened contribute whole numbers as they are; the sum over rows is exact, and so is its product with M.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..data.kept_rows import KeptRows, spare_cells
from ..data.passes import one_pass
from ..data.rows import BoundedRows, NumberedRows
from ..data.source import Array
from ..data.whole_numbers import ONE, SQUARE, from_limbs, in_the_ball, limbs_of_products, quantised
from ..data.whole_numbers import on_grid as grid_point
from ..families import Response
from .products import Products
from .statistic import Statistic, call, counted, of_units, per_unit
from .whole_products import WholeMetric


@dataclass(frozen=True, repr=False)
class WhitenedRows:
    """Bounded rows x in the coordinates M'x, with the length of each there beside it; M is computed from releases.

    In exact arithmetic the columns of M are whole numbers in steps of 2^-exponent.
    """

    numbered: NumberedRows
    metric: Array  # M of each trial, (trials, d, d)
    columns: Array  # M' as the rows' arithmetic takes it, and its exponents, (trials, d), zero in floating point
    exponent: Array
    products: Products | None = None  # of all rows, where sums may follow from them

    @cached_property
    def whole_metric(self) -> list[WholeMetric]:
        """M' of each trial in whole numbers."""
        return [WholeMetric(*each) for each in zip(self.columns, self.exponent, strict=True)]

    @property
    def bounded(self) -> BoundedRows:
        return self.numbered.rows

    @property
    def rows_per_unit(self) -> int:
        """In how many rows neighbouring data sets may differ."""
        return self.bounded.rows_per_unit


def whiten(rows: BoundedRows, metric: Array, products: Products | None = None) -> WhitenedRows:
    """Return the rows in the coordinates M'x for each trial's M, which is public.

    With the products of all rows, which exact arithmetic has, Gram matrices are a look at long rows alone.
    """
    trials, d, _ = metric.shape
    if rows.arithmetic == "float":
        numbered = rows.numbered(_lengths, metric, width=2 * d)
        return WhitenedRows(numbered, metric, metric.swapaxes(1, 2), np.zeros((trials, d)))
    flat, exponents = quantised(metric.swapaxes(1, 2).reshape(-1, d))
    columns, exponent = flat.reshape(trials, d, d), exponents.reshape(trials, d)
    numbered = rows.numbered(_lengths, columns, exponent, width=2 * d)
    whole = (columns * 2.0 ** -exponent[:, :, None]).swapaxes(1, 2)
    return WhitenedRows(numbered, whole, columns, exponent, products)


def on_grid(rows: BoundedRows, theta: Array) -> Array:
    """Return the points near theta at which the rows' arithmetic computes whitened gradients."""
    if rows.arithmetic == "float":
        return theta
    numbers, exponent = grid_point(theta)
    return np.asarray(numbers * 2.0 ** -exponent[:, None])


@of_units
def length_counts(rows: WhitenedRows, *, edges: Array) -> Statistic:
    """Return counts of |M'x| between rising edges of shape (edges, trials).

    One row moves one of the counts, by 1; the zero row has no length and is not counted.
    """
    (counts,) = rows.numbered.total(_call, "length_counts", edges, width=2 * rows.metric.shape[0])
    return counted(counts, rows.bounded.arithmetic)


def length_counts_and_long_rows(rows: WhitenedRows, *, edges: Array, limit: Array) -> tuple[Statistic, KeptRows | None]:
    """Return the same and, from the same pass, the rows longer than the limit, which `whitened_gram` can take.

    One row moves one of the counts, by 1; the zero row has no length and is not counted.
    """
    if rows.products is None:
        return length_counts(rows, edges=edges), None
    counts, long = rows.numbered.total(
        _counts_and_long, edges, limit, spare_cells(rows.bounded), width=2 * rows.metric.shape[0]
    )
    return per_unit(counted(counts, rows.bounded.arithmetic), rows.rows_per_unit), long


@of_units
def whitened_gram(rows: WhitenedRows, *, limit: Array, long: KeptRows | None = None) -> Statistic:
    """Return the sum of M'xx'M over rows, each M'x shortened to a length of at most the trial's limit.

    One row moves it by an outer product, of Frobenius norm at most the square of ``limit``; in exact arithmetic each
    entry is rounded down to 2^-40 of that, which adds at most d such steps. ``long`` are the rows longer than this
    limit or a lower one, where an earlier pass has kept them.
    """
    d = rows.metric.shape[-1]
    if rows.bounded.arithmetic == "float":
        (sums,) = rows.numbered.total(_call, "shortened_gram", limit, width=2 * d)
        inside = rows.metric.swapaxes(1, 2) @ sums @ rows.metric
        return Statistic(inside / np.square(limit)[:, None, None], 1.0, np.square(limit))
    # Cutting off to whole numbers moves a row by at most sqrt(d) steps of 2^-20.
    slack = np.sqrt(d * np.square(rows.metric).sum(axis=(1, 2))) / ONE * (1.0 + 2.0**-30)
    with one_pass() as tell:
        sums = _sum_of_squares(rows, limit, slack, long)
        tell(rows.bounded.n_rows)
    shared = rows.whole_metric * (len(limit) if len(rows.whole_metric) == 1 else 1)
    values = [metric.gram(*each) for metric, *each in zip(shared, sums, limit, strict=True)]
    return Statistic(_stacked(values), SQUARE + d, np.square(limit) / SQUARE)


def _sum_of_squares(rows: WhitenedRows, limit: Array, slack: Array, long: KeptRows | None) -> Array:
    """Return the sum of xx' over shortened rows; that of other rows follows from the products of all."""
    width = 2 * rows.metric.shape[-1]
    if rows.products is not None:
        found: KeptRows = long or rows.numbered.total(_long, limit, spare_cells(rows.bounded), width=2 * len(limit))[0]
        if (kept := found.numbered(rows.bounded)) is not None:
            changed = from_limbs(*kept.total(_call, "shortened_gram", limit, slack, width=width))
            return np.asarray(rows.products.without(kept).gram + changed)
    return from_limbs(*rows.numbered.total(_call, "shortened_gram", limit, slack, width=width))


def _long(span: Any, lengths: Array, limit: Array, spare: float) -> tuple[Any]:
    return (KeptRows.of(span, lengths, (span.at_most(lengths) > limit).any(axis=1), spare),)


def _counts_and_long(span: Any, lengths: Array, edges: Array, limit: Array, spare: float) -> tuple[Any, ...]:
    return *span.length_counts(lengths, edges), *_long(span, lengths, limit, spare)


@of_units
def whitened_gradient(
    rows: WhitenedRows, theta: Array, *, limit: Array, point: tuple[Array, ...] | None = None
) -> Statistic:
    """Return the sum of M'x (y - x'theta) over rows, each term shortened to a length of at most the trial's limit.

    One row moves it by its own term, of norm at most ``limit`` whatever theta is; in exact arithmetic each entry is
    rounded down to 2^-40 of that, which adds at most the root of d such steps. ``point`` is theta as kernels take it,
    where it is at hand.
    """
    point = point or _grid_point(rows.bounded, theta)
    return _in_metric(
        rows, rows.numbered.total(_call, "shortened_gradient", *point, limit, width=6 * len(theta)), point, limit
    )


@of_units
def whitened_gradient_and_counts(
    rows: WhitenedRows, theta: Array, *, limit: Array, edges: Array
) -> tuple[Statistic, Statistic]:
    """Return the same and, from the same pass, counts of |M'x| |y - x'theta| between edges of shape (edges, trials).

    One row moves the gradient by at most ``limit``, and one of the counts, by 1; the zero row is not counted.
    """
    point = _grid_point(rows.bounded, theta)
    width = (6 + len(edges)) * len(theta)
    *sums, counts = rows.numbered.total(_call, "shortened_gradient_and_counts", *point, limit, edges, width=width)
    return _in_metric(rows, tuple(sums), point, limit), counted(counts, rows.bounded.arithmetic)


@of_units
def score_counts(rows: WhitenedRows, theta: Array, response: Response | None = None, *, edges: Array) -> Statistic:
    """Return counts of |M'x| |y - x'theta|, or with the mean of a response, between edges of shape (edges, trials).

    One row moves one of the counts, by 1; the zero row is not counted.
    """
    point, width = _point_for(rows.bounded, theta, response), (10 + len(edges)) * len(theta)
    (counts,) = rows.numbered.total(_call, "score_counts", *point, edges, width=width)
    return counted(counts, rows.bounded.arithmetic)


@of_units
def score_gram(rows: WhitenedRows, theta: Array, response: Response | None = None, *, limit: Array) -> Statistic:
    """Return the sum of ss' over rows, each s = M'x (y - x'theta) shortened to a length of at most the trial's limit.

    One row moves it by an outer product, of Frobenius norm at most the square of ``limit`` whatever theta is, and
    whatever the mean of a response that takes the place of x'theta.
    """
    metric = _metric_for_each(rows, limit)
    point, width = _point_for(rows.bounded, theta, response), 6 * rows.metric.shape[-1]
    return _in_squares(rows.numbered.total(_call, "shortened_scores", *point, limit, *metric, width=width), limit)


def unit_score_gram(rows: WhitenedRows, theta: Array, response: Response | None = None, *, limit: Array) -> Statistic:
    """Return the sum of ss' over units, each s the sum of M'x (y - x'theta) over a unit's rows, then shortened.

    One unit moves it by an outer product, of Frobenius norm at most the square of ``limit`` whatever its rows are: the
    sum is shortened after all rows of the unit are in it. It is neither divided nor multiplied by rows per unit. With a
    response, its mean takes the place of x'theta.
    """
    bounded = rows.bounded
    exact, metric = bounded.arithmetic == "exact", _metric_for_each(rows, limit)
    *point, _ = _point_for(bounded, theta, response)
    grams = []
    for trial, most in enumerate(limit):
        args = (*(each[trial] for each in point), response, *(each[trial] for each in metric))
        sums = bounded.unit_sums(_lines, "scores", *args, width=4 * theta.shape[1])
        grams.append(_gram_of_shortened(sums, float(most), exact=exact))
    return _in_squares(tuple(np.stack(part) for part in zip(*grams, strict=True)), limit)


def _gram_of_shortened(sums: Array, limit: float, *, exact: bool) -> tuple[Array, ...]:
    """Return the Gram matrix of vectors, in columns, of length at most the limit: in its square, or in limbs."""
    squares = np.square(sums[0])
    for entry in sums[1:]:  # in this order, whatever stands beside a vector
        squares += entry * entry
    lengths = np.sqrt(squares)
    if not exact:
        short = sums * (1.0 / np.maximum(lengths, limit))
        return (short @ short.T,)
    # Rounded up, by more than the squares and their sum can err.
    lengths = lengths * (1.0 + (len(sums) + 8.0) * 2.0**-52)
    steps = in_the_ball(np.trunc(sums * (ONE * (1.0 - 2.0**-50) / np.maximum(lengths, limit))))
    return limbs_of_products(steps, steps.T)


def _grid_point(rows: BoundedRows, theta: Array) -> tuple[Array, ...]:
    """Return theta as the kernels of whitened gradients take it."""
    return grid_point(theta) if rows.arithmetic == "exact" else (theta,)


def _point_for(rows: BoundedRows, theta: Array, response: Response | None) -> tuple[Any, ...]:
    """Return theta and the response as the kernels of scores take them."""
    if response is None:
        return *_grid_point(rows, theta), None
    return *predictor_numbers(rows, theta), response


def predictor_numbers(rows: BoundedRows, theta: Array) -> tuple[Array, ...]:
    """Return theta as the kernels of mean functions take it."""
    return quantised(theta) if rows.arithmetic == "exact" else (theta,)


def _in_metric(rows: WhitenedRows, sums: tuple[Array, ...], point: tuple[Array, ...], limit: Array) -> Statistic:
    """Return M' times the sum over rows, in multiples of the limit."""
    if len(sums) == 1:
        inside = np.einsum("tji,tj->ti", rows.metric, sums[0])
        return Statistic(inside / limit[:, None], 1.0, limit)
    return in_whitened_metric(rows, whole_sums(sums), point, limit)


def whole_sums(limbs: tuple[Array, ...]) -> Array:
    """Return sums of upper and lower parts as whole numbers, one line for each trial."""
    parts = from_limbs(*limbs).astype(object)
    half = len(parts) // 2
    return np.asarray(parts[:half] * int(ONE) + parts[half:])


def _stacked(values: list[Array]) -> Array:
    """Return the values of all trials with a leading axis."""
    return values[0][None] if len(values) == 1 else np.stack(values)


def in_whitened_metric(rows: WhitenedRows, whole: Array, point: tuple[Array, ...], limit: Array) -> Statistic:
    """Return M' times whole-numbered sums over rows, in steps of 2^-40 of the limit."""
    d = rows.metric.shape[-1]
    each = zip(rows.whole_metric, whole, point[1], limit, strict=True)
    values = [metric.product(*of) for metric, *of in each]
    return Statistic(_stacked(values), SQUARE + math.isqrt(d) + 1, limit / SQUARE)


def _for_each(values: Array, trials: Array) -> Array:
    """Return values of each trial, also where all share them."""
    return np.broadcast_to(values, (len(trials), *values.shape[1:]))


def _metric_for_each(rows: WhitenedRows, trials: Array) -> list[Array]:
    """Return M' of each trial as the rows' arithmetic takes it."""
    parts = (rows.columns,) if rows.bounded.arithmetic == "float" else (rows.columns, rows.exponent)
    return [_for_each(part, trials) for part in parts]


def _in_squares(sums: tuple[Array, ...], limit: Array) -> Statistic:
    """Wrap sums of outer products of vectors that are at most 1, or 2^20 in whole numbers, in units of the limit."""
    if len(sums) == 1:
        return Statistic(sums[0], 1.0, np.square(limit))
    return Statistic(from_limbs(*sums), SQUARE, np.square(limit) / SQUARE)


def _lines(span: Any, method: str, *args: Any) -> Array:
    """Return the lines that a method of a span gives, one for each row."""
    lines: Array = getattr(span, method)(*args)
    return lines


def _lengths(span: Any, *args: Any) -> Array:
    lengths: Array = span.lengths(*args)
    return lengths


def _call(span: Any, lengths: Array, method: str, *args: Any) -> tuple[Array, ...]:
    return call(span, method, lengths, *args)
