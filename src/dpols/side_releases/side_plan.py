"""What a fit is to release beside its method, part by part, and the method's plan next to it."""

from dataclasses import dataclass
from typing import Any

from ..algorithms.base import Algorithm
from ..privacy.budget import PrivacyBudget
from ..privacy.releases import GaussianRelease
from . import one_step
from .alongside import plan_alongside
from .bounds_advice import COUNTS_NAME
from .paid_bounds import PASSES


@dataclass(frozen=True)
class SidePlan:
    """The releases beside a method; a fit makes them in this order."""

    bounds: tuple[GaussianRelease, ...] = ()  # one for each pass that finds bounds
    counts: GaussianRelease | None = None  # of values within and beyond the bounds
    intervals: one_step.OneStepPlan | None = None  # what standard errors and intervals are computed from

    @property
    def releases(self) -> tuple[GaussianRelease, ...]:
        """All of them, in order."""
        counts = () if self.counts is None else (self.counts,)
        return (*self.bounds, *counts, *(() if self.intervals is None else self.intervals.releases))

    @property
    def release_names(self) -> tuple[str, ...]:
        """What each release is of, in the same order."""
        counts = () if self.counts is None else (COUNTS_NAME,)
        intervals = () if self.intervals is None else self.intervals.release_names
        return (*PASSES[: len(self.bounds)], *counts, *intervals)


@dataclass(frozen=True)
class FitPlan:
    """A method's plan, and what is released beside it within the same budget."""

    method: Any
    beside: SidePlan


def plan_fit(
    method: Algorithm,
    budget: PrivacyBudget,
    *,
    n_rows: int,
    n_features: int,
    bounds: tuple[GaussianRelease, ...] = (),
    counts: GaussianRelease | None = None,
    inference_share: float | None = one_step.DEFAULT_SHARE,
    **options: Any,
) -> FitPlan:
    """Plan a method for a whole (zero-out) budget that also pays for bounds, counts and intervals.

    ``inference_share`` is the share of the squared budget that intervals take, None for none. ``options`` go to the
    method's own ``plan``.
    """
    sizes = {"n_rows": n_rows, "n_features": n_features}
    step = None if inference_share is None else one_step.plan(budget, **sizes, budget_share=inference_share)
    beside = SidePlan(bounds, counts, step)
    return FitPlan(plan_alongside(method, budget, beside.releases, **sizes, **options), beside)
