"""Whitened private descent: gradient steps in coordinates where the data looks the same in every direction.

1. Release how many rows there are, the sum of their targets and that of their squared lengths. With an intercept, the
   mean target is the starting point.
2. Whiten, twice: release the Gram matrix of shortened rows, take its inverse root as new coordinates, and do it again
   there. In the end v = M'x has curvature one in every direction that the noise does not hide.
3. Take plain gradient steps in v. Each row's gradient v r is shortened to a length of at most C, and the noise is the
   same in every direction. C is chosen from released counts of |v| |r|, so that few rows are shortened; it may rise
   once more later.
4. Average the points and gradients after that, and close with one step, which needs no release.
5. Keep what noise would not show: shrink weak directions as little as needed, and start over from nothing where no
   amount of shrinking is enough. Add ridge where rows too few to be seen could lose much.

All releases are Gaussian, and the ratio of noise to sensitivity is fixed in advance, so the whole budget is one
Gaussian's. `docs/whitened.md` has reasons and figures.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincc

from ..data.rows import BoundedRows
from ..mechanisms import Channel
from ..privacy.budget import PrivacyBudget
from ..privacy.gaussian import gaussian_multiplier
from ..privacy.paper import concentrated_multiplier
from ..privacy.releases import GaussianRelease, Release
from ..randomness import Bits
from ..statistics import (
    length_counts,
    on_grid,
    totals,
    whiten,
    whitened_gradient,
    whitened_gradient_and_counts,
    whitened_gram,
)
from .base import Accounting, Array, Evidence, Fit
from .options import one_of, plan_inputs, steps

# Shares of the squared budget. Gradients get the rest.
_TOTALS, _GRAM, _LENGTHS, _COUNTS, _RISE = 0.03, 0.125, 0.003, 0.02, 0.003
_ROW_LIMIT = 1.5  # rows are shortened to so many root mean squares for the Gram matrices
_DAMPING = 0.6  # of the operator norm of a Gram matrix's noise
_FIRST, _LOWEST = 0.25, 0.125  # limit of a gradient before the counts, and the lowest, in root mean squares of |v|
_BALANCE = 10.0  # rows that may be shortened, in units of the norm of the noise on a gradient of limit 1
_LENGTH_EDGES = 2.0 ** np.arange(0.0, 16.0)  # in units of the lowest limit of rows
_COUNT_EDGES = 2.0 ** np.concatenate((np.arange(-6.0, 3.1, 0.5), np.arange(4.0, 31.0)))  # in root mean squares of |v|
_PENALTIES = (0.0, 0.25, 1.0, 4.0, 16.0, 64.0, 256.0)  # ridge penalties to try in turn, in units of the damping
_PESSIMISM, _BLIND = 0.6, 0.01  # curvature is taken to be overestimated by so much of the damping when noise is judged,
# and by more where the public sizes say that the second Gram matrix is mostly noise
_UNSEEN = 0.2  # of the damping, counted as curvature in every direction when a fit is compared with noise
_FALSE_ALARMS, _HARM = 0.03, 1e-3  # share of fits to pure noise that pass; less where they would do more harm
_TIMES_NOISE = 2.0  # and a fit must have so many times the energy that noise is expected to have
_ROW_LOSS = (2.0, 8.0)  # noise |theta|^2 over fitted energy: one unseen row loses at most |theta|^2


@dataclass(frozen=True)
class WhitenedPlan:
    """Every public number of a run of whitened descent."""

    budget: PrivacyBudget
    accounting: Accounting
    n_rows: int
    n_features: int
    n_iterations: int
    warm_up: int  # gradients before their limit is chosen
    late: int  # gradients before it may rise
    noise: float  # multiplier of one release that takes the whole budget
    totals_multiplier: float
    gram_multiplier: float
    length_multiplier: float
    count_multiplier: float
    rise_multiplier: float
    gradient_multiplier: float

    @property
    def passes(self) -> int:
        """How often rows in memory are read."""
        return self.n_iterations + 6

    @property
    def releases(self) -> tuple[Release, ...]:
        """Everything that a run releases, in order."""
        return tuple(GaussianRelease(multiplier) for multiplier, _ in self._listed())

    @property
    def release_names(self) -> tuple[str, ...]:
        """What each release is of, in the same order."""
        return tuple(name for _, name in self._listed())

    def _listed(self) -> list[tuple[float, str]]:
        gradient = (self.gradient_multiplier, "sum of shortened whitened gradients")
        gradients = [gradient] * self.n_iterations
        return [
            (self.totals_multiplier, "number of rows, sum of targets, sum of squared lengths"),
            (self.gram_multiplier, "X'X of shortened rows"),
            (self.length_multiplier, "counts of whitened lengths"),
            (self.gram_multiplier, "X'X of shortened whitened rows"),
            *gradients[: self.warm_up],
            (self.count_multiplier, "counts of lengths of whitened gradients"),
            *gradients[self.warm_up : self.late],
            (self.rise_multiplier, "counts of lengths of whitened gradients, later"),
            *gradients[self.late :],
        ]


def plan(
    budget: PrivacyBudget,
    *,
    n_rows: int,
    n_features: int,
    accounting: Accounting = "exact",
    n_iterations: int = 16,
) -> WhitenedPlan:
    """Choose every number of a run from public ones.

    Parameters
    ----------
    budget : PrivacyBudget
        What the run may cost (zero-out neighbours).
    n_rows, n_features : int
        The public size of the data; the intercept counts as a feature.
    accounting : "exact" or "paper"
        Exact, or by zero-concentrated differential privacy, as the paper does for gradient descent.
    n_iterations : int
        Number of gradient steps, each with a pass over the data, at least 3. Fewer are faster; 8 cost 15 to 20% more
        error than 16.
    """
    n_rows, n_features = plan_inputs(budget, n_rows, n_features)
    one_of("accounting", accounting, ("exact", "paper"))
    count = steps("n_iterations", n_iterations, least=3)
    noise = gaussian_multiplier(budget) if accounting == "exact" else concentrated_multiplier(budget)
    rest = 1.0 - _TOTALS - 2.0 * _GRAM - _LENGTHS - _COUNTS - _RISE
    return WhitenedPlan(
        budget=budget,
        accounting=accounting,
        n_rows=n_rows,
        n_features=n_features,
        n_iterations=count,
        warm_up=max(1, round(3 / 16 * count)),
        late=count // 2 + (count < 4),
        noise=noise,
        totals_multiplier=noise / math.sqrt(_TOTALS),
        gram_multiplier=noise / math.sqrt(_GRAM),
        length_multiplier=noise / math.sqrt(_LENGTHS),
        count_multiplier=noise / math.sqrt(_COUNTS),
        rise_multiplier=noise / math.sqrt(_RISE),
        gradient_multiplier=noise * math.sqrt(count / rest),
    )


def run(rows: BoundedRows, plan: WhitenedPlan, bits: Sequence[Bits]) -> Fit:
    """Follow the plan, once for each stream of bits."""
    channel = Channel(bits)
    sums = channel.gaussian(totals(rows), multiplier=plan.totals_multiplier)
    used = _rows_used(plan, sums[:, 0])
    space = _whiten(rows, plan, channel, used, sums[:, 2])
    base = _start(rows, plan, used, sums[:, 1])
    white = whiten(rows, space.metric)
    path = _Path(plan, space, base, rows.row_map.intercept is not None)
    edges = np.vstack((np.zeros(len(used)), _COUNT_EDGES[:, None] * space.rms))
    for step in range(plan.n_iterations):
        theta = path.at(on_grid(rows, path.theta))
        if step not in (plan.warm_up - 1, plan.late - 1):
            exact = whitened_gradient(white, theta, limit=path.limit)
        else:
            exact, exact_counts = whitened_gradient_and_counts(white, theta, limit=path.limit, edges=edges)
        path.move(channel.gaussian(exact, multiplier=plan.gradient_multiplier))
        if step in (plan.warm_up - 1, plan.late - 1):
            multiplier = plan.count_multiplier if step < plan.warm_up else plan.rise_multiplier
            counts = channel.gaussian(exact_counts, multiplier=multiplier)
            path.choose(counts, multiplier, edges, used)
    return path.close(used, channel.releases)


def _rows_used(plan: WhitenedPlan, released: Array) -> Array:
    """Return the number of rows that are not zero: all of them, unless the released number says otherwise."""
    missing = plan.n_rows - released > 3.0 * math.sqrt(3.0) * plan.totals_multiplier
    return np.where(missing, np.maximum(released, 1.0), float(plan.n_rows))


def _start(rows: BoundedRows, plan: WhitenedPlan, used: Array, released: Array) -> Array:
    """Return the point whose predictions are the mean target where there is an intercept, and zero elsewhere."""
    base = np.zeros((len(used), plan.n_features))
    if (constant := rows.row_map.constant) is not None:
        seen = np.abs(released) > 3.0 * math.sqrt(3.0) * plan.totals_multiplier
        mean = np.where(seen, np.clip(released / used, -1.0, 1.0), 0.0)
        base[:, -1] = mean / constant
    return base


@dataclass(frozen=True)
class _Space:
    """Whitened coordinates v = M'x of each trial, with what the releases say of them."""

    metric: Array  # M
    values: Array  # of the second Gram matrix in these coordinates, where the damped curvature is 1
    curvature: Array  # their positive part
    rms: Array  # root mean square of |v|
    inner: Array  # the second whitening alone, by which noise on its Gram matrix is seen
    gram_noise: Array  # standard deviation of that noise
    row_limits: Array  # lengths to which rows were shortened for the two matrices


