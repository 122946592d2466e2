"""Least squares with intervals: whitened descent that closes with a step of its own, and does not shrink.

1. Whiten, as in `whitened.py`: rows in use, sums, and two Gram matrices.
2. Release a third Gram matrix, whose noise is independent of the coordinates.
3. Find the place: a few gradients, shortened as in `whitened.py`, and counts of their lengths there.
4. Choose one limit for the gradients of rows by these counts (`clip_level.py`), and release the last gradients at it.
5. Close with a Newton step by the third Gram matrix, from the mean of the last points along the mean of the last
   gradients. That is least squares but for noise of known covariance, and for what the limit loses.
6. Release what the spread of least squares itself is computed from: the sum of squared residuals, and the Gram matrix
   of rows times residuals, or of their sums over units.

All releases are Gaussian, and the ratio of noise to sensitivity is fixed in advance, so the whole budget is one
Gaussian's. `docs/proofs/inference.md` has the proofs.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..data.rows import BoundedRows
from ..mechanisms import Channel
from ..privacy.calibration import gaussian_multiplier
from ..privacy.paper import concentrated_multiplier
from ..randomness import Bits
from ..statistics import (
    Gradients,
    WhitenedRows,
    clipped_squares,
    on_grid,
    score_counts,
    score_gram,
    unit_score_gram,
    whiten,
    whitened_gram,
)
from .base import Array, Evidence, Fit
from .clip_level import ClipLevels, ClipRule, clip_levels, late_edges, range_limit
from .closing import STEP
from .newton_step import closing_noise, explained, newton_step
from .options import PlannedFor, one_of, steps
from .path import Path
from .residual_bins import fitted_spread, release_residuals
from .whitening import SMALLEST, Listed, Space, Totals, WhiteningPlan, counted_rows, release_space, release_totals

CovType = Literal["HC1", "nonrobust", "cluster"]

CLOSING = 4  # gradients at the last limit
# Shares of the squared budget. Gram matrices get what seeing the curvature takes, within limits, and the last gradients
# get the rest.
_TOTALS, _LENGTHS, _COUNTS, _LATE_COUNTS, _LOCATING, _SCORES, _SQUARES = 0.04, 0.004, 0.016, 0.10, 0.06, 0.08, 0.03
_RESIDUALS = 0.03  # where residuals in bins are asked for
_GRAM, _THIRD_GRAM = (0.04, 0.15), (0.04, 0.25)
_WITHOUT_ROWS = 0.06, 0.08  # of the same where the number of rows is not public
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
    def gradient_noise(self) -> float:
        """Standard deviation of the noise on the mean of the last gradients, at limit 1."""
        return self.closing_multiplier / math.sqrt(CLOSING)

    @property
    def passes(self) -> int:
        """How often rows in memory are read."""
        return self.n_iterations + 9 + (self.score_multiplier is not None) + (self.residual_multiplier is not None)

    def _listed(self) -> list[Listed]:
        locating = [(self.locating_multiplier, "sum of shortened whitened gradients")] * (self.n_iterations - CLOSING)
        scores = "units' summed gradients" if self.cov_type == "cluster" else "whitened gradients"
        last = [] if self.score_multiplier is None else [(self.score_multiplier, f"outer products of {scores}")]
        if self.residual_multiplier is not None:
            last.append((self.residual_multiplier, "numbers of rows and sums of residuals, by fitted value"))
        return [
            *self._whitening(),
            (self.third_gram_multiplier, "X'X of shortened whitened rows, for the closing step"),
            *locating[: self.warm_up],
            (self.count_multiplier, "counts of lengths of whitened gradients"),
            *locating[self.warm_up :],
            (self.late_count_multiplier, "counts of lengths of whitened gradients, later"),
            *[(self.closing_multiplier, "sum of shortened whitened gradients, for the closing step")] * CLOSING,
            (self.square_multiplier, "sum of squared residuals"),
            *last,
        ]


def plan(
    given: PlannedFor,
    *,
    n_iterations: int = 12,
    cov_type: CovType = "HC1",
    clip: ClipRule = "auto",
    residual_plot: bool = False,
) -> InferencePlan:
    """Choose every number of a run from public ones.

    Parameters
    ----------
    given : PlannedFor
        What the plan is for. Accounting "exact" or "paper":
        Exact, or by zero-concentrated differential privacy, as the paper does for gradient descent.
    n_iterations : int
        Number of gradients, each with a pass over the data, at least 6; the last 4 close the fit.
    cov_type : "HC1", "nonrobust" or "cluster"
        Standard errors for the population: robust to unequal variances, classical, or robust to rows of one unit that
        belong together. The word is that of statsmodels.
    clip : "auto", "tail" or "range"
        How the limit of a row's gradient is chosen. "tail" assumes that large gradients are rare in a known way, and
        "range" assumes nothing, for more noise. "auto" takes the range rule where its noise is small, and for targets
        that are yes or no.
    residual_plot : bool
        Whether to release also mean residuals of rows with about the same fitted value, for 3% of the squared budget,
        and to count sizes of residuals more finely, for nothing.
    """
    count = steps("n_iterations", n_iterations, least=CLOSING + 2)
    noise = gaussian_multiplier(given.budget) if given.accounting == "exact" else concentrated_multiplier(given.budget)
    one_of("cov_type", cov_type, ("HC1", "nonrobust", "cluster"))
    one_of("clip", clip, ("auto", "tail", "range"))
    gram, third = _gram_shares(noise, given.n_rows, given.n_features)
    scores = 0.0 if cov_type == "nonrobust" else _SCORES
    fixed = _TOTALS + _LENGTHS + _COUNTS + _LATE_COUNTS + _LOCATING + _SQUARES + scores
    residuals = _RESIDUALS if one_of("residual_plot", residual_plot, (True, False)) else 0.0
    rest = 1.0 - fixed - 2.0 * gram - third - residuals
    return InferencePlan(
        **vars(given),
        n_iterations=count,
        warm_up=max(1, round(3 / 8 * (count - CLOSING))),
        cov_type=cov_type,
        clip=clip,
        noise=noise,
        totals_multiplier=noise / math.sqrt(_TOTALS),
        gram_multiplier=noise / math.sqrt(gram),
        second_gram_multiplier=noise / math.sqrt(gram),
        length_multiplier=noise / math.sqrt(_LENGTHS),
        third_gram_multiplier=noise / math.sqrt(third),
        count_multiplier=noise / math.sqrt(_COUNTS),
        late_count_multiplier=noise / math.sqrt(_LATE_COUNTS),
        locating_multiplier=noise * math.sqrt((count - CLOSING) / _LOCATING),
        closing_multiplier=noise * math.sqrt(CLOSING / rest),
        square_multiplier=noise / math.sqrt(_SQUARES),
        score_multiplier=None if cov_type == "nonrobust" else noise / math.sqrt(_SCORES),
        residual_multiplier=noise / math.sqrt(residuals) if residuals else None,
    )


def run(rows: BoundedRows, plan: InferencePlan, bits: Sequence[Bits]) -> Fit:
    """Follow the plan, once for each stream of bits."""
    rows, channel = rows.rounded_once(), Channel(bits)
    known, products = release_totals(rows, plan, channel)
    space = release_space(rows, plan, channel, known, products)
    row_limit = _row_limit(space)
    white = whiten(rows, space.metric, products)
    gram = channel.symmetric_gaussian(whitened_gram(white, limit=row_limit), multiplier=plan.third_gram_multiplier)
    gradients = Gradients(white)
    path = _located(rows, gradients, plan, channel, known, space)
    levels = _levels(rows, white, plan, channel, path, known, row_limit)
    point, gradient = _last_gradients(rows, gradients, plan, channel, path, levels.limit)
    theta = on_grid(rows, path.theta_at(point))
    exact = clipped_squares(rows, theta, residual_bound=levels.residual_bound)
    squares = channel.gaussian(exact, multiplier=plan.square_multiplier)
    scores, score_noise = _scores(white, plan, channel, theta, levels.score_limit)
    gram_noise = plan.third_gram_multiplier * row_limit**2
    step = newton_step(gram, gram_noise, gradient)
    closed = path.theta_at(point + step)
    transcript = {
        "metric": space.metric,
        "base": path.base,
        **_of_totals(rows, plan, known),
        "row_limits": np.column_stack((space.row_limits, row_limit)),
        "limits": np.array(path.limits).T,
        "gram": gram,
        "gram_noise": gram_noise,
        "point": point,
        "point_noise": _point_noise(plan, path),
        "gradient": gradient,
        "step": step,
        **_of_levels(plan, known, levels),
        "squares": squares[:, 0],
        "scores": scores,
        "score_noise": score_noise,
    }
    if plan.residual_multiplier is not None:
        spread = fitted_spread(gram, point + step, known, closed)
        bound = levels.residual_bound
        transcript |= release_residuals(rows, channel, closed, spread, bound, multiplier=plan.residual_multiplier)
        transcript |= {"size_edges": levels.edges / space.rms[:, None], "size_counts": levels.counts}
    return Fit(closed, channel.releases, transcript)


def evidence(plan: InferencePlan, fit: Fit, trial: int, constant: float | None) -> Evidence:
    """Judge one trial's fit by its own releases, against its own constant, or against zero without an intercept."""
    of = {name: values[trial] for name, values in fit.transcript.items()}
    gain, stddev, feigned = explained(of, intercept=constant is not None)
    # Least squares gains from pure noise too: a chi-square of as many degrees of freedom, times its variance. Sums over
    # units of several rows are counted in units, so that this holds even of rows that are all alike in a unit.
    slopes, variance = plan.n_features - (constant is not None), _largest_variance(plan, of)
    change, spread = slopes * variance + feigned - gain, math.hypot(stddev, math.sqrt(2.0 * slopes) * variance)
    shortened = float(of["shortened"])
    covariance = of["metric"] @ closing_noise(of) @ of["metric"].T
    return Evidence(covariance, change, spread, shortened, shortened > _MANY, counted_rows(fit, trial))


