"""A few thousand bounded rows in floating point, and the sums that statistics are computed from."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..families import Response
from .source import Array

_TINY = 1e-250  # keeps quotients finite


@dataclass(frozen=True)
class Span:
    """Bounded rows (weight * features, constant) and their targets.

    Keeping the weight of each row apart from its features saves a copy of the features in every pass. ``weight`` and
    ``constant`` are columns with one entry per row, or with one entry for all rows. Where rows were given weights, all
    of a row, its target too, was multiplied by ``root``, the root of its weight over the largest.
    """

    features: Array
    weight: Array  # of the features; includes division by the row norm
    constant: Array | None  # the intercept's coordinate
    target: Array
    root: Array | None = None
    exposure: Array | None = None  # over the largest one, for the families that have it

    def dot(self, theta: Array) -> Array:
        """Return rows @ theta.T for ``theta`` of shape (trials, coordinates)."""
        p = self.features.shape[1]
        product: Array = np.dot(self.features, theta[:, :p].T)
        product *= self.weight
        if self.constant is not None:
            product += self.constant * theta[:, p]
        return product

    def residuals(self, theta: Array) -> Array:
        """Return target - rows @ theta.T, of shape (rows, trials)."""
        product = self.dot(theta)
        return np.subtract(self.target[:, None], product, out=product)

    def squared_norms(self) -> Array:
        """Return the squared norm of each row."""
        squares = np.einsum("ij,ij->i", self.features, self.features) * self.weight[:, 0] ** 2
        return np.asarray(squares if self.constant is None else squares + self.constant[:, 0] ** 2)

    def transposed_dot(self, values: Array) -> Array:
        """Return values.T @ rows for ``values`` of shape (rows, trials)."""
        product: Array = np.dot((values * self.weight).T, self.features)
        if self.constant is None:
            return product
        return np.concatenate((product, (values * self.constant).sum(axis=0)[:, None]), axis=1)

    def gram(self) -> tuple[Array]:
        """Return rows.T @ rows."""
        p = self.features.shape[1]
        # One weight for all rows, the common case, is applied to the product instead of to a copy of the rows.
        shared = float(self.weight[0, 0]) if self.weight.size == 1 else 1.0
        rows = self.features if self.weight.size == 1 else self.features * self.weight
        result = np.empty((p + (self.constant is not None),) * 2)
        result[:p, :p] = np.dot(rows.T, rows) * shared**2
        if self.constant is not None:
            column = np.empty(len(rows))  # BLAS takes no vector that is the same number over and over
            column[:] = self.constant[:, 0]
            result[p, :p] = result[:p, p] = np.dot(column, rows) * shared
            result[p, p] = np.dot(column, column)
        return (result,)

    def gram_and_first_gradient(self, residual_bound: float) -> tuple[Array, ...]:
        """Return rows.T @ rows, and the clipped gradient at zero in multiples of the bound."""
        return *self.gram(), self._clipped_gradient(self.target[:, None].copy(), residual_bound)

    def gram_with_target(self) -> tuple[Array]:
        """Return [rows, target].T @ [rows, target]."""
        cross = self.transposed_dot(self.target[:, None])
        return (np.block([[self.gram()[0], cross.T], [cross, np.array([[np.dot(self.target, self.target)]])]]),)

    def clipped_gradient(self, theta: Array, residual_bound: float | Array) -> tuple[Array, ...]:
        """Return clip(residuals).T @ rows in multiples of the bound, which may differ between trials."""
        return (self._clipped_gradient(self.residuals(theta), residual_bound),)

    def clipped_gradient_and_counts(
        self, theta: Array, residual_bound: float | Array, edges: Array
    ) -> tuple[Array, ...]:
        """Return the clipped gradient, and how many absolute residuals lie above each edge but not the next."""
        residuals = self.residuals(theta)
        counts = count_between(np.abs(residuals), edges)
        return self._clipped_gradient(residuals, residual_bound), counts.astype(np.float64)

    def clipped_squares(self, theta: Array, residual_bound: float | Array) -> tuple[Array]:
        """Return the sum of squared residuals, clipped to the bound, in multiples of its square."""
        residuals = np.clip(self.residuals(theta) / residual_bound, -1.0, 1.0)
        return (np.einsum("ij,ij->j", residuals, residuals)[:, None],)

    def residual_sums(self, theta: Array, residual_bound: Array, edges: Array) -> tuple[Array]:
        """Return for each bin of fitted values the number of rows and the sum of clipped residuals, over the bound.

        A bin is from a rising edge to the next, and edges have shape (edges, trials). Zero rows are in none. Rows count
        as they were before they were multiplied by the roots of weights.
        """
        fitted, target = self.predictors(theta), self.target[:, None]
        target = target if self.root is None else unscaled(target, self.root)
        residuals = np.clip((target - fitted) / residual_bound, -1.0, 1.0)
        return (binned_sums(fitted, residuals, self.squared_norms() > 0.0, edges),)

    def _clipped_gradient(self, residuals: Array, residual_bound: float | Array) -> Array:
        residuals /= residual_bound
        np.clip(residuals, -1.0, 1.0, out=residuals)
        return self.transposed_dot(residuals)

    def norm_clipped_gradient(self, theta: Array, norm_bound: float) -> tuple[Array]:
        """Return the sum of rows times residuals, each shrunk to a norm of at most the bound, in multiples of it."""
        residuals = self.residuals(theta)
        # Shrinking x r to norm 1 is the same as clipping r to 1 / |x|.
        with np.errstate(over="ignore"):
            level = 1.0 / np.maximum(np.sqrt(self.squared_norms()), np.finfo(float).tiny)[:, None]
        residuals /= norm_bound
        np.clip(residuals, -level, level, out=residuals)
        return (self.transposed_dot(residuals),)

    def totals(self) -> tuple[Array]:
        """Return twice the sum of targets, the number of rows that are not zero, and sums of y^2, |x|^2 and x.

        Where rows have weights, all sums are weighted, and the sum of weights over the largest is the last. That of
        exposures over the largest is the last where rows have these.
        """
        squares = self.squared_norms()
        root = np.ones(len(squares)) if self.root is None else self.root
        sums = self.target.sum() if self.root is None else np.dot(root, self.target)
        first = [2.0 * sums, float((squares > 0.0).sum()), np.dot(self.target, self.target), squares.sum()]
        last = [] if self.root is None else [np.dot(root, root)]
        last += [] if self.exposure is None else [self.exposure.sum()]
        return (np.concatenate((first, self.transposed_dot(root[:, None])[0], last)),)

    def predictors(self, theta: Array) -> Array:
        """Return the linear predictors of the rows as they were before they were multiplied by the roots of weights."""
        product = self.dot(theta)
        return product if self.root is None else unscaled(product, self.root)

    def _offset_predictors(self, theta: Array, response: Response) -> Array:
        """Return the linear predictors of mean outcomes, in which exposure is an offset."""
        return np.asarray(self.predictors(theta) + offsets_of(self.exposure, response))

    def lengths(self, metric: Array) -> Array:
        """Return |M'x| for every row x and trial, for ``metric`` of shape (trials, coordinates, coordinates)."""
        return np.stack([np.linalg.norm(self.dot(each.T), axis=1) for each in metric], axis=1)

    def length_counts(self, lengths: Array, edges: Array) -> tuple[Array]:
        """Return how many lengths lie above each edge but not the next."""
        return (count_between(lengths, edges).astype(np.float64),)

    def shortened_gram(self, lengths: Array, limit: Array) -> tuple[Array]:
        """Return for each trial rows.T @ rows, with rows shortened so that their length is at most the limit."""
        share = np.minimum(1.0, limit / np.maximum(lengths, _TINY))
        return (np.stack([self._weighted(each).gram()[0] for each in share.T[:, :, None]]),)

    def shortened_gradient(self, lengths: Array, theta: Array, limit: Array) -> tuple[Array]:
        """Return residuals.T @ rows, with residuals clipped so that length times residual is at most the limit."""
        return (self._shortened_gradient(lengths, self.residuals(theta), limit),)

    def shortened_gradient_and_counts(
        self, lengths: Array, theta: Array, limit: Array, edges: Array
    ) -> tuple[Array, ...]:
        """Return the same, and how many products of length and residual lie above each edge but not the next."""
        residuals = self.residuals(theta)
        counts = count_between(lengths * np.abs(residuals), edges)
        return self._shortened_gradient(lengths, residuals, limit), counts.astype(np.float64)

    def mean_gradient(self, lengths: Array, theta: Array, response: Response, limit: Array) -> tuple[Array]:
        """Return the shortened gradient with the expected target of a family in place of the linear predictor."""
        return (self._shortened_gradient(lengths, self._mean_residuals(theta, response), limit),)

    def mean_gradient_and_counts(
        self, lengths: Array, theta: Array, response: Response, limit: Array, edges: Array
    ) -> tuple[Array, ...]:
        """Return the same, and how many products of length and residual lie above each edge but not the next."""
        residuals = self._mean_residuals(theta, response)
        counts = count_between(lengths * np.abs(residuals), edges)
        return self._shortened_gradient(lengths, residuals, limit), counts.astype(np.float64)

    def sloped_gram(self, lengths: Array, theta: Array, response: Response, limit: Array) -> tuple[Array]:
        """Return for each trial rows.T @ rows, each row times the root of its slope and shortened to the limit."""
        slope = response.slope(self._offset_predictors(theta, response))
        share = np.minimum(np.sqrt(slope), limit / np.maximum(lengths, _TINY))
        return (np.stack([self._weighted(each).gram()[0] for each in share.T[:, :, None]]),)

    def sloped_counts(self, lengths: Array, theta: Array, response: Response, edges: Array) -> tuple[Array]:
        """Return how many products of length and root of the slope lie above each edge but not the next."""
        values = lengths * np.sqrt(response.slope(self._offset_predictors(theta, response)))
        return (count_between(values, edges).astype(np.float64),)

    def _mean_residuals(self, theta: Array, response: Response) -> Array:
        expected = response.expected(self._offset_predictors(theta, response))
        return np.asarray(self.target[:, None] - (expected if self.root is None else expected * self.root[:, None]))

    def deviances(self, theta: Array, response: Response, null: Array, bound: Array) -> tuple[Array]:
        """Return for each trial sums of deviances at theta and at the predictor ``null``, at most ``bound`` each."""
        target, weight = self.target[:, None], (self.squared_norms() > 0.0)[:, None] * 1.0
        if self.root is not None:
            target, weight = unscaled(target, self.root), weight * np.square(self.root)[:, None]
        predictors = self._offset_predictors(theta, response), null + offsets_of(self.exposure, response)
        parts = [response.deviance(response.outcome(target), each) for each in predictors]
        return (np.stack([(weight * np.minimum(part / bound, 1.0)).sum(axis=0) for part in parts], axis=1),)

    def calibration_sums(self, theta: Array, response: Response, edges: Array, ends: Array) -> tuple[Array]:
        """Return for each bin of linear predictors the number of rows, and sums of outcomes and of places of means.

        A bin is from a rising edge to the next, and edges have shape (edges, trials). Zero rows are in none. ``ends``
        are the means at the ends of all bins. Outcomes are over the last of them, at most 1; a place is half the share
        of its bin that lies below a mean.
        """
        predictors, used = self._offset_predictors(theta, response), self.squared_norms() > 0.0
        outcomes = np.minimum(response.outcome(self.target)[:, None] / ends[-1], 1.0)
        values = outcomes, places_in_bins(predictors, response.mean(predictors), edges, ends)
        parts = [binned_sums(predictors, each, used, edges) for each in values]
        return (np.concatenate((parts[0], parts[1][:, len(edges) :]), axis=1),)

    def score_counts(self, lengths: Array, theta: Array, response: Response | None, edges: Array) -> tuple[Array]:
        """Return how many products of length and residual lie above each edge but not the next."""
        residuals = self._score_residuals(theta, response)
        return (count_between(lengths * np.abs(residuals), edges).astype(np.float64),)

    def shortened_scores(
        self, lengths: Array, theta: Array, response: Response | None, limit: Array, metric: Array
    ) -> tuple[Array]:
        """Return for each trial the Gram matrix of metric @ row * residual, of length at most the limit, in its square.

        ``metric`` is M' of each trial.
        """
        residuals, level = self._score_residuals(theta, response), limit / np.maximum(lengths, _TINY)
        weights = np.clip(residuals, -level, level) / limit
        scores = [self.dot(each) * weight[:, None] for each, weight in zip(metric, weights.T, strict=True)]
        return (np.stack([np.dot(each.T, each) for each in scores]),)

    def scores(self, theta: Array, response: Response | None, metric: Array) -> Array:
        """Return metric @ row * residual, a line for each row, for one theta and one M'."""
        return np.asarray(self.dot(metric) * self._score_residuals(theta[None], response))

    def _score_residuals(self, theta: Array, response: Response | None) -> Array:
        """Return residuals from the linear predictor, or from the expected target of a family."""
        return self.residuals(theta) if response is None else self._mean_residuals(theta, response)

    def _shortened_gradient(self, lengths: Array, residuals: Array, limit: Array) -> Array:
        level = limit / np.maximum(lengths, _TINY)
        return self.transposed_dot(np.clip(residuals, -level, level, out=residuals))

    def _weighted(self, share: Array) -> "Span":
        """Return the rows multiplied by a share each, a column."""
        constant = None if self.constant is None else self.constant * share
        return Span(self.features, self.weight * share, constant, self.target)


