"""Adaptive sufficient statistics perturbation: a noisy X'X and X'y, with a ridge as large as the noise demands.

Algorithm 6 of Lev et al., "Near-optimal private linear regression via iterative Hessian mixing", after Wang,
"Revisiting differentially private linear regression" (UAI 2018). With s the standard deviation of the noise on X'X,

    ridge = max(0, s sqrt(d log(2 d^2 / failure)) - certain smallest eigenvalue),
    theta = (X'X + noise + ridge I)^-1 (X'y + noise).

The noise on X'X is symmetric with half the variance off the diagonal: the same sensitivity and the same cost as the
listing's full variance, with less noise.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..data.rows import BoundedRows
from ..errors import ParameterError
from ..linalg import inverse_symmetric, solve_symmetric
from ..mechanisms import Channel
from ..privacy.budget import PrivacyBudget
from ..privacy.calibration import gaussian_multiplier, least_noise
from ..privacy.releases import GaussianRelease, Release
from ..randomness import Bits
from ..statistics import gram_and_first_gradient
from .base import Array, Evidence, Fit, RowCount
from .judging import evidence_against_constant
from .options import PlannedFor, failure_or_default, one_of, share

Noise = Literal["analytic", "classical"]


@dataclass(frozen=True)
class AdaSSPPlan(PlannedFor):
    """Every public number of a run of AdaSSP."""

    eigenvalue_multiplier: float
    gram_multiplier: float
    target_multiplier: float
    eigenvalue_margin: float
    ridge_target: float  # what smallest eigenvalue and ridge must make together

    @property
    def releases(self) -> tuple[Release, ...]:
        """The smallest eigenvalue, X'X and X'y."""
        multipliers = (self.eigenvalue_multiplier, self.gram_multiplier, self.target_multiplier)
        return tuple(GaussianRelease(multiplier) for multiplier in multipliers)

    @property
    def release_names(self) -> tuple[str, ...]:
        """What each release is of, in the same order."""
        return ("smallest eigenvalue of X'X", "X'X", "X'y")


def plan(
    given: PlannedFor,
    *,
    noise: Noise = "analytic",
    eigenvalue_share: float = 1.0 / 3.0,
    failure_probability: float | None = None,
) -> AdaSSPPlan:
    """Choose every number of a run from public ones.

    Parameters
    ----------
    given : PlannedFor
        What the plan is for. Accounting "exact" or "paper":
        One exact calibration of all three releases together, or a third of epsilon and delta for each.
    noise : "analytic" or "classical"
        For the paper's accounting: the analytic Gaussian mechanism, as in the paper's experiments, or the classical
        constants of its listing. The latter are proved for small epsilon only; where they would not do, the
        analytic ones are taken.
    eigenvalue_share : float
        Share of the squared budget that goes to the eigenvalue (exact accounting only); the rest is halved.
    failure_probability : float, optional
        Probability with which the ridge may be too small, by default delta / 10.
    """
    budget = given.budget
    one_of("noise", noise, ("analytic", "classical"))
    part = share("eigenvalue_share", eigenvalue_share)
    failure = failure_or_default(budget, failure_probability)

    def at(eigenvalue: float, rest: float) -> AdaSSPPlan:
        return AdaSSPPlan(
            **vars(given),
            eigenvalue_multiplier=eigenvalue,
            gram_multiplier=rest,
            target_multiplier=rest,
            eigenvalue_margin=math.sqrt(2.0 * math.log(6.0 / budget.delta)),
            ridge_target=rest * math.sqrt(given.n_features * math.log(2.0 * given.n_features**2 / failure)),
        )

    if given.accounting == "paper":
        each = _published_multiplier(budget, noise)
        return at(each, each)
    if noise != "analytic":
        raise ParameterError(f"noise={noise!r} belongs to the paper's accounting; exact accounting finds its own.")

    def in_shares(total: float) -> AdaSSPPlan:
        return at(total / math.sqrt(part), total * math.sqrt(2.0 / (1.0 - part)))

    return in_shares(least_noise(lambda x: in_shares(x).releases, budget, start=3.0 / budget.epsilon))


def run(rows: BoundedRows, plan: AdaSSPPlan, bits: Sequence[Bits]) -> Fit:
    """Follow the plan, once for each stream of bits."""
    channel = Channel(bits)
    # Targets lie in [-1, 1], so that the clipped gradient at 0 is X'y itself.
    hessian, exact_cross = gram_and_first_gradient(rows, residual_bound=1.0)
    smallest = channel.eigenvalue(hessian, "smallest", multiplier=plan.eigenvalue_multiplier)
    certain = np.maximum(smallest - plan.eigenvalue_margin * plan.eigenvalue_multiplier, 0.0)
    ridge = np.maximum(plan.ridge_target - certain, 0.0)
    noisy_gram = channel.symmetric_gaussian(hessian, multiplier=plan.gram_multiplier)
    cross = channel.gaussian(exact_cross, multiplier=plan.target_multiplier)
    theta = solve_symmetric(noisy_gram + ridge[:, None, None] * np.eye(plan.n_features), cross)
    transcript = {"smallest_eigenvalue": smallest, "gram": noisy_gram, "cross": cross, "ridge": ridge}
    return Fit(theta, channel.releases, transcript)


def evidence(plan: AdaSSPPlan, fit: Fit, trial: int, constant: float | None) -> Evidence:
    """Judge one trial's fit by its own releases; ``constant`` is the intercept's coordinate, None without one."""
    theta, released, cross = (a[trial] for a in (fit.theta, fit.transcript["gram"], fit.transcript["cross"]))
    inverse = inverse_symmetric(released + float(fit.transcript["ridge"][trial]) * np.eye(plan.n_features))
    right_noise = plan.target_multiplier**2 * np.eye(plan.n_features) + noise_times(theta, plan.gram_multiplier)
    covariance = inverse @ right_noise @ inverse
    # Both noises are in theta too and so flatter it: in first order by twice the trace of inverse times their sum.
    flattery = 2.0 * float(np.trace(inverse @ right_noise))
    norm = float(theta @ theta)
    return evidence_against_constant(
        covariance,
        float(theta @ released @ theta) - 2.0 * float(cross @ theta) + max(flattery, 0.0),
        (2.0 * plan.target_multiplier) ** 2 * norm + (plan.gram_multiplier * norm) ** 2,
        total=float(cross[-1]),
        total_variance=plan.target_multiplier**2,
        n_rows=plan.n_rows,
        constant=constant,
        squares=RowCount(float(released[-1, -1]), plan.gram_multiplier),
    )


def noise_times(theta: Array, stddev: float) -> Array:
    """Return the covariance of Z theta for symmetric noise Z of variance stddev^2, half of it off the diagonal."""
    return np.asarray(0.5 * stddev**2 * (float(theta @ theta) * np.eye(len(theta)) + np.outer(theta, theta)))


def _published_multiplier(budget: PrivacyBudget, noise: Noise) -> float:
    """Return the noise multiplier of each of the three releases at a third of epsilon and delta."""
    analytic = gaussian_multiplier(PrivacyBudget(budget.epsilon / 3.0, budget.delta / 3.0))
    classical = math.sqrt(2.0 * math.log(6.0 / budget.delta)) / (budget.epsilon / 3.0)
    return max(analytic, classical) if noise == "classical" else analytic