def _largest_variance(plan: InferencePlan, of: dict[str, Array]) -> float:
    """Return about the largest variance that residuals may have, as far as noise lets one tell; at most 1."""
    bound = float(of["residual_bound"]) ** 2
    room = (2.0 * plan.square_multiplier + float(of["lost"])) * bound
    return float(np.clip((float(of["squares"]) + room) / float(of["used"]), 0.0, 1.0))


def _gram_shares(noise: float, n_rows: int | None, n_features: int) -> tuple[float, float]:
    """Return the shares of the first two Gram matrices, each, and of the third."""
    if n_rows is None:
        return _WITHOUT_ROWS
    curvature = 2.25 * n_features * noise / n_rows  # the noise of a Gram matrix with the whole budget, over its size
    root = math.sqrt(2.0 * n_features)
    first, third = 2.0 * root * curvature, max(5.5, 1.25 * root) * curvature / 0.35
    return float(np.clip(first**2, *_GRAM)), float(np.clip(third**2, *_THIRD_GRAM))


def _used(rows: BoundedRows, plan: InferencePlan, known: Totals) -> Array:
    """Return how many rows are in use: a public number, or one that was released."""
    most = math.inf if plan.n_rows is None else float(plan.n_rows)
    return np.clip(known.count, most if rows.all_in_use and plan.n_rows is not None else 1.0, most)


