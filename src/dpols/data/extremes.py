"""The range of each column of a table, without any privacy: for tables that are public."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import BoundsError
from .opening import open_rows
from .source import Array


@dataclass(frozen=True)
class _Extremes:
    """Smallest and largest values seen; the sum of two is what both have seen."""

    low: Array
    high: Array

    def __add__(self, other: "_Extremes") -> "_Extremes":
        return _Extremes(np.minimum(self.low, other.low), np.maximum(self.high, other.high))


def ranges(table: Any, target: Any, margin: float) -> dict[str, Any]:
    """Return the range of each feature, and of the target if there is one, widened by a share of it on either side."""
    if not (isinstance(margin, int | float) and 0.0 <= margin <= 1e3):
        raise BoundsError(f"margin={margin!r} must be a number from 0 to 1000.")
    source = open_rows(table, target, with_target=False)
    (seen,) = source.total(_extremes).values
    assert isinstance(seen, _Extremes)
    names = [str(i) for i in range(source.n_features)] if source.columns is None else list(source.columns)
    pairs = [_wider(*each, margin) for each in zip([*names, "target"], seen.low, seen.high, strict=True)]
    has_target = target is not None or getattr(table, "target", None) is not None
    features = pairs[:-1] if source.columns is None else dict(zip(names, pairs[:-1], strict=True))
    if None in pairs[:-1] or (has_target and pairs[-1] is None):
        place = pairs.index(None)
        raise BoundsError(
            f"column {[*names, 'target'][place]!r} is constant, or has no finite value, in the table that bounds are "
            "taken from; state its range, or leave it out."
        )
    return {"features": features, **({"target": pairs[-1]} if has_target else {})}


def _extremes(features: Array, target: Array) -> tuple[Any, ...]:
    values = np.column_stack((features, target)).astype(np.float64)
    finite = np.isfinite(values)
    low = np.where(finite, values, math.inf).min(axis=0, initial=math.inf)
    return (_Extremes(low, np.where(finite, values, -math.inf).max(axis=0, initial=-math.inf)),)


def _wider(name: str, low: float, high: float, margin: float) -> tuple[float, float] | None:
    if not low < high:
        return None
    more = margin * (high - low)
    return float(low - more), float(high + more)
