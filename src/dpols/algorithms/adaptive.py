"""Adaptive private regression: damped Newton steps on one noisy Gram matrix, with clip level and scale from releases.

1. Release X'X once, with symmetric Gaussian noise. Its positive part plus a damping of the size of the noise is the
   matrix of every step, so that no step overshoots, and its eigenbasis is the basis of all that follows.
2. Take T steps with noisy, clipped gradients. In one of the first passes also release counts of absolute residuals, and
   from then on clip where the bias of clipping and the noise that it saves are in balance.
3. Average iterates and gradients after that, later ones with more weight, and close with one more step, which needs no
   release.
4. Shrink weak directions as little as is needed for the result to be told from noise, scale it by what the releases
   say of its gain, and return zero where no amount of shrinking is enough.

All releases are Gaussian, so the whole budget is one Gaussian's and nothing is lost in composition. The clip level
depends on a release, but the ratio of noise to clip level does not. `docs/adaptive.md` has reasons and figures.
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
from ..statistics import clipped_gradient, clipped_gradient_and_counts, gram
from .base import Accounting, Array, Evidence, Fit
from .judging import evidence_against_constant
from .options import one_of, plan_inputs, steps

_EDGES = 2.0 ** np.arange(-6.0, 0.5, 0.5)  # clip levels to choose from, in units of the target's bound
_FIRST_BOUND = 0.25  # clip level until one is chosen
_LOWEST_BOUND = 0.125
_LATER_WEIGHT = 1.0  # power of the step's number that averages are weighted with
_GRADIENT_SHARE = 0.85  # of the squared budget; the rest goes to X'X and the counts
_COUNT_SHARE = 0.02
_DAMPING = 0.6  # in units of the operator norm of the noise on X'X
_CLIPPING_BALANCE = 20.0  # bias of clipping allowed, in units of the noise that it saves
_PENALTIES = (0.0, 0.25, 1.0, 4.0, 16.0, 64.0, 256.0)  # ridge penalties to try in turn, in units of the damping
_NOISE_ALLOWED = 3e-5  # expected squared error of a fit to pure noise, per row, in units of the squared target bound
_FALSE_ALARMS = 0.03  # share of fits to pure noise that are let through where they do little harm
_PESSIMISM = 0.6  # by how much of the damping eigenvalues are taken to be overestimated when noise is judged
_UNSEEN_CURVATURE = 0.2  # of the damping, counted in every direction when a fit is compared with noise


@dataclass(frozen=True)
class AdaptivePlan:
    """Every public number of a run of the adaptive method."""

    budget: PrivacyBudget
    accounting: Accounting
    n_rows: int
    n_features: int
    n_iterations: int
    warm_up: int  # gradients before the clip level is chosen
    first_bound: float  # clip level until then, in units of the target's bound
    damping: float
    gram_multiplier: float
    count_multiplier: float
    gradient_multiplier: float

    @property
    def passes(self) -> int:
        """How often the data is read."""
        return 1 + self.n_iterations

    @property
    def releases(self) -> tuple[Release, ...]:
        """X'X, then the gradients, with the counts after the last one of the warm-up."""
        gradient = (GaussianRelease(self.gradient_multiplier),)
        counts = (GaussianRelease(self.count_multiplier),)
        later = gradient * (self.n_iterations - self.warm_up)
        return (GaussianRelease(self.gram_multiplier), *gradient * self.warm_up, *counts, *later)

    @property
    def release_names(self) -> tuple[str, ...]:
        """What each release is of, in the same order."""
        gradient = ("gradient X'clip(y - X theta)",)
        counts = ("counts of absolute residuals",)
        later = gradient * (self.n_iterations - self.warm_up)
        return ("X'X", *gradient * self.warm_up, *counts, *later)


def plan(
    budget: PrivacyBudget,
    *,
    n_rows: int,
    n_features: int,
    accounting: Accounting = "exact",
    max_passes: int = 17,
) -> AdaptivePlan:
    """Choose every number of a run from public ones.

    Parameters
    ----------
    budget : PrivacyBudget
        What the run may cost (zero-out neighbours).
    n_rows, n_features : int
        The public size of the data; the intercept counts as a feature.
    accounting : "exact" or "paper"
        Exact, or by zero-concentrated differential privacy, as the paper does for gradient descent.
    max_passes : int
        How often the data may be read, at least 3. More passes mean less bias; beyond the default they buy little.
    """
    n_rows, n_features = plan_inputs(budget, n_rows, n_features)
    one_of("accounting", accounting, ("exact", "paper"))
    n_iterations = steps("max_passes", max_passes, least=3) - 1
    noise = gaussian_multiplier(budget) if accounting == "exact" else concentrated_multiplier(budget)
    rest = 1.0 - _COUNT_SHARE
    gram_multiplier = noise / math.sqrt((1.0 - _GRADIENT_SHARE) * rest)
    few = n_iterations < 6
    return AdaptivePlan(
        budget=budget,
        accounting=accounting,
        n_rows=n_rows,
        n_features=n_features,
        n_iterations=n_iterations,
        warm_up=max(1, round(0.2 * n_iterations)),
        first_bound=2.0 * _FIRST_BOUND if few else _FIRST_BOUND,
        damping=_DAMPING * math.sqrt(2.0 * n_features) * gram_multiplier,
        gram_multiplier=gram_multiplier,
        count_multiplier=noise / math.sqrt(_COUNT_SHARE),
        gradient_multiplier=noise * math.sqrt(n_iterations / (_GRADIENT_SHARE * rest)),
    )


