"""Black boxes, of which nothing is known but an epsilon and a delta each: their privacy loss together."""

import math
from collections import Counter

import numpy as np

_MOST_ATOMS = 2000


def atoms_of(boxes: Counter[float]) -> tuple[tuple[float, float], ...]:
    """Return (loss, log probability) of all black boxes together, where none gives everything away.

    A black box (e, d) is dominated by a pair that is disjoint with probability d and is randomised response of
    loss plus or minus e otherwise (Kairouz, Oh and Viswanath, 2017).
    """
    atoms = {0.0: 0.0}
    for epsilon, count in boxes.items():
        joined: dict[float, float] = {}
        for ups in range(count + 1):
            step = (2 * ups - count) * epsilon
            ways = math.lgamma(count + 1) - math.lgamma(ups + 1) - math.lgamma(count - ups + 1)
            weight = ways + ups * epsilon - count * float(np.logaddexp(0.0, epsilon))
            for loss, log_probability in atoms.items():
                before = joined.get(loss + step, -math.inf)
                joined[loss + step] = float(np.logaddexp(before, log_probability + weight))
        atoms = joined if len(joined) <= _MOST_ATOMS else _rounded_up(joined)
    return tuple(atoms.items())


def _rounded_up(atoms: dict[float, float]) -> dict[float, float]:
    """Return fewer atoms, with losses rounded up to a grid: never below exact."""
    lowest, grid = min(atoms), 2.0 * (max(atoms) - min(atoms)) / _MOST_ATOMS
    rounded: dict[float, float] = {}
    for loss, log_probability in atoms.items():
        up = lowest + grid * math.ceil((loss - lowest) / grid)
        rounded[up] = float(np.logaddexp(rounded.get(up, -math.inf), log_probability))
    return rounded
