"""Products of whole-numbered sums with a metric, rounded down to the steps in which they are released.

M'SM is computed from limbs of M and S whose products BLAS adds without rounding, and divided by the squared limit in
pairs of doubles, high and low. What that leaves so close to a whole number that it may be on either side, or is too
large, is computed in integers. So the result is the true one, however it was found.

The error bound. Limbs have b bits, so |limb| <= 2^(b - 1); a place sums at most two products of limbs with d columns
and a carry, and 2 d 2^(2b - 2) + 2^b is below 2^53. The highest carry is a limb, too: S is at most 2^(bK) in K limbs
and the columns of M' at most 2^33 long, so it is at most 2^(33 - b) sqrt(d) + 1. Hence the terms of M'SM by place are
exact. With ``size`` the sum of their absolute values, adding k of them into a pair costs at most k^2 2^-105 of it: each
sum of doubles leaves its error without rounding (Knuth), and errors are at most k 2^-53 size and are added in doubles.
Powers of two cost nothing. The product of a pair with the inverse, itself a pair with a relative error of 2^-106, is
exact in its leading term (Dekker) and rounds the others, which are at most 2^-51 size / limit^2. What is left of the
quotient beyond its whole part is at most 1 plus these, and rounded once. For k <= 16 all of it is below 2^-96 size /
limit^2 + 2^-40.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from flint import fmpz_mat

from ..data.source import Array

_SPLITTER = 2.0**27 + 1.0  # of a double into halves whose products are exact
_LARGEST = 2.0**62  # of what is computed in doubles
_MOST_COLUMNS = 4096  # up to which the highest carry is a limb
_ERROR = 2.0**-96, 2.0**-40  # of the size of a number's terms, and of a fraction


@dataclass(frozen=True, repr=False)
class WholeMetric:
    """M' in whole numbers: a line for each column of M, in steps of 2^-exponent of its own."""

    columns: Array
    exponent: Array

    @cached_property
    def _matrix(self) -> Any:
        return fmpz_mat(self.columns.astype(np.int64).tolist())

    def gram(self, sums: Array, limit: float) -> Array:
        """Return M'SM in steps of limit^2 / 2^40, rounded down, for whole-numbered S in steps of 2^-40."""
        is_small = sums.dtype == np.int64 and len(sums) <= _MOST_COLUMNS
        found = self._gram_by_limbs(sums, limit) if is_small else None
        return self._gram_by_integers(sums, limit) if found is None else found

    def _gram_by_limbs(self, sums: Array, limit: float) -> Array | None:
        """Return the same of 64-bit integers; None where doubles do not tell."""
        d = len(sums)
        bits = (53 - d.bit_length()) // 2
        upper = np.rint(self.columns * 2.0**-bits)
        columns = np.concatenate((self.columns - upper * 2.0**bits, upper))
        limbs = _limbs(sums, bits)
        half = (columns @ np.concatenate(limbs, axis=1)).reshape(2, d, len(limbs), d)
        limbs = _carried(_by_place(half), bits)
        whole = (np.concatenate(limbs) @ columns.T).reshape(len(limbs), d, 2, d)
        step = 2.0**-self.exponent
        with np.errstate(over="ignore", invalid="ignore"):
            terms = [part * 2.0 ** (bits * place) * step * step[:, None] for place, part in enumerate(_by_place(whole))]
            return _floors_of_quotients(terms, Fraction(limit) ** 2)

    def _gram_by_integers(self, sums: Array, limit: float) -> Array:
        inside = self._matrix * fmpz_mat(sums.tolist()) * self._matrix.transpose()
        mantissa, power = _dyadic(limit)
        d = len(self.exponent)
        # One side of a symmetric matrix gives the other.
        entries, line, column = inside.entries(), *np.triu_indices(d)
        upper = [entries[place] for place in (line * d + column).tolist()]
        result = np.empty((d, d), dtype=object)
        powers = (-(self.exponent[line] + self.exponent[column]) - 2 * power).astype(np.int64).tolist()
        result[line, column] = _floors(upper, mantissa**2, powers)
        result[column, line] = result[line, column]
        return result

    def product(self, sums: Array, point_exponent: float, limit: float) -> Array:
        """Return M's in steps of limit / 2^40, rounded down, for whole-numbered s in steps of 2^-(40 + exponent)."""
        inside = self._matrix * fmpz_mat(len(sums), 1, sums.tolist())
        mantissa, power = _dyadic(limit)
        shift = int(point_exponent) + power
        return _floors(inside.entries(), mantissa, [-int(each) - shift for each in self.exponent.tolist()])


def _limbs(whole: Array, bits: int) -> list[Array]:
    """Return whole numbers of 64 bits as limbs, the lowest first."""
    half, limbs = 1 << bits - 1, list[Array]()
    while whole.any() or not limbs:
        low = ((whole + half) & (2 * half - 1)) - half
        limbs.append(low.astype(np.float64))
        whole = (whole - low) >> bits
    return limbs


def _by_place(products: Array) -> list[Array]:
    """Return the sums of products of limbs, of shape (left, d, right, d), that stand for the same power."""
    left, right = products.shape[::2]
    sums = np.zeros((left + right - 1, *products.shape[1::2]))
    for i in range(left):
        for k in range(right):
            sums[i + k] += products[i, :, k]
    return list(sums)


def _carried(numbers: list[Array], bits: int) -> list[Array]:
    """Return limbs of what numbers that stand for rising powers add up to, the lowest first."""
    limbs, carry = [], np.zeros_like(numbers[0])
    for number in numbers:
        total = number + carry
        carry = np.rint(total * 2.0**-bits)
        limbs.append(total - carry * 2.0**bits)
    return [*limbs, carry]


def _floors_of_quotients(terms: list[Array], divisor: Fraction) -> Array | None:
    """Return the sums of exact terms over a divisor, rounded down; None where doubles do not tell."""
    high, low, size = (np.zeros_like(terms[0]) for _ in range(3))
    for term in reversed(terms):
        total = high + term
        added = total - high
        low += (high - (total - added)) + (term - added)
        size += np.abs(term)
        high = total
    inverse = float(1 / divisor)
    rest = float(1 / divisor - Fraction(inverse))
    quotient = high * inverse
    (a, b), (c, d) = _halves(high), _halves(inverse)
    error = (((a * c - quotient) + a * d + b * c) + b * d) + (high * rest + low * inverse)
    whole = np.floor(quotient)
    fraction = (quotient - whole) + error
    of_size, at_least = _ERROR
    clear = np.abs(fraction - np.rint(fraction)) > of_size * inverse * size + at_least
    if not ((clear & (np.abs(quotient) < _LARGEST)) | (size == 0.0)).all():
        return None
    return np.asarray(whole.astype(np.int64) + np.floor(fraction).astype(np.int64))


def _halves(number: Any) -> tuple[Any, Any]:
    """Return two numbers of half the bits whose sum is a double."""
    far = number * _SPLITTER
    upper = far - (far - number)
    return upper, number - upper


def _dyadic(number: float) -> tuple[int, int]:
    """Return the whole number and the power of two whose product is a double."""
    mantissa, power = math.frexp(number)
    return int(mantissa * 2**53), power - 53


def _floors(numbers: list[Any], divisor: int, powers: list[int]) -> Array:
    """Return number * 2^power / divisor for each number, rounded down."""
    least = min(*powers, 0)
    under = divisor << -least
    each = zip(numbers, powers, strict=True)
    return np.array([(int(number) << power - least) // under for number, power in each], dtype=object)
