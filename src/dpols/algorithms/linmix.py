"""Linear mixing: least squares on one private sketch of features and target together.

Algorithm 4 of Lev et al., "Near-optimal private linear regression via iterative Hessian mixing" (after Lev et al.,
"The Gaussian mixing mechanism", 2025). With rows [x, y], whose squared norm is at most 2, and k rows
[X~, Y~] of law N(0, [X, y]'[X, y] + shift I),

    theta = (X~'X~)^-1 X~'Y~.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..data.rows import BoundedRows
from ..mechanisms import Channel
from ..privacy import paper
from ..privacy.releases import MixingRelease, Release
from ..randomness import Bits
from ..statistics import gram_with_target
from .base import Evidence, Fit
from .options import PlannedFor, failure_or_default
from .sketched import checked_sketch_size, sketch_evidence, solve_sketch
from .tested_sketch import CERTAIN, EigenvalueRelease, TestedSketchPlan, check_eigenvalue, least_noisy, margin_for


@dataclass(frozen=True)
class LinMixPlan(TestedSketchPlan):
    """Every public number of a run of LinMix."""

    @property
    def releases(self) -> tuple[Release, ...]:
        """The eigenvalue test, where there is one, then the sketch."""
        return (*self.test, MixingRelease(self.sketch_size, self.floor))

    @property
    def release_names(self) -> tuple[str, ...]:
        """What each release is of, in the same order."""
        return (*self.test_names("[X, y]'[X, y]"), "sketch of [X, y]")


def plan(
    given: PlannedFor,
    *,
    sketch_size: int | None = None,
    eigenvalue: EigenvalueRelease | None = None,
    failure_probability: float | None = None,
) -> LinMixPlan:
    """Choose every number of a run from public ones.

    Parameters
    ----------
    given : PlannedFor
        What the plan is for. Accounting "exact" or "paper":
        Joint, exact calibration, or the paper's own: Renyi bound for the sketch, classical bound for the eigenvalue.
    sketch_size : int, optional
        Rows k of the sketch, more than ``n_features``; by default 2.5 max(d, log(2 / failure_probability)). A small
        sketch needs little noise but costs accuracy of its own, about d / k of the residual sum of squares.
    eigenvalue : "auto", "on" or "off", optional
        Whether to release the smallest eigenvalue in order to lower the shift. "auto", the default of exact
        accounting, releases it where the largest value that n rows allow, n / (d + 1), would remove the shift.
    failure_probability : float, optional
        the paper's failure probability, by default delta / 10.
    """
    budget = given.budget
    check_eigenvalue(eigenvalue, published=given.accounting == "paper")
    failure = failure_or_default(budget, failure_probability)
    size = checked_sketch_size(sketch_size, given.n_features, failure)

    def with_noise(floor: float, test: bool, margin: float) -> LinMixPlan:
        return LinMixPlan(
            **vars(given),
            sketch_size=size,
            floor=floor,
            eigenvalue_multiplier=floor / math.sqrt(size) if test else None,
            eigenvalue_margin=margin,
        )

    if given.accounting == "paper":
        margin = paper.eigenvalue_margin(budget.delta, failure, parts=3, failure_parts=2)
        return with_noise(paper.mixing_floor(budget, sketch_size=size), True, margin)

    def at(noise: float, test: bool) -> LinMixPlan:
        # sqrt(rows / 2) / floor acts like the sketch's own mu.
        return with_noise(math.sqrt(1.0 + 0.5 * size * noise**2), test, margin_for(budget, failure))

    return least_noisy(at, eigenvalue, budget, given.n_rows, given.n_features + 1)


def run(rows: BoundedRows, plan: LinMixPlan, bits: Sequence[Bits]) -> Fit:
    """Follow the plan, once for each stream of bits."""
    channel = Channel(bits)
    joint = gram_with_target(rows)
    test = plan.certain(channel, joint)
    mixed = channel.mix_gram(joint, rows=plan.sketch_size, floor=plan.floor, certain=test.get(CERTAIN))
    return Fit(solve_sketch(mixed.gram), channel.releases, {"sketch": mixed.gram, "shift": mixed.shift, **test})


def evidence(plan: LinMixPlan, fit: Fit, trial: int, constant: float | None) -> Evidence:
    """Judge one trial's fit by its own releases; ``constant`` is the intercept's coordinate, None without one."""
    return sketch_evidence(fit, trial, sketch_size=plan.sketch_size, n_rows=plan.n_rows, constant=constant)