def _whiten(rows: BoundedRows, plan: WhitenedPlan, channel: Channel, used: Array, squares: Array) -> _Space:
    """Release two Gram matrices, the second in coordinates that the first gives."""
    d, multiplier = plan.n_features, plan.gram_multiplier
    spread = math.sqrt(2.0 * d) * multiplier  # operator norm of the noise at limit 1
    floor = math.sqrt(3.0) * plan.totals_multiplier
    limit = np.minimum(1.0, _ROW_LIMIT * np.sqrt(np.maximum(squares + 2.0 * floor, floor) / used))
    white = whiten(rows, np.eye(d)[None])
    first_limit = limit
    values, basis = np.linalg.eigh(channel.symmetric_gaussian(whitened_gram(white, limit=limit), multiplier=multiplier))
    damped = (np.maximum(values, 0.0) + (_DAMPING * spread * limit**2)[:, None]) / used[:, None]
    metric = basis / np.sqrt(damped)[:, None, :]
    longest = 1.0 / np.sqrt(damped.min(axis=1))
    white = whiten(rows, metric)
    limit = np.minimum(longest, _ROW_LIMIT * _rms(values, damped, used))
    edges = np.vstack((np.zeros(len(used)), _LENGTH_EDGES[:, None] * limit))
    counts = channel.gaussian(length_counts(white, edges=edges), multiplier=plan.length_multiplier)
    higher = _level(counts, edges, plan.length_multiplier, 3.0, _BALANCE * spread, used, longest, plan.n_rows)
    limit = np.minimum(longest, np.maximum(limit, higher))
    values, basis = np.linalg.eigh(channel.symmetric_gaussian(whitened_gram(white, limit=limit), multiplier=multiplier))
    damped = np.maximum(values, 0.0) + (_DAMPING * spread * limit**2)[:, None]
    inner = basis / np.sqrt(damped)[:, None, :]
    return _Space(
        metric=metric @ inner,
        values=values / damped,
        curvature=np.maximum(values, 0.0) / damped,
        rms=_rms(values, damped, used),
        inner=inner,
        gram_noise=multiplier * limit**2,
        row_limits=np.stack((first_limit, limit), axis=1),
    )


