"""Whole numbers in doubles: how large they may be so that their sums are exact, and points that are made of them."""

import numpy as np

from .source import Array

BITS = 20
ONE = float(1 << BITS)  # the norm of the longest row, and the largest target and residual
SQUARE = float(1 << 2 * BITS)
THETA_BITS = 53 - BITS
RESIDUAL_BITS = 18  # of residuals from an expected target, in addition to those of targets; they are at most 2
SPAN_ROWS = 1 << (53 - 2 * BITS)  # so many products of two numbers of at most 2^20 sum to at most 2^53
DOWN = 1.0 - 2.0**-50  # more than a few operations on doubles can round up by
_FEW_LINES = 3  # up to which a product takes less time line by line
_LIMB = 32
_LIMB_MASK = np.int64((1 << _LIMB) - 1)


def row_scale(width: int) -> float:
    """Return by what rows of so many coordinates and of norm at most 1 are multiplied before they are rounded.

    Rounding moves a row by at most sqrt(width) / 2; one unit more covers the rounding of the products.
    """
    return float(ONE - 0.5 * np.sqrt(width) - 1.0)


def whole_targets(target: Array) -> Array:
    """Return targets of at most 1 as whole numbers of at most 2^20."""
    return np.clip(np.rint(target * ONE), -ONE, ONE)


def in_steps(residuals: Array, residual_bound: float | Array) -> Array:
    """Return residuals as whole numbers of at most 2^20, in steps of ``residual_bound`` / 2^20."""
    steps = np.rint(residuals * (ONE / residual_bound))
    return np.clip(steps, -ONE, ONE, out=steps)


def in_the_ball(steps: Array) -> Array:
    """Return columns of whole numbers, zero where the norm exceeds 2^20 by what rounding has added."""
    squares = np.einsum("ij,ij->j", steps, steps)
    if squares.max(initial=0.0) > SQUARE:
        steps[:, squares > SQUARE] = 0.0
    return steps


def quantised(theta: Array) -> tuple[Array, Array]:
    """Return whole numbers and exponents with theta near numbers * 2^-exponent, small enough for exact products.

    2^20 times the norm of each row of numbers is at most 2^53, so no partial sum of a product with a row rounds.
    Where theta is too large for that, it is saturated.
    """
    norms = np.sqrt(np.einsum("ij,ij->i", theta, theta))
    largest = 2.0**THETA_BITS - np.sqrt(theta.shape[1])
    with np.errstate(divide="ignore", over="ignore"):
        exponent = np.floor(np.log2(largest) - np.log2(norms))
    exponent = np.clip(np.nan_to_num(exponent, nan=0.0, posinf=THETA_BITS, neginf=-900.0), -900.0, THETA_BITS)
    numbers = np.rint(theta * 2.0 ** exponent[:, None])
    too_long = ~(np.einsum("ij,ij->i", numbers, numbers) <= 2.0 ** (2 * THETA_BITS))
    numbers[too_long] = 0.0
    return numbers, exponent


def on_grid(theta: Array) -> tuple[Array, Array]:
    """Return whole numbers and exponents of points at which residuals are whole numbers of at most 2^40.

    theta becomes numbers * 2^-exponent; where it is too large for that, zero.
    """
    norms = np.sqrt(np.einsum("ij,ij->i", theta, theta))
    with np.errstate(over="ignore", invalid="ignore"):
        exponent = np.maximum(np.floor(BITS - 0.01 - np.log2(1.0 + norms)), 0.0)
        numbers = np.rint(theta * 2.0 ** exponent[:, None])
    too_long = ~(norms < ONE / 2.0)
    numbers[too_long], exponent[too_long] = 0.0, 0.0
    return numbers, exponent


def to_limbs(values: Array) -> tuple[Array, Array]:
    """Split whole-numbered doubles below 2^53 into high and low limbs that can be added 2^31 times."""
    whole = values.astype(np.int64)
    return whole >> _LIMB, whole & _LIMB_MASK


def limbs_of_products(left: Array, right: Array) -> tuple[Array, Array]:
    """Return left @ right in limbs, for whole numbers whose products are at most 2^40, whatever their number.

    ``np.dot`` lets other threads run, which ``@`` does only where the result is large.
    """
    if 1 < len(left) <= _FEW_LINES:  # BLAS takes several times as long for two lines as for one
        upper, lower = zip(*(limbs_of_products(line[None], right) for line in left), strict=True)
        return np.concatenate(upper), np.concatenate(lower)
    high, low = to_limbs(np.dot(left[:, :SPAN_ROWS], right[:SPAN_ROWS]))
    for start in range(SPAN_ROWS, len(right), SPAN_ROWS):
        rows = slice(start, start + SPAN_ROWS)
        more = to_limbs(np.dot(left[:, rows], right[rows]))
        high, low = high + more[0], low + more[1]
    return high, low


def from_limbs(high: Array, low: Array) -> Array:
    """Join sums of limbs: as 64-bit integers where they fit, else as Python integers."""
    if np.abs(high).max(initial=0) < 1 << 29 and low.max(initial=0) < 1 << 61:
        return np.asarray((high << _LIMB) + low)
    return np.asarray(high.astype(object) * (1 << _LIMB) + low.astype(object))
