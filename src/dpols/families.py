"""Families of outcomes, a row each: how the mean of an outcome follows from the linear predictor.

Mean functions are computed by additions, products, quotients and scaling by powers of two alone, in an order that is
fixed. Each of these is rounded as IEEE 754 says, element by element, so the mean of a row depends on its predictor
alone, bit for bit, whatever its place in an array. numpy's own exponential takes other paths at the ends of arrays.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from .errors import ParameterError
from .linalg import Array

FamilyName = Literal["gaussian", "binomial", "poisson"]

_ONE_OVER_LN2 = 1.4426950408889634
# The first 32 bits of the logarithm of 2, so that whole multiples up to 2^20 are exact, and what is left of it.
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_TAYLOR = tuple(1.0 / math.factorial(power) for power in range(13, -1, -1))
_ROOT_HALF = math.sqrt(0.5)
_ATANH = tuple(2.0 / power for power in range(23, 0, -2))  # log((1 + r) / (1 - r)) in odd powers of r
_WIDEST = 12.0  # linear predictor of a probability or a rate, on either side of zero


def exponential(values: Array) -> Array:
    """Return exp of numbers between -700 and 700, within a few units in the last place."""
    whole = np.rint(values * _ONE_OVER_LN2)
    rest = values - whole * _LN2_HIGH
    rest -= whole * _LN2_LOW
    result = np.full_like(rest, _TAYLOR[0])
    for coefficient in _TAYLOR[1:]:
        result *= rest
        result += coefficient
    return np.asarray(np.ldexp(result, whole.astype(np.int32)))


def logarithm(values: Array) -> Array:
    """Return the natural logarithm of positive numbers, within a few units in the last place."""
    part, power = np.frexp(values)
    low = part < _ROOT_HALF
    part, power = np.where(low, 2.0 * part, part), power - low
    ratio = (part - 1.0) / (part + 1.0)
    square = ratio * ratio
    result = np.full_like(square, _ATANH[0])
    for coefficient in _ATANH[1:]:
        result *= square
        result += coefficient
    return np.asarray(power * _LN2_HIGH + (ratio * result + power * _LN2_LOW))


def _logistic(predictor: Array) -> Array:
    return np.asarray(1.0 / (1.0 + exponential(-predictor)))


def _logit(mean: Array) -> Array:
    return np.asarray(np.log(mean) - np.log1p(-mean))


def _unchanged(values: Array) -> Array:
    return values


def _ones(values: Array) -> Array:
    return np.ones_like(values)


def _binomial_variance(mean: Array) -> Array:
    return np.asarray(mean * (1.0 - mean))


def _rarer(mean: Array) -> Array:
    return np.maximum(mean, 1.0 - mean)


def _squared_error(outcome: Array, mean: Array) -> Array:
    return np.asarray(np.square(outcome - mean))


def _binomial_deviance(outcome: Array, mean: Array) -> Array:
    return np.asarray(2.0 * (_entropy(outcome, mean) + _entropy(1.0 - np.asarray(outcome), 1.0 - np.asarray(mean))))


def _poisson_deviance(outcome: Array, mean: Array) -> Array:
    return np.asarray(2.0 * (_entropy(outcome, mean) - (np.asarray(outcome) - mean)))


def _null_binomial(mean: Array) -> Array:
    return np.asarray(-2.0 * (mean * np.log(mean) + (1.0 - mean) * np.log1p(-mean)))


def _null_poisson(mean: Array) -> Array:
    rare = np.minimum(mean, math.exp(-1.0))
    return np.asarray(-2.0 * rare * np.log(rare))


def _entropy(outcome: Array, mean: Array) -> Array:
    """Return outcome times the logarithm of outcome over mean, which is 0 where the outcome is."""
    outcome = np.asarray(outcome, dtype=np.float64)
    there = outcome > 0.0
    return np.asarray(outcome * logarithm(np.where(there, outcome, 1.0) / np.where(there, mean, 1.0)))


@dataclass(frozen=True)
class Family:
    """One row of the table of families."""

    name: FamilyName
    outcome: str  # what an outcome is, for messages
    mean: Callable[[Array], Array]  # of the linear predictor
    link: Callable[[Array], Array]  # the linear predictor of a mean
    variance: Callable[[Array], Array]  # of an outcome by its mean, which is also the slope of the mean function
    deviance: Callable[[Array, Array], Array]  # of outcomes at their means
    null_deviance: Callable[[Array], Array]  # mean deviance to expect where all have this mean, rather too small
    widest: float  # the largest linear predictor, on either side of zero
    event: Callable[[Array], Array]  # residual of the rarer outcome, or of a single count, at a mean
    whole_rows: float  # up to so many times the typical length, rows with such a residual count in full
    headroom: float  # how many times the slope at the mean outcome is allowed for in first steps


FAMILIES: dict[str, Family] = {
    row.name: row
    for row in (
        Family(
            name="gaussian",
            outcome="a number",
            mean=_unchanged,
            link=_unchanged,
            variance=_ones,
            deviance=_squared_error,
            null_deviance=_ones,
            widest=math.inf,
            event=_ones,
            whole_rows=0.5,
            headroom=1.0,
        ),
        Family(
            name="binomial",
            outcome="yes or no",
            mean=_logistic,
            link=_logit,
            variance=_binomial_variance,
            deviance=_binomial_deviance,
            null_deviance=_null_binomial,
            widest=_WIDEST,
            event=_rarer,
            whole_rows=0.8,
            headroom=2.0,
        ),
        Family(
            name="poisson",
            outcome="a count",
            mean=exponential,
            link=np.log,
            variance=_unchanged,
            deviance=_poisson_deviance,
            null_deviance=_null_poisson,
            widest=_WIDEST,
            event=_ones,
            whole_rows=0.5,
            headroom=2.0,
        ),
    )
}


def family_of(name: str) -> Family:
    """Return the row of the table for a family's name."""
    if name not in FAMILIES:
        raise ParameterError(f"family={name!r} is not known; the families are {', '.join(FAMILIES)}.")
    return FAMILIES[name]


