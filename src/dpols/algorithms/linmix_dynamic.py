"""Linear mixing with a sketch as large as a private eigenvalue allows.

Algorithm 5 of Lev et al., "Near-optimal private linear regression via iterative Hessian mixing": where the certain
smallest eigenvalue of [X, y]'[X, y] exceeds what a sketch of k rows needs, add nothing and enlarge the sketch to what
the budget then allows. Eigenvalues are compared in units of the squared row norm C_X^2 + C_Y^2 = 2, which the
listing's condition omits.

The sketch depends on a release, so that joint accounting does not apply. The eigenvalue and the sketch each have a part
of the budget, and the parts add up (basic composition). The sketch sizes to choose from, each with the least floor that
meets the second part, are listed in the plan.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from ..data.rows import BoundedRows
from ..errors import CalibrationError
from ..mechanisms import Channel
from ..privacy import paper
from ..privacy.accountant import epsilon_of
from ..privacy.budget import PrivacyBudget
from ..privacy.calibration import least_noise
from ..privacy.releases import FailureAllowance, GaussianRelease, MixingRelease, Release
from ..randomness import Bits
from ..statistics import gram_with_target
from .base import Evidence, Fit, Stages, TestedFirst, in_two_stages, joined, split
from .options import PlannedFor, failure_or_default, share
from .sketched import checked_sketch_size, least_sketch, sketch_evidence, solve_sketch

_SQUARED_ROW_NORM = 2.0
_GROWTH = 1.25  # of the sketch from one outcome to the next


@dataclass(frozen=True)
class DynamicLinMixPlan(TestedFirst):
    """Every public number of a run of LinMix with dynamic k."""

    eigenvalue_margin: float
    outcomes: tuple[MixingRelease, ...]  # the sketches to choose from, the smallest first

    @property
    def release_names(self) -> tuple[str, ...]:
        """What each release is of, in the same order."""
        return ("certain smallest eigenvalue of [X, y]'[X, y]", f"sketch of [X, y], one of {len(self.outcomes)} sizes")

    @property
    def test(self) -> tuple[Release, ...]:
        """The releases of the first stage."""
        return (GaussianRelease(self.eigenvalue_multiplier), FailureAllowance.beyond(self.eigenvalue_margin))

    def choose(self, certain: float) -> MixingRelease:
        """Return the largest sketch that needs no shift, or the smallest one where each would need some."""
        free = [outcome for outcome in self.outcomes if outcome.floor * _SQUARED_ROW_NORM <= certain]
        return free[-1] if free else self.outcomes[0]

    def allows(self, stages: Stages) -> bool:
        """Whether these recorded releases are one of the outcomes."""
        return len(stages) == 2 and stages[0] == self.test and stages[1] in [(o,) for o in self.outcomes]


def plan(
    given: PlannedFor,
    *,
    sketch_size: int | None = None,
    eigenvalue_share: float = 0.25,
    failure_probability: float | None = None,
) -> DynamicLinMixPlan:
    """Choose every number of a run, and the sketches to choose from, from public numbers.

    Parameters
    ----------
    given : PlannedFor
        What the plan is for. Accounting "exact" or "paper":
        Exact calibration of each stage, or the paper's: classical bound for the eigenvalue, Renyi bound for the sketch.
    sketch_size : int, optional
        Least number of sketch rows, more than ``n_features``; by default 2.5 max(d, log(2 / failure_probability)). The
        sketch grows up to ``n_rows`` rows.
    eigenvalue_share : float
        Share of epsilon that is reserved for the eigenvalue (exact accounting only).
    failure_probability : float, optional
        the paper's failure probability, by default delta / 10.
    """
    budget = given.budget
    part = share("eigenvalue_share", eigenvalue_share)
    failure = failure_or_default(budget, failure_probability)
    size = checked_sketch_size(sketch_size, given.n_features, failure)
    if given.accounting == "paper":
        margin = math.sqrt(8.0 * math.log(max(3.0 / budget.delta, 4.0 / failure)))
        multiplier = max(
            paper.mixing_floor(budget, sketch_size=size) / math.sqrt(size),
            # At large delta the Renyi bound of the sketch is negative and would leave it nothing.
            _classical_epsilon(1.0, budget.delta / 3.0) / (0.9 * budget.epsilon),
        )
        stages = _published_stages(budget, multiplier, margin)
    else:
        stages = in_two_stages(budget, part)
        margin = -float(ndtri(min(failure, 0.2 * stages[0].delta)))
        missed = FailureAllowance.beyond(margin)
        multiplier = least_noise(lambda x: [GaussianRelease(x), missed], stages[0], start=3.0 / stages[0].epsilon)
    sketch_for = _published_sketch if given.accounting == "paper" else least_sketch
    return DynamicLinMixPlan(
        **vars(given),
        stage_budgets=stages,
        eigenvalue_multiplier=multiplier,
        eigenvalue_margin=margin,
        outcomes=_outcomes(size, given, lambda rows: sketch_for(rows, stages[1])),
    )


def run(rows: BoundedRows, plan: DynamicLinMixPlan, bits: Sequence[Bits]) -> Fit:
    """Follow the plan, once for each stream of bits; trials may differ in the size of their sketch."""
    joint = gram_with_target(rows)
    fits = []
    for stream in bits:
        channel = Channel([stream])
        certain = channel.certain_smallest_eigenvalue(
            joint, multiplier=plan.eigenvalue_multiplier, margin=plan.eigenvalue_margin
        )
        test = channel.releases
        chosen = plan.choose(float(certain[0]))
        mixed = channel.mix_gram(joint, rows=chosen.rows, floor=chosen.floor, certain=certain)
        fits.append(
            Fit(
                theta=solve_sketch(mixed.gram),
                releases=channel.releases,
                transcript={
                    "sketch": mixed.gram,
                    "shift": mixed.shift,
                    "certain_smallest_eigenvalue": certain,
                    "sketch_size": np.array([chosen.rows]),
                },
                release_names=("smallest eigenvalue of [X, y]'[X, y]", "its lower bound", "sketch of [X, y]"),
                stages=((test, channel.releases[len(test) :]),),
            )
        )
    return joined(fits)


def evidence(plan: DynamicLinMixPlan, fit: Fit, trial: int, constant: float | None) -> Evidence:
    """Judge one trial's fit by its own releases; ``constant`` is the intercept's coordinate, None without one."""
    size = int(fit.transcript["sketch_size"][trial])
    return sketch_evidence(fit, trial, sketch_size=size, n_rows=plan.public_rows, constant=constant)


def _outcomes(size: int, given: PlannedFor, sketch_for: Callable[[int], MixingRelease]) -> tuple[MixingRelease, ...]:
    """Return sketches of growing size, as long as the largest eigenvalue that n rows allow could pay for them."""
    outcomes = [sketch_for(size)]
    while True:
        size = math.ceil(_GROWTH * size)
        if size > given.public_rows:
            return tuple(outcomes)
        try:
            larger = sketch_for(size)
        except CalibrationError:
            return tuple(outcomes)
        if larger.floor > given.public_rows / (given.n_features + 1):
            return tuple(outcomes)
        outcomes.append(larger)


def _published_sketch(rows: int, budget: PrivacyBudget) -> MixingRelease:
    return MixingRelease(rows, paper.sketch_floor(budget, rows=rows))


def _published_stages(budget: PrivacyBudget, multiplier: float, margin: float) -> tuple[PrivacyBudget, PrivacyBudget]:
    """Split by the parts of Proposition 2: two thirds of delta for the test and its failure, one for the sketch.

    The listing sets eta anew for the enlarged sketch; what counts is the eta that was used. Its classical bound is
    proved for small epsilon only, so the exact cost is reserved where that is larger.
    """
    delta = budget.delta / 3.0
    test = (GaussianRelease(multiplier), FailureAllowance.beyond(margin))
    claimed = _classical_epsilon(multiplier, delta)
    first = PrivacyBudget(max(claimed, epsilon_of(test, 2.0 * delta)), 2.0 * delta)
    if first.epsilon >= budget.epsilon:
        raise CalibrationError(
            f"the paper's accounting of {budget} leaves nothing for the sketch after the eigenvalue test; "
            "lower delta or use accounting='exact'."
        )
    return split(budget, first)


def _classical_epsilon(multiplier: float, delta: float) -> float:
    return math.sqrt(2.0 * math.log(1.25 / delta)) / multiplier
