"""Public limits on the slopes of a fit, and the nearest coefficients within them in a released metric.

The step of the iterative Hessian sketch is a minimum over a convex set. With H the released curvature and p the point
where the step would end, it is the point of the set with the least (theta - p)' H (theta - p): a function of what was
released and of public numbers. It costs no budget and draws no noise.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq, lsq_linear

from .errors import ParameterError, quoted
from .linalg import Array

Limit = float | Sequence[float | None] | Mapping[str, float | None] | None

_LARGEST = 1e50  # limit, so that it stays finite in other units
_SMALLEST = 1e-13  # eigenvalue of a metric that counts, relative to the largest


@dataclass(frozen=True)
class Constraints:
    """Limits that every slope, or the norm of all of them, must keep, in the units of the data.

    They are public knowledge, like bounds: limits that were read from the data void the guarantee. The intercept is not
    limited.

    Parameters
    ----------
    lower, upper : float, sequence or mapping, optional
        Least and greatest slopes: one number for all, one for each feature in order, or by the names of some features.
        None or an infinite number stands for no limit. ``Constraints(lower=0)`` keeps slopes nonnegative.
    norm : float, optional
        Greatest Euclidean norm of the slopes; not together with ``lower`` or ``upper``.

    Examples
    --------
    >>> Constraints(lower={"dose": 0.0}, upper=3.0).limits(["age", "dose"]).describe()
    ('slope of age at most 3', 'slope of dose from 0 to 3')
    """

    lower: Limit = None
    upper: Limit = None
    norm: float | None = None

    def __post_init__(self) -> None:
        if self.lower is None and self.upper is None and self.norm is None:
            raise ParameterError("Constraints() limits nothing: give lower, upper or norm, or no constraints at all.")
        if self.norm is None:
            return
        if self.lower is not None or self.upper is not None:
            raise ParameterError(
                "norm cannot go with lower or upper: constrain slopes by a box or by a ball, not both."
            )
        if not 1.0 / _LARGEST <= _number("norm", self.norm) < math.inf:
            raise ParameterError(f"norm={self.norm!r} must be positive, from {1.0 / _LARGEST:g} to {_LARGEST:g}.")

    @property
    def numbers(self) -> tuple[Any, ...]:
        """Every limit, as it was given."""
        given: list[Any] = [self.norm]
        for limit in (self.lower, self.upper):
            if isinstance(limit, Mapping):
                given.extend(limit.values())
            elif isinstance(limit, Sequence | np.ndarray):
                given.extend(limit)
            else:
                given.append(limit)
        return tuple(given)

    def limits(self, names: Sequence[str]) -> "Limits":
        """Return the limits of features with these names."""
        lower, upper = _each("lower", self.lower, names, -math.inf), _each("upper", self.upper, names, math.inf)
        for name, low, high in zip(names, lower, upper, strict=True):
            if not low < high:
                raise ParameterError(
                    f"lower={low:g} and upper={high:g} of {name!r} must satisfy lower < upper; "
                    "leave out a column whose slope is known."
                )
        return Limits(tuple(names), lower, upper, None if self.norm is None else float(self.norm))


@dataclass(frozen=True, eq=False)
class Limits:
    """Constraints on the slopes of one table, in the units of the data."""

    names: tuple[str, ...]
    lower: Array
    upper: Array
    norm: float | None

    def region(self, scale: Array, *, intercept: bool) -> "Region":
        """Return the same limits on theta, where slopes are ``scale`` times theta and an intercept comes last."""
        free = [math.inf] if intercept else []
        lower, upper = np.append(self.lower / scale, np.negative(free)), np.append(self.upper / scale, free)
        return Region(lower, upper, np.asarray(scale), self.norm)

    def settled(self, slopes: Array) -> Array:
        """Return slopes that lie within the limits but for rounding, without that."""
        if self.norm is None:
            return np.clip(slopes, self.lower, self.upper)
        length = float(np.linalg.norm(slopes))
        while length > self.norm:
            slopes = slopes * min(self.norm / length, 1.0 - np.finfo(float).eps)
            length = float(np.linalg.norm(slopes))
        return slopes

    def describe(self) -> tuple[str, ...]:
        """Return the limits in words."""
        if self.norm is not None:
            return (f"norm of the slopes at most {self.norm:g}",)
        pairs = list(zip(self.lower, self.upper, strict=True))
        if len(set(pairs)) == 1:
            return (f"every slope {_in_words(*pairs[0])}",)
        return tuple(
            f"slope of {name} {_in_words(*pair)}"
            for name, pair in zip(self.names, pairs, strict=True)
            if pair != (-math.inf, math.inf)
        )


@dataclass(frozen=True, eq=False)
class Region:
    """A convex set of coefficients theta: a box, or where there is a norm an ellipsoid, with an intercept left free."""

    lower: Array
    upper: Array
    scale: Array
    norm: float | None

    def nearest(self, metric: Array, point: Array) -> Array:
        """Return for each trial the point of the region with the least (theta - point)' metric (theta - point)."""
        with np.errstate(all="ignore"):
            found = [self._one(h, p) for h, p in zip(metric, np.nan_to_num(point), strict=True)]
        return np.array(found).reshape(point.shape)

    def _one(self, metric: Array, point: Array) -> Array:
        values, basis = np.linalg.eigh(np.nan_to_num(metric))
        if not values[-1] > 0.0:  # the releases say nothing of the curvature
            values, basis = np.ones_like(values), np.eye(len(values))
        values = np.maximum(values / values[-1], _SMALLEST)
        if self.norm is not None:
            return self._in_ball_or_shrunk((basis * values) @ basis.T, point, self.norm)
        if np.all((self.lower <= point) & (point <= self.upper)):
            return point
        root = np.sqrt(values)[:, None] * basis.T
        # Relative to the point, where the objective is smallest, so that no digits cancel.
        limits = self.lower - point, self.upper - point
        rows = 100 * len(point)
        try:
            moved = lsq_linear(root, np.zeros(len(point)), limits, method="bvls", tol=1e-14, max_iter=rows).x
        except (ValueError, np.linalg.LinAlgError):  # limits that rounding has made equal; the budget is spent by now
            moved = np.zeros(len(point))
        return np.asarray(np.clip(point + np.nan_to_num(moved), self.lower, self.upper))

    def _in_ball_or_shrunk(self, metric: Array, point: Array, norm: float) -> Array:
        """Return the nearest point of a ball; shrunk slopes where the numbers leave the range of doubles."""
        try:
            found = self._in_ball(metric, point, norm)
            if np.isfinite(found).all():
                return found
        except (ValueError, ArithmeticError, RuntimeError, np.linalg.LinAlgError):  # the budget is spent by now
            pass
        p = len(self.scale)
        length = float(np.linalg.norm(self.scale * point[:p]))
        return np.concatenate((np.nan_to_num(point[:p] * (norm / length)), point[p:]))

    def _in_ball(self, metric: Array, point: Array, norm: float) -> Array:
        """Solve the secular equation |u| = norm for the multiplier, in coordinates where the region is a ball."""
        p = len(self.scale)
        slopes = self.scale * point[:p]
        if np.linalg.norm(slopes) <= norm:
            return point
        inner, across, rest = metric[:p, :p], metric[:p, p:], metric[p:, p:]
        follows = np.linalg.solve(rest, across.T)  # by how much a free intercept falls where a slope rises
        reduced = (inner - across @ follows) / np.outer(self.scale, self.scale)
        values, basis = np.linalg.eigh(reduced)
        values = np.maximum(values, _SMALLEST * values[-1])
        amounts = values * (basis.T @ slopes)

        def shortfall(log_multiplier: float) -> float:
            return float(np.log(np.linalg.norm(amounts / (values + math.exp(log_multiplier))) / norm))

        highest = math.log(float(np.linalg.norm(amounts)) / norm) + 1.0  # there the norm is below the limit
        lowest = min(highest, math.log(values[0])) - 80.0
        multiplier = (
            math.exp(brentq(shortfall, lowest, highest, xtol=1e-13, maxiter=1000)) if shortfall(lowest) > 0.0 else 0.0
        )
        nearest = basis @ (amounts / (values + multiplier)) / self.scale
        return np.concatenate((nearest, point[p:] - follows @ (nearest - point[:p])))


