"""Where the tails of a column begin, from noisy counts of its values between edges. All of it is post-processing.

A tail of a few rows in a thousand is hidden by the noise unless there are tens of thousands of rows. So the farthest
tail is found that the noise does not hide, and the place of the wanted one follows from how tails thin out between the
middle and there: like exp(-x^k), where k is estimated. Normal columns thin out with k near 2, exponential ones with 1,
lognormal ones with less. Neither side is favoured: bounds that stop where counts surely stand out of the noise are too
tight by all that does not, and bounds at the end of what may be there are too wide.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..data.bounds import Interval
from ..data.source import Array

_INNER = 32  # edges among the values themselves
_BEYOND = 3  # edges beyond them, on either side
_STANDS_OUT = 2.5  # standard deviations of noise by which a count stands out beside others that do
_ALONE = 4.5  # the same of a count far from all others, since there are hundreds of counts
_FAR = 3.0  # how many times as far from the middle as all that is seen a count may reach
_SEEN = 3.0  # standard deviations of noise from which on a tail is seen
_NO_SIGN = 2.0  # standard deviations of noise that all values of a sign must exceed, for there to be any
_POWERS = (0.3, 1.5)  # limits of 1/k: tails that thin out faster or slower than that are taken for noise
_SIZES = 40  # of tails that are tried


@dataclass(frozen=True)
class Counts:
    """Noisy counts of values between rising edges, and the standard deviation of the noise in each."""

    edges: Array
    values: Array
    noise: float

    @property
    def mirrored(self) -> "Counts":
        """The counts of the negated values."""
        return Counts(-self.edges[::-1], self.values[::-1], self.noise)

    @property
    def beyond(self) -> Array:
        """How many values lie beyond each edge, the last one's zero included."""
        return np.concatenate((np.cumsum(self.values[::-1])[::-1], [0.0]))


def finer_edges(counts: Counts) -> Array:
    """Return edges for a second look: evenly many values between most of them, and some beyond; the ends stay."""
    edges, seen = counts.edges, np.where(standing_out(counts), counts.values, 0.0)
    if not seen.any():
        seen[int(np.argmax(counts.values))] = 1.0
    places = np.flatnonzero(seen)
    first, last = int(places[0]), int(places[-1]) + 1
    shares = np.concatenate(([0.0], np.cumsum(seen[first:last]))) / seen.sum()
    inner = np.interp(np.linspace(0.0, 1.0, _INNER + 1), shares, edges[first : last + 1])
    outer = edges[max(first - _BEYOND, 0) : last + 1 + _BEYOND]
    return np.unique(np.concatenate((edges[[0, -1]], inner, outer)))


def standing_out(counts: Counts) -> NDArray[np.bool_]:
    """Return which counts stand out of the noise, alone or with a neighbour that does."""
    likely = counts.values > _STANDS_OUT * counts.noise
    beside = np.zeros_like(likely)
    beside[1:] |= likely[:-1]
    beside[:-1] |= likely[1:]
    return (likely & beside) | (counts.values > _ALONE * counts.noise)


def without_tails(counts: Counts, tail: float) -> Interval:
    """Return the range that leaves out about so many values on either side."""
    counts = _without_far_noise(counts)
    middle = median(counts)
    low, high = -upper_end(counts.mirrored, -middle, tail), upper_end(counts, middle, tail)
    if low < 0.0 and not _is_there(counts.values[counts.edges[1:] <= 0.0], counts.noise):
        low = 0.0
    if high > 0.0 and not _is_there(counts.values[counts.edges[:-1] >= 0.0], counts.noise):
        high = 0.0
    low, high = max(low, float(counts.edges[0])), min(high, float(counts.edges[-1]))
    return (low, high) if low < high else (float(counts.edges[0]), float(counts.edges[-1]))


def _without_far_noise(counts: Counts) -> Counts:
    """Return the counts without those that reach far beyond all that is seen and may be noise alone.

    A few values of noise there would be taken for a tail, and move the end of the range by orders of magnitude.
    """
    middle = median(counts)
    above = _near(counts, middle)
    below = _near(counts.mirrored, -middle)[::-1]
    return Counts(counts.edges, np.where(above & below, counts.values, 0.0), counts.noise)


