"""What to expect of private fits of yes/no outcomes and counts: simulated, on made-up rows, before anything is spent.

Features are made up as for linear models. The linear predictor is a normal number whose spread follows from the share
of it that features are expected to explain (the R^2 of McKelvey and Zavoina); outcomes are drawn from its mean.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr, pdtr, pdtrik

from ..algorithms import GENERALISED, algorithm, with_intervals
from ..data import BoundedRows, Bounds
from ..data.threads import one_blas_thread
from ..errors import BoundsError, ParameterError
from ..families import FAMILIES
from ..feature_map import FeatureMap
from ..inference import infer
from ..privacy import PrivacyBudget
from ..randomness import Bits, standard_normal, streams
from .mapped import MappedShape
from .samples import Array, RepeatedRows

_CONDITION = 10.0
_USUAL = 8.0  # times the usual count is the largest
_BELOW_ONE = 1.0 - 2.0**-53
_WIDEST = 3.0  # standard deviations of the linear predictor within the range of counts
SCORES = {"binomial": "AUC", "poisson": "explained deviance"}


@dataclass(frozen=True)
class PlannedOutcome:
    """What to expect of a fit at an epsilon on fresh outcomes: its score, as `SCORES` names it, and the best of any."""

    epsilon: float
    score: float
    best: float
    interval_share: float | None = None  # of slopes that have a 95% interval; None if not asked for
    interval_width: float | None = None  # median, of linear predictors by a feature's standard deviation; None for none


@dataclass(frozen=True, repr=False)
class MadeUpOutcomes:
    """A made-up table: features, the predictors and the outcomes that a fit sees, and fresh ones to score it by."""

    family: str
    source: RepeatedRows
    bounds: Bounds
    best: Array  # linear predictors
    fresh: Array

    @classmethod
    def of(cls, feature_map: FeatureMap, family: str, n_rows: int, *, r_squared: float, seed: int) -> "MadeUpOutcomes":
        """Make up a table of so many rows with the columns of a feature map."""
        if family not in SCORES:
            raise ParameterError(f"family={family!r} must be one of {', '.join(SCORES)}.")
        if not 0.0 <= r_squared < 1.0:
            raise ParameterError(f"r_squared={r_squared!r} must be at least 0 and less than 1.")
        bits = streams(seed, 1)[0]
        names, bounds = feature_map.names, _bounds_of(feature_map, family)
        shape = MappedShape(len(names), 0.5, _CONDITION, 1.0, bounds, True, feature_map=feature_map)
        sample = shape.sample(n_rows, bits)
        signal = sample.source.features @ sample.best[:-1] + sample.best[-1]
        spread = float(signal.std())
        normal = (signal - signal.mean()) / (spread if spread > 0.0 else 1.0)
        predictors = _predictors(normal, family, r_squared, bounds)
        seen, fresh = (_outcomes(predictors, family, bounds, bits) for _ in range(2))
        source = RepeatedRows(sample.source.features, seen, n_rows, names)
        return cls(family, source, bounds, predictors, fresh)

    def planned(self, budget: PrivacyBudget, *, trials: int, seed: int, intervals: bool = False) -> PlannedOutcome:
        """Simulate fits at a (zero-out) budget, with intervals or without, and score them."""
        name = next(row.name for row in GENERALISED.values() if row.family == self.family)
        row = algorithm(with_intervals(name) if intervals else name)
        row_map = self.bounds.row_map(
            n_features=self.source.n_features, columns=self.source.columns, fit_intercept=True
        )
        rows = BoundedRows(self.source, replace(row_map, linked=True))
        plan = row.plan(budget, n_rows=rows.n_rows, n_features=rows.row_map.n_coordinates)
        with one_blas_thread():
            fit = row.run(rows, plan, streams(seed + 1, trials))
        matrix, offset = rows.row_map.coefficient_map()
        coefficients = fit.theta @ matrix.T + offset
        scores = [self.score(self.source.features @ one[:-1] + one[-1]) for one in coefficients]
        planned = PlannedOutcome(budget.epsilon, float(np.mean(scores)), self.score(self.best))
        if not intervals:
            return planned
        names = [f"x{i}" for i in range(rows.row_map.n_coordinates)]
        found = [infer(plan, fit, rows.row_map, names, n_rows=plan.n_rows, trial=i) for i in range(trials)]
        widths = self._widths(np.array([one.conf_int() for one in found]))
        given = widths[np.isfinite(widths)]
        width = float(np.median(given)) if len(given) else None
        return replace(planned, interval_share=given.size / widths.size, interval_width=width)

    def _widths(self, limits: Array) -> Array:
        """Return the widths of slopes' intervals, for each standard deviation of their features."""
        slopes = limits[:, : self.source.n_features]
        return np.asarray((slopes[..., 1] - slopes[..., 0]) * self.source.features.std(axis=0))

    def score(self, predictors: Array) -> float:
        """Return how well predictors tell fresh outcomes."""
        if self.family == "binomial":
            return _area(self.fresh, predictors)
        family, top = FAMILIES[self.family], math.log(max(self.fresh.max(), 1.0)) + 2.0
        mean = family.mean(np.clip(predictors, -top, top))
        constant = np.full_like(mean, max(float(self.fresh.mean()), 1e-12))
        return 1.0 - float(family.deviance(self.fresh, mean).sum() / family.deviance(self.fresh, constant).sum())


def _bounds_of(feature_map: FeatureMap, family: str) -> Bounds:
    bounds = feature_map.bounds()
    if family == "binomial":
        return replace(bounds, target=(0.0, 1.0))
    if bounds.target is None:
        raise BoundsError("counts need the public range of the target: give the feature map target=(0, high).")
    return bounds


def _predictors(normal: Array, family: str, r_squared: float, bounds: Bounds) -> Array:
    if family == "binomial":
        return np.asarray(normal * math.pi / math.sqrt(3.0) * math.sqrt(r_squared / (1.0 - r_squared)))
    assert bounds.target is not None
    usual = max(bounds.target[1] / _USUAL, 0.1)
    return np.asarray(math.log(usual) + math.log(_USUAL) / _WIDEST * math.sqrt(r_squared) * normal)


def _outcomes(predictors: Array, family: str, bounds: Bounds, bits: Bits) -> Array:
    chance = ndtr(standard_normal(bits, predictors.shape))
    mean = FAMILIES[family].mean(predictors)
    if family == "binomial":
        return np.asarray(chance < mean, dtype=np.float64)
    assert bounds.target is not None
    return np.asarray(np.clip(_count(np.minimum(chance, _BELOW_ONE), mean), *bounds.target))


def _count(chance: Array, mean: Array) -> Array:
    """Return the quantiles of Poisson laws, as scipy.stats does, which takes longer to import than a plan."""
    count = np.ceil(pdtrik(chance, mean))
    fewer = np.maximum(count - 1.0, 0.0)
    return np.asarray(np.where(pdtr(fewer, mean) >= chance, fewer, count))


def _area(outcomes: Array, predictors: Array) -> float:
    """Return the area under the ROC curve: how often a yes has the larger predictor than a no."""
    yes = outcomes > 0.5
    n_yes, n_no = int(yes.sum()), int((~yes).sum())
    if not n_yes or not n_no:
        return 0.5
    _, place, equal = np.unique(predictors, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(equal) - 0.5 * (equal - 1))[place]  # ties share the mean of theirs
    return float((ranks[yes].sum() - 0.5 * n_yes * (n_yes + 1)) / (n_yes * n_no))
