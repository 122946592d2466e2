"""Whitened private descent: gradient steps in coordinates where the data looks the same in every direction.

1. Release how many rows there are, and the sums of targets, rows and their squared lengths. With an intercept, the mean
   target is the starting point, and features are centred at their means.
2. Whiten, twice: release the Gram matrix of shortened rows, take its inverse root as new coordinates, and do it again
   there. In the end v = M'x has curvature one in every direction that the noise does not hide.
3. Take plain gradient steps in v. Each row's gradient v r is shortened to a length of at most C, and the noise is the
   same in every direction. C is chosen from released counts of |v| |r|, so that few rows are shortened; it may rise
   once more later.
4. Average the points and gradients after that, and close with one step, which needs no release.
5. Keep what noise would not show: shrink weak directions as little as needed, and keep nothing but the constant where
   no amount of shrinking is enough. Add ridge where rows too few to be seen could lose much.

All releases are Gaussian, and the ratio of noise to sensitivity is fixed in advance, so the whole budget is one
Gaussian's. `docs/whitened.md` has reasons and figures.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..data.rows import BoundedRows
from ..mechanisms import Channel
from ..privacy.releases import Release
from ..randomness import Bits
from ..statistics import Gradients, on_grid, whiten
from .base import Array, Evidence, Fit
from .closing import (
    AGAINST_CONSTANT,
    AGAINST_ZERO,
    against_unseen_rows,
    beside_constant,
    kept,
    responses,
)
from .options import PlannedFor, steps
from .path import Path
from .whitening import Listed, Space, Totals, WhiteningPlan, counted_rows, release_space, release_totals

# Shares of the squared budget. Gradients get the rest.
_TOTALS, _GRAM, _SECOND_GRAM, _LENGTHS, _COUNTS, _RISE = 0.05, 0.06, 0.125, 0.003, 0.02, 0.003
_MANY = 0.05  # share of rows that were shortened, or of the target's spread by which the constant was off


@dataclass(frozen=True)
class WhitenedPlan(WhiteningPlan):
    """Every public number of a run of whitened descent."""

    n_iterations: int
    warm_up: int  # gradients before their limit is chosen
    late: int  # gradients before it is chosen again
    count_multiplier: float
    rise_multiplier: float
    gradient_multiplier: float

    @property
    def passes(self) -> int:
        """How often rows in memory are read."""
        return self.n_iterations + 6

    def _listed(self) -> list[Listed]:
        gradient = (self.gradient_multiplier, "sum of clipped gradients of whitened rows")
        gradients = [gradient] * self.n_iterations
        return [
            *self._whitening(),
            *gradients[: self.warm_up],
            (self.count_multiplier, "counts of lengths of whitened gradients"),
            *gradients[self.warm_up : self.late],
            (self.rise_multiplier, "counts of lengths of whitened gradients, later"),
            *gradients[self.late :],
        ]


def plan(given: PlannedFor, *, n_iterations: int = 16) -> WhitenedPlan:
    """Choose every number of a run from public ones.

    Parameters
    ----------
    given : PlannedFor
        What the plan is for. Accounting "exact" or "paper":
        Exact, or by zero-concentrated differential privacy, as the paper does for gradient descent.
    n_iterations : int
        Number of gradient steps, each with a pass over the data, at least 3. Fewer are faster; 8 cost 15 to 20% more
        error than 16.
    """
    count = steps("n_iterations", n_iterations, least=3)
    noise = given.noise_of_all()
    rest = 1.0 - _TOTALS - _GRAM - _SECOND_GRAM - _LENGTHS - _COUNTS - _RISE
    warm_up = max(1, round(3 / 16 * count))
    return WhitenedPlan(
        **vars(given),
        n_iterations=count,
        warm_up=warm_up,
        late=max(warm_up + 1, round(3 / 8 * count)),
        noise=noise,
        totals_multiplier=noise / math.sqrt(_TOTALS),
        gram_multiplier=noise / math.sqrt(_GRAM),
        second_gram_multiplier=noise / math.sqrt(_SECOND_GRAM),
        length_multiplier=noise / math.sqrt(_LENGTHS),
        count_multiplier=noise / math.sqrt(_COUNTS),
        rise_multiplier=noise / math.sqrt(_RISE),
        gradient_multiplier=noise * math.sqrt(count / rest),
    )


def run(rows: BoundedRows, plan: WhitenedPlan, bits: Sequence[Bits]) -> Fit:
    """Follow the plan, once for each stream of bits."""
    rows, channel = rows.bounded_once(), Channel(bits)
    known, products = release_totals(rows, plan, channel)
    space = release_space(rows, plan, channel, known, products)
    base = np.zeros((channel.trials, plan.n_features))
    if (constant := rows.row_map.constant) is not None:
        base[:, -1] = known.target / constant
    white = whiten(rows, space.metric, products)
    size = known.target_rms * space.rms  # of a typical gradient at the start
    path = _Path(plan, space, base, size, intercept=constant is not None)
    choices = {plan.warm_up - 1: plan.count_multiplier, plan.late - 1: plan.rise_multiplier}
    gradients = Gradients(white)
    for step in range(plan.n_iterations):
        theta = path.at(on_grid(rows, path.theta))
        if step not in choices:
            exact = gradients.at(theta, limit=path.limit, reach=path.reach())
            path.move(channel.gaussian(exact, multiplier=plan.gradient_multiplier))
            continue
        exact, exact_counts = gradients.with_counts(theta, limit=path.limit, edges=path.edges, reach=path.reach())
        path.move(channel.gaussian(exact, multiplier=plan.gradient_multiplier))
        counts = channel.gaussian(exact_counts, multiplier=choices[step])
        path.choose(counts, choices[step], known.used)
    return path.close(known, constant, channel.releases)


def evidence(plan: WhitenedPlan, fit: Fit, trial: int, constant: float | None) -> Evidence:
    """Judge one trial's fit by its own releases, against its own constant, or against zero without an intercept.

    Where many rows were shortened, or the constant had to be mended, gradients say little of the squared error, and
    how good the fit is cannot be judged.
    """
    of = {name: values[trial] for name, values in fit.transcript.items()}
    metric, kept = of["metric"], of["kept"]
    outer = metric @ kept
    covariance = (outer * of["noise_variance"]) @ outer.T
    # The slopes alone are judged: what the constant gains over the start is no merit of the features.
    whole, kept = kept @ of["closing"], of["rest"] @ kept
    inside = kept @ of["closing"]
    # Rows that the Gram matrix shortens count too little, in what was gained as in what was paid for it.
    gain = float(inside @ of["moment"]) - float(np.diag(kept) @ of["shared_variance"])
    change = float(of["curvature"] @ inside**2) - 2.0 * gain
    # Noise on the second Gram matrix enters as a quadratic form; gradients and it are independent.
    arm = of["inner"] @ (inside - 2.0 * (of["point"] - (whole - inside)))
    arms = of["inner"] @ inside
    form = 0.5 * (float(arm @ arm) * float(arms @ arms) + float(arm @ arms) ** 2)
    variance = 4.0 * float(of["moment_variance"] @ inside**2) + float(of["gram_noise"]) ** 2 * form
    # Least squares gains from pure noise too: a chi-square of as many degrees of freedom, times its variance.
    slopes = plan.n_features - (constant is not None)
    shortened = float(of["shortened"])
    biased = shortened > _MANY or abs(of["missing"]) > _MANY
    spread = math.sqrt(variance + 2.0 * slopes)
    return Evidence(covariance, change + slopes, spread, shortened, bool(biased), counted_rows(fit, trial))


class _Path(Path):
    """The path, what is chosen on it, and how it is closed."""

    def __init__(self, plan: WhitenedPlan, space: Space, base: Array, size: Array, *, intercept: bool) -> None:
        super().__init__(plan, space, base, size)
        self.plan, self.intercept = plan, intercept
        self.start = np.full(len(base), plan.warm_up)  # the first step that counts in averages

    def choose(self, counts: Array, multiplier: float, used: Array) -> None:
        """Choose the limit of gradients by counts of their lengths; the second choice can only raise it."""
        mu = math.sqrt(self.plan.n_iterations) / self.plan.gradient_multiplier
        self.counts = counts
        if len(self.points) == self.plan.warm_up:
            self.limit = self.first_level(counts, multiplier, used, mu)
            return
        least = self.level(counts, multiplier, 3.0, used, mu)
        self.start = np.where(least > self.limit, self.plan.late, self.start)
        self.limit = np.maximum(self.limit, least)

    def close(self, known: Totals, constant: float | None, releases: tuple[Release, ...]) -> Fit:
        """Average, take the closing step, and keep what noise would not show."""
        plan, space, used = self.plan, self.space, known.used
        step = np.arange(plan.n_iterations)
        limits = np.array(self.limits)
        # Later points are nearer; a lower limit means less noise.
        weights = np.where(step >= self.start[:, None], (step + 1.0) * np.square(self.limit / limits).T, 0.0)
        weights /= weights.sum(axis=1, keepdims=True)
        point = np.einsum("ts,std->td", weights, np.array(self.points))
        gradient = np.einsum("ts,std->td", weights, np.array(self.gradients))
        variances = (plan.gradient_multiplier * limits)[:, :, None] ** 2  # (steps, trials, 1)
        closed = point + gradient
        rest, keep = self._kept(weights, variances, closed, used)
        theta = self.theta_at(np.einsum("tij,tj->ti", keep, closed))
        missing = np.zeros(len(used))
        if constant is not None:
            # Shortened gradients pull the constant towards typical rows; the totals know the mean.
            missing = known.missing_constant(theta, constant)
            theta[:, -1] += missing / constant
            theta[:, -1] -= known.beyond_range(theta, constant) / constant
        to_point, to_moment = responses(weights, space.curvature, space.curvature)
        transcript = {
            "metric": space.metric,
            "inner": space.inner,
            "curvature": space.curvature,
            "gram_noise": space.gram_noise,
            "row_limits": space.row_limits,
            "base": self.base,
            "used": used,
            "mass": known.mass,
            "row_means": known.noisy_features,
            "target_mean": known.noisy_target,
            "mean_noise": known.noise,
            "limits": limits.T,
            "shortened": self._shortened(used),
            "missing": missing / known.target_spread,
            "point": point,
            "closing": closed,
            "kept": keep,
            "rest": rest,
            "moment": gradient + space.curvature * point,
            "noise_variance": (variances * to_point**2).sum(axis=0),
            "shared_variance": (variances * to_point * to_moment).sum(axis=0),
            "moment_variance": (variances * to_moment**2).sum(axis=0),
        }
        return Fit(theta, releases, transcript)

    def _kept(self, weights: Array, variances: Array, closed: Array, used: Array) -> tuple[Array, Array]:
        """Return the projection beside the constant, and what maps the closing point to what is kept of it."""
        plan, space = self.plan, self.space
        scale = used * (self.limit / space.rms) ** 2
        # About the curvature over the noise of the second Gram matrix, from public numbers, or the number of rows.
        sight = plan.rows_or(used) / (
            4.0 * plan.second_gram_multiplier * plan.n_features * math.sqrt(2.0 * plan.n_features)
        )
        if self.intercept:
            rest = beside_constant(space)
            return rest, kept(space, weights, variances, closed, scale, rest, AGAINST_CONSTANT, sight)
        rest = np.eye(plan.n_features) + 0.0 * space.metric
        keep = kept(space, weights, variances, closed, scale, rest, AGAINST_ZERO, sight)
        return rest, against_unseen_rows(space, np.einsum("tij,tj->ti", keep, closed), noise=plan.noise) @ keep

    def _shortened(self, used: Array) -> Array:
        """Return about which share of rows had a gradient above the last limit, less what noise may explain."""
        above = self.limit[:, None] <= self.edges.T
        noise = 2.0 * self.plan.rise_multiplier * np.sqrt(above.sum(axis=1))
        return np.asarray(np.clip((np.where(above, self.counts, 0.0).sum(axis=1) - noise) / used, 0.0, 1.0))
