"""What the releases beside a fit say of its coefficients, in the user's units (`docs/inference.md`)."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..data import RowMap
from ..linalg import inverse_under_noise
from ..side_releases.one_step import EDGES, Measured, OneStepPlan, quiet_edge, unseen_above
from .intervals import HIDDEN, REMEDY, UNSURE, Estimate, Inference

Array = np.ndarray[Any, np.dtype[Any]]

_LEAST_EIGENVALUE = 3.0  # of the released X'X over its noise's standard deviation: no intervals below
_SURE_EIGENVALUE = 5.5  # along directions that an interval may depend on, likewise
_SURE_OF_ALL = 1.25  # the same in units of the operator norm of the noise
_FAR_OFF = 4.0  # standard deviations of noise by which residuals beyond the last edge stand out
_MOST_UNSEEN = 0.15  # share of rows that could lie above the last residual seen


def infer(
    plan: OneStepPlan,
    measured: Measured,
    row_map: RowMap,
    names: Sequence[str],
    *,
    n_rows: int,
    rows_per_unit: int = 1,
    trial: int = 0,
) -> Inference:
    """Make of one trial's releases what they say of the coefficients in the user's units.

    Where units have several rows, released sums are in multiples of ``rows_per_unit``.
    """
    values, vectors, inverses = inverse_under_noise(measured.gram[trial], plan.gram_multiplier)
    inverse = (vectors * inverses) @ vectors.T
    step = inverse @ measured.gradient[trial]
    sure = plan.gram_multiplier * max(_SURE_EIGENVALUE, _SURE_OF_ALL * math.sqrt(2.0 * plan.n_features))
    noise = _gradient_noise(plan, float(measured.residual_bound[trial]), step)
    squares = _least_squares(plan, measured, trial, inverse, step, noise)
    matrix, offset = (part[: plan.n_features] for part in row_map.coefficient_map())
    mapped, scale = matrix @ inverse, row_map.target_scale**2
    along = matrix @ (vectors * inverses)[:, values < sure]
    spread = plan.gram_multiplier / (scale * rows_per_unit)
    reasons = _reasons(plan, measured, trial, n_rows / rows_per_unit, smallest=float(values[0]))
    residual = total = Estimate(None, None)
    if not reasons:
        free = (n_rows - plan.n_features) / rows_per_unit
        about = _total_squares(plan, measured, trial, n_rows / rows_per_unit, centred=row_map.intercept is not None)
        residual, total = (Estimate(*(scale * number / free for number in pair)) for pair in (squares, about))
    return Inference(
        names=tuple(names),
        n_rows=n_rows,
        rows_used=_rows_used(measured.gram[trial], row_map, n_rows, rows_per_unit),
        intercept=row_map.intercept is not None,
        estimate=matrix @ (measured.theta[trial] + step) + offset,
        privacy_covariance=mapped @ noise @ mapped.T,
        unscaled_covariance=mapped @ matrix.T / (scale * rows_per_unit),
        unscaled_spread=spread * mapped @ mapped.T,
        unsure_spread=spread * along @ along.T,
        residual_variance=residual,
        target_variance=total,
        reasons=reasons,
        population_reasons=_population_reasons(residual, rows_per_unit),
    )


def _rows_used(gram: Array, row_map: RowMap, n_rows: int, rows_per_unit: int) -> float:
    """Return how many rows are not zero, which the intercept's entry of X'X counts; all, where there is none."""
    if row_map.constant is None:
        return float(n_rows)
    return float(min(max(rows_per_unit * gram[-1, -1] / row_map.constant**2, 1.0), n_rows))


def _gradient_noise(plan: OneStepPlan, residual_bound: float, step: Array) -> Array:
    """Return the covariance of z - E step: E has half the variance off the diagonal."""
    outer = 0.5 * plan.gram_multiplier**2 * (float(step @ step) * np.eye(len(step)) + np.outer(step, step))
    return np.asarray((residual_bound * plan.gradient_multiplier) ** 2 * np.eye(len(step)) + outer)


def _least_squares(
    plan: OneStepPlan, measured: Measured, trial: int, inverse: Array, step: Array, noise: Array
) -> tuple[float, float]:
    """Return the sum of squares at least squares and its standard deviation, in bounded units.

    It lies below the one at theta by step'X'X step, of which the noise in the released step feigns a trace.
    """
    spread, bound = inverse @ noise, float(measured.residual_bound[trial])
    feigned = (bound * plan.gradient_multiplier) ** 2 * float(np.trace(inverse))
    gained = float(measured.gradient[trial] @ step) - feigned
    own = bound**2 * plan.square_multiplier
    variance = (
        own**2
        + _clipped_off(plan, measured, trial) ** 2
        + 4.0 * float(step @ noise @ step)
        + 2.0 * float(np.sum(spread * spread.T))
    )
    return float(measured.squares[trial]) - gained, math.sqrt(max(variance, 0.0))


def _clipped_off(plan: OneStepPlan, measured: Measured, trial: int) -> float:
    """Return what clipping may take from the sum of squares unseen, if residuals thin out like x^-3.

    The sum of (r^2 - C^2)+ is the integral of 2 x N(x) from C on, where N(x) residuals exceed x.
    """
    edge = int(quiet_edge(measured.counts[trial : trial + 1], plan.count_multiplier)[0])
    unseen = float(unseen_above(plan.count_multiplier)[edge])
    return float(2.0 * unseen * EDGES[edge] ** 3 / measured.residual_bound[trial])


def _total_squares(
    plan: OneStepPlan, measured: Measured, trial: int, n: float, *, centred: bool
) -> tuple[float, float]:
    """Return the targets' sum of squares about their mean, or about 0, and its standard deviation, in bounded units."""
    total, about_zero = (float(value) for value in measured.moments[trial])
    noise = math.sqrt(2.0) * plan.moment_multiplier
    if not centred:
        return about_zero, noise
    return about_zero - total**2 / n + noise**2 / n, noise * math.hypot(1.0, 2.0 * total / n)


