"""What every algorithm is: a plan made from public numbers, and a run that follows it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np

from ..data.rows import BoundedRows
from ..privacy.budget import PrivacyBudget
from ..privacy.releases import Release
from ..randomness import Bits

Array = np.ndarray[Any, np.dtype[Any]]
Accounting = Literal["exact", "paper"]


class Plan(Protocol):
    """Every public number of a run, fixed before the first look at the data."""

    @property
    def releases(self) -> tuple[Release, ...]:
        """What a run releases, in order."""

    @property
    def release_names(self) -> tuple[str, ...]:
        """What each release is of, in the same order."""


@dataclass(frozen=True)
class Fit:
    """What a run lets out: nothing in it is exact. All arrays have a leading trial axis."""

    theta: Array
    releases: tuple[Release, ...]
    transcript: dict[str, Array] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Evidence:
    """What a fit's own releases say of it, at no further cost."""

    noise_covariance: Array  # of theta, given the released curvature
    risk_change: float  # estimate of sum of squares at theta minus that of predicting a constant; below 0 is better
    risk_change_stddev: float


@dataclass(frozen=True)
class Algorithm:
    """One row of the table of methods."""

    name: str
    title: str
    reference: str
    plan: Callable[..., Any]
    run: Callable[[BoundedRows, Any, Sequence[Bits]], Fit]
    evidence: Callable[[Any, Fit, int, float | None], Evidence] | None = None
    exact_form: bool = True  # built on mechanisms that are exact in whole numbers, and on nothing else


def plan_inputs(budget: PrivacyBudget, n_rows: int, n_features: int) -> tuple[int, int]:
    """Check the public sizes that every plan starts from."""
    from ..errors import ParameterError

    if not isinstance(budget, PrivacyBudget):
        raise ParameterError(f"budget={budget!r} must be a PrivacyBudget.")
    for name, value in (("n_rows", n_rows), ("n_features", n_features)):
        if int(value) != value or value < 1:
            raise ParameterError(f"{name}={value!r} must be a positive whole number.")
    return int(n_rows), int(n_features)
