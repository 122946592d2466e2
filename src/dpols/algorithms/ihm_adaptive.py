"""Iterative Hessian mixing with its sketch size and number of iterations chosen from private eigenvalues.

"Choosing parameters for IHM" in Lev et al., "Near-optimal private linear regression via iterative Hessian mixing": the
number of iterations follows the smallest eigenvalue of X'X (T*), and the sketch must be large enough that nothing is
clipped. For that the paper takes k = 6 max(d, log(4 T / failure), g^X), where g^X follows from both eigenvalues. It is
sufficient up to a constant; by default the sketch is the least one for which the condition itself holds,
chi sqrt(kappa) / (2 - chi) < 1 at the floor of that sketch. Either is chosen from released eigenvalues.

What is released later depends on these, so that joint accounting does not apply: the eigenvalues have a part of the
budget, IHM has the rest whatever is chosen, and the parts add up (basic composition). The choices are listed in the
plan.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from .. import theory
from ..constraints import Region
from ..data.rows import BoundedRows
from ..mechanisms import Channel
from ..privacy.budget import PrivacyBudget
from ..privacy.calibration import gaussian_multiplier, least_noise
from ..privacy.releases import GaussianRelease, MixingRelease, Release
from ..randomness import Bits
from ..statistics import gram
from . import ihm
from .base import Array, Evidence, Fit, Stages, TestedFirst, in_two_stages, joined
from .options import PlannedFor, one_of, positive, share, steps

SketchRule = Literal["no-clipping", "condition-term"]
_DOUBLINGS = 5  # of the sketch size, from the default upwards
_GROWTH = 1.25  # from one sketch size to the next, where they follow g^X
_MOST_SKETCH_ROWS = 2**20  # there; exact draws take time in proportion


@dataclass(frozen=True)
class AdaptiveIHMPlan(TestedFirst):
    """Every public number of a run of IHM with private choices."""

    iterations: tuple[int, ...]  # to choose from
    sketch_sizes: tuple[int, ...]  # to choose from, the smallest first
    sketch_rule: SketchRule
    residual_bound: float
    ridge: bool

    @property
    def release_names(self) -> tuple[str, ...]:
        """What each release is of, in the same order."""
        count = len(self.iterations) * len(self.sketch_sizes)
        return ("smallest and largest eigenvalue of X'X", f"iterative Hessian mixing, one of {count} choices")

    @property
    def estimates(self) -> tuple[Release, ...]:
        """The releases of the first stage."""
        return (GaussianRelease(self.eigenvalue_multiplier),) * 2

    def outcome(self, n_iterations: int, sketch_size: int) -> ihm.IHMPlan:
        """Return the plan of the second stage for one choice."""
        return ihm.plan(
            PlannedFor.checked(self.stage_budgets[1], self.public_rows, self.n_features, self.accounting),
            n_iterations=n_iterations,
            sketch_size=sketch_size,
            residual_bound=self.residual_bound,
            ridge=self.ridge,
        )

    def choose(self, smallest: float, largest: float) -> ihm.IHMPlan:
        """Return the plan for two released eigenvalues: T* iterations, and the least sketch that meets the rule."""
        # Noise may have moved them outside of what n rows of norm 1 allow.
        smallest = min(max(smallest, 0.0), self.public_rows / self.n_features)
        largest = min(max(largest, smallest), float(self.public_rows))
        best = theory.best_iterations(self.budget, n_features=self.n_features, smallest=smallest, largest=largest)
        n_iterations = min(max(math.ceil(best), self.iterations[0]), self.iterations[-1])
        if self.sketch_rule == "condition-term":
            wanted = theory.suggested_sketch_size(
                n_features=self.n_features,
                n_iterations=n_iterations,
                failure_probability=self.budget.delta / 10.0,
                condition_term=theory.condition_term(
                    self.budget, n_features=self.n_features, smallest=smallest, largest=largest
                ),
            )
            listed = (size for size in self.sketch_sizes if size >= wanted)
            return self.outcome(n_iterations, next(listed, self.sketch_sizes[-1]))
        for sketch_size in self.sketch_sizes:
            plan = self.outcome(n_iterations, sketch_size)
            condition = theory.shifted_condition_number(smallest=smallest, largest=largest, floor=plan.floor)
            ratio = theory.no_clipping_ratio(
                n_features=self.n_features, sketch_size=sketch_size, condition_number=condition
            )
            if ratio < 1.0:
                break
        return plan

    def allows(self, stages: Stages) -> bool:
        """Whether these recorded releases are one of the outcomes."""
        if len(stages) != 2 or stages[0] != self.estimates:
            return False
        sizes = [release.rows for release in stages[1] if isinstance(release, MixingRelease)]
        listed = len(sizes) in self.iterations and sizes[0] in self.sketch_sizes
        return listed and stages[1] == self.outcome(len(sizes), sizes[0]).releases


def plan(
    given: PlannedFor,
    *,
    min_iterations: int = 2,
    max_iterations: int = 6,
    eigenvalue_share: float = 0.1,
    sketch_rule: SketchRule = "no-clipping",
    residual_bound: float = 1.0,
    ridge: bool = False,
) -> AdaptiveIHMPlan:
    """Choose every number of a run, and the choices that it may make, from public numbers.

    Parameters
    ----------
    given : PlannedFor
        What the plan is for. Accounting "exact" or "paper":
        Exact calibration of each stage, or the paper's own for IHM after analytic Gaussian noise on each eigenvalue.
    min_iterations : int
        Least number T of Newton steps to choose.
    max_iterations : int
        Greatest number T of Newton steps to choose.
    eigenvalue_share : float
        Share of epsilon that is reserved for the two eigenvalues.
    sketch_rule : "no-clipping" or "condition-term"
        How the sketch size follows from them: the least doubling of the default for which the paper's condition against
        clipping holds, or its 6 max(d, log(4 T / failure), g^X), rounded up to a size of a list that grows by quarters
        and ends at the number of rows.
    residual_bound : float
        Clip level C of residuals in the gradient, in units of the target's bound.
    ridge : bool
        Whether steps aim at the ridge solution (as analysed) or at least squares (as in the paper's experiments).
    """
    budget = given.budget
    least = steps("min_iterations", min_iterations)
    most = steps("max_iterations", max_iterations, least=least)
    stages = in_two_stages(budget, share("eigenvalue_share", eigenvalue_share))
    if given.accounting == "paper":
        multiplier = gaussian_multiplier(PrivacyBudget(stages[0].epsilon / 2.0, stages[0].delta / 2.0))
    else:
        multiplier = least_noise(lambda x: (GaussianRelease(x),) * 2, stages[0], start=3.0 / stages[0].epsilon)
    one_of("sketch_rule", sketch_rule, get_args(SketchRule))
    return AdaptiveIHMPlan(
        **vars(given),
        stage_budgets=stages,
        eigenvalue_multiplier=multiplier,
        iterations=tuple(range(least, most + 1)),
        sketch_sizes=_doubled_sizes(given, most) if sketch_rule == "no-clipping" else _growing_sizes(given, most),
        sketch_rule=sketch_rule,
        residual_bound=positive("residual_bound", residual_bound),
        ridge=bool(ridge),
    )


def run(rows: BoundedRows, plan: AdaptiveIHMPlan, bits: Sequence[Bits], region: Region | None = None) -> Fit:
    """Follow the plan, once for each stream of bits; trials may differ in what they choose."""
    hessian = gram(rows)
    fits = []
    for stream in bits:
        channel = Channel([stream])
        smallest = channel.eigenvalue(hessian, "smallest", multiplier=plan.eigenvalue_multiplier)
        largest = channel.eigenvalue(hessian, "largest", multiplier=plan.eigenvalue_multiplier)
        chosen = plan.choose(float(smallest[0]), float(largest[0]))
        inner = ihm.run(rows, chosen, [stream], region)
        fits.append(
            Fit(
                theta=inner.theta,
                releases=channel.releases + inner.releases,
                transcript={
                    "smallest_eigenvalue": smallest,
                    "largest_eigenvalue": largest,
                    "n_iterations": np.array([chosen.n_iterations]),
                    "sketch_size": np.array([chosen.sketch_size]),
                    "shift": inner.transcript["shift"],
                    "sketches": _padded(inner.transcript["sketches"], plan.iterations[-1]),
                    "gradients": _padded(inner.transcript["gradients"], plan.iterations[-1]),
                },
                release_names=("smallest eigenvalue of X'X", "largest eigenvalue of X'X", *chosen.release_names),
                stages=((channel.releases, inner.releases),),
            )
        )
    return joined(fits)


def evidence(plan: AdaptiveIHMPlan, fit: Fit, trial: int, constant: float | None) -> Evidence:
    """Judge one trial's fit by its own releases; ``constant`` is the intercept's coordinate, None without one."""
    count = int(fit.transcript["n_iterations"][trial])
    chosen = plan.outcome(count, int(fit.transcript["sketch_size"][trial]))
    one = slice(trial, trial + 1)
    inner = Fit(
        theta=fit.theta[one],
        releases=chosen.releases,
        transcript={
            "sketches": fit.transcript["sketches"][one, :count],
            "gradients": fit.transcript["gradients"][one, :count],
            "shift": fit.transcript["shift"][one],
        },
    )
    return ihm.evidence(chosen, inner, 0, constant)


def _doubled_sizes(given: PlannedFor, n_iterations: int) -> tuple[int, ...]:
    size = theory.suggested_sketch_size(
        n_features=given.n_features, n_iterations=n_iterations, failure_probability=given.budget.delta / 10.0
    )
    return tuple(size * 2**j for j in range(_DOUBLINGS))


def _growing_sizes(given: PlannedFor, n_iterations: int) -> tuple[int, ...]:
    """Return sizes from the default up to the one for the largest g^X that n rows of norm 1 allow, or to n rows."""
    sizes: dict[str, Any] = {"n_features": given.n_features, "failure_probability": given.budget.delta / 10.0}
    widest = theory.condition_term(
        given.budget, n_features=given.n_features, smallest=0.0, largest=float(given.public_rows)
    )
    most = min(given.public_rows, _MOST_SKETCH_ROWS)
    wanted = theory.suggested_sketch_size(n_iterations=n_iterations, condition_term=min(widest, most), **sizes)
    default = theory.suggested_sketch_size(n_iterations=n_iterations, **sizes)
    found = [theory.suggested_sketch_size(n_iterations=1, **sizes)]
    while found[-1] < max(default, min(wanted, most)):
        found.append(min(math.ceil(_GROWTH * found[-1]), max(default, min(wanted, most))))
    return tuple(found)


def _padded(values: Array, length: int) -> Array:
    """Return values of shape (1, T, ...) with the second axis filled up to a length that all trials share."""
    missing = length - values.shape[1]
    return np.concatenate((values, np.full((1, missing, *values.shape[2:]), math.nan)), axis=1)
