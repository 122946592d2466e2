"""Made-up populations whose coefficients are known, well- and ill-conditioned, with light, heavy and skewed errors.

Features lie in [-1, 1] and targets too, so that bounds of that size clip nothing and the population's coefficients
are the truth.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

_COMMON = 0.8  # how much of an ill-conditioned feature is common to all of them
_INTERCEPT = 0.1
_LONGEST_TAIL = 15.0  # beyond which the heavy tail of Student's law is cut off; a target must be bounded


@dataclass(frozen=True)
class Design:
    """A population: how features are related, and what errors look like."""

    name: str
    ill_conditioned: bool
    errors: Literal["normal", "heavy", "skewed"]

    def coefficients(self, d: int) -> Array:
        """Return slopes and then the intercept."""
        signs = np.where(np.arange(d) % 2 == 0, 1.0, -1.0)
        return np.append(signs * (0.6 / d if self.ill_conditioned else 0.3 / math.sqrt(d)), _INTERCEPT)

    def sample(self, n: int, d: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return n rows of d features, and their targets."""
        X = rng.uniform(-1.0, 1.0, (n, d))
        if self.ill_conditioned:
            X *= 1.0 - _COMMON
            X += _COMMON * rng.uniform(-1.0, 1.0, (n, 1))
        truth = self.coefficients(d)
        return X, X @ truth[:-1] + truth[-1] + self._errors(n, rng)

    def _errors(self, n: int, rng: np.random.Generator) -> Array:
        if self.errors == "normal":
            return 0.08 * np.clip(rng.standard_normal(n), -5.0, 5.0)
        if self.errors == "skewed":
            drawn = np.minimum(rng.exponential(size=n), 10.0)
            return 0.04 * (drawn - (1.0 - math.exp(-10.0)))
        drawn = rng.standard_t(3, n)
        # Symmetric whatever is cut off, so that the mean stays zero.
        drawn[np.abs(drawn) > _LONGEST_TAIL] *= _LONGEST_TAIL / np.abs(drawn[np.abs(drawn) > _LONGEST_TAIL])
        return 0.025 * drawn


DESIGNS = {
    design.name: design
    for design in (
        Design("well conditioned, normal errors", False, "normal"),
        Design("well conditioned, heavy tails", False, "heavy"),
        Design("ill conditioned, normal errors", True, "normal"),
        Design("ill conditioned, skewed errors", True, "skewed"),
    )
}
