"""Tests of linear restrictions, from released values alone: they cost nothing, however many are made.

A combination of coefficients has a standard error and Satterthwaite's degrees of freedom (`Inference.of_combinations`).
Several restrictions R b = r are tested together by Wald's statistic (R b - r)' (R V R')^-1 (R b - r) over their number.
Along the principal axes of R V R' it is a mean of squares of independent Student ratios, each with degrees of freedom
of its own; those of the F law are chosen such that its mean is that of this mean (Fai and Cornelius, 1996). Where the
noise hides a combination, there is no number.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from scipy.special import chdtrc, fdtrc, fdtri, stdtr, stdtrit

from ..errors import ParameterError
from ..linalg import root_of
from ..pages.parts import Section, notebook_part
from ..pages.parts import Table as Rows
from ..randomness import standard_normal, streams
from ..seen_text import visible
from .intervals import Inference, Target, checked_alpha
from .restrictions import Restrictions
from .tables import HIDDEN_WORDS, Table, as_lines, frame_of, number, with_warning

Array = np.ndarray[Any, np.dtype[Any]]
Simultaneous = Literal["bonferroni", "scheffe", "max-t"]

TINY = 1e-16  # smaller P values are printed as such
_TITLE = "Tests of linear restrictions"
_KNOWN = 1e12  # degrees of freedom of a variance that is known
_FLAT = 1e-10  # share of the largest principal variance below which restrictions are not told apart
_DRAWS = 20_000  # of the law of the largest ratio
_SEED = 1  # of the draws: public, so that limits are the same for all


@dataclass(frozen=True, eq=False)
class TTest:
    """One test for each restriction: an estimate, its standard error, ratio and P value; nan where noise hides it."""

    restrictions: Restrictions
    inference: Inference
    target: Target
    warning: str | None = None  # that the fit is not private

    @cached_property
    def effect(self) -> Array:
        """Estimates of the combinations."""
        return np.asarray(self.restrictions.weights @ self.inference.estimate)

    @property
    def sd(self) -> Array:
        """Their standard errors."""
        return self._errors[0]

    @property
    def df_denom(self) -> Array:
        """Degrees of freedom of each standard error."""
        return np.asarray(np.where(np.isnan(self.sd), np.nan, self._errors[1]))

    @property
    def tvalue(self) -> Array:
        """Estimate less the value in question, over the standard error."""
        return np.asarray((self.effect - self.restrictions.values) / self.sd)

    @property
    def pvalue(self) -> Array:
        """How probable an estimate as far from the value in question is, if that is the true one."""
        return np.asarray(2.0 * stdtr(self._errors[1], -np.abs(self.tvalue)))

    @cached_property
    def _errors(self) -> tuple[Array, Array]:
        return self.inference.of_combinations(self.restrictions.weights, target=self.target)

    def limits(self, alpha: float = 0.05, simultaneous: Simultaneous | None = None) -> Array:
        """Return lower and upper limits of each combination, as an array."""
        room = self._critical(checked_alpha(alpha), simultaneous) * self.sd
        return np.column_stack((self.effect - room, self.effect + room))

    def conf_int(self, alpha: float = 0.05, *, simultaneous: Simultaneous | None = None) -> Any:
        """Return lower and upper limits of each combination; nan where there are none.

        ``simultaneous`` limits hold for all of them together with probability 1 - alpha: "bonferroni", "scheffe" (for
        all combinations of them, too) or "max-t", the narrowest, by simulation from the released covariance.
        """
        return Table(
            self.limits(alpha, simultaneous), self.restrictions.texts, ("lower", "upper"), self.warning
        ).framed()

    def _critical(self, alpha: float, simultaneous: Simultaneous | None) -> Array:
        free = self._errors[1]
        if simultaneous not in (None, *get_args(Simultaneous)):
            raise ParameterError(f'simultaneous={simultaneous!r} must be None, "bonferroni", "scheffe" or "max-t".')
        seen = ~np.isnan(self.sd)
        if simultaneous is None or not seen.any():
            return np.asarray(stdtrit(free, 1.0 - 0.5 * alpha))
        if simultaneous == "bonferroni":
            return np.asarray(stdtrit(free, 1.0 - 0.5 * alpha / seen.sum()))
        weights = self.restrictions.weights[seen]
        if simultaneous == "scheffe":
            axes = _axes(self.inference, weights, self.target)
            joint = np.nan if axes is None else len(weights) * float(fdtri(len(weights), axes.freedom, 1.0 - alpha))
            return np.full(len(free), np.sqrt(joint))
        level = _smallest_p(_correlation(self.inference, weights, self.target), free[seen], alpha)
        return np.asarray(stdtrit(free, 1.0 - 0.5 * level))

    def summary_frame(self, alpha: float = 0.05) -> Any:
        """Return a pandas data frame with a row for each restriction."""
        columns = ("coef", "std err", "t", "P>|t|", "lower", "upper")
        numbers = np.column_stack((self.effect, self.sd, self.tvalue, self.pvalue, self.limits(alpha)))
        numbers[np.isnan(self.sd)] = np.nan
        return with_warning(frame_of(numbers, self.restrictions.texts, columns), self.warning)

    def _repr_html_(self) -> str:
        heads = ("restriction", ">coef", ">std err", ">t", ">P>|t|", ">[0.025", ">0.975]")
        numbers = np.column_stack((self.effect, self.sd, self.tvalue, self.pvalue, self.limits())).tolist()
        cells = [[number(value) for value in row] for row in numbers]
        pairs = zip(self.restrictions.texts, cells, strict=True)
        rows = tuple((text, *(row if all(row) else [HIDDEN_WORDS])) for text, row in pairs)
        return notebook_part(_TITLE, [Section("", (Rows(heads, rows),))], alarm=self.warning)

    def __repr__(self) -> str:
        heads = ("coef", "std err", "t", "P>|t|", "[0.025", "0.975]")
        numbers = np.column_stack((self.effect, self.sd, self.tvalue, self.pvalue, self.limits()))
        return "\n".join(as_lines(_TITLE, heads, self.restrictions.texts, numbers, self.warning))


@dataclass(frozen=True)
class WaldTest:
    """A test of several restrictions together; numbers are nan, and ``hidden`` says why, where noise hides them."""

    texts: tuple[str, ...]
    statistic: float
    df_num: int
    df_denom: float
    pvalue: float
    distribution: Literal["F", "chi2"]
    hidden: str | None
    warning: str | None = None  # that the fit is not private

    @property
    def fvalue(self) -> float:
        """The statistic in its F form."""
        return self.statistic if self.distribution == "F" else self.statistic / self.df_num

    def __repr__(self) -> str:
        tested = visible(f"Tested together: {', '.join(self.texts)}")
        tested = tested if self.warning is None else f"{self.warning}\n{tested}"
        if self.hidden is not None:
            return f"{tested}\n{HIDDEN_WORDS}: {visible(self.hidden)}."
        free = f"{self.df_num}, {self.df_denom:.6g}" if self.distribution == "F" else f"{self.df_num}"
        chance = f"P = {self.pvalue:.4g}" if self.pvalue >= TINY else f"P < {TINY:g}"
        return f"{tested}\n{self.distribution}({free}) = {self.statistic:.5g}, {chance}"


def t_test(inference: Inference, restrictions: Any, target: Target = "population") -> TTest:
    """Test each restriction by itself."""
    return TTest(Restrictions.of(restrictions, inference.names), inference, target)


def wald_test(
    inference: Inference, restrictions: Any, target: Target = "population", *, use_f: bool = True
) -> WaldTest:
    """Test all restrictions together, by the F law or, as if variances were known, by that of chi-square."""
    asked = restrictions if isinstance(restrictions, Restrictions) else Restrictions.of(restrictions, inference.names)
    count, distribution = len(asked.weights), "F" if use_f else "chi2"
    axes = _axes(inference, asked.weights, target)
    if axes is None:
        why = _why(inference, asked.weights, target)
        return WaldTest(asked.texts, np.nan, count, np.nan, np.nan, distribution, why)  # type: ignore[arg-type]
    apart = (asked.weights @ inference.estimate - asked.values) / axes.scales
    statistic = float(np.sum((axes.vectors.T @ apart) ** 2 / axes.variances))
    if not use_f:
        return WaldTest(asked.texts, statistic, count, np.inf, float(chdtrc(count, statistic)), "chi2", None)
    pvalue = float(fdtrc(count, axes.freedom, statistic / count))
    return WaldTest(asked.texts, statistic / count, count, axes.freedom, pvalue, "F", None)


def overall_test(inference: Inference, target: Target = "population") -> WaldTest:
    """Test that all slopes are 0."""
    return _test_of_zeros(inference, range(len(inference.names) - inference.intercept), target)


def nested_test(inference: Inference, kept: Sequence[str], target: Target = "population") -> WaldTest:
    """Test that all coefficients are 0 but those that a smaller model keeps."""
    unknown = [name for name in kept if name not in inference.names]
    if unknown:
        raise ParameterError(
            f"the smaller model has {unknown[0]!r}, which this one has not; a nested model has some of its columns, "
            "and no other."
        )
    left = [place for place, name in enumerate(inference.names) if name not in kept]
    if not left:
        raise ParameterError("the smaller model has all coefficients of this one, so that there is nothing to test.")
    return _test_of_zeros(inference, left, target)


def _test_of_zeros(inference: Inference, places: Sequence[int], target: Target) -> WaldTest:
    texts = tuple(f"{inference.names[place]} = 0" for place in places)
    asked = Restrictions(np.eye(len(inference.names))[list(places)], np.zeros(len(places)), texts)
    return wald_test(inference, asked, target)


@dataclass(frozen=True, eq=False)
class _Axes:
    """Principal axes of the correlation of some combinations, with their joint degrees of freedom."""

    scales: Array  # standard errors of the combinations
    vectors: Array
    variances: Array
    freedom: float


def _axes(inference: Inference, weights: Array, target: Target) -> _Axes | None:
    """Return the axes; None where the noise hides one of the combinations, or a direction between them."""
    scales = inference.of_combinations(weights, target=target)[0]
    if np.isnan(scales).any():
        return None
    correlation = _correlation(inference, weights, target)
    if np.isnan(correlation).any():
        return None
    variances, vectors = np.linalg.eigh(correlation)
    errors, free = inference.of_combinations(vectors.T @ (weights / scales[:, None]), target=target)
    if np.isnan(errors).any() or variances[0] < _FLAT * variances[-1]:
        return None
    return _Axes(scales, vectors, variances, _joint_freedom(free))


def _correlation(inference: Inference, weights: Array, target: Target) -> Array:
    """Return the correlation of some combinations; nan where it is not determined."""
    used = weights.any(axis=0)
    known = inference.covariance(target)[np.ix_(used, used)]
    if np.isnan(known).any():
        return _correlation_by_sums(inference, weights, target)
    covariance = weights[:, used] @ known @ weights[:, used].T
    scales = np.sqrt(np.diag(covariance))
    return np.asarray(covariance / np.outer(scales, scales))


def _correlation_by_sums(inference: Inference, weights: Array, target: Target) -> Array:
    """Return the correlation of combinations that may be determined although coefficients in them are not.

    The variance of a sum of two that have variance 1 is 2 and twice their correlation.
    """
    scaled = weights / inference.of_combinations(weights, target=target)[0][:, None]
    first, second = np.triu_indices(len(weights), k=1)
    found = np.eye(len(weights))
    sums = inference.of_combinations(scaled[first] + scaled[second], target=target)[0]
    found[first, second] = found[second, first] = 0.5 * sums**2 - 1.0
    return found


def _joint_freedom(free: Array) -> float:
    """Return the degrees of freedom of an F law with the mean of a mean of squared Student ratios."""
    if len(free) == 1 or np.ptp(free) <= 1e-8 * free[0]:
        return float(np.mean(free))
    if free.min() <= 2.0:
        return 2.0
    excess = float(np.sum(2.0 / (free - 2.0)))  # of the mean of the sum over the number of ratios
    return min(2.0 * (len(free) + excess) / max(excess, 2.0 / _KNOWN), _KNOWN)


def _smallest_p(correlation: Array, free: Array, alpha: float) -> float:
    """Return the level of each interval at which all hold together: the quantile of the smallest P value.

    Standard errors vary together, as most of what is not known of them is the residual variance: by Wilson and
    Hilferty's cube, which is close from five degrees of freedom on.
    """
    if np.isnan(correlation).any():
        return np.nan
    bits = streams(_SEED, 1)[0]
    draws = standard_normal(bits, (_DRAWS, len(free) + 1))
    cube = 1.0 - 2.0 / (9.0 * free) + draws[:, -1:] * np.sqrt(2.0 / (9.0 * free))
    ratios = np.abs(draws[:, :-1] @ root_of(correlation).T) / np.maximum(cube, 0.05) ** 1.5
    return float(np.quantile(2.0 * stdtr(free, -ratios).min(axis=1), alpha))


def _why(inference: Inference, weights: Array, target: Target) -> str:
    """Say why there is no test."""
    reasons = inference.why_not(target)
    if reasons:
        return "; ".join(reasons)
    used, hidden = weights.any(axis=0), np.isnan(inference.standard_errors(target))
    names = [name for name, here in zip(inference.names, used & hidden, strict=True) if here]
    if names:
        return f"{', '.join(names)} {'has' if len(names) == 1 else 'have'} no standard error"
    return "some combination of these coefficients is not determined"