def offsets_of(exposure: Array | None, response: Response) -> Any:
    """Return what exposures add to linear predictors, a line for each row; it depends on that row alone."""
    return 0.0 if exposure is None else response.offset(exposure)[:, None]


def unscaled(values: Array, root: Array) -> Array:
    """Return a line for each row, divided by the root of its weight; zero where that is zero."""
    with np.errstate(divide="ignore"):
        inverse = np.where(root > 0.0, 1.0 / root, 0.0)
    return np.asarray(values * inverse[:, None])


def count_between(values: Array, edges: Array) -> Array:
    """Return for each column of ``values`` how many exceed each rising edge but not the next, as (trials, edges).

    Each edge is one number for all columns, or one for each.
    """
    if values.shape[1] == 1:  # much faster than sums along an axis
        above = np.zeros((1, len(edges)), dtype=np.int64)
        for place, edge in enumerate(edges):
            above[0, place] = np.count_nonzero(values > edge)
            if above[0, place] == 0:  # so nothing is above the next ones
                break
    else:
        above = np.stack([(values > edge).sum(axis=0) for edge in edges], axis=1)
    above[:, :-1] -= above[:, 1:]
    return above


def places_in_bins(fitted: Array, means: Array, edges: Array, ends: Array) -> Array:
    """Return half the share of its bin that lies below each mean, element by element; fitted values have bins."""
    low, width = ends[0] + 0.0 * means, np.maximum(ends[1] - ends[0], _TINY) + 0.0 * means
    for edge, start, end in zip(edges[1:], ends[1:-1], ends[2:], strict=True):
        above = fitted > edge
        low, width = np.where(above, start, low), np.where(above, np.maximum(end - start, _TINY), width)
    return np.asarray(0.5 * np.clip((means - low) / width, 0.0, 1.0))


def binned_sums(fitted: Array, values: Array, used: Array, edges: Array, *, one: float = 1.0) -> Array:
    """Return counts of used rows in multiples of ``one``, then sums of values, by the bins that fitted values lie in.

    The shape is (trials, 2 x edges). What lies below the first edge is not counted.
    """
    above = [used[:, None] & (fitted > edge) for edge in edges]
    counts = np.stack([one * each.sum(axis=0) for each in above], axis=1)
    sums = np.stack([np.where(each, values, 0.0).sum(axis=0) for each in above], axis=1)
    for part in (counts, sums):
        part[:, :-1] -= part[:, 1:]
    return np.concatenate((counts, sums), axis=1)
