"""Standard errors and intervals around a fit, from released values alone: all of it is post-processing.

The fit is least squares but for noise of known covariance (`algorithms/closing_inference.py`). That is the error about
least squares *on these rows*; about the *population* it comes from there is sampling noise besides: robust to unequal
variances or to rows that belong together, or classical, residual variance times (X'X)^-1. Where released values say
that this would not hold, there are reasons instead of numbers: of the whole fit, or of the coefficients that depend on
a direction along which the features vary little. `docs/proofs/inference.md` has the proofs.
"""

import math
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from scipy.special import ndtri, stdtr, stdtrit

from ..errors import InferenceWarning, ParameterError, quoted
from ..families import FamilyName, family_of
from ..storage.plain_data import finite_number, flag, mapping, text, tuple_of, whole

Array = np.ndarray[Any, np.dtype[Any]]
Target = Literal["population", "data"]
Of = Literal["observation", "mean", "median"]  # the last of a transformed target only
CovType = Literal["HC1", "nonrobust", "cluster"]

_MOST_UNSURE = 0.03  # share of an interval's variance that may come from other directions
_LEAST_FREEDOM = 5.0  # degrees of freedom of a variance, below which no interval is computed from it
_LISTED = 8  # names in a reason
_KNOWN = 1e12  # degrees of freedom of a variance that is known
REMEDY = "use more rows, a larger epsilon, tighter bounds or fewer features"
UNSURE = "along some direction the features vary too little against the noise"
FAR = "the noise moves the fit too far for its curvature"
ON_THE_WAY = "the steps end too far from the solution for its curvature"
MORE_STEPS = (
    'take more of them, as with options={{"n_iterations": {}}}, and leave out features, or merge categories, that make '
    "outcomes nearly certain; more rows or a larger epsilon do not help alone"
)
HIDDEN = "the noise hides the sampling variance"
_SEEN = 3.0  # standard deviations by which a variance exceeds 0, else the noise hides it
_WIDEST = 0.5  # interval of R-squared, beyond which the noise hides it


class PredictionInterval(NamedTuple):
    """Predictions for some rows, each with its standard error and limits."""

    mean: Array
    stderr: Array
    lower: Array
    upper: Array


class Estimate(NamedTuple):
    """A released number and the standard deviation of its noise; both are None where the releases do not give it."""

    value: float | None
    stderr: float | None

    def with_limits(self, alpha: float = 0.05) -> tuple[float, float, float] | None:
        """Return a variance with its normal limits, none of them below 0; None where the noise hides it."""
        if self.value is None or self.stderr is None or not self.value > _SEEN * self.stderr:
            return None
        room = -float(ndtri(0.5 * checked_alpha(alpha))) * self.stderr
        return max(self.value, 0.0), max(self.value - room, 0.0), max(self.value + room, 0.0)


