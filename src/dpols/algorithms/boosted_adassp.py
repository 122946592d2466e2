"""Boosted AdaSSP: one noisy X'X, then rounds of noisy gradients that are solved against it.

Tang et al., "Improved differentially private regression via gradient boosting" (2024), Algorithm 1:

    theta <- theta + step (X'X + noise + ridge I)^-1 (X' clip(y - X theta) + noise).

The noise standard deviation is sensitivity / mu, and the mu of eigenvalue, X'X and all rounds together compose to that
of the budget. (The published program multiplies by mu where it should divide, and does not compose, so that its noise
grows with epsilon.)
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..data.rows import BoundedRows
from ..linalg import inverse_symmetric, positive_part, solve_symmetric
from ..mechanisms import Channel
from ..privacy.calibration import least_noise
from ..privacy.releases import GaussianRelease, Release
from ..randomness import Bits
from ..statistics import clipped_gradient, gram_and_first_gradient
from .base import Array, Evidence, Fit, RowCount
from .judging import evidence_against_constant, noise_covariance_of_steps
from .options import PlannedFor, one_of, positive, share, steps

Shrinkage = Literal["constant", "1/t", "1/sqrt(t)"]

_STEP: dict[Shrinkage, Callable[[int], float]] = {
    "constant": lambda t: 1.0,
    "1/t": lambda t: 1.0 / t,
    "1/sqrt(t)": lambda t: 1.0 / math.sqrt(t),
}
_MARGIN = 1.96  # of the eigenvalue and of the noise on X'X, in standard deviations, as published


@dataclass(frozen=True)
class BoostedAdaSSPPlan(PlannedFor):
    """Every public number of a run of Boosted AdaSSP."""

    n_iterations: int
    residual_bound: float
    shrinkage: Shrinkage
    eigenvalue_multiplier: float
    gram_multiplier: float
    gradient_multiplier: float

    @property
    def steps(self) -> tuple[float, ...]:
        """The step size of each round."""
        return tuple(_STEP[self.shrinkage](t) for t in range(1, self.n_iterations + 1))

    @property
    def releases(self) -> tuple[Release, ...]:
        """The smallest eigenvalue, X'X, and a gradient in every round."""
        curvature = (GaussianRelease(self.eigenvalue_multiplier), GaussianRelease(self.gram_multiplier))
        return curvature + (GaussianRelease(self.gradient_multiplier),) * self.n_iterations

    @property
    def release_names(self) -> tuple[str, ...]:
        """What each release is of, in the same order."""
        return ("smallest eigenvalue of X'X", "X'X") + ("gradient X'clip(y - X theta)",) * self.n_iterations


def plan(
    given: PlannedFor,
    *,
    n_iterations: int = 10,
    residual_bound: float = 1.0,
    shrinkage: Shrinkage = "constant",
    gradient_share: float = 1.0 / 3.0,
) -> BoostedAdaSSPPlan:
    """Choose every number of a run from public ones.

    Parameters
    ----------
    given : PlannedFor
        What the plan is for. Accounting "exact" or "paper":
        The published accounting (Gaussian DP) is exact already; "paper" fixes its split into thirds.
    n_iterations : int
        Number T of boosting rounds, each with a pass over the data. The published program uses 100.
    residual_bound : float
        Clip level of residuals, in units of the target's bound.
    shrinkage : "constant", "1/t" or "1/sqrt(t)"
        Step size of round t.
    gradient_share : float
        Share of the squared budget that goes to the gradients (exact accounting only); the rest is halved.
    """
    budget = given.budget
    part = share("gradient_share", gradient_share) if given.accounting == "exact" else 1.0 / 3.0
    count = steps("n_iterations", n_iterations)
    bound = positive("residual_bound", residual_bound)
    one_of("shrinkage", shrinkage, tuple(_STEP))

    def at(total: float) -> BoostedAdaSSPPlan:
        return BoostedAdaSSPPlan(
            **vars(given),
            n_iterations=count,
            residual_bound=bound,
            shrinkage=shrinkage,
            eigenvalue_multiplier=total * math.sqrt(2.0 / (1.0 - part)),
            gram_multiplier=total * math.sqrt(2.0 / (1.0 - part)),
            gradient_multiplier=total * math.sqrt(count / part),
        )

    return at(least_noise(lambda total: at(total).releases, budget, start=3.0 / budget.epsilon))


def run(rows: BoundedRows, plan: BoostedAdaSSPPlan, bits: Sequence[Bits]) -> Fit:
    """Follow the plan, once for each stream of bits."""
    rows, channel = rows.rounded_in_memory(), Channel(bits)
    d = plan.n_features
    hessian, exact = gram_and_first_gradient(rows, residual_bound=plan.residual_bound)
    smallest = channel.eigenvalue(hessian, "smallest", multiplier=plan.eigenvalue_multiplier)
    certain = np.maximum(smallest - _MARGIN * plan.eigenvalue_multiplier, 0.0)
    ridge = np.maximum(_MARGIN * math.sqrt(d) * plan.gram_multiplier - certain, 0.0)
    noisy_gram = channel.symmetric_gaussian(hessian, multiplier=plan.gram_multiplier)
    curvature = noisy_gram + ridge[:, None, None] * np.eye(d)
    theta = np.zeros((channel.trials, d))
    gradients: list[Array] = []
    for step in plan.steps:
        if gradients:
            exact = clipped_gradient(rows, theta, residual_bound=plan.residual_bound)
        gradients.append(channel.gaussian(exact, multiplier=plan.gradient_multiplier))
        theta = theta + step * solve_symmetric(curvature, gradients[-1])
    transcript = {
        "smallest_eigenvalue": smallest,
        "gram": noisy_gram,
        "ridge": ridge,
        "gradients": np.stack(gradients, 1),
    }
    return Fit(theta, channel.releases, transcript)


def evidence(plan: BoostedAdaSSPPlan, fit: Fit, trial: int, constant: float | None) -> Evidence:
    """Judge one trial's fit by its own releases; ``constant`` is the intercept's coordinate, None without one."""
    theta, released = fit.theta[trial], fit.transcript["gram"][trial]
    first = fit.transcript["gradients"][trial, 0]
    inverse = inverse_symmetric(released + float(fit.transcript["ridge"][trial]) * np.eye(plan.n_features))
    stddev = plan.gradient_multiplier * plan.residual_bound
    covariance = noise_covariance_of_steps([s * inverse for s in plan.steps], positive_part(released), stddev)
    # The noise of X'X changes the path but hardly where it leads, that of the first gradient is in theta itself.
    flattery = 2.0 * stddev**2 * max(float(np.trace(inverse)), 0.0)
    norm = float(theta @ theta)
    return evidence_against_constant(
        covariance,
        float(theta @ released @ theta) - 2.0 * float(first @ theta) + flattery,
        (2.0 * stddev) ** 2 * norm + (plan.gram_multiplier * norm) ** 2,
        total=float(first[-1]),
        total_variance=stddev**2,
        n_rows=plan.n_rows,
        constant=constant,
        squares=RowCount(float(released[-1, -1]), plan.gram_multiplier),
    )
