"""What leaves the curator, described without any data.

A tuple of these is what a plan releases and what a run records. The accountant needs nothing else.
"""

import math
from dataclasses import dataclass

from scipy.special import ndtr

from .checks import real, require

_MOST_ROWS = 2**53


@dataclass(frozen=True)
class GaussianRelease:
    """A statistic plus Gaussian noise; ``multiplier`` is the noise's standard deviation over the l2-sensitivity."""

    multiplier: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "multiplier", real("multiplier", self.multiplier))
        require(self.multiplier > 0.0, "multiplier", self.multiplier, "be positive")


@dataclass(frozen=True)
class MixingRelease:
    """``rows`` independent rows of law N(0, A), where A is the Gram matrix plus a shift.

    ``floor`` bounds one over the largest leverage of a row in A from below, in units of the squared row norm:
    it holds when the smallest eigenvalue of A is at least ``floor``, or when the shift is at least ``floor - 1``.
    """

    rows: int
    floor: float

    def __post_init__(self) -> None:
        rows = real("rows", self.rows)
        whole = 1.0 <= rows <= _MOST_ROWS and rows.is_integer()
        require(whole, "rows", self.rows, "be a whole number from 1 to 2^53")
        object.__setattr__(self, "rows", int(rows))
        object.__setattr__(self, "floor", real("floor", self.floor))
        require(self.floor > 1.0, "floor", self.floor, "exceed 1")


@dataclass(frozen=True)
class FailureAllowance:
    """An event of at most this ``probability`` on which the other releases' descriptions do not hold."""

    probability: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "probability", real("probability", self.probability))
        require(0.0 <= self.probability <= 1.0, "probability", self.probability, "lie in [0, 1]")

    @classmethod
    def beyond(cls, margin: float) -> "FailureAllowance":
        """Return the event that Gaussian noise exceeds so many of its standard deviations."""
        return cls(float(ndtr(-margin)))


@dataclass(frozen=True)
class OpaqueRelease:
    """A black box that is (epsilon, delta)-differentially private, of which nothing else is known."""

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", real("epsilon", self.epsilon))
        object.__setattr__(self, "delta", real("delta", self.delta))
        require(0.0 <= self.epsilon < math.inf, "epsilon", self.epsilon, "be finite and not negative")
        require(0.0 <= self.delta < 1.0, "delta", self.delta, "lie in [0, 1)")


Release = GaussianRelease | MixingRelease | FailureAllowance | OpaqueRelease
