"""Made-up populations whose coefficients are known: tidy ones, and what tables of people are like.

Features lie in [-1, 1], and targets in the design's range, at whose ends some designs clip them. Where clipping or
censoring leaves no formula for the population's coefficients, they are those of a very large sample.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from dpols.families import FamilyName

from .likelihood import maximum_likelihood

Array = np.ndarray[Any, np.dtype[Any]]
Draw = Callable[[Array, Array, np.random.Generator], Array]  # features and their mean target to targets

_COMMON = 0.8  # how much of an ill-conditioned feature is common to all of them
_INTERCEPT = 0.1
_LONGEST_TAIL = 15.0  # beyond which the heavy tail of Student's law is cut off; a target must be bounded
_LARGE, _PARTS = 100_000, 20  # of the sample that stands for a population


class Sampled(NamedTuple):
    """Rows of a population; those that are missing are nan, and units say which rows belong together."""

    features: Array
    target: Array
    units: Array | None = None


@dataclass(frozen=True)
class Design:
    """A population: how features are related, and how targets come about."""

    name: str
    draw: Draw
    ill_conditioned: bool = False
    target: tuple[float, float] = (-1.0, 1.0)
    exact: bool = True  # whether the mean target is linear in the features, with the design's coefficients
    slope: float = 0.3  # of the mean target
    rows_per_unit: int = 1
    missing: float = 0.0  # share of rows
    options: dict[str, Any] = field(default_factory=dict)  # of the fit
    judged: bool = True  # whether intervals claim to cover: not where what they assume is known to fail
    equal_variances: bool = True  # and independent rows: whether classical intervals would cover
    family: FamilyName = "gaussian"  # the mean target is that of a family at a linear predictor
    intercept: float = _INTERCEPT
    features: Callable[[Array], Array] | None = None  # makes them of uniform ones

    def coefficients(self, d: int) -> Array:
        """Return slopes and then the intercept."""
        return self.linear(d) if self.exact else _of_a_large_sample(self.name, d)

    def linear(self, d: int) -> Array:
        """Return slopes and intercept of the mean that targets are drawn about."""
        signs = np.where(np.arange(d) % 2 == 0, 1.0, -1.0)
        return np.append(
            signs * (2.0 * self.slope / d if self.ill_conditioned else self.slope / math.sqrt(d)), self.intercept
        )

    def sample(self, n: int, d: int, rng: np.random.Generator) -> Sampled:
        """Return n rows of d features, and their targets."""
        X = rng.uniform(-1.0, 1.0, (n, d))
        units = None
        if self.rows_per_unit > 1:
            units = np.repeat(np.arange(n), self.rows_per_unit)[:n]
            X = 0.5 * X + 0.5 * rng.uniform(-1.0, 1.0, (n, d))[units]
        if self.ill_conditioned:
            X *= 1.0 - _COMMON
            X += _COMMON * rng.uniform(-1.0, 1.0, (n, 1))
        if self.features is not None:
            X = self.features(X)
        truth, shared = self.linear(d), np.zeros(n) if units is None else rng.standard_normal(n)[units]
        if self.family == "gaussian":
            y = self.draw(X, X @ truth[:-1] + truth[-1], rng) + 0.06 * shared
        else:
            y = self.draw(X, X @ truth[:-1] + truth[-1] + 0.7 * shared, rng)
        y = np.clip(y, *self.target)
        if self.missing:
            X[rng.random(n) < self.missing, 0] = np.nan
        return Sampled(X, y, units)


@lru_cache(maxsize=64)
def _of_a_large_sample(name: str, d: int) -> Array:
    if (family := DESIGNS[name].family) != "gaussian":
        X, y, _ = DESIGNS[name].sample(_PARTS * _LARGE, d, np.random.default_rng([7, d]))
        return maximum_likelihood(np.column_stack((X, np.ones(len(X)))), y, family).solution
    gram, moment = np.zeros((d + 1, d + 1)), np.zeros(d + 1)
    for part in range(_PARTS):
        X, y, _ = DESIGNS[name].sample(_LARGE, d, np.random.default_rng([7, part, d]))
        kept = ~np.isnan(X[:, 0])
        joined = np.column_stack((X[kept], np.ones(kept.sum())))
        gram, moment = gram + joined.T @ joined, moment + joined.T @ y[kept]
    return np.linalg.solve(gram, moment)


def _normal(X: Array, mean: Array, rng: np.random.Generator) -> Array:
    return mean + 0.08 * np.clip(rng.standard_normal(len(mean)), -5.0, 5.0)


def _skewed(X: Array, mean: Array, rng: np.random.Generator) -> Array:
    drawn = np.minimum(rng.exponential(size=len(mean)), 10.0)
    return np.asarray(mean + 0.04 * (drawn - (1.0 - math.exp(-10.0))))


def _heavy(X: Array, mean: Array, rng: np.random.Generator) -> Array:
    drawn = rng.standard_t(3, len(mean))
    # Symmetric whatever is cut off, so that the mean stays zero.
    drawn[np.abs(drawn) > _LONGEST_TAIL] *= _LONGEST_TAIL / np.abs(drawn[np.abs(drawn) > _LONGEST_TAIL])
    return mean + 0.025 * drawn


def _rare_costs(X: Array, mean: Array, rng: np.random.Generator) -> Array:
    """1% of the people cost a lot; the others next to nothing."""
    small = 0.004 * np.exp(mean + 0.5 * rng.standard_normal(len(mean)))
    return np.where(rng.random(len(mean)) < 0.01 * (1.0 + X[:, 0]), rng.uniform(0.2, 1.0, len(mean)), small)


def _outliers(X: Array, mean: Array, rng: np.random.Generator) -> Array:
    far = rng.random(len(mean)) < 0.005
    return np.asarray(_normal(X, mean, rng) * 0.5 + np.where(far, 12.0 * 0.04, 0.0))


def _many_zeros(X: Array, mean: Array, rng: np.random.Generator) -> Array:
    paid = rng.random(len(mean)) < 0.3 + 0.2 * X[:, 0]
    return np.where(paid, 0.03 * np.exp(mean + 0.8 * rng.standard_normal(len(mean))), 0.0)


def _pareto(X: Array, mean: Array, rng: np.random.Generator) -> Array:
    return np.asarray(0.005 * (1.0 + mean) * rng.random(len(mean)) ** (-1.0 / 1.5))


def _yes_no(rate: float) -> Draw:
    def draw(X: Array, mean: Array, rng: np.random.Generator) -> Array:
        chance = rate * (1.0 + 0.9 * X[:, 0])
        return (rng.random(len(mean)) < chance).astype(np.float64)

    return draw


def _counts(X: Array, mean: Array, rng: np.random.Generator) -> Array:
    return rng.poisson(np.exp(0.5 + 2.0 * (mean - _INTERCEPT))).astype(np.float64)


def _unequal(X: Array, mean: Array, rng: np.random.Generator) -> Array:
    return np.asarray(mean + 0.15 * np.abs(X[:, 0]) * np.clip(rng.standard_normal(len(mean)), -4.0, 4.0))


def _clipped(X: Array, mean: Array, rng: np.random.Generator) -> Array:
    return np.asarray(mean + 0.25 * rng.standard_normal(len(mean)))


def _bernoulli(X: Array, predictor: Array, rng: np.random.Generator) -> Array:
    return (rng.random(len(predictor)) < 1.0 / (1.0 + np.exp(-predictor))).astype(np.float64)


def _poisson(X: Array, predictor: Array, rng: np.random.Generator) -> Array:
    return rng.poisson(np.exp(predictor)).astype(np.float64)


def _overdispersed(X: Array, predictor: Array, rng: np.random.Generator) -> Array:
    return rng.poisson(np.exp(predictor) * rng.gamma(1.0, 1.0, len(predictor))).astype(np.float64)


def _skewed_features(X: Array) -> Array:
    return np.asarray(2.0 * (0.5 * (X + 1.0)) ** 6 - 1.0)


def _rare_dummy(X: Array) -> Array:
    return np.column_stack((np.where(X[:, 0] > 0.94, 1.0, -1.0), X[:, 1:]))  # 3%


_UNIT: dict[str, Any] = {"target": (0.0, 1.0), "exact": False, "equal_variances": False}
_BY_RANGE: dict[str, Any] = {"options": {"clip": "range"}}
OLD = (
    Design("well conditioned, normal errors", _normal),
    Design("well conditioned, heavy tails", _heavy),
    Design("ill conditioned, normal errors", _normal, ill_conditioned=True),
    Design("ill conditioned, skewed errors", _skewed, ill_conditioned=True),
)
PEOPLE = (
    Design("1% huge costs", _rare_costs, **_UNIT),
    Design("1% huge costs, range rule", _rare_costs, **_BY_RANGE, **_UNIT),
    Design("0.5% outliers", _outliers, judged=False, target=(-0.5, 1.0), exact=False, equal_variances=False),
    Design("0.5% outliers, range rule", _outliers, **_BY_RANGE, target=(-0.5, 1.0), exact=False, equal_variances=False),
    Design("many zeros", _many_zeros, **_UNIT),
    Design("Pareto 1.5, cut at 1", _pareto, judged=False, **_UNIT),
    Design("Pareto 1.5, cut at 1, range rule", _pareto, **_BY_RANGE, **_UNIT),
    Design("yes/no at 5%", _yes_no(0.05), **_UNIT),
    Design("yes/no at 30%", _yes_no(0.3), **_UNIT),
    Design("counts", _counts, target=(0.0, 12.0), exact=False, equal_variances=False),
    Design("unequal variances", _unequal, equal_variances=False),
    Design("clipped targets", _clipped, target=(-0.3, 0.5), exact=False, equal_variances=False),
    Design("40% of rows missing", _normal, missing=0.4),
    Design("units of 5 rows", _normal, rows_per_unit=5, equal_variances=False),
    Design("units of 20 rows", _normal, rows_per_unit=20, equal_variances=False),
)
_YES_NO: dict[str, Any] = {"family": "binomial", "target": (0.0, 1.0), "slope": 1.5, "intercept": -0.4}
_COUNT: dict[str, Any] = {"family": "poisson", "target": (0.0, 60.0), "slope": 0.8, "intercept": 1.0}
_SPREAD = {**_COUNT, "equal_variances": False}
_CLUSTERS: dict[str, Any] = {"rows_per_unit": 5, "exact": False, "equal_variances": False}
FAMILY_DESIGNS = (
    Design("logistic", _bernoulli, **_YES_NO),
    Design("logistic, one yes in 30", _bernoulli, **{**_YES_NO, "intercept": -3.8}),
    Design("logistic, skewed features", _bernoulli, **_YES_NO, features=_skewed_features),
    Design("logistic, a dummy at 3%", _bernoulli, **_YES_NO, features=_rare_dummy),
    Design("logistic, units of 5 rows", _bernoulli, **_YES_NO, **_CLUSTERS),
    Design("Poisson", _poisson, **_COUNT),
    Design("Poisson, one event in 20 rows", _poisson, **{**_COUNT, "intercept": -3.2, "target": (0.0, 10.0)}),
    Design("Poisson, overdispersed, skewed features", _overdispersed, **_SPREAD, features=_skewed_features),
    Design("Poisson, overdispersed, a dummy at 3%", _overdispersed, **_SPREAD, features=_rare_dummy),
    Design("Poisson, units of 5 rows", _poisson, **_COUNT, **_CLUSTERS),
)
DESIGNS = {design.name: design for design in (*OLD, *PEOPLE, *FAMILY_DESIGNS)}