def _rms(values: Array, damped: Array, used: Array) -> Array:
    """Return the root mean square length in new coordinates; the largest eigenvalue is a floor under noise."""
    largest = np.maximum(values.max(axis=1), 0.0) / damped.max(axis=1)
    return np.asarray(np.sqrt(np.maximum(np.maximum((values / damped).sum(axis=1), largest), 1e-12) / used))


def _level(
    counts: Array, edges: Array, multiplier: float, margin: float, allowed: float, used: Array, most: Array, n_rows: int
) -> Array:
    """Return where about ``allowed`` of the counted numbers lie above, by noisy counts between edges.

    What lies above an edge is lowered by ``margin`` standard deviations of its noise. No number exceeds ``most``. Where
    all rows are in use, what is not below an edge is above it, so that counts on both sides inform.
    """
    lower = edges.T
    open_bins = lower < most[:, None]
    counts = np.where(open_bins, counts, 0.0)
    left = np.arange(1.0, len(edges))
    right = _from_the_right(open_bins.astype(np.float64))
    share = np.where((used == n_rows)[:, None], right / (left + right), 0.0)  # of what the counts below say
    above = (1.0 - share) * _from_the_right(counts) + share * (n_rows - np.cumsum(counts, axis=1)[:, :-1])
    above -= margin * multiplier * np.sqrt((1.0 - share) ** 2 * right + share**2 * left)
    low = above <= allowed
    place = np.where(low.any(axis=1), low.argmax(axis=1), len(edges) - 2)
    trial = np.arange(len(place))
    level, before = lower[trial, place + 1], lower[trial, np.maximum(place, 1)]
    over, under = above[trial, np.maximum(place - 1, 0)], above[trial, place]
    inside = low.any(axis=1) & (place > 0)
    part = np.where(inside, (over - allowed) / np.where(inside, over - under, 1.0), 1.0)
    return np.asarray(np.where(inside, before ** (1.0 - part) * level**part, level))


