"""Coordinates in which rows look the same in every direction, from noisy sums and two noisy Gram matrices."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..data.kept_rows import KeptRows
from ..data.rows import BoundedRows
from ..linalg import spectral_norms
from ..mechanisms import Channel
from ..privacy.releases import GaussianRelease, Release
from ..statistics import (
    Products,
    WhitenedRows,
    length_counts_and_long_rows,
    totals_and_products,
    totals_sensitivity,
    whiten,
    whitened_gram,
)
from .base import Array, Fit, RowCount
from .options import PlannedFor

DAMPING = 0.6  # of the operator norm of a Gram matrix's noise
UNIT_ROWS = 0.1  # as if there were so many rows of norm 1 in every direction, in units of the noise
TOTALS_NAME = "number of rows, sums of targets, rows and squared lengths"
_ROW_LIMIT = 1.5  # rows are shortened to so many root mean squares for the Gram matrices
_SHORTENED = (5.0, 0.1)  # rows that may be shortened in the second: in units of its noise, and as a share of all
_LENGTH_EDGES = 2.0 ** np.arange(0.0, 16.0)  # in units of the lowest limit of rows
SMALLEST = 1e-100  # limit of a length
_MISSED = 4.0  # standard deviations by which the mean prediction is off; the totals' noise is the larger one
_SEEN = 3.0  # standard deviations by which a sum differs from what is assumed
_MOST_LONG = 0.25  # rows over about the noise of the second Gram matrix, below which most are longer than its limit
_TAIL = 0.1  # of the rows that may lie above a level: as if no fewer lay above the next edge

Listed = tuple[float, str]  # a release: its multiplier, and what it is of


@dataclass(frozen=True)
class WhiteningPlan(PlannedFor, ABC):
    """The public numbers of whitening."""

    noise: float  # multiplier of one release that takes the whole budget
    totals_multiplier: float
    gram_multiplier: float
    second_gram_multiplier: float
    length_multiplier: float

    @property
    def unit_noise(self) -> float:
        """The noise in units of which rows of norm 1 are added in every direction."""
        return self.noise

    @cached_property
    def releases(self) -> tuple[Release, ...]:
        """Everything that a run releases, in order."""
        return tuple(GaussianRelease(multiplier) for multiplier, _ in self._listed())

    @property
    def release_names(self) -> tuple[str, ...]:
        """What each release is of, in the same order."""
        return tuple(name for _, name in self._listed())

    @abstractmethod
    def _listed(self) -> list[Listed]:
        """Return the multiplier of each release of a run, and what it is of."""

    def _whitening(self) -> list[Listed]:
        """Return the releases of the whitening, with which a run starts."""
        return [
            (self.totals_multiplier, TOTALS_NAME),
            (self.gram_multiplier, "X'X of clipped rows"),
            (self.length_multiplier, "counts of whitened lengths"),
            (self.second_gram_multiplier, "X'X of clipped whitened rows"),
        ]


@dataclass(frozen=True)
class Totals:
    """What the first release says of each trial. Means are weighted where rows have weights."""

    count: Array  # number of rows that are not zero, as released
    used: Array  # the same, or the public number of all rows where the noise explains the difference
    mass: Array  # the sum of weights over the largest one; the number of rows in use where they have none
    target: Array  # mean target, drawn towards zero by as much as noise may explain
    target_spread: Array  # root mean square of targets about their mean, or about zero without an intercept
    features: Array  # mean rows; zero where noise hides them
    squares: Array  # mean squared norm
    target_squares: Array  # mean squared target, as released
    noisy_target: Array  # mean target and mean rows, whatever their noise, and its standard deviation
    noisy_features: Array
    noise: Array
    mass_noise: Array  # of the mass, over itself; zero where it is a public number of rows without weights
    exposure: Array  # mean exposure, within its range; 1 where rows have none

    @property
    def mean_weight(self) -> Array:
        """The mean weight over the largest one."""
        return np.asarray(self.mass / self.used)

    @property
    def target_rms(self) -> Array:
        """Root mean square of targets as rows hold them: times the roots of weights."""
        return np.asarray(self.target_spread * np.sqrt(self.mean_weight))

    def missing_constant(self, theta: Array, constant: float) -> Array:
        """Return by how much predictions fall short of the mean target, where the noise does not explain it."""
        slopes, means = theta[:, :-1], self.noisy_features[:, :-1]
        gap = self.noisy_target - (slopes * means).sum(axis=1) - theta[:, -1] * constant
        own = self.noise * np.sqrt(0.25 + np.square(slopes).sum(axis=1))
        stddev = np.hypot(own, self.mass_noise * theta[:, -1] * constant)
        return np.where(np.abs(gap) > _MISSED * stddev, gap, 0.0)

    def beyond_range(self, theta: Array, constant: float) -> Array:
        """Return by how much the mean prediction lies outside the target's range."""
        mean = (theta[:, :-1] * self.features[:, :-1]).sum(axis=1) + theta[:, -1] * constant
        return np.asarray(mean - np.clip(mean, -1.0, 1.0))


