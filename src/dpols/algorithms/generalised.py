"""Whitened private descent for generalised linear models: yes/no outcomes and counts.

1. Release how many rows there are, and the sums of targets, rows and their squared lengths. With an intercept, the fit
   starts at the private base rate: the constant whose mean is the mean target.
2. Whiten, twice, as the linear method does, and scale so that the curvature at the base rate is one.
3. Take gradient steps. Each row's gradient v (y - m(x'theta)) is shortened to a length of at most C, which released
   counts of these lengths choose. No step changes linear predictors by more than a public number.
4. Where public numbers say that it pays, release the curvature at the point that was reached: the Gram matrix of rows
   times the root of their slopes. Its inverse root is the last whitening, and the steps go on as Newton's.
5. Average the points and gradients, close with one step, which needs no release, and keep what noise would not show:
   where nothing is kept, the fit is the base rate.

All releases are Gaussian, and the ratio of noise to sensitivity is fixed in advance, so the whole budget is one
Gaussian's. `docs/logistic.md` has reasons and figures.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..data.rows import BoundedRows
from ..families import FamilyName
from ..mechanisms import Channel
from ..randomness import Bits
from ..statistics import WhitenedRows, mean_gradient, mean_gradient_and_counts, predictor_point, sloped_gram, whiten
from .base import Array, Evidence, Fit
from .calibration_bins import CALIBRATION, CALIBRATION_NAME, release_calibration
from .generalised_path import GeneralisedPath, StepsPlan, response_of, start_path
from .options import PlannedFor, one_of, steps
from .path_gain import surest
from .whitening import DAMPING, SMALLEST, Listed, counted_rows, inverse_root, release_space, release_totals

# Shares of the squared budget. Gradients get the rest, and without the curvature its share, too.
_TOTALS, _GRAM, _SECOND_GRAM, _LENGTHS, _COUNTS, _RISE, _SLOPED = 0.05, 0.04, 0.10, 0.003, 0.015, 0.01, 0.06
_PAYS = 4.0  # curvature over its noise, from public numbers, from which on it is released
_WARM = 6 / 16  # of the steps come before it
_EARLY = 0.4  # squared budget of a gradient before those in averages, over that of one of them
_ROW_LIMIT = 5.0  # rows times the root of their slope are shortened to so many root mean squares
_MANY = 0.05  # share of rows that were shortened


@dataclass(frozen=True)
class GeneralisedPlan(StepsPlan):
    """Every public number of a run."""

    early_multiplier: float  # of gradients that only find the place where the others are released
    count_multiplier: float
    rise_multiplier: float
    calibration_multiplier: float | None  # None where calibration is not asked for

    @property
    def gradient_multipliers(self) -> tuple[float, ...]:
        """The multiplier of each gradient: early ones are not in the averages, and have more noise."""
        early = _early(self.warm_up, self.turn, pays=self.sloped_multiplier is not None)
        return (self.early_multiplier,) * early + (self.gradient_multiplier,) * (self.n_iterations - early)

    @property
    def passes(self) -> int:
        """How often rows in memory are read."""
        more = self.calibration_multiplier is not None
        return self.n_iterations + 6 + 2 * (self.sloped_multiplier is not None) + more

    def _listed(self) -> list[Listed]:
        gradients = [(each, "sum of clipped gradients of whitened rows") for each in self.gradient_multipliers]
        sloped = self.sloped_multiplier
        return [
            *self._whitening(),
            *gradients[: self.warm_up],
            (self.count_multiplier, "counts of lengths of whitened gradients"),
            *gradients[self.warm_up : self.turn],
            *([] if sloped is None else [(sloped, "curvature: X'WX of clipped whitened rows")]),
            *gradients[self.turn : self.turn + 1],
            (self.rise_multiplier, "counts of lengths of whitened gradients, later"),
            *gradients[self.turn + 1 :],
            *([] if self.calibration_multiplier is None else [(self.calibration_multiplier, CALIBRATION_NAME)]),
        ]


def plan(
    given: PlannedFor, family: FamilyName, *, n_iterations: int = 16, calibration: bool = False
) -> GeneralisedPlan:
    """Choose every number of a run from public ones.

    Parameters
    ----------
    given : PlannedFor
        What the plan is for. Accounting "exact" or "paper":
        Exact, or by zero-concentrated differential privacy, as the paper does for gradient descent.
    family : str
        The family of outcomes.
    n_iterations : int
        Number of gradient steps, each with a pass over the data, at least 4. Fewer are faster.
    calibration : bool
        Whether to release also outcomes and predictions of rows with about the same prediction, for 3% of the squared
        budget.
    """
    count = steps("n_iterations", n_iterations, least=4)
    noise = given.noise_of_all()
    sloped = noise / math.sqrt(_SLOPED)
    # About how many rows make the curvature as large as the noise of its release.
    least = 4.0 * sloped * given.n_features * math.sqrt(2.0 * given.n_features)
    pays = given.n_rows is None or given.n_rows / least > _PAYS
    binned = CALIBRATION if one_of("calibration", calibration, (True, False)) else 0.0
    rest = 1.0 - _TOTALS - _GRAM - _SECOND_GRAM - _LENGTHS - _COUNTS - _RISE - _SLOPED * pays - binned
    warm_up = max(1, round(3 / 16 * count))
    turn = max(warm_up, round(_WARM * count)) if pays else count // 2
    early = _early(warm_up, turn, pays=pays)
    gradients = noise * math.sqrt((_EARLY * early + count - early) / rest)
    return GeneralisedPlan(
        **vars(given),
        family=family,
        n_iterations=count,
        warm_up=warm_up,
        turn=turn,
        noise=noise,
        totals_multiplier=noise / math.sqrt(_TOTALS),
        gram_multiplier=noise / math.sqrt(_GRAM),
        second_gram_multiplier=noise / math.sqrt(_SECOND_GRAM),
        length_multiplier=noise / math.sqrt(_LENGTHS),
        sloped_multiplier=sloped if pays else None,
        early_multiplier=gradients / math.sqrt(_EARLY),
        count_multiplier=noise / math.sqrt(_COUNTS),
        rise_multiplier=noise / math.sqrt(_RISE),
        calibration_multiplier=noise / math.sqrt(binned) if binned else None,
        gradient_multiplier=gradients,
    )


def plan_logistic(given: PlannedFor, *, n_iterations: int = 16, calibration: bool = False) -> GeneralisedPlan:
    """Plan a fit of yes/no outcomes, with so many gradient steps, at least 4, and calibration where it is asked for."""
    return plan(given, "binomial", n_iterations=n_iterations, calibration=calibration)


def plan_poisson(given: PlannedFor, *, n_iterations: int = 16, calibration: bool = False) -> GeneralisedPlan:
    """Plan a fit of counts, with so many gradient steps, at least 4, and calibration where it is asked for."""
    return plan(given, "poisson", n_iterations=n_iterations, calibration=calibration)


def run(rows: BoundedRows, plan: GeneralisedPlan, bits: Sequence[Bits]) -> Fit:
    """Follow the plan, once for each stream of bits."""
    rows, channel = rows.bounded_once(), Channel(bits)
    row_map = rows.row_map
    response = response_of(plan.family, row_map)
    known, products = release_totals(rows, plan, channel)
    space = release_space(rows, plan, channel, known, products)
    path = start_path(plan, response, known, space, row_map.constant)
    white = whiten(rows, path.space.metric)
    _descend(white, plan, channel, path, range(plan.turn))
    if plan.sloped_multiplier is not None:
        path = _sloped(white, plan, channel, path)
        white = whiten(rows, path.space.metric)
    _descend(white, plan, channel, path, range(plan.turn, plan.n_iterations))
    fit = path.close(channel.releases)
    if plan.calibration_multiplier is None:
        return fit
    binned = release_calibration(rows, channel, path, fit.theta, multiplier=plan.calibration_multiplier)
    return replace(fit, releases=channel.releases, transcript={**fit.transcript, **binned})


def evidence(plan: GeneralisedPlan, fit: Fit, trial: int, constant: float | None) -> Evidence:
    """Judge one trial's fit by its own releases, against its own base rate, or against zero without an intercept.

    Of two estimates of the change in deviance, the one that shows a gain more surely counts.
    """
    of = {name: values[trial] for name, values in fit.transcript.items()}
    outer = of["metric"] @ of["kept"]
    covariance = (outer * of["noise_variance"]) @ outer.T
    slopes = plan.n_features - (constant is not None)
    found = surest((_by_curvature(of), _by_path(of)), slopes, float(of["dispersion"]), float(of["base_loss"]))
    shortened = float(of["shortened"])
    return Evidence(covariance, *found, shortened, shortened > _MANY, counted_rows(fit, trial))


def _by_curvature(of: dict[str, Array]) -> tuple[float, float]:
    """Return the change in the quadratic that the closing gradient and the released curvature make, and its variance.

    The noise of the curvature counts with the square of the whole way from the base rate.
    """
    inside = of["rest"] @ of["kept"] @ of["closing"]
    gain = float(inside @ of["moment"]) - float(np.diag(of["rest"] @ of["kept"]) @ of["shared_variance"])
    arm = of["inner"] @ inside
    variance = 4.0 * float(of["moment_variance"] @ inside**2) + float(of["gram_noise"] * (arm @ arm)) ** 2
    return float(of["curvature"] @ inside**2) - 2.0 * gain, variance


def _by_path(of: dict[str, Array]) -> tuple[float, float]:
    """Return the change along the path of gradients, rather too small a gain, and its variance.

    Only the last bit of way, from the mean of the points to the fit, takes the curvature.
    """
    way = of["rest"] @ (of["kept"] @ of["closing"] - of["point"])
    last = float(of["curvature"] @ way**2) - 2.0 * float(of["gradient"] @ way)
    feigned = 2.0 * float(np.diag(of["kept"]) @ of["end_variance"])
    arm = of["inner"] @ way
    # The last gradients are in both parts.
    noise = math.sqrt(of["path_variance"]) + math.sqrt(of["gradient_variance"] * float(way @ way))
    variance = 4.0 * noise**2 + float(of["gram_noise"] * (arm @ arm)) ** 2
    return last + feigned - 2.0 * float(of["path_gain"]), variance


def _early(warm_up: int, turn: int, *, pays: bool) -> int:
    """Return how many gradients come before those in averages."""
    return turn if pays else warm_up


def _descend(white: WhitenedRows, plan: GeneralisedPlan, channel: Channel, path: GeneralisedPath, which: range) -> None:
    for step in which:
        theta, own = path.at(predictor_point(white.bounded, path.theta)), plan.gradient_multipliers[step]
        multiplier = {plan.warm_up - 1: plan.count_multiplier, plan.turn: plan.rise_multiplier}.get(step)
        if multiplier is None:
            exact = mean_gradient(white, theta, path.response, limit=path.limit)
            path.move(channel.gaussian(exact, multiplier=own), multiplier=own)
            continue
        exact, exact_counts = mean_gradient_and_counts(white, theta, path.response, limit=path.limit, edges=path.edges)
        path.move(channel.gaussian(exact, multiplier=own), multiplier=own)
        path.choose(channel.gaussian(exact_counts, multiplier=multiplier), multiplier)


def _sloped(white: WhitenedRows, plan: GeneralisedPlan, channel: Channel, path: GeneralisedPath) -> GeneralisedPath:
    """Release the curvature at the point that was reached, and go on in coordinates where it is one."""
    assert plan.sloped_multiplier is not None
    space, d = path.space, plan.n_features
    theta = path.at(predictor_point(white.bounded, path.theta))
    limit = np.maximum(_ROW_LIMIT * np.sqrt(path.slope) * space.rms, SMALLEST)
    spread = math.sqrt(2.0 * d) * plan.sloped_multiplier
    exact = sloped_gram(white, theta, path.response, limit=limit)
    gram = channel.symmetric_gaussian(exact, multiplier=plan.sloped_multiplier)
    inner, values, damped = inverse_root(gram, space.metric, DAMPING * spread * limit**2, plan.noise)
    new = replace(
        space,
        metric=space.metric @ inner,
        values=values / damped,
        curvature=np.maximum(values, 0.0) / damped,
        rms=np.sqrt(np.maximum((inner**2).sum(axis=(1, 2)), 1e-12) / path.known.used / path.slope),
        inner=inner,
        gram_noise=plan.sloped_multiplier * limit**2,
        row_limits=np.concatenate((space.row_limits, limit[:, None]), axis=1),
    )
    return path.inside(new)
