"""Where a picture of coefficients draws what: each row on a scale of its own, as units of coefficients differ."""

import math
from dataclasses import dataclass

from .outcome import EstimateLine

_FAR = 3.0  # widths of an interval: a 0 that is further away is left out, as it would squeeze the interval to a dot
_MARGIN = 0.06  # of the scale, on either side
Span = tuple[float, float]


@dataclass(frozen=True)
class Bar:
    """An estimate, its interval, the part of it that is privacy noise, and 0, as shares of a scale from 0 to 1."""

    name: str
    text: str
    centre: float
    whole: Span
    privacy: Span
    zero: float | None
    scale: Span  # what the ends of the scale are, in the units of the coefficient


@dataclass(frozen=True)
class HiddenBar:
    """A coefficient that the noise hides."""

    name: str


def bar_of(line: EstimateLine) -> Bar | HiddenBar:
    """Return where to draw an estimate; nowhere, where it has no interval, or one that cannot be drawn."""
    if line.stderr is None or line.privacy_stderr is None or line.lower is None or line.upper is None:
        return HiddenBar(line.name)
    low, high = _scale(line.lower, line.upper)
    if not (line.stderr > 0.0 and line.lower < line.upper and 0.0 < high - low < math.inf):
        return HiddenBar(line.name)

    def place(value: float) -> float:
        return min(max((value - low) / (high - low), 0.0), 1.0)

    share = min(abs(line.privacy_stderr) / line.stderr, 1.0)
    inner = [line.value + share * (end - line.value) for end in (line.lower, line.upper)]
    return Bar(
        line.name,
        f"{line.value:.5g} [{line.lower:.5g}, {line.upper:.5g}]",
        place(line.value),
        (place(line.lower), place(line.upper)),
        (place(min(inner)), place(max(inner))),
        place(0.0) if low < 0.0 < high else None,
        (low, high),
    )


def _scale(lower: float, upper: float) -> Span:
    """Return the ends of the scale of an interval, with 0 on it if that is near."""
    width = upper - lower
    near = lower - _FAR * width <= 0.0 <= upper + _FAR * width
    ends = (lower, upper, 0.0) if near else (lower - 0.5 * width, upper + 0.5 * width)
    margin = _MARGIN * (max(ends) - min(ends))
    return min(ends) - margin, max(ends) + margin
