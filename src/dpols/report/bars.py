"""Where a picture of coefficients draws what: each row on a scale of its own, as units of coefficients differ."""

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
    """Return where to draw an estimate; nowhere, where it has no interval."""
    if line.stderr is None or line.privacy_stderr is None or line.lower is None or line.upper is None:
        return HiddenBar(line.name)
    width = line.upper - line.lower
    if not width > 0.0:
        return HiddenBar(line.name)
    near = line.lower - _FAR * width <= 0.0 <= line.upper + _FAR * width
    ends = (line.lower, line.upper, 0.0) if near else (line.lower - 0.5 * width, line.upper + 0.5 * width)
    low, high = min(ends), max(ends)
    low, high = low - _MARGIN * (high - low), high + _MARGIN * (high - low)

    def place(value: float) -> float:
        return (value - low) / (high - low)

    share = line.privacy_stderr / line.stderr
    inner = tuple(line.value + share * (end - line.value) for end in (line.lower, line.upper))
    return Bar(
        line.name,
        f"{line.value:.5g} [{line.lower:.5g}, {line.upper:.5g}]",
        place(line.value),
        (place(line.lower), place(line.upper)),
        (place(inner[0]), place(inner[1])),
        place(0.0) if near else None,
        (low, high),
    )
