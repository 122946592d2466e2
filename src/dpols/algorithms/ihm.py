"""Iterative Hessian mixing: Newton steps with a private sketch of the Hessian and private, clipped gradients.

Algorithm 1 of Lev et al., "Near-optimal private linear regression via iterative Hessian mixing". Rows are scaled to
norm at most 1 and targets to [-1, 1]. For t < T, with X~ of k rows of law N(0, X'X + shift I),

    theta <- theta + (X~'X~ / k)^-1 (X' clip(y - X theta) - ridge shift theta + noise).

With constraints the step is a minimum over a convex set, as in the iterative Hessian sketch of Pilanci and Wainwright:
the point of the set that is nearest to that theta in the metric X~'X~ / k.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..constraints import Region
from ..data.rows import BoundedRows
from ..linalg import inverse_symmetric, solve_symmetric
from ..mechanisms import Channel
from ..privacy import paper
from ..privacy.releases import GaussianRelease, MixingRelease, Release
from ..randomness import Bits
from ..statistics import clipped_gradient, gram_and_first_gradient
from ..theory import suggested_sketch_size
from .base import Evidence, Fit, RowCount
from .judging import covariance_of_sketched_steps, evidence_against_constant
from .options import PlannedFor, failure_or_default, positive, share, sketch_rows, steps
from .tested_sketch import CERTAIN, EigenvalueRelease, TestedSketchPlan, check_eigenvalue, least_noisy, margin_for


@dataclass(frozen=True)
class IHMPlan(TestedSketchPlan):
    """Every public number of a run of IHM."""

    n_iterations: int
    residual_bound: float  # in units of the target's bound
    ridge: bool
    gradient_multiplier: float

    @property
    def releases(self) -> tuple[Release, ...]:
        """The eigenvalue test, where there is one, then a sketch and a gradient in every iteration."""
        step = (MixingRelease(self.sketch_size, self.floor), GaussianRelease(self.gradient_multiplier))
        return self.test + step * self.n_iterations

    @property
    def release_names(self) -> tuple[str, ...]:
        """What each release is of, in the same order."""
        return self.test_names("X'X") + ("sketch of X'X", "gradient X'clip(y - X theta)") * self.n_iterations


def plan(
    given: PlannedFor,
    *,
    n_iterations: int = 3,
    sketch_size: int | None = None,
    residual_bound: float = 1.0,
    ridge: bool = False,
    eigenvalue: EigenvalueRelease | None = None,
    gradient_share: float = 0.5,
    failure_probability: float | None = None,
) -> IHMPlan:
    """Choose every number of a run from public ones.

    Parameters
    ----------
    given : PlannedFor
        What the plan is for. Accounting "exact" or "paper":
        Joint, exact calibration, or the paper's own with its budget split.
    n_iterations : int
        Number T of Newton steps, each with a pass over the data.
    sketch_size : int, optional
        Rows k of each sketch, at least ``n_features``; by default 6 max(d, log(4 T / failure_probability)).
    residual_bound : float
        Clip level C of residuals in the gradient, in units of the target's bound.
    ridge : bool
        Whether steps aim at the ridge solution (as analysed) or at least squares (as in the paper's experiments).
    eigenvalue : "auto", "on" or "off", optional
        Whether to release the smallest eigenvalue in order to lower the shift. "auto", the default of exact
        accounting, releases it where the largest value that n rows allow, n / d, would remove the shift.
    gradient_share : float
        Share of the squared budget that goes to the gradients (exact accounting only).
    failure_probability : float, optional
        the paper's failure probability, by default delta / 10.
    """
    budget = given.budget
    check_eigenvalue(eigenvalue, published=given.accounting == "paper")
    n_iterations = steps("n_iterations", n_iterations)
    residual_bound, gradient_share = positive("residual_bound", residual_bound), share("gradient_share", gradient_share)
    failure = failure_or_default(budget, failure_probability)
    if sketch_size is None:
        sketch_size = suggested_sketch_size(
            n_features=given.n_features, n_iterations=n_iterations, failure_probability=failure
        )
    sketch_size = sketch_rows("sketch_size", sketch_size, least=given.n_features)
    published = given.accounting == "paper"
    margin = paper.eigenvalue_margin(budget.delta, failure) if published else margin_for(budget, failure)

    def with_noise(floor: float, gradient: float, test: bool) -> IHMPlan:
        return IHMPlan(
            **vars(given),
            n_iterations=n_iterations,
            sketch_size=sketch_size,
            residual_bound=residual_bound,
            ridge=bool(ridge),
            floor=floor,
            gradient_multiplier=gradient,
            eigenvalue_multiplier=floor / math.sqrt(sketch_size) if test else None,
            eigenvalue_margin=margin,
        )

    if published:
        return with_noise(*paper.ihm_noise(budget, sketch_size=sketch_size, n_iterations=n_iterations), test=True)
    rows = sketch_size * n_iterations

    def at(noise: float, test: bool) -> IHMPlan:
        # sqrt(rows / 2) / floor acts like the sketch's own mu, so the two shares add up to 1 / noise^2.
        # With next to no noise the floor would round to 1, where a sketch hides nothing at all.
        floor = max(math.sqrt(1.0 + 0.5 * rows * noise**2 / (1.0 - gradient_share)), math.nextafter(1.0, 2.0))
        gradient = noise * math.sqrt(n_iterations / gradient_share)
        return with_noise(floor, gradient, test)

    return least_noisy(at, eigenvalue, budget, given.n_rows, given.n_features)


def run(rows: BoundedRows, plan: IHMPlan, bits: Sequence[Bits], region: Region | None = None) -> Fit:
    """Follow the plan, once for each stream of bits; every step ends within the region, where there is one."""
    rows, channel = rows.rounded_in_memory(), Channel(bits)
    hessian, exact = gram_and_first_gradient(rows, residual_bound=plan.residual_bound)
    test = plan.certain(channel, hessian)
    theta = np.zeros((channel.trials, plan.n_features))
    sketches, gradients, shift = [], [], np.zeros(channel.trials)
    for taken in range(plan.n_iterations):
        mixed = channel.mix_gram(hessian, rows=plan.sketch_size, floor=plan.floor, certain=test.get(CERTAIN))
        if taken:
            exact = clipped_gradient(rows, theta, residual_bound=plan.residual_bound)
        gradient = channel.gaussian(exact, multiplier=plan.gradient_multiplier)
        sketches.append(mixed.gram / plan.sketch_size)
        gradients.append(gradient)
        shift = mixed.shift
        step = gradient - shift[:, None] * theta if plan.ridge else gradient
        theta = theta + solve_symmetric(sketches[-1], step)
        if region is not None:  # the step as a minimum over the region, in the metric of the released sketch
            theta = region.nearest(sketches[-1], theta)
    transcript = {"sketches": np.stack(sketches, 1), "gradients": np.stack(gradients, 1), "shift": shift, **test}
    return Fit(theta, channel.releases, transcript)


def evidence(plan: IHMPlan, fit: Fit, trial: int, constant: float | None) -> Evidence:
    """Judge one trial's fit by its own releases; ``constant`` is the intercept's coordinate, None without one."""
    theta = fit.theta[trial]
    sketches, first = fit.transcript["sketches"][trial], fit.transcript["gradients"][trial, 0]
    shift = float(fit.transcript["shift"][trial])
    stddev = plan.gradient_multiplier * plan.residual_bound
    pooled = sketches.mean(axis=0)
    values, basis = np.linalg.eigh(pooled)
    curvature = np.maximum(values - shift, 0.0)
    covariance = covariance_of_sketched_steps(
        curvature,
        basis,
        shift,
        theta,
        ridge=plan.ridge,
        rows=plan.sketch_size,
        n_steps=plan.n_iterations,
        stddev=stddev,
    )
    # Sum of squares at theta minus at 0: theta'X'X theta - 2 theta'X'y. The first gradient is the released X'y; that
    # theta was built from the same noise flatters it by at most stddev^2 times the trace of the first inverse.
    fitted = float(curvature @ (theta @ basis) ** 2)
    flattery = 2.0 * stddev**2 * float(np.trace(inverse_symmetric(sketches[0])))
    mixing_noise = math.sqrt(2.0 / (plan.sketch_size * plan.n_iterations)) * float(theta @ pooled @ theta)
    return evidence_against_constant(
        covariance,
        fitted - 2.0 * float(first @ theta) + flattery,
        (2.0 * stddev) ** 2 * float(theta @ theta) + mixing_noise**2,
        total=float(first[-1]),
        total_variance=stddev**2,
        n_rows=plan.n_rows,
        constant=constant,
        squares=RowCount(
            float(pooled[-1, -1]) - shift,
            math.sqrt(2.0 / (plan.sketch_size * plan.n_iterations)) * float(pooled[-1, -1]),
        ),
    )
