"""How far one row, or all rows of one unit, moves what goes into a mechanism, against how far it was declared to.

For a Gaussian release: the Euclidean (for matrices Frobenius) distance between the two inputs, over the declared
sensitivity. For a sketch: the leverage of the row in the matrix that is sketched, or the sum of the leverages of a
unit's rows, times the declared floor. Inputs in whole numbers are compared in rational arithmetic, others up to
rounding.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import fmpq, fmpq_mat, fmpz_mat

from ..exact.eigenvalue_bounds import certified_eigenvalue
from ..linalg import Array, extreme_eigenvalue
from .tape import Call

# Floating-point sums of n rows of norm 1 are off by far less than this share of their size.
_ROUNDING = 1e-11


@dataclass(frozen=True)
class Movement:
    """One release: actual change over declared change in the worst trial, and whether the declaration holds."""

    mechanism: str
    declared: tuple[tuple[str, float], ...]
    ratio: float
    within: bool
    failed_bounds: int = 0  # trials in which the released lower bound on an eigenvalue fails; an allowance covers them


def movement(call: Call, other: Call) -> Movement:
    """Compare the inputs of one release on two neighbouring data sets; the first is the one that was recorded."""
    declared = tuple(sorted(call.declared.items()))
    if call.statistic.value.shape != other.statistic.value.shape:
        return Movement(call.mechanism, declared, math.inf, False)
    if call.is_sketch:
        return _leverage(call, other, declared)
    ratio, within = _distance(call, other)
    return Movement(call.mechanism, declared, ratio, within)


def leverages(call: Call, other: Call) -> Array:
    """Return the leverage, in floating point, of the row that makes the difference, for each trial of a sketch."""
    assert call.shift is not None
    larger, difference = _larger_and_difference(
        call.statistic.value.astype(np.float64), other.statistic.value.astype(np.float64)
    )
    values, vectors = np.linalg.eigh(larger)
    squares = np.maximum(np.einsum("ij,ik,kj->j", vectors, difference, vectors), 0.0)
    lifted = np.maximum(values + (call.shift / _step(call))[:, None], 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(squares > 0.0, squares / lifted, 0.0).sum(axis=1))


def distances(call: Call, other: Call) -> Array:
    """Return how far the inputs of a Gaussian release are apart, in units of the sensitivity, for each trial."""
    difference = (call.statistic.value - other.statistic.value).astype(np.float64)
    difference = _by_trial(call, difference)
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", difference, difference)) / call.statistic.sensitivity)


def _distance(call: Call, other: Call) -> tuple[float, bool]:
    sensitivity = call.statistic.sensitivity
    ratio = float(distances(call, other).max())
    if not (call.statistic.exact and other.statistic.exact):
        size = float(np.abs(call.statistic.value).max(initial=0.0)) / sensitivity
        return ratio, ratio <= 1.0 + _ROUNDING * (1.0 + size)
    difference = call.statistic.value.astype(object) - other.statistic.value.astype(object)
    worst = max(sum(int(entry) ** 2 for entry in trial) for trial in _by_trial(call, difference))
    return ratio, worst <= Fraction(sensitivity) ** 2


def _by_trial(call: Call, values: Array) -> Array:
    """Return one line for each trial, or one for all where they share a value."""
    shared = values.ndim == (2 if call.mechanism == "symmetric_gaussian" else 1)
    return values.reshape(1 if shared else len(values), -1)


def _leverage(call: Call, other: Call, declared: tuple[tuple[str, float], ...]) -> Movement:
    """Compare the leverage with one over the floor, save where the lower bound behind the shift was wrong."""
    assert call.shift is not None
    floor, exact = call.declared["floor"], call.statistic.exact and other.statistic.exact
    larger, difference = _larger_and_difference(call.statistic.value, other.statistic.value)
    if not _is_of_rows(difference, call.statistic.rows_at_once, exact):
        return Movement(call.mechanism, declared, math.inf, False)
    values = leverages(call, other)
    ratio, within, failed = 0.0, True, 0
    for trial, shift in enumerate(call.shift.tolist()):
        holds = values[trial] * floor <= 1.0 + _ROUNDING * (1.0 + float(np.abs(larger).max()))
        if exact:
            holds = _exact_leverage(larger, difference, _whole_shift(shift, _step(call))) <= 1 / Fraction(floor)
        if not holds and call.certain is not None and _bound_fails(call, float(call.certain[trial])):
            failed += 1
        else:
            ratio, within = max(ratio, float(values[trial]) * floor), within and bool(holds)
    return Movement(call.mechanism, declared, ratio, within, failed)


def _larger_and_difference(first: Array, second: Array) -> tuple[Array, Array]:
    """Return which Gram matrix holds the row, and the row's part of it."""
    difference = first - second
    return (first, difference) if np.trace(difference) >= 0 else (second, -difference)


def _is_of_rows(difference: Array, rows: int, exact: bool) -> bool:
    """Whether a matrix is what so many rows add to a Gram matrix."""
    if rows == 1:
        return _is_outer_product(difference, exact)
    values = np.linalg.eigvalsh(difference.astype(np.float64))
    slack = _ROUNDING * max(1.0, float(np.abs(difference).max()))
    return bool(values[0] >= -slack and (values > slack).sum() <= rows)


def _is_outer_product(difference: Array, exact: bool) -> bool:
    """Whether a matrix is xx' for some x, as what one row adds to a Gram matrix must be."""
    pivot = int(np.argmax(np.diag(difference)))
    if exact:
        entries = difference.astype(object)
        return bool((entries * entries[pivot, pivot] == np.outer(entries[pivot], entries[pivot])).all())
    slack = _ROUNDING * max(1.0, float(np.abs(difference).max()))
    if difference[pivot, pivot] <= slack:
        return bool(np.abs(difference).max() <= slack)
    rest = difference - np.outer(difference[pivot], difference[pivot]) / difference[pivot, pivot]
    return bool(np.abs(rest).max() <= 1e3 * slack)


def _exact_leverage(larger: Array, difference: Array, shift: Fraction) -> Fraction | float:
    """Return the trace of (larger + shift I)^-1 difference, in rational arithmetic; infinity if singular.

    Where the difference is xx' that is x'(larger + shift I)^-1 x.
    """
    if not difference.any():
        return Fraction(0)
    lift = fmpq(shift.numerator, shift.denominator)
    lifted, moved = (fmpq_mat(fmpz_mat([[int(entry) for entry in row] for row in m])) for m in (larger, difference))
    for place in range(len(larger)):
        lifted[place, place] = lifted[place, place] + lift
    if lifted.det() == 0:
        return math.inf
    solution = lifted.solve(moved)
    trace = sum((solution[place, place] for place in range(len(larger))), fmpq(0))
    return Fraction(int(trace.p), int(trace.q))


def _step(call: Call) -> float:
    """Return the step of a Gram matrix, which all trials share."""
    assert np.ndim(call.statistic.step) == 0
    return float(call.statistic.step)


def _whole_shift(shift: float, step: float) -> Fraction:
    """Return a released shift in the statistic's steps, a whole number; where its last bit is not known, the next."""
    steps = Fraction(shift) / Fraction(step)
    return Fraction(round(steps)) if steps < 2**51 else steps * (1 + Fraction(1, 2**50))


def _bound_fails(call: Call, certain: float) -> bool:
    """Whether a released lower bound exceeds the smallest eigenvalue of the recorded data."""
    if call.statistic.exact:
        smallest = certified_eigenvalue(call.statistic.value, "smallest")[0]
    else:
        smallest = extreme_eigenvalue(call.statistic.value, "smallest")
    return certain / _step(call) > smallest
