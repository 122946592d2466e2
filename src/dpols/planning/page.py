"""A plan as one HTML page to hand on: no script, no request, readable on a phone and on paper."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .accuracy import AccuracyPlan
    from .simulation import PlannedRow

TITLE = "What to expect of a private fit"
MEANINGS = (
    "Error: mean squared, on fresh rows. Excess: what privacy adds to it. Both are shares of the target's variance. "
    "Slope error and interval (95%, full width): in standard deviations of the target for each standard deviation of "
    "the feature. Intervals are "
    "those of a fit with inference, which pays half of its squared budget for them: the median width, and the share of "
    "slopes that have one."
)
_STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5a6675; --line: #d8dee6; --paper: #fff; --tint: #eef2f6;
  --bar: #a8328a; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaf0; --soft: #a3aebc; --line: #39424e; --paper: #14181d;
  --tint: #262d35; --bar: #e07cc6; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 50rem; padding: 2rem 1.25rem 4rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 .5rem; }
h2 { font-size: 1.15rem; margin: 2.25rem 0 .5rem; padding-top: .9rem; border-top: 1px solid var(--line); }
p { margin: .5rem 0; overflow-wrap: anywhere; } .lead { font-size: 1.1rem; } .soft { color: var(--soft); }
.wide { overflow-x: auto; margin: .75rem 0; }
table { border-collapse: collapse; width: 100%; font-size: .95rem; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .4rem 0 .4rem .75rem; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
th { color: var(--soft); font-weight: 600; vertical-align: bottom; } .even { table-layout: fixed; }
.track { display: block; height: .45rem; margin-top: .15rem; background: var(--tint); border-radius: .2rem; }
.track i { display: block; height: 100%; background: var(--soft); border-radius: .2rem; }
.best .track i { background: var(--bar); } .best b { text-decoration: underline; }
@media (max-width: 32rem) { body { padding: 1.25rem 1rem 3rem; } table { font-size: .8rem; }
  th, td { padding-left: .3rem; }
  .plain { font-size: .75rem; } .plain th:nth-child(4), .plain td:nth-child(4) { display: none; } } /* 1 - R^2 */
@media print { html { font-size: 10pt; } body { max-width: none; padding: 0; } .wide { overflow: visible; }
  tr { break-inside: avoid; } .track, .track i { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
"""
COLUMNS = ("method", "epsilon", "R\u00b2", "error", "excess", "slope error", "interval", "have one")


def to_html(plan: "AccuracyPlan") -> str:
    """Return a plan as one page that needs no other file."""
    known = (
        f"{plan.n_rows:,} rows with {plan.n_features} features, delta = {plan.rows[0].delta:.3g}. "
        f"Assumed: {plan.assumed}. Without privacy R^2 would be {plan.nonprivate_r_squared:.3f}."
    )
    lines, notes = details(plan)
    reason = plan.recommendation.reason
    body = [
        f"<h1>{TITLE}</h1>",
        f'<p class="lead">{_text(reason[:1].upper() + reason[1:])}</p>',
        f"<p>{_text(known)}</p>",
        "<h2>R\u00b2 on fresh rows</h2>",
        _matrix(plan),
        '<p class="soft">A full bar is as good as without privacy.</p>',
        "<h2>All numbers</h2>",
        _table(COLUMNS, ([escape(cell) for cell in line] for line in lines)),
        f"<p>{MEANINGS} Means of {plan.trials} simulated fits.</p>",
        *(f"<p>{_text(note)}</p>" for note in notes),
        f'<p class="soft">{escape(plan.note)}</p>',
    ]
    return "\n".join(
        (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n<link rel="icon" href="data:,">',
            f"<title>{TITLE}</title>\n<style>{_STYLE}</style>\n</head>\n<body>",
            *body,
            "</body>\n</html>\n",
        )
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


def _matrix(plan: "AccuracyPlan") -> str:
    """Return R^2 of every method at every epsilon, the best of each epsilon marked."""
    rows = []
    for epsilon in plan.epsilons:
        found = {row.method: row for row in plan.rows if row.epsilon == epsilon}
        best = max(found.values(), key=lambda row: row.r_squared)
        cells = [_bar(plan, found[name], marked=found[name] is best) if name in found else "" for name in plan.methods]
        rows.append([f"{epsilon:g}", *cells])
    return _table(("epsilon", *plan.methods), rows, kind="even")


def _bar(plan: "AccuracyPlan", row: "PlannedRow", *, marked: bool) -> str:
    share = min(max(row.r_squared / plan.nonprivate_r_squared, 0.0), 1.0) if plan.nonprivate_r_squared > 0.0 else 0.0
    number = f"<b>{row.r_squared:.3f}</b>" if marked else f"{row.r_squared:.3f}"
    track = f'<span class="track"><i style="width:{share:.1%}"></i></span>'
    return f'<span class="best">{number}{track}</span>' if marked else f"{number}{track}"


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, kind: str = "plain") -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="wide"><table class="{kind}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _text(text: str) -> str:
    return escape(text).replace("R^2", "R\u00b2")
