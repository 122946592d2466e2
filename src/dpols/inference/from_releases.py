"""What a fit released says of its coefficients, in the user's units (`docs/inference.md`)."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..algorithms import Fit
from ..algorithms.clip_level import HEAVY, MOST_UNSEEN, tail_allowance
from ..algorithms.closing_inference import CLOSING, InferencePlan
from ..algorithms.generalised_inference import GeneralisedInferencePlan
from ..algorithms.newton_step import inverse_of, step_noise
from ..data import RowMap
from ..families import FamilyName, Response
from .intervals import FAR, HIDDEN, MORE_STEPS, ON_THE_WAY, REMEDY, UNSURE, Estimate, Inference, centring

Array = np.ndarray[Any, np.dtype[Any]]

_LEAST_EIGENVALUE = 2.5  # of the released X'X over its noise's standard deviation: no intervals below
_SURE_EIGENVALUE = 4.0  # along directions that an interval may depend on, likewise
_SURE_OF_ALL = 1.0  # the same in units of the operator norm of the noise
_MISFIT = 0.3  # standard errors, between gradients at several points, beyond what curvature and noise explain
_FURTHEST = 0.5  # of linear predictors, between the points of a closing step and its end
_MOST_BY_NOISE = 0.5  # share of that which is noise, below which noise is not the reason
_NAMED, _MOST_NAMED = 0.2, 3  # least part of a column in what is not told apart, and how many are named
_LEAST_SCORES = 0.25  # of the noise: eigenvalues of the Gram matrix of scores are taken for no less

TAIL = (
    "Assumed: where noisy counts show no more rows, the number of rows whose effect on the fit exceeds x falls at "
    "least as fast as 1 / x^4 or an exponential law, or as 1 / x^1.5 where the counts show a slow fall. If a few rows "
    "may have huge targets, or values far beyond those of others in a column, such as incomes, fit with "
    'options={"clip": "range"}, which does not assume this.'
)
DOUBTFUL = (
    "The counts suggest a slower fall than this, so these intervals may be too narrow: a fit with "
    'options={"clip": "range"} is safe.'
)
SQUARES = (
    "Assumed for R^2 and the residual variance: where noisy counts show no more rows, the number of rows whose "
    "residual exceeds x falls at least as fast as 1 / x^3."
)
CLASSICAL_INSTEAD = "The noise hides robust standard errors: these are classical, for errors of equal variance."

MODEL_INSTEAD = "The noise hides robust standard errors: these take the model's probabilities to be true."


def infer(
    plan: InferencePlan,
    fit: Fit,
    row_map: RowMap,
    names: Sequence[str],
    *,
    n_rows: int | None,
    rows_per_unit: int = 1,
    trial: int = 0,
) -> Inference:
    """Make of one trial's releases what they say of the coefficients in the user's units.

    Where units have several rows, released sums are in multiples of ``rows_per_unit``.
    """
    of = {name: values[trial] for name, values in fit.transcript.items()}
    d, intercept, model = plan.n_features, row_map.intercept is not None, _Model.of(plan, row_map)
    matrix, offset = (part[:d] for part in row_map.coefficient_map())
    outer = matrix @ of["metric"]
    inverse, values = inverse_of(of["gram"], float(of["gram_noise"]))
    mapped = outer @ inverse
    used = float(of["used"]) * rows_per_unit
    free = max(used - d, 1.0)
    sums = _sums_of_squares(plan, of, inverse, model, intercept=intercept)
    # As if weights were divided by their mean, so that their unit does not matter.
    typical = float(of["mass"]) / float(of["used"]) if row_map.max_weight is not None else 1.0
    unit = model.squares * rows_per_unit / (free * typical)
    residual, total = (Estimate(*(unit * x for x in pair)) for pair in sums)
    if row_map.max_weight is not None:
        residual = _with_noisy_mean_weight(residual, float(of["mean_noise"]))
    allowance = 0.0 if of["by_range"] else tail_allowance(plan.gradient_noise, d) * float(of["gradient_noise"]) ** 2
    reasons = _reasons(plan, of, model, smallest=float(values[0]), alike=_alike(of, names))
    found = Inference(
        names=tuple(names),
        n_rows=n_rows,
        rows_used=used,
        rows_noise=float(of["used_noise"]) * rows_per_unit,
        intercept=intercept,
        cov_type=plan.cov_type,
        estimate=matrix @ fit.theta[trial] + offset,
        privacy_covariance=_square(mapped, step_noise(of) + allowance * np.eye(d)),
        sampling_covariance=_square(mapped, _scores(of) * _correction(plan, used, rows_per_unit)),
        unscaled_covariance=mapped @ outer.T * typical / (model.variance * rows_per_unit),
        spread=mapped @ mapped.T,
        unsure_spread=_unsure_spread(plan, of, outer),
        gram_noise=float(of["gram_noise"]) * typical / (model.variance * rows_per_unit),
        score_noise=float(of["score_noise"]),
        freedom=max(used / rows_per_unit - 1.0, 1.0) if plan.cov_type == "cluster" else free,
        residual_variance=residual,
        target_variance=total,
        assumptions=_assumptions(of),
        reasons=reasons,
        population_reasons=(),
        family=model.family,
    )
    heavy = float(of["power"]) < HEAVY
    return _with_reasons(_classical_where_needed(found, heavy=heavy), rows_per_unit)


def _assumptions(of: dict[str, Array]) -> tuple[str, ...]:
    """Return what intervals assume of rows that counts do not show, and what speaks against it."""
    if of["by_range"]:
        return (SQUARES,) if of["lost"] > 0.0 else ()
    return (TAIL, DOUBTFUL) if of["doubtful"] else (TAIL,)


class _Model(NamedTuple):
    """The family of a fit, and what its released units stand for in the user's."""

    family: FamilyName
    squares: float  # a unit of the released sums of squares, or of deviances
    variance: float  # a unit of squared residuals over one of curvature
    gained: float  # a unit of what a step gains in the quadratic of gradient and curvature, in released sums

    @classmethod
    def of(cls, plan: InferencePlan, row_map: RowMap) -> "_Model":
        if not isinstance(plan, GeneralisedInferencePlan):
            return cls("gaussian", row_map.target_scale**2, row_map.target_scale**2, 1.0)
        scale = Response.of(plan.family, row_map.target, row_map.target_centre, row_map.target_scale).scale
        return cls(plan.family, 1.0, scale, scale)