@dataclass(frozen=True)
class Space:
    """Whitened coordinates v = M'x of each trial, with what the releases say of them."""

    metric: Array  # M
    values: Array  # of the second Gram matrix in these coordinates, where the damped curvature is 1
    curvature: Array  # their positive part
    rms: Array  # root mean square of |v|
    inner: Array  # the second whitening alone, by which noise on its Gram matrix is seen
    gram_noise: Array  # standard deviation of that noise
    row_limits: Array  # lengths to which rows were shortened for the two matrices

    @cached_property
    def longest(self) -> Array:
        """The length that a row of norm 1 can have."""
        return spectral_norms(self.metric)


def release_totals(rows: BoundedRows, plan: WhiteningPlan, channel: Channel) -> tuple[Totals, Products | None]:
    """Release the number of rows in use, and the sums of targets, of their squares, of rows and of squared norms.

    What is not released comes beside: the products of all rows, from the same pass.
    """
    exact, products = totals_and_products(rows)
    return _totals(rows, plan, channel.gaussian(exact, multiplier=plan.totals_multiplier)), products


def noise_of_totals(multiplier: float, *, one_more: bool) -> float:
    """Return the standard deviation of the noise of each of the totals."""
    return totals_sensitivity(one_more=one_more) * multiplier


def _totals(rows: BoundedRows, plan: WhiteningPlan, released: Array) -> Totals:
    twice, count, targets, norms, *features = released.T
    noise = noise_of_totals(plan.totals_multiplier, one_more=rows.row_map.beside is not None)
    used = np.maximum(count, 1.0)
    if plan.n_rows is not None:
        used = np.where(plan.n_rows - count > _SEEN * noise, used, float(plan.n_rows))
    mass, mass_noise = used, noise / used if plan.n_rows is None else np.zeros(len(released))
    if rows.row_map.max_weight is not None:
        *features, weights = features
        mass = np.where(used - weights > _SEEN * noise, np.maximum(weights, noise), used)
        mass_noise = noise / mass
    exposure = np.ones(len(released))
    if rows.row_map.exposure is not None:
        *features, exposures = features
        low, high = rows.row_map.exposure
        exposure = np.clip(high * exposures / used, low, high)

    def mean(sums: Array) -> Array:
        return np.asarray(np.where(np.abs(sums) > _SEEN * noise, np.clip(sums / mass, -1.0, 1.0), 0.0))

    def mean_square(sums: Array) -> Array:
        return np.asarray(np.minimum(np.maximum(sums + 2.0 * noise, noise) / mass, 1.0))  # rather too large

    target = np.zeros(len(released))
    if rows.row_map.constant is not None:
        noisy, stddev = 0.5 * twice / mass, 0.5 * noise / mass
        seen = np.maximum(1.0 - np.square(stddev / np.maximum(np.abs(noisy), np.finfo(float).tiny)), 0.0)
        target = seen * np.clip(noisy, -1.0, 1.0)
    spread = np.sqrt(np.maximum(mean_square(targets) - target**2, noise / mass))
    rows_sum = np.stack(features, axis=1)
    return Totals(
        count=count,
        used=used,
        mass=mass,
        target=target,
        target_spread=np.minimum(spread, 1.0),
        features=np.stack([mean(each) for each in features], axis=1),
        squares=mean_square(norms),
        target_squares=targets / mass,
        noisy_target=0.5 * twice / mass,
        noisy_features=rows_sum / mass[:, None],
        noise=noise / mass,
        mass_noise=mass_noise,
        exposure=exposure,
    )


