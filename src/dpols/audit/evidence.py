"""A lower bound on epsilon from runs on two neighbouring data sets.

Whoever says "first" where a score exceeds a threshold is right with probability P on the first data set and wrong with
probability Q on the second, and (epsilon, delta)-privacy needs P <= exp(epsilon) Q + delta. Half of the runs choose
the threshold, the other half count; Clopper and Pearson's intervals (1934) turn counts into bounds that hold with the
stated confidence whatever the score is. With the log-likelihood ratio as the score nothing is lost but their width.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv

from ..linalg import Array

_THRESHOLDS = 400


@dataclass(frozen=True)
class Evidence:
    """A lower bound on epsilon at the stated confidence, and the test that gives it."""

    lower_bound: float
    threshold: float
    right: int  # of ``runs`` on the first data set, those above the threshold
    wrong: int  # of ``runs`` on the second
    runs: int


def epsilon_lower_bound(first: Array, second: Array, delta: float, *, confidence: float = 0.95) -> Evidence:
    """Bound epsilon from below by scores of runs on the first data set and of as many on the second.

    One direction only; who looks at both and keeps the larger bound halves the doubt, 1 - ``confidence``, of each.
    """
    half = len(first) // 2
    if half < 1 or len(first) != len(second):
        raise ValueError(f"need two or more runs, as many on each data set, not {len(first)} and {len(second)}.")
    doubt = 0.5 * (1.0 - confidence)  # one for each of the two probabilities
    thresholds = np.unique(np.quantile(first[:half], 1.0 - np.geomspace(1.0 / half, 0.999, _THRESHOLDS)))
    bounds = _bounds(*_counts(first[:half], second[:half], thresholds), half, delta, doubt)
    threshold = thresholds[int(np.argmax(bounds))]
    rest = len(first) - half
    right, wrong = _counts(first[half:], second[half:], threshold[None])
    bound = float(_bounds(right, wrong, rest, delta, doubt)[0])
    return Evidence(max(bound, 0.0), float(threshold), int(right[0]), int(wrong[0]), rest)


def error_rates(first: Array, second: Array, count: int = 200) -> list[tuple[float, float]]:
    """Return type I and type II error rates of tests for the first data set, over a range of thresholds.

    Type I: taking the second for the first; type II: taking the first for the second.
    """
    ranks = np.unique(np.geomspace(1, len(second), 2 * count).astype(int))
    right, wrong = _counts(first, second, np.sort(second)[::-1][ranks - 1])
    rates = np.column_stack((wrong / len(second), 1.0 - right / len(first)))
    # Spread evenly over the logarithm of the type I error, as small errors are what counts.
    near = {int(np.abs(rates[:, 0] - wanted).argmin()) for wanted in np.geomspace(1.0 / len(first), 1.0, count)}
    return sorted((float(a), float(b)) for a, b in rates[sorted(near)])


def _counts(first: Array, second: Array, thresholds: Array) -> tuple[Array, Array]:
    """Return how many scores exceed each threshold, on the first data set and on the second."""
    right = len(first) - np.searchsorted(np.sort(first), thresholds, side="right")
    wrong = len(second) - np.searchsorted(np.sort(second), thresholds, side="right")
    return right, wrong


def _bounds(right: Array, wrong: Array, runs: int, delta: float, doubt: float) -> Array:
    """Return log((P - delta) / Q) at the cautious ends of the intervals of P and Q; minus infinity for P <= delta."""
    least = np.where(right > 0, betaincinv(np.maximum(right, 1), runs - right + 1.0, doubt), 0.0)
    most = np.where(wrong < runs, betaincinv(wrong + 1.0, np.maximum(runs - wrong, 1), 1.0 - doubt), 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(least > delta, np.log(np.maximum(least - delta, 0.0)) - np.log(most), -math.inf)