def _each(what: str, limit: Limit, names: Sequence[str], missing: float) -> Array:
    """Return one limit for each feature."""
    if isinstance(limit, Mapping):
        if unknown := [name for name in limit if name not in names]:
            raise ParameterError(f"{what} names unknown features {unknown}; the features are {list(names)}.")
        values: list[Any] = [limit.get(name) for name in names]
    elif isinstance(limit, Sequence | np.ndarray) and not isinstance(limit, str):
        if len(limit) != len(names):
            raise ParameterError(
                f"{what} has {len(limit)} limits, but there are {len(names)} features; give one for each, in order."
            )
        values = list(limit)
    else:
        values = [limit] * len(names)
    return np.array([missing if value is None else _number(what, value) for value in values])


def _number(what: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(f"{what}={quoted(value)} must be a number.") from None
    if math.isnan(number):
        raise ParameterError(f"{what}={value!r} must be a number; use None for no limit.")
    if math.isfinite(number) and abs(number) > _LARGEST:
        raise ParameterError(f"{what}={value!r} must lie within {_LARGEST:g} of 0; use None for no limit.")
    return number


def _in_words(low: float, high: float) -> str:
    if math.isinf(low):
        return f"at most {high:g}"
    return f"at least {low:g}" if math.isinf(high) else f"from {low:g} to {high:g}"