def counted_rows(fit: Fit, trial: int) -> RowCount:
    """Return the number of rows in use, as it was released with the totals."""
    of = {name: float(fit.transcript[name][trial]) for name in ("used", "mass", "mean_noise")}
    return RowCount(of["used"], of["mass"] * of["mean_noise"])


def release_space(
    rows: BoundedRows, plan: WhiteningPlan, channel: Channel, known: Totals, products: Products | None
) -> Space:
    """Release two Gram matrices, the second in coordinates that the first gives."""
    d, used = plan.n_features, known.used
    metric, rms = _centred(rows, d, known)
    first_limit = np.maximum(np.minimum(_norm(metric), _ROW_LIMIT * rms), SMALLEST)
    white = whiten(rows, metric, products)
    spread = math.sqrt(2.0 * d) * plan.gram_multiplier  # operator norm of the noise at limit 1
    gram = channel.symmetric_gaussian(whitened_gram(white, limit=first_limit), multiplier=plan.gram_multiplier)
    inner, values, damped = inverse_root(gram, metric, DAMPING * spread * first_limit**2, plan.unit_noise)
    metric = metric @ inner
    white = whiten(rows, metric, None if _most_are_long(plan) else products)
    limit = np.minimum(_norm(metric), _ROW_LIMIT * _rms(values, damped, used))
    limit, long = _higher_limit(white, plan, channel, limit, used)
    spread = math.sqrt(2.0 * d) * plan.second_gram_multiplier
    exact = whitened_gram(white, limit=limit, long=long)
    gram = channel.symmetric_gaussian(exact, multiplier=plan.second_gram_multiplier)
    inner, values, damped = inverse_root(gram, metric, DAMPING * spread * limit**2, plan.unit_noise)
    return Space(
        metric=metric @ inner,
        values=values / damped,
        curvature=np.maximum(values, 0.0) / damped,
        rms=_rms(values, damped, used),
        inner=inner,
        gram_noise=plan.second_gram_multiplier * limit**2,
        row_limits=np.stack((first_limit, limit), axis=1),
    )


def _most_are_long(plan: WhiteningPlan) -> bool:
    """Whether a look at the long rows alone saves no time, as there are few others; of public numbers."""
    noise = 4.0 * plan.second_gram_multiplier * plan.n_features * math.sqrt(2.0 * plan.n_features)
    return plan.n_rows is not None and plan.n_rows < _MOST_LONG * noise


def _centred(rows: BoundedRows, d: int, known: Totals) -> tuple[Array, Array]:
    """Return coordinates in which features are centred at their means, and the root mean square length there.

    The intercept is as long as the features, so that wide bounds, which leave the features short, do not let it decide
    how much noise they get. Without an intercept the coordinates are those of the rows.
    """
    constant, weight = rows.row_map.constant, np.sqrt(known.mean_weight)
    if constant is None:
        return np.eye(d)[None], weight * np.sqrt(known.squares)
    means = known.features[:, :-1]
    centred = np.maximum(known.squares - constant**2 - np.square(means).sum(axis=1), 1e-3 * constant**2)
    length = np.minimum(np.sqrt(centred), constant)
    metric = np.repeat(np.eye(d)[None], len(means), axis=0)
    metric[:, -1, :-1] = -means / constant
    metric[:, -1, -1] = length / constant
    return metric, weight * np.sqrt(centred + length**2)