def _from_the_right(values: Array) -> Array:
    """Return the sums of what stands right of each place but the last."""
    return np.asarray(np.cumsum(values[:, ::-1], axis=1)[:, ::-1][:, 1:])


class _Path:
    """Points and gradients of all trials in whitened coordinates, relative to the start."""

    def __init__(self, plan: WhitenedPlan, space: _Space, base: Array, intercept: bool) -> None:
        self.plan, self.space, self.base, self.intercept = plan, space, base, intercept
        self.limit = _FIRST * space.rms
        self.start = np.full(len(base), plan.warm_up)  # the first step that counts in averages
        self.point = np.zeros_like(base)
        self.points: list[Array] = []
        self.gradients: list[Array] = []
        self.limits: list[Array] = []

    @property
    def theta(self) -> Array:
        """The current point in the coordinates of the rows."""
        return np.asarray(self.base + np.einsum("tij,tj->ti", self.space.metric, self.point))

    def at(self, theta: Array) -> Array:
        """Move to a nearby point at which gradients can be computed, and return it."""
        self.point = np.linalg.solve(self.space.metric, (theta - self.base)[:, :, None])[:, :, 0]
        return theta

    def move(self, gradient: Array) -> None:
        """Take a step along a released gradient."""
        self.points.append(self.point)
        self.gradients.append(gradient)
        self.limits.append(self.limit)
        self.point = self.point + gradient

    def choose(self, counts: Array, multiplier: float, edges: Array, used: Array) -> None:
        """Choose the limit of gradients by counts of their lengths; the second choice can only raise it."""
        plan, space = self.plan, self.space
        mu = math.sqrt(plan.n_iterations) / plan.gradient_multiplier
        allowed = _BALANCE * math.sqrt(plan.n_features) / mu
        # A row has norm at most 1, so |v| is at most the norm of M, and a residual at most 1 + |theta|.
        size = np.linalg.norm(self.base + np.einsum("tij,tj->ti", space.metric, self.points[-1]), axis=1)
        most = np.linalg.norm(space.metric, 2, axis=(1, 2)) * (1.0 + size)
        first = len(self.points) == plan.warm_up
        level = _level(counts, edges, multiplier, 1.0 if first else 3.0, allowed, used, most, plan.n_rows)
        if first:
            self.limit = np.maximum(_LOWEST * space.rms, level)
        else:
            self.start = np.where(level > self.limit, plan.late, self.start)
            self.limit = np.maximum(self.limit, level)

    def close(self, used: Array, releases: tuple[Release, ...]) -> Fit:
        """Average, take the closing step, and keep what noise would not show."""
        plan, space = self.plan, self.space
        step = np.arange(plan.n_iterations)
        weights = np.where(step >= self.start[:, None], step + 1.0, 0.0)
        weights /= weights.sum(axis=1, keepdims=True)
        point = np.einsum("ts,std->td", weights, np.array(self.points))
        gradient = np.einsum("ts,std->td", weights, np.array(self.gradients))
        limits = np.array(self.limits)
        variances = (plan.gradient_multiplier * limits)[:, :, None] ** 2  # (steps, trials, 1)
        closing = point + gradient
        scale = used * (self.limit / space.rms) ** 2
        kept = _kept(plan, space, weights, variances, closing, scale)
        shrunk = kept * closing
        ridge = _against_unseen_rows(plan, space, shrunk, self.intercept)
        theta = self.base + np.einsum("tij,tj->ti", space.metric, np.einsum("tij,tj->ti", ridge, shrunk))
        to_point, to_moment = _responses(weights, space.curvature, space.curvature)
        transcript = {
            "metric": space.metric,
            "inner": space.inner,
            "curvature": space.curvature,
            "gram_noise": space.gram_noise,
            "base": self.base,
            "point": point,
            "closing": closing,
            "kept": ridge * kept[:, None, :],
            "moment": gradient + space.curvature * point,
            "noise_variance": (variances * to_point**2).sum(axis=0),
            "shared_variance": (variances * to_point * to_moment).sum(axis=0),
            "moment_variance": (variances * to_moment**2).sum(axis=0),
            "limits": limits.T,
            "row_limits": space.row_limits,
            "used": used,
        }
        return Fit(theta, releases, transcript)


