"""What fits with intervals share: their public numbers, the closing step, and what it is judged by.

A fit that closes with a Newton step by a released curvature, from a point near the solution along released gradients,
is the solution itself but for noise of known covariance (`docs/proofs/inference.md`).
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..data.rows import BoundedRows
from ..families import Response
from ..mechanisms import Channel
from ..statistics import WhitenedRows, score_counts, score_gram, unit_score_gram
from .base import Array, Evidence, Fit
from .clip_level import ClipLevels, ClipRule, clip_levels, late_edges, range_limit
from .closing import STEP
from .newton_step import closing_noise, explained
from .path import Path
from .whitening import SMALLEST, Listed, Space, Totals, WhiteningPlan, counted_rows

CovType = Literal["HC1", "nonrobust", "cluster"]

CLOSING = 4  # gradients at the last limit
_GRAM, _THIRD_GRAM = (0.04, 0.15), (0.04, 0.25)  # shares of the squared budget: what seeing the curvature takes
_WITHOUT_ROWS = 0.06, 0.08  # of the same where the number of rows is not public
_FREE = 0.2  # of the curvature: several standard deviations of noise, or its operator norm, that are hardly felt
_DIFFERENT = 4.5  # standard deviations by which the last gradients differ more than noise explains
_MANY = 0.05  # share of rows that were shortened


@dataclass(frozen=True)
class InferencePlan(WhiteningPlan):
    """Every public number of a run."""

    n_iterations: int
    warm_up: int  # gradients before their limit is chosen
    cov_type: CovType
    clip: ClipRule
    third_gram_multiplier: float
    count_multiplier: float
    late_count_multiplier: float
    locating_multiplier: float
    closing_multiplier: float
    square_multiplier: float
    score_multiplier: float | None  # none without robust standard errors
    residual_multiplier: float | None  # none where residuals in bins are not asked for

    @property
    def unit_noise(self) -> float:
        """None: what the noise does not hide keeps its length, however wide the bounds are."""
        return 0.0

    @property
    def gradient_noise(self) -> float:
        """Standard deviation of the noise on the mean of the last gradients, at limit 1."""
        return self.closing_multiplier / math.sqrt(CLOSING)

    @property
    def passes(self) -> int:
        """How often rows in memory are read."""
        return self.n_iterations + 9 + (self.score_multiplier is not None) + (self.residual_multiplier is not None)

    def _listed(self) -> list[Listed]:
        locating = [(self.locating_multiplier, "sum of clipped gradients of whitened rows")] * (
            self.n_iterations - CLOSING
        )
        scores = "units' summed gradients" if self.cov_type == "cluster" else "whitened gradients"
        last = [] if self.score_multiplier is None else [(self.score_multiplier, f"outer products of {scores}")]
        if self.residual_multiplier is not None:
            last.append((self.residual_multiplier, "numbers of rows and sums of residuals, by fitted value"))
        return [
            *self._whitening(),
            (self.third_gram_multiplier, "X'X of clipped whitened rows, for the last step"),
            *locating[: self.warm_up],
            (self.count_multiplier, "counts of lengths of whitened gradients"),
            *locating[self.warm_up :],
            (self.late_count_multiplier, "counts of lengths of whitened gradients, later"),
            *[(self.closing_multiplier, "sum of clipped gradients of whitened rows, for the last step")] * CLOSING,
            (self.square_multiplier, "sum of squared residuals"),
            *last,
        ]


def evidence(plan: InferencePlan, fit: Fit, trial: int, constant: float | None) -> Evidence:
    """Judge one trial's fit by its own releases, against its own constant, or against zero without an intercept."""
    of = {name: values[trial] for name, values in fit.transcript.items()}
    gain, stddev, feigned = explained(of, intercept=constant is not None)
    # A fit gains from pure noise too: a chi-square of as many degrees of freedom, times its variance. Sums over
    # units of several rows are counted in units, so that this holds even of rows that are all alike in a unit.
    slopes, variance = plan.n_features - (constant is not None), _largest_variance(plan, of)
    change, spread = slopes * variance + feigned - gain, math.hypot(stddev, math.sqrt(2.0 * slopes) * variance)
    shortened = float(of["shortened"])
    covariance = of["metric"] @ closing_noise(of) @ of["metric"].T
    return Evidence(covariance, change, spread, shortened, shortened > _MANY, counted_rows(fit, trial))


def transcript_of(
    rows: BoundedRows, plan: InferencePlan, known: Totals, path: Path, levels: ClipLevels
) -> dict[str, Array]:
    """Return what every fit with intervals keeps of its totals, its path and its limits."""
    return {
        "metric": path.space.metric,
        "base": path.base,
        "used": _used(rows, plan, known),
        "used_noise": known.noise * known.mass * (plan.n_rows is None or not rows.all_in_use),
        "row_means": known.noisy_features,
        "target_mean": known.noisy_target,
        "target_squares": known.target_squares,
        "mass": known.mass,
        "mean_noise": known.noise,
        "limits": np.array(path.limits).T,
        "gradient_noise": plan.gradient_noise * levels.limit,
        "by_range": levels.by_range,
        "unseen": levels.unseen,
        "shortened": np.minimum(levels.above / known.used, 1.0),
        "residual_bound": levels.residual_bound,
        "lost": levels.lost,
        "power": levels.power,
        "doubtful": levels.doubtful,
        "score_limit": levels.score_limit,
    }


def _largest_variance(plan: InferencePlan, of: dict[str, Array]) -> float:
    """Return about the largest variance that residuals may have, as far as noise lets one tell.

    Of least squares it is at most 1. Of other families it is in units of the curvature, and the releases give it.
    """
    if "chance" in of:
        return float(of["chance"])
    bound = float(of["residual_bound"]) ** 2
    room = (2.0 * plan.square_multiplier + float(of["lost"])) * bound
    return float(np.clip((float(of["squares"]) + room) / float(of["used"]), 0.0, 1.0))


