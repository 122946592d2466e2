"""What IHM and LinMix share: a sketch, before which the smallest eigenvalue may be released to lower its shift."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeVar

from scipy.special import ndtri

from ..errors import ParameterError
from ..mechanisms import Channel
from ..privacy.budget import PrivacyBudget
from ..privacy.calibration import least_noise
from ..privacy.releases import FailureAllowance, GaussianRelease, Release
from ..statistics import Statistic
from .base import Array
from .options import PlannedFor, one_of

EigenvalueRelease = Literal["auto", "on", "off"]
CERTAIN = "certain_smallest_eigenvalue"  # what the lower bound is called in a transcript


@dataclass(frozen=True)
class TestedSketchPlan(PlannedFor, ABC):
    """The public numbers of the test and of the sketch."""

    sketch_size: int
    floor: float  # in units of the squared norm of a sketched row
    eigenvalue_multiplier: float | None  # None: the smallest eigenvalue is not released
    eigenvalue_margin: float

    @property
    def test(self) -> tuple[Release, ...]:
        """The eigenvalue test, where there is one."""
        if self.eigenvalue_multiplier is None:
            return ()
        return GaussianRelease(self.eigenvalue_multiplier), FailureAllowance.beyond(self.eigenvalue_margin)

    @property
    @abstractmethod
    def releases(self) -> tuple[Release, ...]:
        """What a run releases, in order: the test first."""

    def test_names(self, matrix: str) -> tuple[str, ...]:
        """What the releases of the test are of."""
        return (f"smallest eigenvalue of {matrix}", "its lower bound") if self.test else ()

    def certain(self, channel: Channel, gram: Statistic) -> dict[str, Array]:
        """Release the lower bound on the smallest eigenvalue, where the plan does, under its name."""
        if self.eigenvalue_multiplier is None:
            return {}
        bound = channel.certain_smallest_eigenvalue(
            gram, multiplier=self.eigenvalue_multiplier, margin=self.eigenvalue_margin
        )
        return {CERTAIN: bound}


_Plan = TypeVar("_Plan", bound=TestedSketchPlan)


def check_eigenvalue(eigenvalue: EigenvalueRelease | None, *, published: bool) -> None:
    """Check the option that says whether to release the smallest eigenvalue."""
    one_of("eigenvalue", eigenvalue, (None, "auto", "on", "off"))
    if published and eigenvalue not in (None, "on"):
        raise ParameterError(f"eigenvalue={eigenvalue!r}: the paper's accounting always releases it; leave it out.")


def margin_for(budget: PrivacyBudget, failure: float) -> float:
    """Return how many standard deviations below a noisy eigenvalue the lower bound is, in exact accounting."""
    return -float(ndtri(min(failure, 0.1 * budget.delta)))


def least_noisy(
    at: Callable[[float, bool], _Plan],
    eigenvalue: EigenvalueRelease | None,
    budget: PrivacyBudget,
    n_rows: int | None,
    width: int,
) -> _Plan:
    """Return the plan of the least noise, with the test where it is "on", and without where it is "off".

    Otherwise the test is made where the largest value that the eigenvalue of a Gram matrix of this width can have would
    remove the shift, and is not made where the number of rows is not public.
    """

    def calibrated(test: bool) -> _Plan:
        start = 3.0 / min(budget.epsilon, 1e4)  # where a search begins; a floor must not round to 1 there
        return at(least_noise(lambda noise: at(noise, test).releases, budget, start=start), test)

    if eigenvalue in ("on", "off") or n_rows is None:
        return calibrated(eigenvalue == "on")
    tested = calibrated(True)
    assert tested.eigenvalue_multiplier is not None
    removes_shift = tested.floor + tested.eigenvalue_margin * tested.eigenvalue_multiplier <= n_rows / width
    return tested if removes_shift else calibrated(False)