def _responses(weights: Array, curvature: Array, true: Array) -> tuple[Array, Array]:
    """Return how closing point and moment answer to a unit of noise on each gradient, as (steps, trials, d).

    The moment is an estimate of M'X'(y - X base); ``true`` is the curvature that data has, ``curvature`` the released.
    """
    ahead = np.zeros_like(curvature)
    point, moment = [], []
    for weight in weights.T[::-1, :, None]:
        moment.append(weight + (curvature - true) * ahead)
        ahead = weight + (1.0 - true) * ahead
        point.append(ahead)
    return np.array(point[::-1]), np.array(moment[::-1])


def _kept(plan: WhitenedPlan, space: _Space, weights: Array, variances: Array, closing: Array, scale: Array) -> Array:
    """Return the share of each direction that is kept: that of the first penalty which leaves more than noise.

    Nothing is kept where no penalty does.
    """
    d, damping = plan.n_features, 1.0 - space.curvature
    seen = space.curvature + _UNSEEN * damping
    # About the curvature over the noise of the second Gram matrix, from public numbers.
    sight = plan.n_rows / (4.0 * plan.gram_multiplier * d * math.sqrt(2.0 * d))
    lowered = space.values - min(1.0 / _DAMPING, _PESSIMISM + _BLIND / sight) * damping
    noise = seen * (variances * _responses(weights, space.curvature, np.maximum(lowered, 0.0))[0] ** 2).sum(axis=0)
    kept, undecided = np.zeros_like(closing), np.ones(len(closing), dtype=bool)
    for penalty in _PENALTIES:
        share = seen / (seen + penalty * damping)
        taken = undecided & _beyond_noise((share**2 * seen * closing**2).sum(axis=1), share**2 * noise, scale)
        kept[taken] = share[taken]
        undecided &= ~taken
    return kept


