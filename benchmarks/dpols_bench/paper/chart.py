"""Small charts as SVG for the report: excess risk against epsilon on logarithmic axes."""

import math
from collections.abc import Sequence
from html import escape

from .methods import method
from .summary import CellSummary

_WIDTH, _HEIGHT = 330.0, 215.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 46.0, 10.0, 8.0, 34.0


def chart(curves: Sequence[Sequence[CellSummary]], *, label: str) -> str:
    """Return a chart of one curve for each method; the label is for who cannot see it."""
    cells = [s for curve in curves for s in curve if s.train.value > 0.0]
    if not cells:
        return ""
    epsilons = sorted({s.cell.epsilon for s in cells})
    across = _Scale(epsilons[0], epsilons[-1], _LEFT, _WIDTH - _RIGHT)
    values = [s.train.value for s in cells]
    up = _Scale(min(values) / 1.15, max(values) * 1.15, _HEIGHT - _BOTTOM, _TOP)
    parts = [f'<svg viewBox="0 0 {_WIDTH:.0f} {_HEIGHT:.0f}" role="img" aria-label="{escape(label)}">']
    parts += _axes(across, up, epsilons)
    for curve in curves:
        if curve:
            parts += _curve(curve, across, up)
    parts.append("</svg>")
    return "".join(parts)


class _Scale:
    """A logarithmic scale from numbers to positions."""

    def __init__(self, low: float, high: float, start: float, stop: float) -> None:
        self.low, self.high = low, high if high > low else 1.01 * low
        self._start, self._per_log = start, (stop - start) / math.log(self.high / low)

    def __call__(self, value: float) -> float:
        return self._start + self._per_log * math.log(min(max(value, self.low), self.high) / self.low)

    def ticks(self) -> list[float]:
        """Return 1, 2, 5, 10 ... within the scale, or powers of 10 alone where it spans many."""
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        span = self.high / self.low
        steps = (1.0,) if span > 100.0 else (1.0, 2.0, 5.0) if span > 6.0 else (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0)
        found = [step * 10.0**decade for decade in decades for step in steps]
        return [tick for tick in found if self.low <= tick <= self.high]


def _axes(across: _Scale, up: _Scale, epsilons: Sequence[float]) -> list[str]:
    parts = []
    for tick in up.ticks():
        y = up(tick)
        parts.append(f'<path class="grid" d="M{_LEFT:.0f} {y:.1f}H{_WIDTH - _RIGHT:.0f}"/>')
        parts.append(f'<text x="{_LEFT - 5:.0f}" y="{y + 3.5:.1f}" text-anchor="end">{_short(tick)}</text>')
    base = _HEIGHT - _BOTTOM
    for epsilon in epsilons:
        x = across(epsilon)
        parts.append(f'<path class="grid" d="M{x:.1f} {base:.0f}v4"/>')
        parts.append(f'<text x="{x:.1f}" y="{base + 15:.0f}" text-anchor="middle">{epsilon:.3g}</text>')
    middle = 0.5 * (_LEFT + _WIDTH - _RIGHT)
    parts.append(f'<text x="{middle:.0f}" y="{_HEIGHT - 4:.0f}" text-anchor="middle">epsilon</text>')
    return parts


def _curve(curve: Sequence[CellSummary], across: _Scale, up: _Scale) -> list[str]:
    look = method(curve[0].cell.method)
    points = [(across(s.cell.epsilon), s) for s in curve if s.train.value > 0.0]
    upper = [f"{x:.1f},{up(s.train.value + s.train.half_width):.1f}" for x, s in points]
    lower = [f"{x:.1f},{up(s.train.value - s.train.half_width):.1f}" for x, s in reversed(points)]
    line = " ".join(f"{x:.1f},{up(s.train.value):.1f}" for x, s in points)
    dash = ' stroke-dasharray="5 3"' if look.dashed else ""
    parts = [
        f'<polygon points="{" ".join(upper + lower)}" fill="{look.colour}" opacity="0.18"/>',
        f'<polyline points="{line}" fill="none" stroke="{look.colour}" stroke-width="1.8"{dash}/>',
    ]
    for x, s in points:
        title = f"{look.title}, epsilon {s.cell.epsilon:.3g}: {s.train.value:.4g} +- {s.train.half_width:.2g}"
        parts.append(
            f'<circle cx="{x:.1f}" cy="{up(s.train.value):.1f}" r="2.8" fill="{look.colour}">'
            f"<title>{escape(title)}</title></circle>"
        )
    return parts


def _short(value: float) -> str:
    return f"{value:g}" if 1e-3 <= value < 1e4 else f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e")
