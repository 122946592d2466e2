"""Generalised linear models with intervals: maximum likelihood by a closing step of its own, without shrinkage.

1. Start at the private base rate in whitened coordinates, as in `generalised.py`.
2. Find the place: a few gradients, shortened as there.
3. Release the curvature at that place, the Gram matrix of rows times the root of their slopes.
4. Choose one limit for the gradients of rows, and release the last gradients at it, with Newton steps in between. What
   each point and its Newton step say together is maximum likelihood but for noise of known covariance, for what the
   limit loses, and for a term of second order in the length of that step, which is judged.
5. Release what the spread of maximum likelihood itself is computed from: the Gram matrix of rows times residuals, or of
   their sums over units; and the deviance, here and of the base rate.

All releases are Gaussian, and the ratio of noise to sensitivity is fixed in advance, so the whole budget is one
Gaussian's. `docs/proofs/inference.md` has the proofs.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..data.rows import BoundedRows
from ..families import FamilyName
from ..mechanisms import Channel
from ..randomness import Bits
from ..statistics import (
    WhitenedRows,
    deviances,
    length_counts,
    mean_gradient,
    mean_gradient_and_counts,
    predictor_point,
    sloped_counts,
    sloped_gram,
    whiten,
)
from .base import Array, Evidence, Fit
from .calibration_bins import CALIBRATION, CALIBRATION_NAME, release_calibration
from .clip_level import ClipLevels, ClipRule
from .closing_inference import (
    CLOSING,
    CovType,
    InferencePlan,
    gram_shares,
    point_noise,
    release_levels,
    release_scores,
    transcript_of,
)
from .closing_inference import evidence as evidence_of_curvature
from .generalised_path import GeneralisedPath, StepsPlan, response_of, start_path
from .last_gradients import last_gradients
from .newton_step import newton_step
from .options import PlannedFor, one_of, steps
from .path_gain import with_paid_deviance
from .whitening import SMALLEST, Listed, level_of, release_space, release_totals

# Shares of the squared budget. Gram matrices get what seeing the curvature takes, and the last gradients get the rest.
_TOTALS, _LENGTHS, _COUNTS, _LONG, _LOCATING, _SCORES, _DEVIANCE = 0.04, 0.004, 0.016, 0.015, 0.08, 0.08, 0.03
_LATE_COUNTS = 0.10  # only where the limit of gradients is not that of the range
_APART = 2.5  # standard deviations by which linear predictors differ from the base rate's, where deviances are cut
_EDGES = 2.0 ** np.arange(0.0, 10.0)  # in units of a typical length; few, as noise adds up over counts
_WITHIN = 1.2  # times the length that counts say: many rows may have that very length, and edges lie apart
_ABOVE = 2.0  # standard deviations of a count of long rows: so many may lie above a limit
_SKEWED = 1.5  # times the tail rule's limit: large residuals of counts are all of one sign, and do not cancel
_FREE = 0.05  # of the curvature: noise that is hardly felt


@dataclass(frozen=True)
class GeneralisedInferencePlan(InferencePlan, StepsPlan):
    """Every public number of a run."""

    long_multiplier: float  # of counts of lengths, and of lengths times the roots of slopes
    calibration_multiplier: float | None  # None where calibration is not asked for

    @property
    def passes(self) -> int:
        """How often rows in memory are read."""
        return super().passes + (self.calibration_multiplier is not None)

    def _listed(self) -> list[Listed]:
        locating = [(self.locating_multiplier, "sum of clipped gradients of whitened rows")] * self.turn
        scores = "units' summed gradients" if self.cov_type == "cluster" else "whitened gradients"
        late = [(self.late_count_multiplier, "counts of lengths of whitened gradients, later")]
        last = [] if self.score_multiplier is None else [(self.score_multiplier, f"outer products of {scores}")]
        return [
            *self._whitening(),
            *locating[: self.warm_up],
            (self.count_multiplier, "counts of lengths of whitened gradients"),
            *locating[self.warm_up :],
            (self.long_multiplier, "counts of whitened lengths, later"),
            (self.long_multiplier, "counts of whitened lengths times the roots of slopes"),
            (self.third_gram_multiplier, "curvature: X'WX of clipped whitened rows, for the last step"),
            *([] if self.clip == "range" else late),
            *[(self.closing_multiplier, "sum of clipped gradients of whitened rows, for the last step")] * CLOSING,
            (self.square_multiplier, "deviance, and that of the base rate"),
            *last,
            *([] if self.calibration_multiplier is None else [(self.calibration_multiplier, CALIBRATION_NAME)]),
        ]


def plan(
    given: PlannedFor,
    family: FamilyName,
    *,
    n_iterations: int,
    cov_type: CovType,
    clip: ClipRule,
    calibration: bool,
) -> GeneralisedInferencePlan:
    """Choose every number of a run from public ones.

    Parameters
    ----------
    given : PlannedFor
        What the plan is for. Accounting "exact" or "paper":
        Exact, or by zero-concentrated differential privacy, as the paper does for gradient descent.
    family : str
        The family of outcomes.
    n_iterations : int
        Number of gradients, each with a pass over the data, at least 6; the last 4 close the fit.
    cov_type : "HC1", "nonrobust" or "cluster"
        Standard errors for the population: robust to variances other than the family's, by the curvature alone, or
        robust to rows of one unit that belong together. The word is that of statsmodels.
    clip : "auto", "tail" or "range"
        How the limit of a row's gradient is chosen, as for least squares.
    calibration : bool
        Whether to release also outcomes and predictions of rows with about the same prediction, for 3% of the squared
        budget.
    """
    count = steps("n_iterations", n_iterations, least=CLOSING + 2)
    noise = given.noise_of_all()
    one_of("cov_type", cov_type, ("HC1", "nonrobust", "cluster"))
    one_of("clip", clip, ("auto", "tail", "range"))
    gram, third = gram_shares(noise, given.n_rows, given.n_features)
    scores, late = _SCORES * (cov_type != "nonrobust"), _LATE_COUNTS * (clip != "range")
    fixed = _TOTALS + _LENGTHS + _COUNTS + 2.0 * _LONG + _LOCATING + _DEVIANCE + scores + late
    binned = CALIBRATION if one_of("calibration", calibration, (True, False)) else 0.0
    rest = 1.0 - fixed - 2.0 * gram - third - binned
    locating = noise * math.sqrt((count - CLOSING) / _LOCATING)
    return GeneralisedInferencePlan(
        **vars(given),
        family=family,
        n_iterations=count,
        warm_up=max(1, round(3 / 8 * (count - CLOSING))),
        turn=count - CLOSING,
        sloped_multiplier=None,
        gradient_multiplier=locating,
        cov_type=cov_type,
        clip=clip,
        noise=noise,
        totals_multiplier=noise / math.sqrt(_TOTALS),
        gram_multiplier=noise / math.sqrt(gram),
        second_gram_multiplier=noise / math.sqrt(gram),
        length_multiplier=noise / math.sqrt(_LENGTHS),
        third_gram_multiplier=noise / math.sqrt(third),
        count_multiplier=noise / math.sqrt(_COUNTS),
        long_multiplier=noise / math.sqrt(_LONG),
        late_count_multiplier=noise / math.sqrt(_LATE_COUNTS),
        locating_multiplier=locating,
        closing_multiplier=noise * math.sqrt(CLOSING / rest),
        square_multiplier=noise / math.sqrt(_DEVIANCE),
        score_multiplier=None if cov_type == "nonrobust" else noise / math.sqrt(_SCORES),
        residual_multiplier=None,
        calibration_multiplier=noise / math.sqrt(binned) if binned else None,
    )


def plan_logistic(
    given: PlannedFor,
    *,
    n_iterations: int = 14,
    cov_type: CovType = "HC1",
    clip: ClipRule = "range",
    calibration: bool = False,
) -> GeneralisedInferencePlan:
    """Plan a fit of yes/no outcomes with intervals. The range rule costs little for them, and assumes nothing."""
    return plan(given, "binomial", n_iterations=n_iterations, cov_type=cov_type, clip=clip, calibration=calibration)


def plan_poisson(
    given: PlannedFor,
    *,
    n_iterations: int = 14,
    cov_type: CovType = "HC1",
    clip: ClipRule = "auto",
    calibration: bool = False,
) -> GeneralisedInferencePlan:
    """Plan a fit of counts with intervals."""
    return plan(given, "poisson", n_iterations=n_iterations, cov_type=cov_type, clip=clip, calibration=calibration)


def run(rows: BoundedRows, plan: GeneralisedInferencePlan, bits: Sequence[Bits]) -> Fit:
    """Follow the plan, once for each stream of bits."""
    rows, channel = rows.bounded_once(), Channel(bits)
    row_map = rows.row_map
    response = response_of(plan.family, row_map)
    known, products = release_totals(rows, plan, channel)
    space = release_space(rows, plan, channel, known, products)
    path = start_path(plan, response, known, space, row_map.constant)
    white = whiten(rows, path.space.metric)
    _locate(white, plan, channel, path)
    here = path.at(predictor_point(rows, path.theta))
    row_limit = _long_rows(white, plan, channel, path)
    gram, sloped_limit = _curvature(white, plan, channel, path, here)
    gram_noise = plan.third_gram_multiplier * sloped_limit**2
    levels = _levels(white, plan, channel, path, here, row_limit)
    closing = last_gradients(white, plan, channel, path, levels.limit, gram, gram_noise)
    point = closing.point
    theta = predictor_point(rows, path.theta_at(point))
    null = path.base[:, -1] * (row_map.constant or 0.0)
    bound = _deviance_bound(path, null + path.offset, levels, point)
    exact = deviances(rows, theta, response, null=null, bound=bound)
    deviance = channel.gaussian(exact, multiplier=plan.square_multiplier)
    scores, score_noise = release_scores(white, plan, channel, theta, levels.score_limit, response)
    step = newton_step(gram, gram_noise, closing.gradient)
    gain, gain_variance = path.gain.of_mean(closing.weights)
    end = path.near(closing.start, point + step)
    transcript = {
        **transcript_of(rows, plan, known, path, levels),
        "row_limits": np.column_stack((space.row_limits, sloped_limit)),
        "gram": gram,
        "gram_noise": gram_noise,
        "point": point,
        "point_noise": point_noise(plan, path),
        "gradient": closing.gradient,
        "gradient_noise": closing.noise,
        "step": step,
        "misfit": closing.misfit,
        "travelled": point + step - closing.start,
        "slope": path.slope,
        "chance": known.target_spread**2 / path.slope,
        "squares": deviance[:, 0],
        "null_squares": deviance[:, 1],
        "deviance_bound": bound,
        "scale": np.full(channel.trials, response.scale),
        "last_way": end - point,
        "path_gain": gain,
        "path_variance": gain_variance,
        "base_loss": path.base_loss(),
        "scores": scores,
        "score_noise": score_noise,
    }
    # Where noise would lead far away, and there are no intervals, the fit is to predict sensibly all the same.
    theta = path.theta_at(end)
    if plan.calibration_multiplier is not None:
        transcript |= release_calibration(rows, channel, path, theta, multiplier=plan.calibration_multiplier)
    return Fit(theta, channel.releases, transcript)


def evidence(plan: GeneralisedInferencePlan, fit: Fit, trial: int, constant: float | None) -> Evidence:
    """Judge one trial's fit by its own releases, against its own base rate, or against zero without an intercept."""
    judged = evidence_of_curvature(plan, fit, trial, constant)
    of = {name: values[trial] for name, values in fit.transcript.items()}
    return with_paid_deviance(judged, of, plan.n_features - (constant is not None), plan.square_multiplier)