@dataclass(frozen=True, eq=False)
class Inference:
    """What is known of the coefficients, in the units of the data. Released values and public numbers only."""

    names: tuple[str, ...]  # of the coefficients, the intercept last where there is one
    n_rows: int | None  # of the table, where it is public
    rows_used: float  # that are no rows of zeros: a released number
    rows_noise: float  # the standard deviation of its noise; 0 where it is public that all are used
    intercept: bool
    cov_type: CovType  # of the sampling noise
    estimate: Array  # the coefficients: least squares, but for noise
    privacy_covariance: Array  # of that noise, with an allowance for what clipping may hide
    sampling_covariance: Array  # of least squares about the population's coefficients
    unscaled_covariance: Array  # noisy (X'X)^-1; the residual variance times it is the classical sampling covariance
    spread: Array  # a quadratic form to which the noise of both covariances is proportional
    unsure_spread: Array  # the part of it along directions in which the features vary too little against the noise
    gram_noise: float  # times the form: standard deviation of the noise in unscaled_covariance
    score_noise: float  # times the form: of the noise in a robust sampling_covariance
    freedom: float  # degrees of freedom of a sampling variance without noise
    residual_variance: Estimate  # of least squares on these rows; of other families the deviance by degrees of freedom
    target_variance: Estimate  # about the mean, or about 0 without an intercept, over the same degrees of freedom
    assumptions: tuple[str, ...]  # what intervals rest on, beyond the rows being a sample
    reasons: tuple[str, ...]  # why there are no intervals at all
    population_reasons: tuple[str, ...]  # why there are none for the population
    family: FamilyName = "gaussian"  # of the outcomes; coefficients are on the scale of its link

    @property
    def rows_told(self) -> float:
        """The rows in use for those who read it: noise may put them above a public number of rows."""
        return self.rows_used if self.n_rows is None else min(self.rows_used, float(self.n_rows))

    @property
    def dispersion(self) -> Estimate:
        """What the classical covariance is in units of: the residual variance, or the variance that a family has."""
        return self.residual_variance if self.family == "gaussian" else Estimate(1.0, 0.0)

    def why_not(self, target: Target = "population") -> tuple[str, ...]:
        """Return why there are no intervals for a target; nothing where there are."""
        if target not in ("population", "data"):
            raise ParameterError(f'target={quoted(target)} must be "population" or "data".')
        return self.reasons or (self.population_reasons if target == "population" else ())

    def standard_errors(self, target: Target = "population") -> Array:
        """Return the standard error of each coefficient; nan where there is none."""
        return self._of_coefficients(target)[0].copy()

    def covariance(self, target: Target = "population") -> Array:
        """Return the covariance matrix of the coefficients; nan in rows and columns of those without an interval."""
        empty = np.isnan(self.standard_errors(target))
        found = self.privacy_covariance + (self.sampling_covariance if target == "population" else 0.0)
        found[empty], found[:, empty] = np.nan, np.nan
        return found

    def conf_int(self, alpha: float = 0.05, *, target: Target = "population") -> Array:
        """Return lower and upper limits for each coefficient, of shape (coefficients, 2); nan where there are none."""
        stderr, free = self._of_coefficients(target)
        room = stdtrit(free, 1.0 - 0.5 * checked_alpha(alpha)) * stderr
        return np.column_stack((self.estimate - room, self.estimate + room))

    def p_values(self, target: Target = "population") -> Array:
        """Return for each coefficient how probable as large an estimate would be if it were 0; nan where unknown."""
        stderr, free = self._of_coefficients(target)
        return np.asarray(2.0 * stdtr(free, -np.abs(self.estimate) / stderr))

    def why_empty(self, target: Target = "population") -> tuple[str, ...]:
        """Return why some coefficients have no interval while others may; nothing where all have one."""
        empty = np.isnan(self.standard_errors(target))
        if self.why_not(target) or not empty.any():
            return ()
        unsure = self._unsure(np.eye(len(self.names)))
        centred = centring([name for name, here in zip(self.names, unsure, strict=True) if here])
        return (
            *((f"{_listed(self.names, unsure)}: {UNSURE}; {centred}{REMEDY}",) if unsure.any() else ()),
            *((f"{_listed(self.names, empty & ~unsure)}: {HIDDEN}; {REMEDY}",) if (empty & ~unsure).any() else ()),
        )

    def r_squared(self, alpha: float = 0.05) -> tuple[float, float, float] | None:
        """Return R^2 of least squares on these rows with its limits; None where the noise hides it.

        By Fieller's theorem: a ratio r of independent normal numbers is in question where residual - r total is small
        for its standard deviation. What slopes explain is not used: rows that the Gram matrix shortens would lower it.
        """
        (residual, residual_std), (total, total_std) = self.residual_variance, self.target_variance
        if residual is None or residual_std is None or total is None or total_std is None:
            return None
        quantile = float(ndtri(1.0 - 0.5 * checked_alpha(alpha)))
        exponent = -math.frexp(total)[1]  # a power of two, so that no square leaves the range of doubles
        residual, residual_std, total, total_std = (
            math.ldexp(number, exponent) for number in (residual, residual_std, total, total_std)
        )
        lead, last = total**2 - (quantile * total_std) ** 2, residual**2 - (quantile * residual_std) ** 2
        inside = (residual * total) ** 2 - lead * last
        if not (total > _SEEN * total_std and lead > 0.0 and inside >= 0.0):
            return None
        value = 1.0 - residual / total
        low, high = (1.0 - (residual * total + sign * math.sqrt(inside)) / lead for sign in (1.0, -1.0))
        # By the width of an R^2 of 0: else those would be shown that luck makes large, and so seemingly certain.
        if not 2.0 * quantile * math.hypot(residual_std, total_std) <= _WIDEST * total:
            return None
        value, low, high = (min(max(number, 0.0), 1.0) for number in (value, low, high))
        return value, low, high

    def predict_interval(
        self, rows: Array, *, alpha: float = 0.05, of: Of = "observation", target: Target = "population"
    ) -> PredictionInterval:
        """Return predictions for rows of features, with limits for a new observation or for the mean of such."""
        if of not in ("observation", "mean"):
            raise ParameterError(f'of={quoted(of)} must be "observation" or "mean".')
        joined = np.column_stack((rows, np.ones(len(rows)))) if self.intercept else np.asarray(rows)
        mean = joined @ self.estimate
        target = "population" if of == "observation" else target
        stderr, free = self.of_combinations(joined, target=target, observations=of == "observation")
        room = stdtrit(free, 1.0 - 0.5 * checked_alpha(alpha)) * stderr
        return PredictionInterval(mean, stderr, mean - room, mean + room)

    def _of_coefficients(self, target: Target) -> tuple[Array, Array]:
        """Return standard errors and degrees of freedom of the coefficients, which much is computed from."""
        self.why_not(target)  # refuses what is no target
        if target not in self._known:
            self._known[target] = self.of_combinations(np.eye(len(self.names)), target=target)
        return self._known[target]

    @cached_property
    def _known(self) -> dict[Target, tuple[Array, Array]]:
        return {}

    def of_combinations(self, weights: Array, *, target: Target, observations: bool = False) -> tuple[Array, Array]:
        """Return standard errors of linear combinations of the coefficients, one in each row, and degrees of freedom.

        These are Satterthwaite's: Student's law allows for the noise in the variance itself.
        """
        known = np.full(len(weights), _KNOWN)
        if self.why_not(target):
            return np.full(len(weights), np.nan), known
        private = _forms(weights, self.privacy_covariance)
        if target == "data":
            return np.where(self._unsure(weights), np.nan, np.sqrt(private)), known
        variance, unknown = self._sampled(weights)
        variance, own = variance + private, 0.0
        if observations:
            limits = self.residual_variance.with_limits()
            own = np.nan if limits is None else limits[0]
            variance, unknown = variance + own, unknown + (self.residual_variance.stderr or 0.0) ** 2
        unsure = self._unsure(weights, of_variance=1.0 - own / variance)
        free = 2.0 * variance**2 / np.maximum(unknown, 2.0 * variance**2 / self.freedom)
        stderr = np.where(unsure | ~(free >= _LEAST_FREEDOM), np.nan, np.sqrt(variance))
        return stderr, np.where(free >= 1.0, free, 1.0)

    def _sampled(self, weights: Array) -> tuple[Array, Array]:
        """Return the sampling variance of combinations, and the variance of its noise."""
        form, variance = _forms(weights, self.spread), _forms(weights, self.sampling_covariance)
        if self.cov_type != "nonrobust":
            return variance, np.square(self.score_noise * form)
        sigma2, spread = self.dispersion
        assert sigma2 is not None
        assert spread is not None
        unscaled = _forms(weights, self.unscaled_covariance)
        return variance, np.square(spread * unscaled) + np.square(sigma2 * self.gram_noise * form)

    def _unsure(self, weights: Array, of_variance: Array | float = 1.0) -> Array:
        """Whether too much of a combination's variance lies where X'X is unsure; a part of it is the coefficients'."""
        part = of_variance * _forms(weights, self.unsure_spread)
        return np.asarray(part > _MOST_UNSURE * _forms(weights, self.spread))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that ``from_dict`` reads back."""
        data = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in data.items()}

    @classmethod
    def from_dict(cls, data: Any) -> "Inference":
        """Rebuild from plain data; ValueError, TypeError or KeyError say that it is not that of an inference."""
        given = mapping(data)
        names = tuple_of(text)(given["names"])
        count = len(names)
        return cls(
            names=names,
            n_rows=None if given["n_rows"] is None else whole(given["n_rows"]),
            rows_used=finite_number(given["rows_used"]),
            rows_noise=finite_number(given["rows_noise"]),
            intercept=flag(given["intercept"]),
            cov_type=_cov_type(given["cov_type"]),
            estimate=_array(given["estimate"], (count,)),
            privacy_covariance=_array(given["privacy_covariance"], (count, count)),
            sampling_covariance=_array(given["sampling_covariance"], (count, count)),
            unscaled_covariance=_array(given["unscaled_covariance"], (count, count)),
            spread=_array(given["spread"], (count, count)),
            unsure_spread=_array(given["unsure_spread"], (count, count)),
            gram_noise=finite_number(given["gram_noise"]),
            score_noise=finite_number(given["score_noise"]),
            freedom=finite_number(given["freedom"]),
            residual_variance=_estimate(given["residual_variance"]),
            target_variance=_estimate(given["target_variance"]),
            assumptions=tuple_of(text)(given["assumptions"]),
            reasons=tuple_of(text)(given["reasons"]),
            population_reasons=tuple_of(text)(given["population_reasons"]),
            family=family_of(text(given["family"])).name,
        )


def centring(names: Sequence[str]) -> str:
    """Return what helps where the features vary too little along some direction: nothing, if no power is among them."""
    powers = [found for name in names if (found := re.fullmatch(r"([^()\[\]:*]+)\^(\d+)", name)) and found[1] in names]
    if not powers:
        return ""
    power, column, degree = powers[0].group(0, 1, 2)
    return (
        f"{power} goes nearly along with {column}: centre it at a public number, as I(({column} - 45)**{degree}) of a "
        "formula does at 45, so that far less noise tells them apart; or "
    )


def checked_alpha(alpha: float) -> float:
    """Return a level strictly between 0 and 1."""
    if not (isinstance(alpha, int | float) and 0.0 < alpha < 1.0):
        raise ParameterError(f"alpha={alpha!r} must lie strictly between 0 and 1, such as 0.05 for 95% intervals.")
    return float(alpha)


def warn_of(reasons: Sequence[str]) -> None:
    """Say why there are no intervals, where there are none."""
    if reasons:
        warnings.warn(f"no intervals: {'; '.join(reasons)}.", InferenceWarning, stacklevel=3)


def _listed(names: Sequence[str], chosen: Array) -> str:
    listed = [name for name, here in zip(names, chosen, strict=True) if here]
    if len(listed) == len(names) > 1:
        return "any coefficient"
    return (
        ", ".join(listed)
        if len(listed) <= _LISTED
        else f"{', '.join(listed[:_LISTED])} and {len(listed) - _LISTED} more"
    )


def _forms(weights: Array, matrix: Array) -> Array:
    """Return w'matrix w for each row w."""
    return np.asarray(np.einsum("ij,ij->i", weights @ matrix, weights))


def _array(value: Any, shape: tuple[int, ...]) -> Array:
    array = np.array(value, dtype=np.float64)
    if array.shape != shape or not np.isfinite(array).all():
        raise ValueError(f"an array of shape {shape} with finite numbers was expected")
    return array


def _cov_type(value: Any) -> CovType:
    if value not in get_args(CovType):
        raise ValueError(f"a cov_type among {get_args(CovType)} was expected")
    return value  # type: ignore[no-any-return]


def _estimate(value: Any) -> Estimate:
    first, second = value
    return Estimate(*(None if number is None else finite_number(number) for number in (first, second)))