def inverse_root(gram: Array, metric: Array, damping: Array, noise: float) -> tuple[Array, Array, Array]:
    """Return what makes a damped Gram matrix the identity, its eigenvalues in units of damping, and these plus 1."""
    d = gram.shape[-1]
    floor = damping[:, None, None] * np.eye(d) + UNIT_ROWS * noise * metric.swapaxes(1, 2) @ metric
    sizes, turn = np.linalg.eigh(floor)
    # The symmetric root: where sizes are all but equal, rounding decides the vectors, and would decide the coordinates.
    to = turn / np.sqrt(sizes)[:, None, :] @ turn.swapaxes(1, 2)
    values, basis = np.linalg.eigh(to.swapaxes(1, 2) @ gram @ to)
    damped = np.maximum(values, 0.0) + 1.0
    return to @ (basis / np.sqrt(damped)[:, None, :]), values, damped


def _higher_limit(
    white: WhitenedRows, plan: WhiteningPlan, channel: Channel, limit: Array, used: Array
) -> tuple[Array, KeptRows | None]:
    """Return the limit of rows at which few are shortened, from released counts of their lengths.

    Rows longer than the lowest limit come beside, from the same pass.
    """
    longest = _norm(white.metric)
    edges = np.vstack((np.zeros(len(used)), _LENGTH_EDGES[:, None] * limit))
    lowest = np.maximum(np.minimum(longest, limit), SMALLEST)
    exact, long = length_counts_and_long_rows(white, edges=edges, limit=lowest)
    counts = channel.gaussian(exact, multiplier=plan.length_multiplier)
    in_noise, share = _SHORTENED
    allowed = np.minimum(in_noise * math.sqrt(2.0 * plan.n_features) * plan.second_gram_multiplier, share * used)
    higher = level_of(counts, edges, plan.length_multiplier, _SEEN, allowed, used, longest, plan.n_rows)
    return np.maximum(np.minimum(longest, np.maximum(limit, higher)), SMALLEST), long


def _rms(values: Array, damped: Array, used: Array) -> Array:
    """Return the root mean square length in new coordinates; the largest eigenvalue is a floor under noise."""
    largest = np.maximum(values.max(axis=1), 0.0) / damped.max(axis=1)
    return np.asarray(np.sqrt(np.maximum(np.maximum((values / damped).sum(axis=1), largest), 1e-12) / used))


def _norm(metric: Array) -> Array:
    """Return the length that a row of norm 1 can have."""
    return spectral_norms(metric)


def level_of(
    counts: Array,
    edges: Array,
    multiplier: float,
    margin: float,
    allowed: Array,
    used: Array,
    most: Array,
    n_rows: int | None,
) -> Array:
    """Return where about ``allowed`` of the counted numbers lie above, by noisy counts between edges.

    What lies above an edge is lowered by ``margin`` standard deviations of its noise. No number exceeds ``most``. Where
    all of a public number of rows are in use, what is not below an edge is above it, so that counts on both sides
    inform. Between edges counts are taken to fall by the same factor from each length to its double.
    """
    lower = edges.T
    open_bins = lower < most[:, None]
    counts = np.where(open_bins, counts, 0.0)
    left = np.arange(1.0, len(edges))
    right = from_the_right(open_bins.astype(np.float64))
    n = math.nan if n_rows is None else n_rows
    share = np.where((used == n)[:, None], right / (left + right), 0.0)  # of what the counts below say
    above = (1.0 - share) * from_the_right(counts) + share * (used[:, None] - np.cumsum(counts, axis=1)[:, :-1])
    above -= margin * multiplier * np.sqrt((1.0 - share) ** 2 * right + share**2 * left)
    low = above <= allowed[:, None]
    place = np.where(low.any(axis=1), low.argmax(axis=1), len(edges) - 2)
    trial = np.arange(len(place))
    level, before = lower[trial, place + 1], lower[trial, np.maximum(place, 1)]
    over, under = above[trial, np.maximum(place - 1, 0)], above[trial, place]
    inside = low.any(axis=1) & (place > 0)
    over, under = np.where(inside, over, 2.0 * allowed), np.where(inside, np.maximum(under, _TAIL * allowed), allowed)
    part = np.log(over / allowed) / np.log(over / under)
    return np.asarray(np.where(inside, before ** (1.0 - part) * level**part, level))


def from_the_right(values: Array) -> Array:
    """Return the sums of what stands right of each place but the last."""
    return np.asarray(np.cumsum(values[:, ::-1], axis=1)[:, ::-1][:, 1:])