def _used(rows: BoundedRows, plan: InferencePlan, known: Totals) -> Array:
    """Return how many rows are in use: a public number, or one that was released."""
    most = math.inf if plan.n_rows is None else float(plan.n_rows)
    return np.clip(known.count, most if rows.all_in_use and plan.n_rows is not None else 1.0, most)


def gram_shares(noise: float, n_rows: int | None, n_features: int) -> tuple[float, float]:
    """Return the shares of the first two Gram matrices, each, and of the third."""
    if n_rows is None:
        return _WITHOUT_ROWS
    curvature = 2.25 * n_features * noise / n_rows  # the noise of a Gram matrix with the whole budget, over its size
    root = math.sqrt(2.0 * n_features)
    first, third = 2.0 * root * curvature, max(5.5, 1.25 * root) * curvature / 0.35
    return float(np.clip(first**2, *_GRAM)), float(np.clip(third**2, *_THIRD_GRAM))


def row_limit_of(space: Space) -> Array:
    """Return the limit of rows in the last coordinates: that of the second Gram matrix, as the whitening scales it."""
    scales = np.linalg.svd(space.inner, compute_uv=False)
    return np.maximum(space.row_limits[:, 1] * np.median(scales, axis=1), SMALLEST)


def gram_limit_of(space: Space, plan: InferencePlan) -> Array:
    """Return the limit of rows for the third Gram matrix: higher where its noise is hardly felt.

    Long rows that it shortens make its inverse too large, and leave a part of the way to the solution.
    """
    spread = max(4.0, math.sqrt(2.0 * plan.n_features))
    free = math.sqrt(_FREE / (spread * plan.third_gram_multiplier))
    return np.minimum(np.maximum(row_limit_of(space), free), np.maximum(space.longest, SMALLEST))


def release_levels(
    white: WhitenedRows,
    plan: InferencePlan,
    channel: Channel,
    path: Path,
    known: Totals,
    theta: Array,
    row_limit: Array,
    response: Response | None = None,
) -> ClipLevels:
    """Choose the limits by counts of gradient lengths where the first steps have led, at theta."""
    longest = range_limit(row_limit, known)
    edges = late_edges(path.scale, longest, fine=plan.residual_multiplier is not None)
    exact = score_counts(white, theta, response, edges=edges)
    counts = channel.gaussian(exact, multiplier=plan.late_count_multiplier)
    return clip_levels(
        counts,
        edges,
        plan.late_count_multiplier,
        plan.gradient_noise,
        known,
        path.space.rms,
        longest,
        range_limit(np.maximum(row_limit, path.space.longest), known),
        path.limit,
        rule=plan.clip,
        n_rows=plan.n_rows if white.bounded.all_in_use else None,
        rare_may_be_large=response is None or response.family != "poisson",
        joined=plan.cov_type == "cluster",
    )


def misfit_of(path: Path, gram: Array, stddev: Array) -> Array:
    """Return the mean square by which the last gradients differ more than curvature and noise explain."""
    points, gradients = path.points[-CLOSING:], path.gradients[-CLOSING:]
    point, gradient = np.mean(points, axis=0), np.mean(gradients, axis=0)
    # One by one, so that trials of a batch add up in the same order as a single one.
    rest = [g - gradient + np.einsum("tij,tj->ti", gram, p - point) for p, g in zip(points, gradients, strict=True)]
    squares = np.sum([np.square(each).sum(axis=1) for each in rest], axis=0)
    freedom = (CLOSING - 1) * gram.shape[-1]
    explained = np.square(stddev) * (freedom + _DIFFERENT * math.sqrt(2.0 * freedom))
    return np.asarray(np.maximum(squares - explained, 0.0) / freedom)


def point_noise(plan: InferencePlan, path: Path) -> Array:
    """Return the standard deviation of the noise in the mean of the last points, where curvature does not damp it."""
    first, late, last = path.limits[0], path.limits[plan.warm_up], path.limits[-1]
    counted = plan.n_iterations - CLOSING - plan.warm_up
    # The steps to a point add up, and the mean over later points takes a third of their variance.
    located = STEP**2 * plan.warm_up * first**2 + (1.0 / counted + STEP**2 * counted / 3.0) * late**2
    weights = STEP * np.arange(CLOSING) / CLOSING  # of the last gradients in the mean of their points
    closing = float(weights @ weights) * (plan.closing_multiplier * last) ** 2
    return np.asarray(np.sqrt(plan.locating_multiplier**2 * located + closing))


def release_scores(
    white: WhitenedRows,
    plan: InferencePlan,
    channel: Channel,
    theta: Array,
    limit: Array,
    response: Response | None = None,
) -> tuple[Array, Array]:
    """Release the Gram matrix of gradients of rows, or of units, and return it with its noise.

    Where units have several rows, gradients and Gram matrices are counted in units. What stands between two inverses of
    such is then divided by rows per unit twice.
    """
    units = white.rows_per_unit
    if plan.score_multiplier is None:
        return np.zeros_like(white.metric), np.zeros(len(limit))
    if plan.cov_type == "cluster":
        exact = unit_score_gram(white, theta, response, limit=units * limit)
        noisy = channel.symmetric_gaussian(exact, multiplier=plan.score_multiplier)
        return noisy / units**2, plan.score_multiplier * limit**2
    exact = score_gram(white, theta, response, limit=limit)
    noisy = channel.symmetric_gaussian(exact, multiplier=plan.score_multiplier)
    return noisy / units, plan.score_multiplier * limit**2 / units