@dataclass(frozen=True)
class Response:
    """A family of outcomes whose range is declared, in the units of bounded targets: outcome = centre + scale * target.

    The linear predictor is kept within public limits: those of the family, and the one whose mean is the largest
    outcome. So expected targets lie within [-1, 1] like targets do, and residuals within [-2, 2].
    """

    family: FamilyName
    high: float  # the largest outcome
    centre: float
    scale: float
    exposure: float = 1.0  # the largest that a row may have

    @classmethod
    def of(
        cls, family: FamilyName, target: tuple[float, float], centre: float, scale: float, exposure: float = 1.0
    ) -> "Response":
        """Return the response for targets that are bounded by a range, centred and scaled.

        The ends of the range of a yes/no target are its two labels, whatever numbers stand for them.
        """
        low, high = target
        if family != "binomial":
            return cls(family, high, centre, scale, exposure)
        return cls(family, 1.0, (centre - low) / (high - low), scale / (high - low))

    @property
    def predictors(self) -> tuple[float, float]:
        """The least and the largest linear predictor."""
        return predictor_range(self.family, self.high)

    def offset(self, shares: Array) -> Array:
        """Return the logarithms of exposures, given over the largest; of a row of zeros, whose is zero, a number."""
        return logarithm(shares) + math.log(self.exposure)

    def mean(self, predictor: Array) -> Array:
        """Return the expected outcome of each row."""
        return FAMILIES[self.family].mean(np.clip(predictor, *self.predictors))

    def expected(self, predictor: Array) -> Array:
        """Return the expected target of each row."""
        return np.clip((self.mean(predictor) - self.centre) / self.scale, -1.0, 1.0)

    def outcome(self, target: Array) -> Array:
        """Return the outcome that a bounded target stands for."""
        return np.clip(self.centre + self.scale * target, 0.0, self.high)

    def deviance(self, outcome: Array, predictor: Array) -> Array:
        """Return the deviance of outcomes at their linear predictors."""
        return FAMILIES[self.family].deviance(outcome, self.mean(predictor))

    def slope(self, predictor: Array) -> Array:
        """Return by how much the expected target of each row grows with its linear predictor."""
        return np.asarray(FAMILIES[self.family].variance(self.mean(predictor)) / self.scale)

    @property
    def steepest(self) -> float:
        """The largest slope that a row can have."""
        steepest = 0.25 if self.family == "binomial" else FAMILIES[self.family].variance(np.array(self.high))
        return float(steepest) / self.scale


def predictor_range(family: str, high: float) -> tuple[float, float]:
    """Return the least and the largest linear predictor where outcomes are at most ``high``."""
    widest = family_of(family).widest
    return -widest, math.log(high) if family == "poisson" else widest
