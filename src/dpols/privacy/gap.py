"""The function g(x) = x - log(1 + x), by which the sketches enter, without cancellation near 0."""

import math
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

ComplexArray = NDArray[np.complex128]
_Number = TypeVar("_Number", float, ComplexArray)


def gap(x: float) -> float:
    """Return x - log(1 + x) without cancellation."""
    if abs(x) > 0.3:
        return x - math.log1p(x)
    w = x / (2.0 + x)
    w2 = w * w
    return x * w - 2.0 * w * w2 * _atanh_tail(w2)


def complex_gap(x: ComplexArray) -> ComplexArray:
    """Return x - log(1 + x) without cancellation, elementwise; x grows in modulus along the array."""
    near = int(np.searchsorted(np.abs(x), 0.3))
    w = x[:near] / (2.0 + x[:near])
    w2 = w * w
    far = x[near:]
    return np.concatenate((x[:near] * w - 2.0 * w * w2 * _atanh_tail(w2), far - np.log1p(far)))


def _atanh_tail(w2: _Number) -> _Number:
    """Return the sum of w2^j / (2 j + 3) over j >= 0, for |w2| below 0.05."""
    tail = 0.0 * w2
    for j in range(11, -1, -1):
        tail = tail * w2 + 1.0 / (2 * j + 3)
    return tail