def _reasons(plan: OneStepPlan, measured: Measured, trial: int, n: float, *, smallest: float) -> tuple[str, ...]:
    """Say from released values why what holds in first order would not hold here, for n rows or units."""
    d = plan.n_features
    counts = measured.counts[trial : trial + 1]
    edge = int(quiet_edge(counts, plan.count_multiplier)[0])
    unseen = float(unseen_above(plan.count_multiplier)[edge]) / n
    reasons = []
    if n < 2 * d + 10:
        reasons.append(f"{n:.0f} rows are too few for {d} coefficients")
    if not smallest >= _LEAST_EIGENVALUE * plan.gram_multiplier:
        reasons.append(
            f"{UNSURE}: the smallest eigenvalue of the released X'X is {smallest / plan.gram_multiplier:.2g} "
            f"standard deviations of its noise, and must be {_LEAST_EIGENVALUE:g}"
        )
    if unseen > _MOST_UNSEEN:
        reasons.append(
            f"{min(unseen, 1.0):.0%} of the residuals could be clipped without being seen in the noise, more than "
            f"{_MOST_UNSEEN:.0%}"
        )
    if float(counts[0, -1]) > _FAR_OFF * plan.count_multiplier:
        reasons.append(f"the fit is far off: residuals exceed {EDGES[-1]:g} times the target's bound, and are clipped")
    return (*reasons[:-1], f"{reasons[-1]}; {REMEDY}") if reasons else ()


def _population_reasons(variance: Estimate, rows_per_unit: int) -> tuple[str, ...]:
    if rows_per_unit > 1:
        return (
            "rows of one unit are not independent, so only intervals for the data are made; use "
            'target="data" (--target data)',
        )
    if variance.value is None or not variance.value > 0.0:
        return (f"{HIDDEN}; {REMEDY}",)
    return ()