def _locate(white: WhitenedRows, plan: GeneralisedInferencePlan, channel: Channel, path: GeneralisedPath) -> None:
    """Take the first gradient steps, and stand at the mean of where they lead."""
    for step in range(plan.turn):
        theta = path.at(predictor_point(white.bounded, path.theta))
        if step != plan.warm_up - 1:
            exact = mean_gradient(white, theta, path.response, limit=path.limit)
            path.move(channel.gaussian(exact, multiplier=plan.locating_multiplier))
            continue
        exact, exact_counts = mean_gradient_and_counts(white, theta, path.response, limit=path.limit, edges=path.edges)
        path.move(channel.gaussian(exact, multiplier=plan.locating_multiplier))
        counts = channel.gaussian(exact_counts, multiplier=plan.count_multiplier)
        mu = math.hypot(math.sqrt(plan.turn) / plan.locating_multiplier, 1.0 / plan.gradient_noise)
        path.limit = np.maximum(path.first_level(counts, plan.count_multiplier, path.known.used, mu), path.floor)
    path.settle(plan.warm_up)


def _few_above(
    plan: GeneralisedInferencePlan, path: GeneralisedPath, counts: Array, edges: Array, most: Array
) -> Array:
    """Return a length above which hardly any rows are seen, by noisy counts; none is longer than ``most``."""
    used = path.known.used
    allowed = np.minimum(_ABOVE * plan.long_multiplier, 0.1 * used)
    limit = level_of(counts, edges, plan.long_multiplier, 1.0, allowed, used, most, plan.n_rows)
    return np.maximum(np.minimum(_WITHIN * limit, most), SMALLEST)


