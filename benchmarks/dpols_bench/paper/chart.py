"""Small charts for the report: excess risk against epsilon on logarithmic axes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .methods import method
from .summary import CellSummary

_WIDTH, _HEIGHT = 330, 215
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 10, 8, 34


@dataclass(frozen=True)
class Curve:
    """One method's curve, with its 95% band: points as SVG has them, and each with a text."""

    colour: str
    dashed: bool
    band: str
    line: str
    points: tuple[tuple[float, float, str], ...]


@dataclass(frozen=True)
class Chart:
    """Positions in a chart: ticks with their text, and curves; the label is for who cannot see it."""

    label: str
    values: tuple[tuple[float, str], ...]
    epsilons: tuple[tuple[float, str], ...]
    curves: tuple[Curve, ...]
    width: int = _WIDTH
    height: int = _HEIGHT
    left: int = _LEFT
    right: int = _WIDTH - _RIGHT
    base: int = _HEIGHT - _BOTTOM


def chart(curves: Sequence[Sequence[CellSummary]], *, label: str) -> Chart | None:
    """Return a chart of one curve for each method, None where there is none."""
    cells = [s for curve in curves for s in curve if s.train.value > 0.0]
    if not cells:
        return None
    epsilons = sorted({s.cell.epsilon for s in cells})
    across = _Scale(epsilons[0], epsilons[-1], _LEFT, _WIDTH - _RIGHT)
    values = [s.train.value for s in cells]
    up = _Scale(min(values) / 1.15, max(values) * 1.15, _HEIGHT - _BOTTOM, _TOP)
    return Chart(
        label,
        tuple((up(tick), _short(tick)) for tick in up.ticks()),
        tuple((across(epsilon), f"{epsilon:.3g}") for epsilon in epsilons),
        tuple(_curve(curve, across, up) for curve in curves if curve),
    )


class _Scale:
    """A logarithmic scale from numbers to positions, which have one digit after the point."""

    def __init__(self, low: float, high: float, start: float, stop: float) -> None:
        self.low, self.high = low, high if high > low else 1.01 * low
        self._start, self._per_log = start, (stop - start) / math.log(self.high / low)

    def __call__(self, value: float) -> float:
        return round(self._start + self._per_log * math.log(min(max(value, self.low), self.high) / self.low), 1)

    def ticks(self) -> list[float]:
        """Return 1, 2, 5, 10 ... within the scale, or powers of 10 alone where it spans many."""
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        span = self.high / self.low
        steps = (1.0,) if span > 100.0 else (1.0, 2.0, 5.0) if span > 6.0 else (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0)
        found = [step * 10.0**decade for decade in decades for step in steps]
        return [tick for tick in found if self.low <= tick <= self.high]


def _curve(curve: Sequence[CellSummary], across: _Scale, up: _Scale) -> Curve:
    look = method(curve[0].cell.method)
    points = [(across(s.cell.epsilon), s) for s in curve if s.train.value > 0.0]
    upper = [f"{x},{up(s.train.value + s.train.half_width)}" for x, s in points]
    lower = [f"{x},{up(s.train.value - s.train.half_width)}" for x, s in reversed(points)]
    titles = [
        f"{look.title}, epsilon {s.cell.epsilon:.3g}: {s.train.value:.4g} +- {s.train.half_width:.2g}"
        for _, s in points
    ]
    at = [(x, up(s.train.value)) for x, s in points]
    return Curve(
        look.colour,
        look.dashed,
        " ".join(upper + lower),
        " ".join(f"{x},{y}" for x, y in at),
        tuple((x, y, title) for (x, y), title in zip(at, titles, strict=True)),
    )


def _short(value: float) -> str:
    return f"{value:g}" if 1e-3 <= value < 1e4 else f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e")
