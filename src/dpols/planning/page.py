"""A plan as one HTML page to hand on: no script, no request, readable on a phone and on paper."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .accuracy import AccuracyPlan

TITLE = "What to expect of a private fit"
MEANINGS = (
    "Error: mean squared, on fresh rows. Excess: what privacy adds to it. Both are shares of the target's variance. "
    "Slope error and interval (95%, full width): in standard deviations of the target for each standard deviation of "
    "the feature. Intervals are those of a fit with inference, which has more noise than the one without: the median "
    "width, and the share of slopes that have one."
)
COLUMNS = ("method", "epsilon", "R\u00b2", "error", "excess", "slope error", "interval", "have one")


@dataclass(frozen=True)
class Cell:
    """R^2 of one method at one epsilon, as a share of R^2 without privacy too."""

    text: str
    share: float
    best: bool


def to_html(plan: "AccuracyPlan") -> str:
    """Return a plan as one page that needs no other file."""
    from ..pages import render

    known = (
        f"{plan.n_rows:,} rows with {plan.n_features} features, delta = {plan.rows[0].delta:.3g}. "
        f"Assumed: {plan.assumed}. Without privacy R^2 would be {plan.nonprivate_r_squared:.3f}."
    )
    lines, notes = details(plan)
    reason = plan.recommendation.reason
    return render(
        "plan.html",
        title=TITLE,
        reason=_squared(reason[:1].upper() + reason[1:]),
        known=_squared(known),
        methods=plan.methods,
        width=_width(plan.methods),
        matrix=[(f"{epsilon:g}", _cells(plan, epsilon)) for epsilon in plan.epsilons],
        columns=COLUMNS,
        lines=lines,
        notes=[f"{MEANINGS} Means of {plan.trials} simulated fits.", *map(_squared, notes)],
        last=plan.note,
    )


def details(plan: "AccuracyPlan") -> tuple[list[tuple[str, ...]], list[str]]:
    """Return one line of text for each row of a plan, and notes: why there are no intervals, what was left out."""
    asked = [row for row in plan.rows if row.interval_share is not None]
    reasons = list(dict.fromkeys(row.no_interval_because for row in asked if row.no_interval_because))
    marks = {reason: f"({i})" if len(reasons) > 1 else "" for i, reason in enumerate(reasons, 1)}
    lines: list[tuple[str, ...]] = [
        (
            row.method,
            f"{row.epsilon:g}",
            f"{row.r_squared:.3f}",
            f"{row.mean_squared_error:.3f}",
            f"{row.excess_risk:.2g}",
            f"{row.coefficient_error:.2g}",
            "" if row.interval_width is None else f"{row.interval_width:.2g}",
            " ".join(filter(None, (marks.get(row.no_interval_because or ""), share_in_words(row.interval_share)))),
        )
        for row in plan.rows
    ]
    notes = [f"{mark} Where a slope has no interval: {reason}.".strip() for reason, mark in marks.items()]
    return lines, notes + [f"Left out: {name}: {reason}" for name, reason in plan.left_out]


def share_in_words(share: float | None) -> str:
    """Return a share in percent; no rounding makes none or all of it."""
    if share is None:
        return ""
    return f"{share:.0%}" if share in (0.0, 1.0) else f"{min(max(share, 0.01), 0.99):.0%}"


def _cells(plan: "AccuracyPlan", epsilon: float) -> list[Cell | None]:
    """Return R^2 of every method at one epsilon, the best marked; None where a method was not tried."""
    found = {row.method: row for row in plan.rows if row.epsilon == epsilon}
    best = max(found.values(), key=lambda row: row.r_squared)
    whole = plan.nonprivate_r_squared
    cells = {
        name: Cell(
            f"{row.r_squared:.3f}",
            min(max(row.r_squared / whole, 0.0), 1.0) if whole > 0.0 else 0.0,
            best=row is best,
        )
        for name, row in found.items()
    }
    return [cells.get(name) for name in plan.methods]


def _width(methods: tuple[str, ...]) -> int:
    """Return the width in em of equal columns together, such that no word of a heading is broken."""
    longest = max(len(word) for name in ("epsilon", *methods) for word in name.split("-"))
    return math.ceil((1 + len(methods)) * (0.65 * longest + 1.0))


def _squared(text: str) -> str:
    return text.replace("R^2", "R\u00b2")
