"""Sheffet's sketch: least squares on a private sketch of fixed size, always with the same ridge appended.

Sheffet, "Differentially private ordinary least squares" (ICML 2017), Algorithm 1, and "Old techniques in differentially
private linear regression" (ALT 2019), Theorem 2: R [A; w I] with R of k rows of independent standard normals and
A = [X, y] with rows of norm at most B is (epsilon, delta)-private for

    w^2 = (8 B^2 / epsilon) (sqrt(2 k log(8 / delta)) + 2 log(8 / delta)).

His algorithm first tests by Laplace noise whether the ridge can be left out, for half of the budget. That branch needs
a smallest eigenvalue above w^2 and is not taken here; the constant is as published.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..data.rows import BoundedRows
from ..mechanisms import Channel
from ..privacy.budget import PrivacyBudget
from ..privacy.releases import MixingRelease, Release
from ..randomness import Bits
from ..statistics import gram_with_target
from .base import Evidence, Fit
from .options import PlannedFor
from .sketched import checked_sketch_size, least_sketch, sketch_evidence, solve_sketch


@dataclass(frozen=True)
class SheffetPlan(PlannedFor):
    """Every public number of a run of Sheffet's sketch."""

    sketch_size: int
    floor: float  # 1 + w^2 / B^2: what the ridge and the row in question make together

    @property
    def releases(self) -> tuple[Release, ...]:
        """The sketch."""
        return (MixingRelease(self.sketch_size, self.floor),)

    @property
    def release_names(self) -> tuple[str, ...]:
        """What each release is of, in the same order."""
        return ("sketch of [X, y]",)


def plan(given: PlannedFor, *, sketch_size: int | None = None) -> SheffetPlan:
    """Choose every number of a run from public ones.

    Parameters
    ----------
    given : PlannedFor
        What the plan is for. Accounting "exact" or "paper":
        The least ridge by exact accounting, or the published formula.
    sketch_size : int, optional
        Rows k of the sketch, more than ``n_features``; by default 2.5 max(d, log(20 / delta)), as for LinMix.
    """
    budget = given.budget
    size = checked_sketch_size(sketch_size, given.n_features, budget.delta / 10.0)
    floor = 1.0 + published_ridge(budget, size) if given.accounting == "paper" else least_sketch(size, budget).floor
    return SheffetPlan(**vars(given), sketch_size=size, floor=floor)


def published_ridge(budget: PrivacyBudget, sketch_size: int) -> float:
    """Return w^2 / B^2."""
    log_term = math.log(8.0 / budget.delta)
    return 8.0 / budget.epsilon * (math.sqrt(2.0 * sketch_size * log_term) + 2.0 * log_term)


def run(rows: BoundedRows, plan: SheffetPlan, bits: Sequence[Bits]) -> Fit:
    """Follow the plan, once for each stream of bits."""
    channel = Channel(bits)
    mixed = channel.mix_gram(gram_with_target(rows), rows=plan.sketch_size, floor=plan.floor)
    return Fit(solve_sketch(mixed.gram), channel.releases, {"sketch": mixed.gram, "shift": mixed.shift})


def evidence(plan: SheffetPlan, fit: Fit, trial: int, constant: float | None) -> Evidence:
    """Judge one trial's fit by its own releases; ``constant`` is the intercept's coordinate, None without one."""
    return sketch_evidence(fit, trial, sketch_size=plan.sketch_size, n_rows=plan.n_rows, constant=constant)