def run(rows: BoundedRows, plan: AdaptivePlan, bits: Sequence[Bits]) -> Fit:
    """Follow the plan, once for each stream of bits."""
    channel = Channel(bits)
    path = _Path.start(plan, channel.symmetric_gaussian(gram(rows), multiplier=plan.gram_multiplier))
    bound = np.full(channel.trials, plan.first_bound)
    for step in range(plan.n_iterations):
        counting = step == plan.warm_up - 1
        if counting:
            exact, exact_counts = clipped_gradient_and_counts(rows, path.theta, residual_bound=bound, edges=_EDGES)
        else:
            exact = clipped_gradient(rows, path.theta, residual_bound=bound)
        path.move(channel.gaussian(exact, multiplier=plan.gradient_multiplier), plan.gradient_multiplier * bound)
        if counting:
            counts = channel.gaussian(exact_counts, multiplier=plan.count_multiplier)
            bound = _clip_level(plan, counts)
    theta, transcript = path.close()
    return Fit(theta, channel.releases, {**transcript, "residual_bound": bound})


def evidence(plan: AdaptivePlan, fit: Fit, trial: int, constant: float | None) -> Evidence:
    """Judge one trial's fit by its own releases; ``constant`` is the intercept's coordinate, None without one."""
    of = {name: values[trial] for name, values in fit.transcript.items()}
    basis, kept = of["basis"], of["kept"]
    inside = kept * of["unscaled"]
    covariance = (basis * (kept**2 * of["noise_variance"])) @ basis.T
    change = float(kept**2 @ of["energy"] - 2.0 * kept @ of["gain"])
    # The noise on X'X enters as a quadratic form; gradients and it are independent.
    arm = inside - 2.0 * of["point"]
    form = 0.5 * (float(arm @ arm) * float(inside @ inside) + float(arm @ inside) ** 2)
    variance = 4.0 * float(of["moment_variance"] @ inside**2) + plan.gram_multiplier**2 * form
    last = basis[-1]
    return evidence_against_constant(
        covariance,
        change,
        variance,
        total=float(last @ of["moment"]),
        total_variance=float(last**2 @ of["moment_variance"]),
        n_rows=plan.n_rows,
        constant=constant,
    )


