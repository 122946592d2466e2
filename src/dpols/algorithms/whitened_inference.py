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

import numpy as np

from ..data.rows import BoundedRows
from ..mechanisms import Channel
from ..randomness import Bits
from ..statistics import (
    Gradients,
    clipped_squares,
    on_grid,
    whiten,
    whitened_gram,
)
from .base import Array, Fit
from .clip_level import ClipRule
from .closing_inference import (
    CLOSING,
    CovType,
    InferencePlan,
    gram_limit_of,
    gram_shares,
    misfit_of,
    point_noise,
    release_levels,
    release_scores,
    row_limit_of,
    transcript_of,
)
from .closing_inference import evidence as evidence
from .newton_step import newton_step
from .options import PlannedFor, one_of, steps
from .path import Path
from .residual_bins import fitted_spread, release_residuals
from .whitening import Space, Totals, release_space, release_totals

# Shares of the squared budget. Gram matrices get what seeing the curvature takes, and the last gradients get the rest.
_TOTALS, _LENGTHS, _COUNTS, _LATE_COUNTS, _LOCATING, _SCORES, _SQUARES = 0.04, 0.004, 0.016, 0.10, 0.06, 0.08, 0.03
_FIRST_NOISE = 0.3  # of the targets' spread, for which the first gradients, which are long, are shortened less
_LONGEST_FIRST = 4.0  # typical gradients: the first ones are shortened to no more
_RESIDUALS = 0.03  # where residuals in bins are asked for


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
    noise = given.noise_of_all()
    one_of("cov_type", cov_type, ("HC1", "nonrobust", "cluster"))
    one_of("clip", clip, ("auto", "tail", "range"))
    gram, third = gram_shares(noise, given.n_rows, given.n_features)
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
    rows, channel = rows.bounded_once(), Channel(bits)
    known, products = release_totals(rows, plan, channel)
    space = release_space(rows, plan, channel, known, products)
    white = whiten(rows, space.metric, products)
    gram_limit = gram_limit_of(space, plan)
    gram = channel.symmetric_gaussian(whitened_gram(white, limit=gram_limit), multiplier=plan.third_gram_multiplier)
    gradients = Gradients(white)
    path = _located(rows, gradients, plan, channel, known, space)
    here = path.at(on_grid(rows, path.theta))
    levels = release_levels(white, plan, channel, path, known, here, row_limit_of(space))
    point, gradient = _last_gradients(rows, gradients, plan, channel, path, levels.limit)
    theta = on_grid(rows, path.theta_at(point))
    exact = clipped_squares(rows, theta, residual_bound=levels.residual_bound)
    squares = channel.gaussian(exact, multiplier=plan.square_multiplier)
    scores, score_noise = release_scores(white, plan, channel, theta, levels.score_limit)
    gram_noise = plan.third_gram_multiplier * gram_limit**2
    step = newton_step(gram, gram_noise, gradient)
    closed = path.theta_at(point + step)
    transcript = {
        **transcript_of(rows, plan, known, path, levels),
        "row_limits": np.column_stack((space.row_limits, gram_limit)),
        "gram": gram,
        "gram_noise": gram_noise,
        "point": point,
        "point_noise": point_noise(plan, path),
        "gradient": gradient,
        "step": step,
        "misfit": misfit_of(path, gram, plan.closing_multiplier * levels.limit),
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


def _located(
    rows: BoundedRows, gradients: Gradients, plan: InferencePlan, channel: Channel, known: Totals, space: Space
) -> Path:
    """Take the first gradient steps, and stand at the mean of where they lead."""
    base = np.zeros((channel.trials, plan.n_features))
    if (constant := rows.row_map.constant) is not None:
        base[:, -1] = known.target / constant
    path = Path(plan, space, base, known.target_rms * space.rms)
    room = _FIRST_NOISE / (space.rms * plan.locating_multiplier)
    path.limit = np.clip(room * path.size, path.limit, _LONGEST_FIRST * path.size)
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


def _last_gradients(
    rows: BoundedRows, gradients: Gradients, plan: InferencePlan, channel: Channel, path: Path, limit: Array
) -> tuple[Array, Array]:
    """Release the last gradients at one limit; return the means of their points and of themselves."""
    path.limit = limit
    for _ in range(CLOSING):
        exact = gradients.at(path.at(on_grid(rows, path.theta)), limit=limit, reach=path.reach())
        path.move(channel.gaussian(exact, multiplier=plan.closing_multiplier))
    return np.mean(path.points[-CLOSING:], axis=0), np.mean(path.gradients[-CLOSING:], axis=0)
