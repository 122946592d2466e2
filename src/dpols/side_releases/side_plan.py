"""What a fit is to release beside its method, part by part, and the method's plan next to it."""

from dataclasses import dataclass
from typing import Any

from ..algorithms.base import Algorithm
from ..privacy.budget import PrivacyBudget
from ..privacy.releases import GaussianRelease
from .alongside import plan_alongside
from .bounds_advice import COUNTS_NAME
from .paid_bounds import PASSES


@dataclass(frozen=True)
class SidePlan:
    """The releases beside a method; a fit makes them in this order."""

    bounds: tuple[GaussianRelease, ...] = ()  # one for each pass that finds bounds
    counts: GaussianRelease | None = None  # of values within and beyond the bounds

    @property
    def releases(self) -> tuple[GaussianRelease, ...]:
        """All of them, in order."""
        counts = () if self.counts is None else (self.counts,)
        return (*self.bounds, *counts)

    @property
    def release_names(self) -> tuple[str, ...]:
        """What each release is of, in the same order."""
        counts = () if self.counts is None else (COUNTS_NAME,)
        return (*PASSES[: len(self.bounds)], *counts)


@dataclass(frozen=True)
class FitPlan:
    """A method's plan, and what is released beside it within the same budget."""

    method: Any
    beside: SidePlan


def plan_fit(
    method: Algorithm,
    budget: PrivacyBudget,
    *,
    n_rows: int | None,
    n_features: int,
    bounds: tuple[GaussianRelease, ...] = (),
    counts: GaussianRelease | None = None,
    **options: Any,
) -> FitPlan:
    """Plan a method for a whole (zero-out) budget that also pays for bounds and counts.

    ``options`` go to the method's own ``plan``.
    """
    sizes = {"n_rows": n_rows, "n_features": n_features}
    beside = SidePlan(bounds, counts)
    return FitPlan(plan_alongside(method, budget, beside.releases, **sizes, **options), beside)
