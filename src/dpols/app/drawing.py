"""Where lines and marks of the plan's picture lie; a template draws them as SVG."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from .planner import LARGEST, SMALLEST, Curve

WIDTH, HEIGHT = 320.0, 150.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 44.0, 10.0, 10.0, 24.0
TICKS = (0.1, 0.3, 1.0, 3.0, 10.0)
_STEPS = 40


@dataclass(frozen=True)
class Tick:
    """A place on an axis, and what is written there."""

    at: float
    text: str


@dataclass(frozen=True)
class Chart:
    """A curve against epsilon, a mark at the chosen one, and a line to compare with."""

    title: str
    meaning: str
    line: str  # points of a polyline
    dots: tuple[tuple[float, float], ...]
    mark: tuple[float, float] | None
    reference: float | None
    value: str  # at the chosen epsilon, in words
    below: tuple[Tick, ...]
    beside: tuple[Tick, ...]


def charts(curve: Curve, epsilon: float, delta: float, unit: str | None) -> list[Chart]:
    """Return the pictures: accuracy, widths of intervals where there are any, and an attacker's success."""
    made = [_accuracy(curve, epsilon)]
    if any(point.have_one is not None for point in curve.points):
        made.append(_widths(curve, epsilon))
    return [*made, _attacker(epsilon, delta, unit)]


def _accuracy(curve: Curve, epsilon: float) -> Chart:
    low, high = curve.worst, 1.0
    known = sorted((point.epsilon, min(max(point.score, low), high)) for point in curve.points)
    here = curve.at(epsilon)
    best = None if math.isnan(curve.best) else curve.best
    without = "" if best is None else f" Dashed: without privacy, {best:.2f}."
    words = "not simulated yet"
    if here is not None:
        worse = " (no better than a constant)" if here.score <= low + 0.005 else ""
        words = f"about {max(here.score, low):.2f}{worse}"
    return _chart(
        f"Expected {curve.score_name}",
        f"Higher is better; {low:g} is a constant, 1 is perfect." + without,
        known,
        low,
        high,
        epsilon,
        None if here is None else min(max(here.score, low), high),
        words,
        reference=best,
        ticks=[(low, f"{low:g}"), (0.5 * (low + high), f"{0.5 * (low + high):g}"), (high, "1")],
    )


def _widths(curve: Curve, epsilon: float) -> Chart:
    known = sorted((point.epsilon, point.width) for point in curve.points if point.width is not None)
    here = curve.at(epsilon)
    top = max((width for _, width in known), default=1.0) * 1.1
    none = "slopes have no interval there: the noise hides them"
    words = none
    if here is not None and here.width is not None:
        words = f"about {here.width:.2g}{_of_some(here.have_one)}"
    return _chart(
        "Width of 95% intervals",
        f"In {curve.unit} for each standard deviation of a feature. Lower is better.",
        known,
        0.0,
        top,
        epsilon,
        None if here is None else here.width,
        words if curve.points else "not simulated yet",
        ticks=[(0.0, "0"), (top, f"{top:.2g}")],
    )


def _of_some(have_one: float | None) -> str:
    """Say for how many slopes there are intervals, where that is not about all."""
    from ..planning.simulation import INTERVAL_SHARE

    return "" if have_one is None or have_one >= INTERVAL_SHARE else f", where {100 * have_one:.0f}% of slopes have one"


def _attacker(epsilon: float, delta: float, unit: str | None) -> Chart:
    from ..privacy.attacker import success_under
    from ..privacy.budget import PrivacyBudget

    span = [SMALLEST * (LARGEST / SMALLEST) ** (i / _STEPS) for i in range(_STEPS + 1)]
    curve = [(e, success_under(PrivacyBudget(e, delta))) for e in span]
    here = success_under(PrivacyBudget(epsilon, delta))
    who = "one row was" if unit is None else f"the rows of one {unit} were"
    return _chart(
        "An attacker's best guess",
        f"How often an attacker who knows all else guesses rightly whether {who} used. Lower is better; 50% is a coin.",
        curve,
        0.5,
        1.0,
        epsilon,
        here,
        f"right at most {100 * here:.0f}% of the time",
        ticks=[(0.5, "50%"), (0.75, "75%"), (1.0, "100%")],
        dotted=False,
    )


def _chart(
    title: str,
    meaning: str,
    known: list[tuple[float, float]],
    low: float,
    high: float,
    epsilon: float,
    here: float | None,
    words: str,
    *,
    reference: float | None = None,
    ticks: list[tuple[float, str]],
    dotted: bool = True,
) -> Chart:
    down = _scale(low, high)
    places = [(round(_across(e), 1), round(down(value), 1)) for e, value in known]
    return Chart(
        title,
        meaning,
        " ".join(f"{x},{y}" for x, y in places),
        tuple(places) if dotted else (),
        None if here is None else (round(_across(epsilon), 1), round(down(here), 1)),
        None if reference is None else round(down(min(max(reference, low), high)), 1),
        words,
        tuple(Tick(round(_across(e), 1), f"{e:g}") for e in TICKS),
        tuple(Tick(round(down(value), 1), text) for value, text in ticks),
    )


def _across(epsilon: float) -> float:
    share = math.log(epsilon / SMALLEST) / math.log(LARGEST / SMALLEST)
    return _LEFT + min(max(share, 0.0), 1.0) * (WIDTH - _LEFT - _RIGHT)


def _scale(low: float, high: float) -> Callable[[float], float]:
    room = HEIGHT - _TOP - _BOTTOM
    return lambda value: _TOP + (1.0 - (value - low) / (high - low or 1.0)) * room