def _beyond_noise(energy: Array, noise: Array, scale: Array) -> Array:
    """Whether a fit to pure noise would seldom have this much energy: the more harm it does, the more seldom.

    ``noise`` is the energy that noise is expected to have in each direction, ``scale`` that of the residuals.
    """
    mean, spread = noise.sum(axis=1), (noise**2).sum(axis=1)
    # Satterthwaite: a weighted sum of chi-squares is close to a multiple of one with the same two moments.
    chance = gammaincc(0.5 * mean**2 / spread, 0.5 * energy * mean / spread)
    return np.asarray((chance < np.minimum(_FALSE_ALARMS, _HARM * scale / mean)) & (energy > _TIMES_NOISE * mean))


def _against_unseen_rows(plan: WhitenedPlan, space: _Space, shrunk: Array, intercept: bool) -> Array:
    """Return the ridge regression, as a matrix for each trial, that limits what rows too few to be seen can lose.

    One row adds at most |theta|^2 to the fitted energy, and rows fewer than the noise are not seen. The least penalty
    is taken at which noise |theta|^2 is at most a fixed multiple of the fitted energy; an intercept is not penalised.
    """
    low, high = _ROW_LOSS
    most = min(max(low, plan.noise), high) / plan.noise
    root = np.sqrt(np.maximum(space.curvature, 1e-12))
    slopes = space.metric[:, :-1] if intercept else space.metric
    inside = slopes.swapaxes(1, 2) @ slopes / (root[:, :, None] * root[:, None, :])
    sizes, turn = np.linalg.eigh(inside)
    sizes = np.maximum(sizes, 0.0)
    amounts = np.einsum("tij,ti->tj", turn, root * shrunk)

    def excess(penalty: Array) -> Array:
        return np.asarray(((sizes - most) * (amounts / (1.0 + penalty[:, None] * sizes)) ** 2).sum(axis=1))

    lower, upper = np.full(len(shrunk), -21.0), np.full(len(shrunk), 28.0)  # logarithms of the penalty
    for _ in range(45):
        middle = 0.5 * (lower + upper)
        high_enough = excess(np.exp(middle)) <= 0.0
        lower, upper = np.where(high_enough, lower, middle), np.where(high_enough, middle, upper)
    penalty = np.where(excess(np.zeros(len(shrunk))) <= 0.0, 0.0, np.exp(upper))
    shares = 1.0 / (1.0 + penalty[:, None] * sizes)
    shares[excess(penalty) > 0.0] = 0.0
    return np.asarray((turn / root[:, :, None] * shares[:, None, :]) @ (turn * root[:, :, None]).swapaxes(1, 2))


def evidence(plan: WhitenedPlan, fit: Fit, trial: int, constant: float | None) -> Evidence:
    """Judge one trial's fit by its own releases, against its start: the mean target, or zero without an intercept."""
    of = {name: values[trial] for name, values in fit.transcript.items()}
    metric, kept = of["metric"], of["kept"]
    outer = metric @ kept
    covariance = (outer * of["noise_variance"]) @ outer.T
    inside = kept @ of["closing"]
    # Rows that the Gram matrix shortens count too little, in what was gained as in what was paid for it.
    gain = float(inside @ of["moment"]) - float(np.diag(kept) @ of["shared_variance"])
    change = float(of["curvature"] @ inside**2) - 2.0 * gain
    # Noise on the second Gram matrix enters as a quadratic form; gradients and it are independent.
    arm, arms = of["inner"] @ (inside - 2.0 * of["point"]), of["inner"] @ inside
    form = 0.5 * (float(arm @ arm) * float(arms @ arms) + float(arm @ arms) ** 2)
    variance = 4.0 * float(of["moment_variance"] @ inside**2) + float(of["gram_noise"]) ** 2 * form
    # Least squares gains from pure noise too: a chi-square of as many degrees of freedom, times its variance.
    slopes = plan.n_features - (constant is not None)
    return Evidence(covariance, change + slopes, math.sqrt(variance + 2.0 * slopes))
