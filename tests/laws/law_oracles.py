"""Slow, obvious versions of what dpols computes, written from the definitions. They share no code with it."""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from dpols import Bounds


def explicit_rows(
    X: Any, y: Any, bounds: Bounds, *, fit_intercept: bool, columns: list[str] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Bound the rows one by one, in exact rational arithmetic up to the square root of the norm."""
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    p = X.shape[1]
    intervals = bounds.features
    if isinstance(intervals, Mapping):
        assert columns is not None
        intervals = [intervals[name] for name in columns]
    low, high = bounds.target or (-bounds.y_abs, bounds.y_abs)
    target_centre, target_scale = _centre_and_scale(low, high, fit_intercept)
    constant, longest = 1.0, math.sqrt(p)
    if intervals is None:
        constant = longest = bounds.x_norm
    elif bounds.x_norm is not None:
        longest = min(longest, bounds.x_norm)
    rows = []
    for x in X:
        row = [Fraction(float(value)) for value in x]
        if intervals is not None:
            row = [_unit(value, *pair, fit_intercept) for value, pair in zip(row, intervals, strict=True)]
        norm = _norm(row)
        shrink = 1 if norm <= Fraction(longest) else Fraction(longest) / norm
        whole = math.hypot(longest, constant) if fit_intercept else longest
        row = [value * shrink / Fraction(whole) for value in row]
        rows.append([float(value) for value in row] + [constant / whole] * fit_intercept)
    targets = [(min(max(Fraction(float(v)), Fraction(low)), Fraction(high)) - target_centre) / target_scale for v in y]
    return np.array(rows).reshape(len(X), p + fit_intercept), np.array([float(v) for v in targets])


def explicit_sketch(X: np.ndarray, *, trials: int, rows: int, shift: float, rng: np.random.Generator) -> np.ndarray:
    """S X + sqrt(shift) Xi, as the mixing mechanism is defined: (trials, rows, d)."""
    n, d = X.shape
    return rng.standard_normal((trials, rows, n)) @ X + math.sqrt(shift) * rng.standard_normal((trials, rows, d))


def hessian_sketch_steps(X: np.ndarray, y: np.ndarray, sketches: np.ndarray, *, ridge: float = 0.0) -> np.ndarray:
    """The iterative Hessian sketch: a Newton step with each sketched Hessian in turn, and no noise."""
    theta = np.zeros(X.shape[1])
    for sketch in sketches:
        theta = theta + np.linalg.solve(sketch, X.T @ (y - X @ theta) - ridge * theta)
    return theta


def least_squares(X: np.ndarray, y: np.ndarray, *, fit_intercept: bool) -> tuple[np.ndarray, float]:
    """Coefficients and intercept of ordinary least squares."""
    design = np.column_stack((X, np.ones(len(X)))) if fit_intercept else X
    solution = np.linalg.lstsq(design, y, rcond=None)[0]
    return (solution[:-1], float(solution[-1])) if fit_intercept else (solution, 0.0)


def _centre_and_scale(low: float, high: float, centred: bool) -> tuple[Fraction, Fraction]:
    low, high = Fraction(low), Fraction(high)
    return ((low + high) / 2, (high - low) / 2) if centred else (Fraction(0), max(abs(low), abs(high)))


def _unit(value: Fraction, low: float, high: float, centred: bool) -> Fraction:
    centre, scale = _centre_and_scale(low, high, centred)
    return (min(max(value, Fraction(low)), Fraction(high)) - centre) / scale


def _norm(row: list[Fraction]) -> Fraction:
    largest = max((abs(value) for value in row), default=Fraction(0))
    if largest == 0:
        return Fraction(0)
    return largest * Fraction(math.sqrt(float(sum((value / largest) ** 2 for value in row))))
