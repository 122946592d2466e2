"""Rounded normals from 128 bits of each uniform, in the extended precision of the processor.

It settles nearly all pairs whose scale is too large for doubles, hundreds of times as fast as ball arithmetic. What it
does not settle is left to that, on the same bits, so the draws are the same with it and without.

The error bound. Let U have the leading words w and w', so that U is in [p, p + 1] / 2**128, p = w 2**64 + w'. Let c be
the smaller one of U and 1 - U; it is evaluated at the middle of that interval, or of its mirror image, whose words are
the complements. A pair is believed only if the first word of c is not 0, so c is known to a relative 2**-65, and to
2**-63.4 after the rounding of the words and of their sum to 64 bits.

* -log U is -log c or -log(1 - c). The first is at least log 2, the second has a condition number of at most 1.45:
  either has a relative error below 2**-62.8 from that of c.
* The angle 2 pi V has an absolute error below 2 pi * (2**-65 + 3 * 2**-64) < 2**-59.5.
* Logarithms are assumed to have a relative error, cosine and sine an absolute error, of at most 2**-58. C libraries
  are within a few units in the last place, 2**-62; `is_sound` compares with Arb at fixed points before the first use,
  and the tests do so at thousands.
* Square root, products and the scale contribute factors within 1 +- 2**-63, five of them.

Altogether |computed - scale z| <= scale r (2**-63.8 + 2**-59 + 2**-58 + 2**-59.5 + 2**-60.6) < scale r 2**-56.9. The
bound used is scale r 2**-56. What it has to spare also covers the rounding of the comparison itself, below 2**-63,
because scale r > 0.4 wherever the comparison is close.
"""

from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

_Words = NDArray[np.uint64]
_Wide = np.longdouble
_ERROR_BOUND = _Wide(2.0**-56)
_WORD, _HALF = _Wide(2.0**-64), _Wide(0.5)
_PI = _Wide("3.14159265358979323846264338327950288")
_TWO_PI, _MINUS_TWO, _TOP_BIT = 2.0 * _PI, _Wide(-2.0), np.uint64(63)
_MANTISSAS = (63, 112)  # bits after the first one: of x86 and of quadruple precision
_PROBES = 24
_PROBED_ERROR = 2.0**-60


def in_extended_precision(first: _Words, second: _Words, scale: Fraction) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return rounded pairs, zero where not settled, and which are settled, for scales up to 2**54.

    ``first`` and ``second`` hold the leading words of all uniforms: the radial ones, then the angular ones.
    """
    if not is_sound():
        return np.zeros(first.shape, dtype=np.int64), np.zeros(first.shape[1], dtype=bool)
    mirror = np.zeros_like(first)
    np.negative(first[0] >> _TOP_BIT, out=mirror[0])  # all ones where U is above one half
    upper, lead = mirror[0] > 0, first ^ mirror
    nearer, angle = _middle(lead, second ^ mirror)
    logarithm = np.log(nearer)
    np.log1p(-nearer, out=logarithm, where=upper)
    logarithm *= _MINUS_TWO
    radius = np.sqrt(logarithm, out=logarithm)
    radius *= _wide(scale)
    angle *= _TWO_PI
    scaled = np.empty(first.shape, _Wide)
    np.cos(angle, out=scaled[0])
    np.sin(angle, out=scaled[1])
    scaled *= radius
    nearest = np.rint(scaled)
    off = np.abs(np.subtract(scaled, nearest, out=scaled), out=scaled)
    off += _ERROR_BOUND * radius
    settled = (off < _HALF).all(axis=0) & (lead[0] > 0)
    if not settled.all():
        nearest[:, ~settled] = 0.0
    return nearest.astype(np.int64), settled


@lru_cache(maxsize=1)
def is_sound() -> bool:
    """Whether this machine has an extended precision that keeps what is assumed of it, at points that are fixed."""
    if np.finfo(_Wide).nmant not in _MANTISSAS:
        return False
    points = (np.arange(_PROBES, dtype=_Wide) + _HALF) / _Wide(_PROBES)
    names = {"log": arb.log, "log1p": arb.log1p, "sin": arb.sin, "cos": arb.cos}
    with ctx.workprec(200):
        for name, true in names.items():
            for point, found in zip(points, getattr(np, name)(points), strict=True):
                if not abs(_ball(found) - true(_ball(point))) < _PROBED_ERROR * abs(_ball(found)):
                    return False
        return bool(abs(_ball(_PI) - arb.pi()) < _PROBED_ERROR)


def _middle(first: _Words, second: _Words) -> NDArray[Any]:
    """Return the middle of what is left open by two leading words."""
    middle = second.astype(_Wide)
    middle += _HALF
    middle *= _WORD
    middle += first
    middle *= _WORD
    return np.asarray(middle)


@lru_cache
def _wide(scale: Fraction) -> Any:
    """Return a number in extended precision, which two doubles hold."""
    near = float(scale)
    return _Wide(near) + _Wide(float(scale - Fraction(near)))


def _ball(number: Any) -> arb:
    """Return the same number without error, for one of at most 106 bits."""
    near = float(number)
    return arb(near) + arb(float(number - _Wide(near)))