def _row_limit(space: Space) -> Array:
    """Return the limit of rows in the last coordinates: that of the second Gram matrix, as the whitening scales it."""
    scales = np.linalg.svd(space.inner, compute_uv=False)
    return np.maximum(space.row_limits[:, 1] * np.median(scales, axis=1), SMALLEST)


def _located(
    rows: BoundedRows, gradients: Gradients, plan: InferencePlan, channel: Channel, known: Totals, space: Space
) -> Path:
    """Take the first gradient steps, and stand at the mean of where they lead."""
    base = np.zeros((channel.trials, plan.n_features))
    if (constant := rows.row_map.constant) is not None:
        base[:, -1] = known.target / constant
    path = Path(plan, space, base, known.target_rms * space.rms)
    count = plan.n_iterations - CLOSING
    for step in range(count):
        theta = path.at(on_grid(rows, path.theta))
        if step != plan.warm_up - 1:
            exact = gradients.at(theta, limit=path.limit, reach=path.reach())
            path.move(channel.gaussian(exact, multiplier=plan.locating_multiplier))
            continue
        exact, exact_counts = gradients.with_counts(theta, limit=path.limit, edges=path.edges)
        path.move(channel.gaussian(exact, multiplier=plan.locating_multiplier))
        counts = channel.gaussian(exact_counts, multiplier=plan.count_multiplier)
        mu = math.hypot(math.sqrt(count) / plan.locating_multiplier, 1.0 / plan.gradient_noise)
        path.limit = path.first_level(counts, plan.count_multiplier, known.used, mu)
    after = slice(plan.warm_up, None)
    path.point = np.mean(np.array(path.points[after]) + np.array(path.gradients[after]), axis=0)
    return path