def _long_rows(white: WhitenedRows, plan: GeneralisedInferencePlan, channel: Channel, path: GeneralisedPath) -> Array:
    """Return a length that hardly any row exceeds."""
    edges = np.vstack((np.zeros(channel.trials), _EDGES[:, None] * path.space.rms))
    counts = channel.gaussian(length_counts(white, edges=edges), multiplier=plan.long_multiplier)
    return _few_above(plan, path, counts, edges, path.space.longest)


def _curvature(
    white: WhitenedRows, plan: GeneralisedInferencePlan, channel: Channel, path: GeneralisedPath, theta: Array
) -> tuple[Array, Array]:
    """Release the curvature at theta, of rows within a limit that hardly any exceed; return it with the limit."""
    most = path.space.longest * math.sqrt(path.response.steepest)
    edges = np.vstack((np.zeros(channel.trials), _EDGES[:, None] * np.sqrt(path.slope) * path.space.rms))
    exact_counts = sloped_counts(white, theta, path.response, edges=edges)
    counts = channel.gaussian(exact_counts, multiplier=plan.long_multiplier)
    limit = _few_above(plan, path, counts, edges, most)
    limit = np.minimum(np.maximum(limit, math.sqrt(_FREE / plan.third_gram_multiplier)), most)
    exact = sloped_gram(white, theta, path.response, limit=limit)
    return channel.symmetric_gaussian(exact, multiplier=plan.third_gram_multiplier), limit


