"""The exact log-likelihood ratio of everything that a run released.

By the chain rule it is the sum over releases of the log ratio of each one's density on the first data set and on the
second, given the same earlier releases, which is what a pair of tapes holds:

    Gaussian   (|r - v'|^2 - |r - v|^2) / (2 s^2)                                        for N(v, s^2 I)
    sketch     (k / 2) (log det A' - log det A) + tr((A'^-1 - A^-1) W) / 2               for Wishart(k, A)

A symmetric matrix whose off-diagonal noise has half the variance falls under the first, with Frobenius norms.
"""

import numpy as np

from ..linalg import Array
from .tape import Call, Tape


def log_likelihood_ratio(first: Tape, second: Tape) -> Array:
    """Return the log of the first data's likelihood over the second's, for each trial, given the same releases."""
    return np.asarray(sum(_of_call(*pair) for pair in zip(first.calls, second.calls, strict=True)))


def _of_call(call: Call, other: Call) -> Array:
    return _of_sketch(call, other) if call.is_sketch else _of_gaussian(call, other)


def _of_gaussian(call: Call, other: Call) -> Array:
    # In multiples of the statistic's step, of which there may be one for each trial.
    released = call.released / np.reshape(call.statistic.step, (-1,) + (1,) * (call.released.ndim - 1))
    stddev = call.declared["multiplier"] * call.statistic.sensitivity
    squares = []
    for side in (other, call):
        distance = released - side.statistic.value.astype(np.float64)
        squares.append((distance**2).reshape(len(released), -1).sum(axis=1))
    return np.asarray((squares[0] - squares[1]) / (2.0 * stddev**2))


def _of_sketch(call: Call, other: Call) -> Array:
    assert call.shift is not None
    lift = call.shift[:, None, None] * np.eye(call.released.shape[-1])
    ratio = np.zeros(len(lift))
    for sign, side in ((1.0, other), (-1.0, call)):
        parameter = side.statistic.value.astype(np.float64) * side.statistic.step + lift
        log_determinant = np.linalg.slogdet(parameter)[1]
        trace = np.trace(np.linalg.solve(parameter, call.released), axis1=1, axis2=2)
        ratio += sign * 0.5 * (call.declared["rows"] * log_determinant + trace)
    return ratio
