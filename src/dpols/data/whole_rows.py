"""Whole-numbered rows, and what each of them is by itself: lengths, linear predictors and residuals.

What is computed of a row depends on that row and on released values alone, bit for bit, whatever its place.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from ..families import Response
from .bounds import Beside
from .source import Array
from .span import Span, offsets_of, unscaled
from .whole_numbers import BITS, ONE, RESIDUAL_BITS, SQUARE, row_scale, whole_targets

_WIDE = 64  # columns from which on to know zeros of a matrix saves time


@dataclass(frozen=True)
class WholeRows:
    """Whole-numbered rows of norm at most 2^20 and targets of at most 2^20, held as doubles.

    Where rows were given weights, row and target were multiplied by ``root``, the root of the weight over the largest,
    before they were rounded; it is a whole number of at most 2^20, too.
    """

    rows: Array
    target: Array
    root: Array | None = None
    exposure: Array | None = None  # over the largest one, as it was divided

    @property
    def stored_target(self) -> Array:
        """The targets with what stands beside them, as they are kept where rows are rounded once."""
        beside = self.exposure if self.root is None else self.root
        return self.target if beside is None else np.column_stack((self.target, beside))

    @classmethod
    def stored(cls, rows: Array, target: Array, beside: Beside | None) -> Self:
        """Return a span of rounded rows and of targets as they are kept; rows may be kept without what was beside."""
        if target.ndim == 1:
            return cls(rows, target)
        own, more = target.T
        return cls(rows, own, exposure=more) if beside == "exposure" else cls(rows, own, more)

    @classmethod
    def of(cls, span: Span, buffer: Array, *, within: bool = False) -> Self:
        """Round the rows of a span into a buffer of at least as many rows.

        It makes rows that are too long zero; ``within`` says that there are none, as `longest_is_within` can tell.
        """
        p = span.features.shape[1]
        width = p + (span.constant is not None)
        scale = row_scale(width)
        rows = buffer[: len(span.features)]
        np.multiply(span.features, span.weight * scale, out=rows[:, :p])
        if span.constant is not None:
            rows[:, p] = np.broadcast_to(span.constant[:, 0] * scale, len(rows))
        np.rint(rows, out=rows)
        if not within:
            squares = np.einsum("ij,ij->i", rows, rows)
            if squares.max(initial=0.0) > SQUARE:
                rows[squares > SQUARE] = 0.0
        root = None if span.root is None else np.rint(span.root * ONE)
        return cls(rows, whole_targets(span.target), root, span.exposure)

    @classmethod
    def longest_is_within(cls, longest: Span) -> bool:
        """Whether no row is too long whose cells are at most those of one row, in size, that a span holds.

        A product with a number above zero and rounding keep the order of numbers, so its whole numbers are the largest.
        """
        width = longest.features.shape[1] + (longest.constant is not None)
        rows = cls.of(longest, np.empty((1, width)), within=True).rows
        return bool(np.einsum("ij,ij->i", rows, rows)[0] <= SQUARE)

    def lengths(self, metric: Array, exponent: Array) -> Array:
        """Return |M'x| for every row x and trial, at most a few units in the last place too small.

        The columns of M are whole numbers in steps of 2^-exponent (`quantised`), so products with a row are exact, and
        squares are added in the order of the columns: the result depends on the row alone, bit for bit.
        """
        return np.stack([self._lengths(*each) for each in zip(metric, exponent, strict=True)], axis=1)

    def _lengths(self, columns: Array, exponent: Array) -> Array:
        products = self._inside(columns, exponent)
        np.multiply(products, products, out=products)
        if products.shape[1] == 1:
            products = np.repeat(products, 2, axis=1)  # numpy sums a lone line in another order
        squares = np.add.reduce(products, axis=0)[: len(self.rows)]
        return np.asarray(np.sqrt(squares, out=squares))

    def at_most(self, lengths: Array) -> Array:
        """Return numbers that the true lengths do not exceed."""
        return np.asarray(lengths * (1.0 + (self.rows.shape[1] + 8.0) * 2.0**-52))

    def scores(
        self, theta: Array, exponent: Array, response: Response | None, columns: Array, column_exponent: Array
    ) -> Array:
        """Return M' row * residual, a line for each row, for one theta and one M; a line depends on its row alone."""
        residuals = self._score_residuals(theta[None], exponent[None], response)[:, 0]
        return np.asarray((self._inside(columns, column_exponent) * residuals).T)

    def _score_residuals(self, theta: Array, exponent: Array, response: Response | None) -> Array:
        """Return residuals from the linear predictor, exactly, or from the expected target of a family."""
        if response is None:
            return self.whole_residuals(theta, exponent) * 2.0 ** -(exponent + BITS)
        return self._mean_residuals(theta, exponent, response) * 2.0 ** -(RESIDUAL_BITS + BITS)

    def _predictors(self, theta: Array, exponent: Array) -> Array:
        """Return x'theta from an exact product, for theta in steps of 2^-exponent."""
        product: Array = np.dot(self.rows, theta.T)
        product *= 2.0 ** -(exponent + BITS)
        return product

    def _unscaled_predictors(self, theta: Array, exponent: Array) -> Array:
        """Return x'theta of the rows as they were before they were multiplied by the roots of their weights."""
        product = self._predictors(theta, exponent)
        return product if self.root is None else unscaled(product, self.root / ONE)

    def _offset_predictors(self, theta: Array, exponent: Array, response: Response) -> Array:
        """Return the linear predictors of mean outcomes, in which exposure is an offset; each is of its row alone."""
        product = self._unscaled_predictors(theta, exponent)
        return product if self.exposure is None else np.asarray(product + offsets_of(self.exposure, response))

    def _residuals(self, theta: Array, exponent: Array) -> Array:
        """Return y - x'theta from an exact product, for theta of shape (trials, d) in steps of 2^-exponent."""
        product = self._predictors(theta, exponent)
        return np.subtract((self.target / ONE)[:, None], product, out=product)

    def whole_residuals(self, theta: Array, exponent: Array) -> Array:
        """Return y - x'theta in steps of 2^-(20 + exponent), exactly."""
        product: Array = np.dot(self.rows, theta.T)
        return np.subtract(self.target[:, None] * 2.0**exponent, product, out=product)

    def _mean_residuals(self, theta: Array, exponent: Array, response: Response) -> Array:
        """Return residuals from the expected target as whole numbers in steps of 2^-38."""
        expected = response.expected(self._offset_predictors(theta, exponent, response))
        if self.root is not None:
            expected = expected * (self.root / ONE)[:, None]
        return np.rint(((self.target / ONE)[:, None] - expected) * (ONE * 2.0**RESIDUAL_BITS))

    def _inside(self, columns: Array, exponent: Array) -> Array:
        """Return M' row of every row, in columns: exactly, as M has whole numbers in steps of 2^-exponent."""
        columns = columns * 2.0 ** -(exponent + BITS)[:, None]  # by powers of two, which no product rounds
        if len(columns) < _WIDE or not _is_centring(columns):
            products: Array = np.dot(columns, self.rows.T)
        else:
            products = np.empty(self.rows.shape[::-1])
            np.multiply(self.rows.T, np.diag(columns)[:, None], out=products)
            products[:-1] += columns[:-1, -1:] * self.rows[:, -1]
        return products


def _is_centring(columns: Array) -> bool:
    """Whether products with a matrix take few operations: beside its diagonal only the last column is not zero."""
    others = columns[:, :-1] != 0.0
    return bool(np.count_nonzero(others) == np.count_nonzero(np.diag(others)))
