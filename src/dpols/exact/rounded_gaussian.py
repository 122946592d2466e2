"""Gaussian noise rounded to integers, exactly in law.

`rounded_gaussian` returns round(scale * z) for ideal standard normals z. For an integer v, v + round(scale * z) equals
round(v + scale * z), so adding the result to integers is post-processing of the ideal continuous Gaussian mechanism.

Method. Two ideal uniforms give two normals r cos(t) and r sin(t), with r = sqrt(-2 log U) and t = 2 pi V. The first
64 bits of U and V are drawn at once for all pairs, and a double-precision pass settles every pair in which both
scaled normals are farther from a half-integer than its error bound. For large scales 64 bits more are drawn for the
remaining pairs, and extended precision settles most of these in the same way (see `extended`). The rest are settled by
ball arithmetic, on the same bits, extended as far as necessary (see `ideal`). Both members of a pair are settled
together because they share their uniforms. Half-integers have probability zero, so this ends.

The error bound. Let w be the first 64 bits of U, as an integer. The double-precision pass evaluates U at
(w + 1/2) / 2**64 and is believed only for 2**40 <= w < 2**64 - 2**53.

* For U below 1/2 this value has a relative error below 2**-51 + 1 / 2w, hence -log U an absolute one: at most 2**-40,
  where -log U > 16, for w near 2**40, and in every case a relative error below 2**-44. For U above 1/2 the value has
  an absolute error below 2**-53 + 2**-65, where -log U >= 2**-11. So -log U has a relative error below 2**-41.9, r of
  2**-42.9.
* The angle has an error below 2 pi * 2**-51 < 2**-48; cosine and sine are Lipschitz with constant 1.
* The logarithm is assumed to have a relative error, cosine and sine an absolute error, of at most 2**-42. NumPy holds
  its implementations to 4 units in the last place, 2**-50; the tests compare them with Arb.
* Square root, products and the scale as a double contribute factors within 1 +- 2**-53, four of them.

Altogether |computed - scale z| <= scale r (2**-42.9 + 2**-43 + 2**-42 + 2**-48 + 2**-50) < scale r 2**-40.9. The
bound used is scale r 2**-40. What it has to spare also covers the rounding of the comparison itself, below 2**-53,
because scale r > 0.4 wherever the comparison is close.
"""

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from ..randomness import WORD_BITS, Bits
from .extended import in_extended_precision
from .ideal import IdealUniforms, nearest_integer, normals

_ERROR_BOUND = 2.0**-40
_SMALLEST_BELIEVED = np.uint64(2**40)
_LARGEST_BELIEVED = np.uint64(2**64 - 2**53 - 1)
_PAIRS_PER_BLOCK = 1 << 14
_NEVER_CLEAR = 2**44  # scales at which no pair is settled: r exceeds 2**-5 for the words believed
_GUARD_BITS = 32
_EXTENDED_BITS = 54 + _GUARD_BITS  # of a scale and the guard, up to which extended precision settles most pairs


class _Scale(NamedTuple):
    exact: Fraction
    fits: bool  # whether draws are 64-bit integers
    is_never_clear: bool
    magnitude_bits: int


def rounded_gaussian(
    scale: Fraction | float, shape: int | tuple[int, ...], *, bits: Bits
) -> NDArray[np.int64] | NDArray[np.object_]:
    """Return independent draws of round(scale * z), z standard normal, exactly in law; a float scale is taken exactly.

    Takes a number of words from `bits` that depends on `shape` only. The array is of int64 for scales up to 2**53
    (short of an event of probability below exp(-2**19)) and of Python integers beyond.
    """
    known = _scale(scale)
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    count = math.prod(sizes)
    pairs = (count + 1) // 2
    more = bits.spawn()
    draws: NDArray[Any] = np.empty((2, pairs), dtype=np.int64 if known.fits else object)
    for start in range(0, pairs, _PAIRS_PER_BLOCK):
        stop = min(start + _PAIRS_PER_BLOCK, pairs)
        block = _block(bits.words(2 * (stop - start)).reshape(2, -1), known, more)
        if block.dtype == object and draws.dtype != object and np.abs(block).max() >= 2**63:
            draws = draws.astype(object)
        draws[:, start:stop] = block
    return draws.reshape(-1)[:count].reshape(sizes)