class _Path:
    """Iterates and gradients of all trials, in the eigenbasis of each trial's noisy Gram matrix."""

    def __init__(self, plan: AdaptivePlan, values: Array, basis: Array) -> None:
        self.plan = plan
        self.values = values  # (trials, d)
        self.basis = basis  # (trials, d, d), eigenvectors in columns
        self.curvature = np.maximum(values, 0.0)
        self.inverse = 1.0 / (self.curvature + plan.damping)
        self.points = [np.zeros_like(values)]
        self.gradients: list[Array] = []
        self.stddevs: list[Array] = []

    @classmethod
    def start(cls, plan: AdaptivePlan, noisy_gram: Array) -> "_Path":
        return cls(plan, *np.linalg.eigh(noisy_gram))

    @property
    def theta(self) -> Array:
        """The current point in the coordinates of the rows."""
        return self._out(self.points[-1])

    def move(self, gradient: Array, stddev: Array) -> None:
        """Take a step along a released gradient, whose noise has the given standard deviation in each trial."""
        inside = np.einsum("tij,ti->tj", self.basis, gradient)
        self.gradients.append(inside)
        self.stddevs.append(stddev[:, None])
        self.points.append(self.points[-1] + inside * self.inverse)

    def close(self) -> tuple[Array, dict[str, Array]]:
        """Average, take the closing step, shrink, and return theta with the numbers that evidence needs."""
        weights = (np.arange(1.0, len(self.gradients) + 1.0) / len(self.gradients)) ** _LATER_WEIGHT
        weights[: self.plan.warm_up] = 0.0  # clipped too low, perhaps
        weights /= weights.sum()
        point = np.einsum("s,std->td", weights, np.array(self.points[:-1]))
        gradient = np.einsum("s,std->td", weights, np.array(self.gradients))
        unscaled = point + gradient * self.inverse
        noise, shared, moment_noise = self._variances(weights, self.curvature)
        moment = gradient + self.curvature * point  # an estimate of X'y
        gain = moment * unscaled - shared
        energy = self.curvature * unscaled**2
        kept = self._kept(weights, unscaled, gain, energy)
        transcript = {
            "basis": self.basis,
            "kept": kept,
            "unscaled": unscaled,
            "point": point,
            "noise_variance": noise,
            "moment": moment,
            "moment_variance": moment_noise,
            "gain": gain,
            "energy": energy,
        }
        return self._out(kept * unscaled), transcript

    def _kept(self, weights: Array, unscaled: Array, gain: Array, energy: Array) -> Array:
        """Return the share of each direction that is kept: that of the first penalty which leaves more than noise.

        Under each penalty the fit is scaled to the least squared error that the releases promise; without any penalty
        that leaves more than noise nothing is kept.
        """
        plan = self.plan
        pessimistic = np.maximum(self.values - _PESSIMISM * plan.damping, 0.0)
        curvature = np.minimum(self.curvature + _UNSEEN_CURVATURE * plan.damping, plan.n_rows)
        noise = curvature * self._variances(weights, pessimistic)[0]
        kept = np.zeros_like(unscaled)
        undecided = np.ones(len(unscaled), dtype=bool)
        for penalty in _PENALTIES:
            share = curvature / (curvature + penalty * plan.damping)
            seen = (share**2 * curvature * unscaled**2).sum(axis=1)
            taken = undecided & _beyond_noise(plan, seen, share**2 * noise)
            scale = _scale((share * gain).sum(axis=1), (share**2 * energy).sum(axis=1))
            kept[taken] = (scale[:, None] * share)[taken]
            undecided &= ~taken
        return kept

    def _variances(self, weights: Array, curvature: Array) -> tuple[Array, Array, Array]:
        """Return variance of the closing point, its covariance with the moment, and the moment's variance.

        They are those that the gradients' noise causes if ``curvature`` is the true one.
        """
        keep = 1.0 - curvature * self.inverse
        ahead = np.zeros_like(curvature)  # weight that noise of a step has in the averages of later points
        variance, shared, moment = (np.zeros_like(curvature) for _ in range(3))
        for weight, stddev in zip(weights[::-1], self.stddevs[::-1], strict=True):
            in_point = ahead * self.inverse
            in_close = in_point * keep + weight * self.inverse
            in_moment = weight + self.curvature * in_point
            variance += (in_close * stddev) ** 2
            shared += in_close * in_moment * stddev**2
            moment += (in_moment * stddev) ** 2
            ahead = weight + keep * ahead
        return variance, shared, moment

    def _out(self, inside: Array) -> Array:
        return np.asarray(np.einsum("tij,tj->ti", self.basis, inside))


def _scale(gain: Array, energy: Array) -> Array:
    """Return the factor in [0, 1] that lowers the squared error most, from estimates of theta'X'y and |X theta|^2."""
    with np.errstate(over="ignore"):  # without any energy the ratio is infinite, and clipped
        return np.asarray(np.clip(gain / np.maximum(energy, np.finfo(float).tiny), 0.0, 1.0))


def _beyond_noise(plan: AdaptivePlan, energy: Array, noise: Array) -> Array:
    """Whether a fit to pure noise would seldom have this much energy: the more harm it does, the more seldom.

    ``noise`` is the energy that noise is expected to have in each direction.
    """
    mean, spread = noise.sum(axis=1), (noise**2).sum(axis=1)
    # Satterthwaite: a weighted sum of chi-squares is close to a multiple of one with the same two moments.
    chance = gammaincc(0.5 * mean**2 / spread, 0.5 * energy * mean / spread)
    return np.asarray(chance < np.minimum(_NOISE_ALLOWED * plan.n_rows / mean, _FALSE_ALARMS))


def _clip_level(plan: AdaptivePlan, counts: Array) -> Array:
    """Return for each trial the lowest level at which clipping costs no more than the noise that it saves.

    Clipping at C moves the gradient by at most n E(|r| - C)+, the integral of the tail of residuals above C; the noise
    is of the order of sqrt(d) C over the gradients' budget.
    """
    above = np.cumsum(counts[:, ::-1], axis=1)[:, ::-1]
    above -= plan.count_multiplier * np.sqrt(np.arange(len(_EDGES), 0.0, -1.0))  # less a standard deviation of noise
    share = np.minimum.accumulate(np.clip(above / plan.n_rows, 0.0, 1.0), axis=1)
    widths = np.append(np.diff(_EDGES), 0.0)
    excess = np.cumsum((share * widths)[:, ::-1], axis=1)[:, ::-1]
    mu = math.sqrt(plan.n_iterations) / plan.gradient_multiplier
    allowed = _CLIPPING_BALANCE * math.sqrt(plan.n_features) / (mu * plan.n_rows) * _EDGES
    lowest = _EDGES[np.argmax(excess <= allowed, axis=1)]  # nothing lies above the last edge, so there is one
    return np.asarray(np.maximum(lowest, _LOWEST_BOUND))
