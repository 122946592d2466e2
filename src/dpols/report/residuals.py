"""Residuals of a fit as released numbers: their means by fitted value, and their sizes; and where to draw them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

_MARGIN = 0.06  # of a scale, on either side
_SEEN = 3.0  # standard deviations of the noise, from which on a count is shown to be more than noise
NO_RESIDUALS = (
    'the fit released no residuals; fit with inference=True and options={"residual_plot": True}, which takes 3% of the '
    "squared budget."
)


@dataclass(frozen=True)
class ResidualBin:
    """Rows whose fitted value lies between two numbers, with their mean residual; None where noise hides it."""

    low: float | None  # of the fitted value, in the units of the target; None for the first and last bin
    high: float | None
    rows: float  # a noisy number
    mean: float | None
    lower: float | None  # 95% limits of the mean: privacy noise, and sampling noise if rows are independent
    upper: float | None

    def describe(self) -> tuple[str, str, str, str]:
        """Return fitted values, rows, mean residual and interval as text."""
        if self.mean is None:
            return between(self.low, self.high), f"{max(self.rows, 0.0):,.0f}", "hidden by the noise", ""
        limits = f"[{self.lower:.3g}, {self.upper:.3g}]"
        return between(self.low, self.high), f"{self.rows:,.0f}", f"{self.mean:.3g}", limits


@dataclass(frozen=True)
class SizeBin:
    """Rows whose absolute residual lies between two numbers, about; there may be no upper one."""

    low: float
    high: float | None
    rows: float  # a noisy number
    noise: float  # its standard deviation


@dataclass(frozen=True)
class Mark:
    """A mean residual and its limits, as shares of the picture, from the left and from the bottom."""

    left: float
    right: float
    mean: float
    lower: float
    upper: float


@dataclass(frozen=True)
class ResidualPicture:
    """Where mean residuals are drawn, and what the ends of both scales are."""

    marks: tuple[Mark, ...]
    zero: float
    fitted: tuple[float, float]
    residuals: tuple[float, float]


def residual_picture(bins: Sequence[ResidualBin]) -> ResidualPicture | None:
    """Return where to draw the means that noise does not hide; None where there are none.

    The first and the last bin have no end; they are drawn as wide as their neighbours.
    """
    known = [
        (*_ends(bins, i), each.mean, each.lower, each.upper)
        for i, each in enumerate(bins)
        if each.mean is not None and each.lower is not None and each.upper is not None
    ]
    if len(bins) < 3 or not known:
        return None
    low, high = min(row[0] for row in known), max(row[1] for row in known)
    bottom, top = min(0.0, *(row[3] for row in known)), max(0.0, *(row[4] for row in known))
    room = _MARGIN * (top - bottom)
    bottom, top = bottom - room, top + room
    if not (0.0 < high - low < math.inf and 0.0 < top - bottom < math.inf):
        return None
    marks = tuple(
        Mark(*((x - low) / (high - low) for x in row[:2]), *((y - bottom) / (top - bottom) for y in row[2:]))
        for row in known
    )
    return ResidualPicture(marks, -bottom / (top - bottom), (low, high), (bottom, top))


def shares_of_sizes(bins: Sequence[SizeBin]) -> tuple[tuple[str, float], ...]:
    """Return which share of the rows has a residual of about which size, up to the last that is more than noise."""
    last = max((i for i, each in enumerate(bins) if each.rows > _SEEN * each.noise), default=-1)
    shown = bins[: last + 1]
    total = sum(max(each.rows, 0.0) for each in shown)
    return tuple((between(each.low, each.high), max(each.rows, 0.0) / total) for each in shown) if total > 0.0 else ()


def _ends(bins: Sequence[ResidualBin], place: int) -> tuple[float, float]:
    low, high = bins[place].low, bins[place].high
    edges = [each.low for each in bins if each.low is not None]
    width = (edges[-1] - edges[0]) / max(len(edges) - 1, 1)
    if low is None:
        low = (edges[0] if high is None else high) - width
    return low, low + width if high is None else high


def between(low: float | None, high: float | None) -> str:
    """Return a range in words; it may have an open end."""
    if low is None:
        return f"below {high:.4g}"
    return f"above {low:.4g}" if high is None else f"{low:.4g} to {high:.4g}"