def _levels(
    white: WhitenedRows,
    plan: GeneralisedInferencePlan,
    channel: Channel,
    path: GeneralisedPath,
    theta: Array,
    row_limit: Array,
) -> ClipLevels:
    """Choose the limit of gradients: by counts of their lengths, or by the longest that residuals can make them."""
    if plan.clip != "range":
        levels = release_levels(white, plan, channel, path, path.known, theta, row_limit, path.response)
        higher = np.minimum(_SKEWED * levels.limit, np.maximum(2.0 * row_limit, levels.limit))
        return replace(levels, limit=np.where(levels.by_range, levels.limit, higher))
    limit, nothing = np.maximum(2.0 * row_limit, SMALLEST), np.zeros(len(row_limit))
    return ClipLevels(
        limit=limit,
        score_limit=limit,
        residual_bound=np.full(len(limit), 2.0),
        unseen=nothing,
        lost=nothing,
        power=np.full(len(limit), np.inf),
        above=nothing,
        doubtful=np.zeros(len(limit), dtype=bool),
        by_range=np.ones(len(limit), dtype=bool),
        edges=limit[:, None],
        counts=nothing[:, None],
    )


def _deviance_bound(path: GeneralisedPath, null: Array, levels: ClipLevels, point: Array) -> Array:
    """Return at which size the deviance of a row is cut: that of an outcome at the far end of its range.

    The end is as far from the mean as the limit of residuals says, and predictors spread as the releases say.
    """
    response, apart = path.response, _APART * path.spread(path.theta_at(point))
    high = np.minimum(response.high, response.mean(null) + response.scale * levels.residual_bound)
    ends = response.deviance(np.zeros_like(null), null + apart), response.deviance(high, null - apart)
    return np.asarray(np.maximum(*ends))