def _sums_of_squares(
    plan: InferencePlan, of: dict[str, Array], inverse: Array, model: _Model, *, intercept: bool
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the residuals' sum of squares at least squares, and that of the targets, with standard deviations.

    The first lies below the one at the point by step'X'X step, of which the noise in the released step feigns a trace.
    Of other families these are the deviances of maximum likelihood and of the base rate.
    """
    step, noise = of["step"], step_noise(of)
    feigned = float(of["gradient_noise"]) ** 2 * float(np.trace(inverse))
    gained = model.gained * (float(of["gradient"] @ step) - feigned)
    spread = inverse @ noise
    variance = model.gained**2 * (4.0 * float(step @ noise @ step) + 2.0 * float(np.sum(spread * spread.T)))
    if model.family == "gaussian":
        bound = float(of["residual_bound"])
        variance += (plan.square_multiplier * bound**2) ** 2 + (float(of["lost"]) * bound**2) ** 2
        total = _target_squares(of, intercept=intercept)
    else:
        stddev = math.sqrt(2.0) * plan.square_multiplier * float(of["deviance_bound"])
        variance += stddev**2 + (float(of["lost"]) * float(of["deviance_bound"])) ** 2
        total = float(of["null_squares"]), stddev
    return (float(of["squares"]) - gained, math.sqrt(max(variance, 0.0))), total


def _target_squares(of: dict[str, Array], *, intercept: bool) -> tuple[float, float]:
    """Return the targets' sum of squares about their mean, or about 0, from the totals, with its standard deviation."""
    used, mean, noise = float(of["mass"]), float(of["target_mean"]), float(of["mean_noise"])
    square = float(of["target_squares"])
    if not intercept:
        return used * square, used * noise
    # The released number is twice the sum of targets, whose noise adds to the square of the mean.
    about_mean = square - mean**2 + 0.25 * noise**2
    return used * about_mean, used * noise * math.sqrt(1.0 + mean**2 + mean**4)


def _with_noisy_mean_weight(variance: Estimate, noise: float) -> Estimate:
    """Return a variance that was divided by a noisy mean weight, of which ``noise`` is the relative error."""
    value, stddev = variance
    assert value is not None
    assert stddev is not None
    return Estimate(value, math.hypot(stddev, noise * value))


def _scores(of: dict[str, Array]) -> Array:
    """Return the released Gram matrix of scores; noise does not leave it less than a small part of itself."""
    values, vectors = np.linalg.eigh(of["scores"])
    return np.asarray((vectors * np.maximum(values, _LEAST_SCORES * float(of["score_noise"]))) @ vectors.T)


def scores_are_floored(of: dict[str, Array]) -> bool:
    """Whether standard errors for the population count more than the released Gram matrix of scores shows."""
    return bool(np.linalg.eigvalsh(of["scores"])[0] < _LEAST_SCORES * float(of["score_noise"]))


def _correction(plan: InferencePlan, used: float, rows_per_unit: int) -> float:
    """Return the factors of HC1 and CR1 for few rows; there are at least used / rows_per_unit units."""
    rows = used / max(used - plan.n_features, 1.0)
    if plan.cov_type != "cluster":
        return rows
    units = max(used / rows_per_unit, 2.0)
    return rows * (used - 1.0) / used * units / (units - 1.0)


def _unsure_spread(plan: InferencePlan, of: dict[str, Array], outer: Array) -> Array:
    """Return the part of the spread along directions in which the features vary too little against the noise."""
    noise = float(of["gram_noise"])
    inverse, _ = inverse_of(of["gram"], noise)
    values, vectors = np.linalg.eigh(of["gram"])
    sure = noise * max(_SURE_EIGENVALUE, _SURE_OF_ALL * math.sqrt(2.0 * plan.n_features))
    along = outer @ inverse @ vectors[:, values < sure]
    return np.asarray(along @ along.T)


def _square(mapped: Array, inner: Array) -> Array:
    return np.asarray(mapped @ inner @ mapped.T)


def _classical_where_needed(found: Inference, *, heavy: bool) -> Inference:
    """Return classical standard errors in place of robust ones where that is asked for, or noise hides the latter.

    Where rare rows are seen to have large effects, classical ones would not count these, and are no substitute.
    """
    sigma2, stddev = found.dispersion
    assert sigma2 is not None
    assert stddev is not None
    classical = replace(
        found,
        cov_type="nonrobust",
        sampling_covariance=max(sigma2, _LEAST_SCORES * stddev) * found.unscaled_covariance,
        score_noise=0.0,
    )
    if found.cov_type == "nonrobust":
        return classical
    shown = [np.isnan(each.standard_errors()).sum() for each in (found, classical)]
    # Counts vary more than the family says, so that its variances would be no substitute.
    if heavy or found.cov_type == "cluster" or found.family == "poisson" or shown[0] <= shown[1]:
        return found
    instead = CLASSICAL_INSTEAD if found.family == "gaussian" else MODEL_INSTEAD
    return replace(classical, assumptions=(instead, *found.assumptions))


def _with_reasons(found: Inference, rows_per_unit: int) -> Inference:
    """Add why there are no intervals for the population."""
    if rows_per_unit > 1 and found.cov_type != "cluster":
        why = (
            "rows of one unit are not independent, and these standard errors take them to be; fit with "
            'cov_type "cluster", or use target="data" (--target data)'
        )
        return replace(found, population_reasons=(why,))
    if not found.reasons and np.isnan(found.standard_errors()).all() > np.isnan(found.standard_errors("data")).all():
        return replace(found, population_reasons=(f"{HIDDEN}; {REMEDY}",))
    return found


def _reasons(
    plan: InferencePlan, of: dict[str, Array], model: _Model, *, smallest: float, alike: str = ""
) -> tuple[str, ...]:
    """Say from released values why what holds in first order would not hold here, for n rows or units."""
    d, n, noise = plan.n_features, float(of["used"]), float(of["gram_noise"])
    unseen = float(of["unseen"]) / n
    reasons = []
    if n < 2 * d + 10:
        reasons.append(f"{n:.0f} rows are too few for {d} coefficients")
    if not smallest >= _LEAST_EIGENVALUE * noise:
        reasons.append(
            f"{UNSURE}: the smallest eigenvalue of the released X'X is {smallest / noise:.2g} "
            f"standard deviations of its noise, and must be {_LEAST_EIGENVALUE:g}"
        )
    if "misfit" in of and (misfit := _misfit(of, model)) > _MISFIT:
        reasons.append(
            f"{FAR}: the last gradients differ by {misfit:.2g} standard errors more than that, and may by {_MISFIT:g}; "
            "this is often due to few rows that are far from all others, such as those of a rare category, which may "
            "be merged with another"
        )
    if "slope" in of and (moved := _moved(of, n))[0] > _FURTHEST:
        why = FAR if moved[1] > _MOST_BY_NOISE * _FURTHEST else ON_THE_WAY
        reasons.append(
            f"{why}: the last step changes linear predictors by about {moved[0]:.2g}, and must by at most {_FURTHEST:g}"
        )
    if unseen > MOST_UNSEEN:
        reasons.append(
            f"{min(unseen, 1.0):.0%} of the rows could be clipped without being seen in the noise, more than "
            f"{MOST_UNSEEN:.0%}"
        )
    if not reasons:
        return ()
    steps = MORE_STEPS.format(2 * plan.n_iterations)
    remedy = steps if all(reason.startswith(ON_THE_WAY) for reason in reasons) else REMEDY
    return (*reasons[:-1], f"{reasons[-1]}; {alike}{remedy}")


def _alike(of: dict[str, Array], names: Sequence[str]) -> str:
    """Say of columns that the released X'X does not tell apart what may be wrong with them."""
    values, vectors = np.linalg.eigh(of["gram"])
    noise = float(of["gram_noise"])
    if values[0] >= _LEAST_EIGENVALUE * noise:
        return ""
    # Of which features a combination hardly varies: their parts in it, for columns that fill their bounds alike.
    parts = np.abs(of["metric"] @ vectors[:, 0])
    named = [name for name, part in zip(names, parts, strict=True) if part > _NAMED * parts.max()]
    named = [name for name in named if name != "intercept"]
    told = len(values) > 1 and values[1] >= 2.0 * _SURE_EIGENVALUE * noise  # all others are told apart
    if not (told and 1 <= len(named) <= _MOST_NAMED):
        return centring(names)
    if len(named) == 1:
        spelt = "if the data spell its category differently, correct that; " if named[0].endswith("]") else ""
        return f"{named[0]} hardly varies, as far as the noise shows: {spelt}if it is constant, leave it out, else "
    listed = f"{', '.join(named[:-1])} and {named[-1]}"
    follows = f"the noise hides the difference between {listed}: if one follows from the others, leave it out, else "
    return centring(named) or follows


def _misfit(of: dict[str, Array], model: _Model) -> float:
    """Return how far the last gradients contradict the curvature, in standard errors of all noise."""
    scores = of["scores"] if of["score_noise"] > 0.0 else of["gram"] / model.variance
    sampling = max(float(np.trace(scores)), 0.0) / len(of["step"])
    return math.sqrt(float(of["misfit"]) / (float(of["gradient_noise"]) ** 2 + sampling))


def _moved(of: dict[str, Array], n: float) -> tuple[float, float]:
    """Return about how far the curvature was released from the solution, in linear predictors, and noise's part in it.

    It is a root mean square over rows. Far away, the curvature is not that of the solution, and neither is its inverse.
    """
    way, noise = of["travelled"], float(of["gradient_noise"]) / float(np.median(np.linalg.eigvalsh(of["gram"])))
    by_noise, mass = CLOSING * len(way) * noise**2, n * float(of["slope"])
    return math.sqrt((float(way @ way) + by_noise) / mass), math.sqrt(by_noise / mass)