def _near(counts: Counts, middle: float) -> NDArray[np.bool_]:
    """Return which counts above the middle are near to what is seen, or surely no noise; all others count as near."""
    near = np.ones(len(counts.values), dtype=bool)
    added = np.arange(len(counts.values), 0, -1.0)
    surely = counts.beyond[:-1] > _ALONE * counts.noise * np.sqrt(added)  # that there is anything from here on
    reach = 0.0
    for place, (value, end) in enumerate(zip(counts.values, counts.edges[1:] - middle, strict=True)):
        if end <= 0.0:
            continue
        near[place] = not reach or surely[place] or end <= _FAR * reach or value > _ALONE * counts.noise
        if not reach or surely[place] or (near[place] and value > _STANDS_OUT * counts.noise):
            reach = end
    return near


def median(counts: Counts) -> float:
    """Return about the median of the values."""
    shares = np.concatenate(([0.0], np.cumsum(np.maximum(counts.values, 0.0))))
    return float(np.interp(0.5 * shares[-1], shares, counts.edges))


def upper_end(counts: Counts, middle: float, tail: float) -> float:
    """Return about where so many values lie beyond, as one can tell from those between the middle and there."""
    half = float(np.interp(middle, counts.edges, counts.beyond))
    if not half > tail > 0.0:
        return middle
    sizes = np.geomspace(tail, max(0.5 * half, tail), _SIZES)
    places = _places(counts, sizes)
    # The noise in how many lie beyond an edge grows with the number of counts that are added up.
    depth = np.arange(len(counts.edges) - 1, -1, -1.0)
    noise = counts.noise * np.sqrt(np.maximum(np.interp(places, counts.edges, depth), 1.0))
    seen = np.flatnonzero(sizes >= _SEEN * noise)
    chosen = int(seen[0]) if len(seen) else _SIZES - 1
    size, reach = float(sizes[chosen]), float(places[chosen]) - middle
    if chosen == 0 or reach <= 0.0:
        return middle + max(reach, 0.0)
    larger = 0.5 * half if 0.5 * half > 1.5 * size else min(2.0 * size, 0.95 * half)
    nearer = float(_places(counts, np.array([larger]))[0]) - middle
    power = _power(half, (larger, nearer), (size, reach))
    return middle + reach * math.exp(power * math.log(math.log(half / tail) / _log_ratio(half, size)))


def left_out(counts: Counts, interval: Interval) -> tuple[float, float]:
    """Return how many values lie outside of a range, as counted, and the standard deviation of the noise in that."""
    beyond, added = 0.0, 0
    for side, end in ((counts.mirrored, -interval[0]), (counts, interval[1])):
        beyond += float(np.interp(end, side.edges, side.beyond))
        added += 1 + int((side.edges[:-1] >= end).sum())
    return max(beyond, 0.0), counts.noise * math.sqrt(added)


def _power(half: float, near: tuple[float, float], far: tuple[float, float]) -> float:
    """Return 1/k, given the sizes of two tails and how far from the middle they begin."""
    rise = max(far[1] / max(near[1], 1e-300), 1.0)
    thinner = max(_log_ratio(half, far[0]) / _log_ratio(half, near[0]), 1.0 + 1e-9)
    return min(max(math.log(rise) / math.log(thinner), _POWERS[0]), _POWERS[1])


def _log_ratio(half: float, size: float) -> float:
    return math.log(max(half / size, 1.01))


def _places(counts: Counts, sizes: Array) -> Array:
    """Return beyond which places tails of these sizes lie; between edges values are taken to lie evenly."""
    rising = np.maximum.accumulate(counts.beyond[::-1])
    return np.interp(sizes, rising, counts.edges[::-1])


def _is_there(values: Array, noise: float) -> bool:
    """Return whether the values of one sign are more than noise."""
    return float(values.sum()) >= _NO_SIGN * noise * math.sqrt(len(values) + 1.0)
