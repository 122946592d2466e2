"""B-splines with declared knots: pieces of polynomials, as columns that are not negative and add up to at most 1."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.bounds import Interval, as_float
from ..data.source import Array
from ..errors import BoundsError, quoted

_LARGEST_DEGREE = 5


@dataclass(frozen=True)
class Spline:
    """A smooth curve in pieces: polynomials that meet at knots.

    Parameters
    ----------
    knots : sequence of float
        Where the pieces meet, rising, within the range of the column and of public knowledge. The ends of the range
        are knots besides. Quantiles of the data would reveal something about its rows.
    degree : int, default=3
        Degree of the polynomials; 1 for a line that bends at each knot.

    There is one column for each knot and each degree, as of ``bs`` in R: the first of the basis is left out.
    """

    knots: Sequence[float]
    degree: int = 3

    def __post_init__(self) -> None:
        try:
            knots = tuple(as_float(knot) for knot in self.knots)
        except (TypeError, ValueError, OverflowError):
            raise BoundsError(f"knots={quoted(self.knots)} must be a list of finite numbers.") from None
        if not all(math.isfinite(knot) for knot in knots):
            raise BoundsError(f"knots={quoted(self.knots)} must be a list of finite numbers.")
        if any(not a < b for a, b in itertools.pairwise(knots)):
            raise BoundsError(f"knots={quoted(list(knots))} must rise; give each once, the lowest first.")
        if isinstance(self.degree, bool) or not isinstance(self.degree, int) or not 1 <= self.degree <= _LARGEST_DEGREE:
            raise BoundsError(f"degree={self.degree!r} of a spline must be a whole number from 1 to {_LARGEST_DEGREE}.")
        object.__setattr__(self, "knots", knots)

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.knots) + self.degree

    def check(self, ends: Interval, label: str) -> None:
        """Refuse knots outside of the range of a column."""
        if any(not ends[0] < knot < ends[1] for knot in self.knots):
            raise BoundsError(
                f"the knots {[float(f'{knot:g}') for knot in self.knots]} of {label} must lie inside of its range "
                f"[{ends[0]:g}, {ends[1]:g}]."
            )

    def columns(self, x: Array, ends: Interval) -> Array:
        """Return the basis at some numbers within a range; nan where a number is."""
        low, high = ends
        knots = np.array([low] * (self.degree + 1) + list(self.knots) + [high] * (self.degree + 1), dtype=np.float64)
        inside = np.clip(np.where(np.isnan(x), low, x), low, high)
        basis = _basis(inside, knots, self.degree)[:, 1:]
        result = np.asarray(np.clip(basis, 0.0, 1.0))  # rounding must lead no value beyond its range
        result[np.isnan(x)] = np.nan
        return result

    def label(self, inner: str) -> str:
        return f"bs({inner})"

    def to_list(self) -> list[Any]:
        return ["spline", list(self.knots), self.degree]


def _basis(x: Array, knots: Array, degree: int) -> Array:
    """Return the basis of B-splines at some numbers, by the recursion of de Boor and Cox."""
    last = np.searchsorted(knots, knots[-1]) - 1  # the piece that holds the upper end of the range, too
    piece = np.minimum(np.searchsorted(knots, x, side="right") - 1, last)
    basis = (piece[:, None] == np.arange(len(knots) - 1)).astype(np.float64)
    for order in range(1, degree + 1):
        width = knots[order:] - knots[:-order]
        share = np.where(width > 0.0, 1.0 / np.where(width > 0.0, width, 1.0), 0.0)
        rising = (x[:, None] - knots[: -order - 1]) * share[:-1]
        falling = (knots[order + 1 :] - x[:, None]) * share[1:]
        basis = rising * basis[:, :-1] + falling * basis[:, 1:]
    return np.asarray(basis)