def _levels(
    rows: BoundedRows,
    white: WhitenedRows,
    plan: InferencePlan,
    channel: Channel,
    path: Path,
    known: Totals,
    row_limit: Array,
) -> ClipLevels:
    """Choose the limits by counts of gradient lengths where the first steps have led."""
    longest = range_limit(row_limit, known)
    edges = late_edges(path.scale, longest, fine=plan.residual_multiplier is not None)
    exact = score_counts(white, path.at(on_grid(rows, path.theta)), edges=edges)
    counts = channel.gaussian(exact, multiplier=plan.late_count_multiplier)
    return clip_levels(
        counts,
        edges,
        plan.late_count_multiplier,
        plan.gradient_noise,
        known,
        path.space.rms,
        longest,
        path.limit,
        rule=plan.clip,
        n_rows=plan.n_rows if rows.all_in_use else None,
    )


def _of_totals(rows: BoundedRows, plan: InferencePlan, known: Totals) -> dict[str, Array]:
    """Return what the transcript holds of the totals."""
    return {
        "used": _used(rows, plan, known),
        "used_noise": known.noise * known.mass * (plan.n_rows is None or not rows.all_in_use),
        "row_means": known.noisy_features,
        "target_mean": known.noisy_target,
        "target_squares": known.target_squares,
        "mass": known.mass,
        "mean_noise": known.noise,
    }


def _of_levels(plan: InferencePlan, known: Totals, levels: ClipLevels) -> dict[str, Array]:
    """Return what the transcript holds of the limits of gradients."""
    return {
        "gradient_noise": plan.gradient_noise * levels.limit,
        "by_range": levels.by_range,
        "unseen": levels.unseen,
        "shortened": np.minimum(levels.above / known.used, 1.0),
        "residual_bound": levels.residual_bound,
        "lost": levels.lost,
        "score_limit": levels.score_limit,
    }


def _last_gradients(
    rows: BoundedRows, gradients: Gradients, plan: InferencePlan, channel: Channel, path: Path, limit: Array
) -> tuple[Array, Array]:
    """Release the last gradients at one limit; return the means of their points and of themselves."""
    path.limit = limit
    for _ in range(CLOSING):
        exact = gradients.at(path.at(on_grid(rows, path.theta)), limit=limit, reach=path.reach())
        path.move(channel.gaussian(exact, multiplier=plan.closing_multiplier))
    return np.mean(path.points[-CLOSING:], axis=0), np.mean(path.gradients[-CLOSING:], axis=0)


def _point_noise(plan: InferencePlan, path: Path) -> Array:
    """Return the standard deviation of the noise in the mean of the last points, where curvature does not damp it."""
    first, late, last = path.limits[0], path.limits[plan.warm_up], path.limits[-1]
    counted = plan.n_iterations - CLOSING - plan.warm_up
    # The steps to a point add up, and the mean over later points takes a third of their variance.
    located = STEP**2 * plan.warm_up * first**2 + (1.0 / counted + STEP**2 * counted / 3.0) * late**2
    weights = STEP * np.arange(CLOSING) / CLOSING  # of the last gradients in the mean of their points
    closing = float(weights @ weights) * (plan.closing_multiplier * last) ** 2
    return np.asarray(np.sqrt(plan.locating_multiplier**2 * located + closing))


def _scores(
    white: WhitenedRows, plan: InferencePlan, channel: Channel, theta: Array, limit: Array
) -> tuple[Array, Array]:
    """Release the Gram matrix of gradients of rows, or of units, and return it with its noise.

    Where units have several rows, gradients and Gram matrices are counted in units. What stands between two inverses of
    such is then divided by rows per unit twice.
    """
    units = white.rows_per_unit
    if plan.score_multiplier is None:
        return np.zeros_like(white.metric), np.zeros(len(limit))
    if plan.cov_type == "cluster":
        exact = unit_score_gram(white, theta, limit=units * limit)
        noisy = channel.symmetric_gaussian(exact, multiplier=plan.score_multiplier)
        return noisy / units**2, plan.score_multiplier * limit**2
    noisy = channel.symmetric_gaussian(score_gram(white, theta, limit=limit), multiplier=plan.score_multiplier)
    return noisy / units, plan.score_multiplier * limit**2 / units
