"""Rows as integers, so that every sum over rows is exact whatever the order, the threads or the blocks.

A bounded row is shrunk by a hair, multiplied by 2^20 and rounded to whole numbers, whose squares then sum to at most
2^40: the norm bound holds of the integers themselves. A product of two such numbers is at most 2^40, so the double
precision products of 8192 rows stay within 2^53 and BLAS adds them without rounding. Across more rows sums go
on in two 64-bit limbs. What one row does depends on that row and on released values alone, so declared sensitivities
are true of the program and not only of the formula.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

import numpy as np

from ..families import Response
from .source import Array
from .span import binned_sums, count_between, offsets_of, places_in_bins, unscaled
from .whole_numbers import (
    BITS,
    DOWN,
    ONE,
    RESIDUAL_BITS,
    SPAN_ROWS,
    SQUARE,
    in_steps,
    in_the_ball,
    limbs_of_products,
    to_limbs,
)
from .whole_rows import WholeRows


@dataclass(frozen=True)
class FixedPointSpan(WholeRows):
    """Sums over whole-numbered rows; those of exact numbers are in limbs."""

    def gram(self) -> tuple[Array, Array]:
        """Return rows.T @ rows in limbs."""
        return limbs_of_products(self.rows.T, self.rows)

    def gram_and_first_gradient(self, residual_bound: float) -> tuple[Array, ...]:
        """Return rows.T @ rows and the clipped gradient at zero, both in limbs."""
        return *self.gram(), *self._clipped_gradient((self.target / ONE)[:, None], residual_bound)

    def gram_with_target(self) -> tuple[Array, Array]:
        """Return [rows, target].T @ [rows, target] in limbs."""
        joined = np.column_stack((self.rows, self.target))
        return limbs_of_products(joined.T, joined)

    def clipped_gradient(self, theta: Array, exponent: Array, residual_bound: float | Array) -> tuple[Array, ...]:
        """Return clip(residuals).T @ rows in limbs, with residuals in steps of ``residual_bound`` / 2^20."""
        return self._clipped_gradient(self._residuals(theta, exponent), residual_bound)

    def clipped_gradient_and_counts(
        self, theta: Array, exponent: Array, residual_bound: float | Array, edges: Array
    ) -> tuple[Array, ...]:
        """Return the clipped gradient in limbs, and the counts of absolute residuals from each edge to the next."""
        residuals = self._residuals(theta, exponent)
        counts = count_between(np.abs(residuals), edges)
        return *self._clipped_gradient(residuals, residual_bound), counts.astype(np.int64)

    def clipped_squares(self, theta: Array, exponent: Array, residual_bound: float | Array) -> tuple[Array, ...]:
        """Return the sum of squares of residuals in limbs, each of at most 2^20 steps of ``residual_bound`` / 2^20."""
        steps = in_steps(self._residuals(theta, exponent), residual_bound)
        # A square is at most 2^40, so that their sum is exact like any other.
        high, low = limbs_of_products(np.ones((1, len(steps))), np.square(steps))
        return high.T, low.T

    def residual_sums(self, theta: Array, exponent: Array, residual_bound: Array, edges: Array) -> tuple[Array, ...]:
        """Return for each bin of fitted values the number of rows and the sum of clipped residuals, both in 2^20ths.

        Fitted values are exact products, so that the bin of a row depends on that row alone. Rows count as they were
        before they were multiplied by the roots of weights.
        """
        fitted, target = self._unscaled_predictors(theta, exponent), (self.target / ONE)[:, None]
        target = target if self.root is None else unscaled(target, self.root / ONE)
        steps = in_steps(target - fitted, residual_bound)
        return to_limbs(binned_sums(fitted, steps, np.any(self.rows != 0.0, axis=1), edges, one=ONE))

    def _clipped_gradient(self, residuals: Array, residual_bound: float | Array) -> tuple[Array, ...]:
        return limbs_of_products(in_steps(residuals, residual_bound).T, self.rows)

    def norm_clipped_gradient(self, theta: Array, exponent: Array, norm_bound: float) -> tuple[Array, Array]:
        """Return the sum of rows times residuals, each of norm at most 2^40, in steps of ``norm_bound`` / 2^40."""
        steps = np.trunc(self._residuals(theta, exponent) * (ONE / norm_bound))
        norms = np.sqrt(np.einsum("ij,ij->i", self.rows, self.rows))
        # Rounded down, with more room than the square root and the quotient can err by.
        level = np.floor(SQUARE / (np.maximum(norms, 1.0) * (1.0 + 2.0**-48)))[:, None]
        np.clip(steps, -level, level, out=steps)
        return limbs_of_products(steps.T, self.rows)

    def totals(self) -> tuple[Array, ...]:
        """Return in limbs twice the sum of targets, the number of rows that are not zero, and sums of y^2, |x|^2, x.

        Where rows have weights, all sums are weighted, and the sum of weights over the largest is the last. That of
        exposures over the largest is the last where rows have these.
        """
        return _added(self._part(start)._totals() for start in range(0, max(len(self.target), 1), SPAN_ROWS))

    def _part(self, start: int) -> "FixedPointSpan":
        """Return some rows, no more than there may be for their squares to be added without rounding."""
        if len(self.target) <= SPAN_ROWS:
            return self
        rows = slice(start, start + SPAN_ROWS)
        root, exposure = (None if each is None else each[rows] for each in (self.root, self.exposure))
        return FixedPointSpan(self.rows[rows], self.target[rows], root, exposure)

    def _totals(self) -> tuple[Array, Array]:
        y, root, cells = self.target, self.root, self.rows.ravel(order="K")
        sums = ONE * y.sum() if root is None else np.dot(root, y)
        # As a product, a sum over rows takes a fraction of the time.
        rows = ONE * np.dot(np.ones(len(y)), self.rows) if root is None else np.dot(root, self.rows)
        last = [] if root is None else [np.dot(root, root)]
        last += [] if self.exposure is None else [ONE * np.rint(self.exposure * ONE).sum()]
        first = np.array([2.0 * sums, SQUARE * self._used(), np.dot(y, y), np.dot(cells, cells)])
        return to_limbs(np.concatenate((first, rows, last)))

    def _used(self) -> int:
        """Return the number of rows that are not zero."""
        with_constant = int(np.count_nonzero(self.rows[:, -1]))  # with an intercept that is all of them
        if with_constant == len(self.rows):
            return with_constant
        return int(np.count_nonzero(np.einsum("ij,ij->i", self.rows, self.rows)))

    def products(self) -> tuple[Array, ...]:
        """Return rows.T @ rows and target @ rows in limbs."""
        high, low = limbs_of_products(self.target[None], self.rows)
        return *self.gram(), high[0], low[0]

    def totals_and_products(self) -> tuple[Array, ...]:
        """Return both."""
        return *self.totals(), *self.products()

    def length_counts(self, lengths: Array, edges: Array) -> tuple[Array]:
        """Return how many lengths lie above each edge but not the next."""
        return (count_between(lengths, edges).astype(np.int64),)

    def shortened_gram(self, lengths: Array, limit: Array, slack: Array) -> tuple[Array, ...]:
        """Return for each trial rows.T @ rows in limbs, with rows shortened so that their length is at most the limit.

        A shortened row is cut off to whole numbers, which changes its length by at most ``slack``.
        """
        lengths = self.at_most(lengths)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(lengths <= limit, 1.0, np.maximum(limit - slack, 0.0) * DOWN / lengths)
        return _stacked(self._gram_of_shares(each) for each in share.T)

    def _gram_of_shares(self, share: Array) -> tuple[Array, Array]:
        whole = self.rows if share.min(initial=1.0) == 1.0 else np.trunc(self.rows * share[:, None])
        return limbs_of_products(whole.T, whole)

    def shortened_gradient(self, lengths: Array, theta: Array, exponent: Array, limit: Array) -> tuple[Array, ...]:
        """Return residuals.T @ rows in limbs, with residuals clipped so that length times residual is in the limit.

        Residuals are whole numbers of at most 2^40 in steps of 2^-(20 + exponent), and those that are not clipped are
        not rounded. They are summed in two parts: first the upper ones of all trials, in steps of 2^20, then the lower.
        """
        return self.gradient_of(lengths, self.whole_residuals(theta, exponent), exponent, limit)

    def shortened_gradient_and_counts(
        self, lengths: Array, theta: Array, exponent: Array, limit: Array, edges: Array
    ) -> tuple[Array, ...]:
        """Return the same, and how many products of length and residual lie above each edge but not the next."""
        residuals = self.whole_residuals(theta, exponent)
        counts = count_between(lengths * np.abs(residuals * 2.0 ** -(exponent + BITS)), edges)
        return *self.gradient_of(lengths, residuals, exponent, limit), counts.astype(np.int64)

    def score_counts(
        self, lengths: Array, theta: Array, exponent: Array, response: Response | None, edges: Array
    ) -> tuple[Array]:
        """Return how many products of length and residual lie above each edge but not the next."""
        residuals = self._score_residuals(theta, exponent, response)
        return (count_between(lengths * np.abs(residuals), edges).astype(np.int64),)

    def shortened_scores(
        self,
        lengths: Array,
        theta: Array,
        exponent: Array,
        response: Response | None,
        limit: Array,
        columns: Array,
        column_exponent: Array,
    ) -> tuple[Array, ...]:
        """Return for each trial the Gram matrix of M' row * residual in limbs, in steps of limit / 2^20.

        A score has a length of at most the limit, and is cut off to whole numbers. What M' makes of a row is exact, and
        each of its entries is multiplied on its own, so that a score depends on its row alone, bit for bit.
        """
        residuals = self._score_residuals(theta, exponent, response)
        with np.errstate(divide="ignore"):
            level = limit * DOWN / self.at_most(lengths)
        weights = np.clip(residuals, -level, level) * (ONE / limit)
        inside = [self._inside(*each) for each in zip(columns, column_exponent, strict=True)]
        steps = [in_the_ball(np.trunc(each * weight)) for each, weight in zip(inside, weights.T, strict=True)]
        return _stacked(limbs_of_products(each, each.T) for each in steps)

    def gradient_of(self, lengths: Array, residuals: Array, exponent: Array, limit: Array) -> tuple[Array, ...]:
        """Return the shortened gradient in limbs, from whole-numbered residuals, which are overwritten."""
        most, steps = limit * 2.0 ** (exponent + BITS), residuals
        # A row is shortened if its residual exceeds the level below. Nearly all are far from it, by more than rounding.
        sizes = np.abs(residuals)
        sizes *= lengths
        few = np.flatnonzero((sizes >= most * (1.0 - 2.0**-32)).any(axis=1))
        if len(few):
            with np.errstate(divide="ignore"):
                level = np.minimum(np.floor(most * DOWN / self.at_most(lengths[few])), SQUARE)
            steps[few] = np.clip(residuals[few], -level, level)
        # One product takes less time than two, as it reads the rows once; it is fastest for parts in lines.
        n_rows, trials = steps.shape
        parts = np.empty((2 * trials, n_rows))
        upper, lower = parts[:trials], parts[trials:]
        np.floor(np.multiply(steps.T, 2.0**-BITS, out=upper), out=upper)
        np.subtract(steps.T, np.multiply(upper, ONE, out=lower), out=lower)
        return limbs_of_products(parts, self.rows)

    def mean_gradient(
        self, lengths: Array, theta: Array, exponent: Array, response: Response, limit: Array
    ) -> tuple[Array, ...]:
        """Return the shortened gradient with the expected target of a family in place of the linear predictor.

        The predictor is an exact product, the mean function takes it element by element, and residuals are rounded to
        whole numbers of at most 2^39 in steps of 2^-38: each depends on its row alone.
        """
        residuals = self._mean_residuals(theta, exponent, response)
        return self.gradient_of(lengths, residuals, np.array(float(RESIDUAL_BITS)), limit)

    def mean_gradient_and_counts(
        self, lengths: Array, theta: Array, exponent: Array, response: Response, limit: Array, edges: Array
    ) -> tuple[Array, ...]:
        """Return the same, and how many products of length and residual lie above each edge but not the next."""
        residuals, bits = self._mean_residuals(theta, exponent, response), np.array(float(RESIDUAL_BITS))
        counts = count_between(lengths * np.abs(residuals * 2.0 ** -(bits + BITS)), edges)
        return *self.gradient_of(lengths, residuals, bits, limit), counts.astype(np.int64)

    def sloped_gram(
        self, lengths: Array, theta: Array, exponent: Array, response: Response, limit: Array, slack: Array
    ) -> tuple[Array, ...]:
        """Return for each trial rows.T @ rows in limbs, each row times the root of its slope and within the limit.

        Every row is cut off to whole numbers, which changes its length by at most ``slack``.
        """
        root = np.sqrt(response.slope(self._offset_predictors(theta, exponent, response)))
        with np.errstate(divide="ignore", invalid="ignore"):
            most = np.maximum(limit - slack, 0.0) * DOWN / self.at_most(lengths)
        share = np.where(lengths > 0.0, np.minimum(root, most), 0.0)
        return _stacked(self._gram_of_shares(each) for each in share.T)

    def sloped_counts(
        self, lengths: Array, theta: Array, exponent: Array, response: Response, edges: Array
    ) -> tuple[Array]:
        """Return how many products of length and root of the slope lie above each edge but not the next."""
        values = lengths * np.sqrt(response.slope(self._offset_predictors(theta, exponent, response)))
        return (count_between(values, edges).astype(np.int64),)

    def deviances(
        self, theta: Array, exponent: Array, response: Response, null: Array, bound: Array
    ) -> tuple[Array, ...]:
        """Return in limbs sums of deviances at theta and at the predictor ``null``, in steps of ``bound`` / 2^20.

        A deviance is at most the bound, and is computed element by element: it depends on its row alone.
        """
        target, weight = (self.target / ONE)[:, None], np.any(self.rows, axis=1, keepdims=True) * 1.0
        if self.root is not None:
            target, weight = unscaled(target, self.root / ONE), weight * np.square(self.root / ONE)[:, None]
        outcome = response.outcome(target)
        base = null + offsets_of(self.exposure, response)
        parts = [
            response.deviance(outcome, each) for each in (self._offset_predictors(theta, exponent, response), base)
        ]
        steps = [np.rint(weight * in_steps(part, bound)) for part in parts]
        return to_limbs(np.stack([each.sum(axis=0) for each in steps], axis=1))

    def calibration_sums(
        self, theta: Array, exponent: Array, response: Response, edges: Array, ends: Array
    ) -> tuple[Array, ...]:
        """Return for each bin of linear predictors the number of rows, and sums of outcomes and of places, in 2^20ths.

        Outcomes, over the last of the ``ends``, are at most 2^20 steps, and places of means in their bins at most 2^19.
        They, and the bin, are computed element by element, so that what a row adds depends on that row alone.
        """
        predictors, used = self._offset_predictors(theta, exponent, response), np.any(self.rows != 0.0, axis=1)
        outcomes = in_steps(response.outcome(self.target / ONE)[:, None], ends[-1])
        places = np.rint(places_in_bins(predictors, response.mean(predictors), edges, ends) * ONE)
        parts = [binned_sums(predictors, each, used, edges, one=ONE) for each in (outcomes, places)]
        return to_limbs(np.concatenate((parts[0], parts[1][:, len(edges) :]), axis=1))


def _stacked(limbs: Iterable[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Return the limbs of all trials with a leading axis."""
    high, low = zip(*limbs, strict=True)
    return np.stack(high), np.stack(low)


def _added(limbs: Iterable[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Return the limbs of a sum of numbers in limbs."""
    return reduce(lambda one, other: (one[0] + other[0], one[1] + other[1]), limbs)
