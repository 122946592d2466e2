"""Private gradient descent: steps along the mean gradient, with each row's part shrunk to a bounded norm.

Algorithm 7 of Lev et al., "Near-optimal private linear regression via iterative Hessian mixing", after Brown et al.,
"Private gradient descent for linear regression" (2024):

    theta <- theta + (learning_rate / n) (sum of shrink(x (y - x'theta)) + noise).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..data.rows import BoundedRows
from ..mechanisms import Channel
from ..privacy.budget import PrivacyBudget
from ..privacy.calibration import gaussian_multiplier, least_noise
from ..privacy.paper import concentrated_multiplier
from ..privacy.releases import GaussianRelease, Release
from ..randomness import Bits
from ..statistics import norm_clipped_gradient
from .base import Array, Evidence, Fit
from .judging import evidence_against_constant, noise_covariance_of_steps
from .options import PlannedFor, positive, steps


class _Steps(NamedTuple):
    n_iterations: int
    learning_rate: float
    norm_bound: float


_PUBLISHED = _Steps(3, 0.25, 1.0)
_STEP, _CLIP, _MOST_PASSES = 0.6, 0.25, 100


@dataclass(frozen=True)
class DPGDPlan(PlannedFor):
    """Every public number of a run of DP-GD."""

    n_iterations: int
    learning_rate: float
    norm_bound: float
    gradient_multiplier: float

    @property
    def releases(self) -> tuple[Release, ...]:
        """A gradient in every iteration."""
        return (GaussianRelease(self.gradient_multiplier),) * self.n_iterations

    @property
    def release_names(self) -> tuple[str, ...]:
        """What each release is of, in the same order."""
        return ("sum of clipped row gradients",) * self.n_iterations


def plan(
    given: PlannedFor,
    *,
    n_iterations: int | None = None,
    learning_rate: float | None = None,
    norm_bound: float | None = None,
) -> DPGDPlan:
    """Choose every number of a run from public ones.

    Parameters
    ----------
    given : PlannedFor
        What the plan is for. Accounting "exact" or "paper":
        One exact calibration of all gradients together, or the paper's zCDP formula. The latter is meant for
        replace-one neighbours and so has twice the standard deviation that its bound needs here.
    n_iterations : int, optional
        Number T of steps, each with a pass over the data. By default 3 with the paper's accounting, otherwise as many
        as act like a ridge penalty of the size of the noise, at most 100.
    learning_rate : float, optional
        Step along the mean gradient of half the squared residuals. Rows have norm at most 1, so that up to 2 is stable.
        By default 0.25 with the paper's accounting, otherwise 5 / 3.
    norm_bound : float, optional
        Largest norm of one row's gradient x (y - x'theta), in units of the bounds of row and target. By default 1 with
        the paper's accounting, otherwise from 0.25 to 1, larger where steps are few for so many rows.
    """
    budget = given.budget
    usual = _PUBLISHED if given.accounting == "paper" else _well_stopped(budget, given.public_rows, given.n_features)
    count = steps("n_iterations", usual.n_iterations if n_iterations is None else n_iterations)
    rate = positive("learning_rate", usual.learning_rate if learning_rate is None else learning_rate)
    bound = positive("norm_bound", usual.norm_bound if norm_bound is None else norm_bound)

    def at(multiplier: float) -> DPGDPlan:
        return DPGDPlan(
            **vars(given), n_iterations=count, learning_rate=rate, norm_bound=bound, gradient_multiplier=multiplier
        )

    if given.accounting == "paper":
        return at(_published_multiplier(budget, count))
    return at(least_noise(lambda multiplier: at(multiplier).releases, budget, start=3.0 / budget.epsilon))


def run(rows: BoundedRows, plan: DPGDPlan, bits: Sequence[Bits]) -> Fit:
    """Follow the plan, once for each stream of bits."""
    rows, channel = rows.rounded_in_memory(), Channel(bits)
    theta = np.zeros((channel.trials, plan.n_features))
    gradients, iterates = [], [theta]
    for _ in range(plan.n_iterations):
        exact = norm_clipped_gradient(rows, theta, norm_bound=plan.norm_bound)
        gradients.append(channel.gaussian(exact, multiplier=plan.gradient_multiplier))
        theta = theta + (plan.learning_rate / plan.public_rows) * gradients[-1]
        iterates.append(theta)
    transcript = {"gradients": np.stack(gradients, 1), "iterates": np.stack(iterates, 1)}
    return Fit(_end(transcript["iterates"]), channel.releases, transcript)


def evidence(plan: DPGDPlan, fit: Fit, trial: int, constant: float | None) -> Evidence:
    """Judge one trial's fit by its own releases; ``constant`` is the intercept's coordinate, None without one.

    No curvature is released. It can only shrink the noise of earlier steps, so none is assumed; and where nothing is
    clipped the loss is a parabola along each step, whose change the gradients at both ends determine.
    """
    gradients, iterates = fit.transcript["gradients"][trial], fit.transcript["iterates"][trial]
    d, stddev = plan.n_features, plan.gradient_multiplier * plan.norm_bound
    rate = plan.learning_rate / plan.public_rows
    covariance = noise_covariance_of_steps([rate * np.eye(d)] * plan.n_iterations, np.zeros((d, d)), stddev)
    steps = np.diff(iterates, axis=0)
    # How often each gradient counts along each step: both ends once, but the last one, whose far end is not released,
    # twice, with the curvature there at its largest: rows have norm at most 1.
    weights = np.vstack((np.zeros((1, d)), steps[:-1])) + steps
    weights[-1] += steps[-1]
    change = -float(np.sum(weights * gradients)) + plan.public_rows * float(steps[-1] @ steps[-1])
    flattery = rate * d * stddev**2 * (plan.n_iterations + 1)
    return evidence_against_constant(
        covariance,
        change + flattery,
        stddev**2 * float(np.sum(weights**2)),
        total=float(gradients[0, -1]),
        total_variance=stddev**2,
        n_rows=plan.public_rows,
        constant=constant,
    )


def _well_stopped(budget: PrivacyBudget, n_rows: int, n_features: int) -> _Steps:
    """Stop where T steps of 1 / (0.6 n) act like a ridge penalty of sqrt(d) times the gradients' noise.

    Rows' gradients are shrunk to a quarter of their bound, or, where that would take more passes than are allowed, to
    the larger norm whose noise is in balance after so many: less is clipped, and what the noise costs is no more than
    the bias of stopping.
    """
    noise = math.sqrt(n_features) * gaussian_multiplier(budget)
    clip = min(max(_CLIP, _STEP * n_rows / (_MOST_PASSES * noise)), 1.0)
    passes = max(math.ceil(min(_STEP * n_rows / (clip * noise), _MOST_PASSES)), 1)
    return _Steps(passes, 1.0 / _STEP, clip)


def _end(iterates: Array) -> Array:
    """Return where a run ends, from its points: at the last one, as published."""
    return np.asarray(iterates[:, -1])


def _published_multiplier(budget: PrivacyBudget, n_iterations: int) -> float:
    """Return sigma n / C of the paper, from zCDP (Bun and Steinke, 2016) at sensitivity 2 C."""
    return 2.0 * math.sqrt(n_iterations) * concentrated_multiplier(budget)