def _block(words: NDArray[np.uint64], scale: _Scale, more: Bits) -> NDArray[Any]:
    """Rounded pairs; of Python integers where ball arithmetic settled one of them."""
    if scale.is_never_clear:
        return _with_more_bits(words, scale, more)
    draws, settled = _in_double_precision(words, scale.exact)
    if settled.all():
        return draws
    rest = np.flatnonzero(~settled)
    return _joined(draws, rest, _with_more_bits(words[:, rest], scale, more))


def _joined(draws: NDArray[np.int64], rest: NDArray[Any], exact: NDArray[Any]) -> NDArray[Any]:
    """Put draws that were settled later in their places."""
    joined: NDArray[Any] = draws if exact.dtype != object else draws.astype(object)
    joined[:, rest] = exact
    return joined


@lru_cache(maxsize=1024)
def _scale(scale: Fraction | float) -> _Scale:
    """Return what is needed of a scale, which a fit uses many times."""
    if (isinstance(scale, float) and not math.isfinite(scale)) or scale <= 0:
        raise ValueError(f"scale must be positive and finite, got {scale!r}.")
    exact = Fraction(scale)
    return _Scale(exact, exact <= 2**53, exact >= _NEVER_CLEAR, math.ceil(exact).bit_length())


def _in_double_precision(words: NDArray[np.uint64], scale: Fraction) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Rounded pairs, zero where not settled, and which pairs are settled."""
    radial, angular = words
    radius = float(scale) * np.sqrt(-2.0 * np.log(_midpoints(radial)))
    angle = 2.0 * np.pi * _midpoints(angular)
    scaled = np.empty(words.shape)
    np.multiply(radius, np.cos(angle), out=scaled[0])
    np.multiply(radius, np.sin(angle), out=scaled[1])
    nearest = np.rint(scaled)
    clear = np.abs(scaled - nearest) + _ERROR_BOUND * radius < 0.5
    settled = clear[0] & clear[1] & (radial >= _SMALLEST_BELIEVED) & (radial <= _LARGEST_BELIEVED)
    return np.where(settled, nearest, 0.0).astype(np.int64), settled


def _midpoints(words: NDArray[np.uint64]) -> NDArray[np.float64]:
    return (words.astype(np.float64) + 0.5) * 2.0**-WORD_BITS


def _with_more_bits(words: NDArray[np.uint64], scale: _Scale, more: Bits) -> NDArray[Any]:
    """Rounded pairs, reading as many further bits as their rounding takes."""
    if not WORD_BITS < scale.magnitude_bits + _GUARD_BITS <= _EXTENDED_BITS:
        return _in_balls(IdealUniforms(words.T.ravel().tolist(), more), scale)
    second = more.words(words.size).reshape(-1, 2).T
    draws, settled = in_extended_precision(words, second, scale.exact)
    if settled.all():
        return draws
    rest = np.flatnonzero(~settled)
    prefixes = words[:, rest].T.astype(object) << WORD_BITS | second[:, rest].T.astype(object)
    return _joined(draws, rest, _in_balls(IdealUniforms(prefixes.ravel().tolist(), more, depth=2 * WORD_BITS), scale))


def _in_balls(uniforms: IdealUniforms, scale: _Scale) -> NDArray[np.object_]:
    """Rounded pairs, reading as many further bits as their rounding takes."""
    magnitude_bits = scale.magnitude_bits
    while uniforms.depth < magnitude_bits + _GUARD_BITS:
        uniforms.extend()
    while True:
        with ctx.workprec(uniforms.depth + magnitude_bits + _GUARD_BITS):
            factor = arb(fmpq(scale.exact.numerator, scale.exact.denominator))
            rounded = [nearest_integer(factor * normal) for normal in normals(uniforms.balls())]
        if None not in rounded:
            return np.array(rounded, dtype=object).reshape(-1, 2).T
        uniforms.extend()
