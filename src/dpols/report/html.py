"""The report as one HTML page: no script, no request, readable on a phone and on paper."""

from html import escape
from typing import Any

from .content import TITLE, Bullets, Chances, Code, Part, Table, sections, summary

_STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5a6675; --line: #d8dee6; --paper: #fff; --tint: #f3f6f9;
  --bar: #2f6db3; --alarm: #a3161a; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaf0; --soft: #a3aebc; --line: #39424e; --paper: #14181d;
  --tint: #1e242b; --bar: #6ea8e6; --alarm: #ff8a8d; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 50rem; padding: 2rem 1.25rem 4rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 .5rem; }
h2 { font-size: 1.15rem; margin: 2.25rem 0 .5rem; padding-top: .9rem; border-top: 1px solid var(--line); }
p { margin: .5rem 0; overflow-wrap: anywhere; }
.lead { font-size: 1.1rem; color: var(--soft); }
.alarm { border: 2px solid var(--alarm); color: var(--alarm); padding: .6rem .9rem; font-weight: 600; }
.caution { border-left: 4px solid var(--alarm); background: var(--tint); padding: .6rem .9rem; font-weight: 600; }
.wide { overflow-x: auto; margin: .75rem 0; }
table { border-collapse: collapse; width: 100%; font-size: .95rem; }
th, td { text-align: left; vertical-align: top; padding: .4rem .75rem .4rem 0; border-bottom: 1px solid var(--line);
  overflow-wrap: anywhere; min-width: 4.5rem; }
th { color: var(--soft); font-weight: 600; overflow-wrap: normal; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; overflow-wrap: normal; }
tbody th { color: var(--soft); width: 34%; overflow-wrap: anywhere; }
ul { margin: .5rem 0; padding-left: 1.2rem; }
li { margin: .3rem 0; overflow-wrap: anywhere; }
pre { background: var(--tint); padding: .7rem .9rem; border-radius: .3rem; overflow-x: auto; margin: .75rem 0; }
.chance { display: grid; grid-template-columns: 1fr auto; gap: .1rem 1rem; margin: .7rem 0; }
.chance b { font-variant-numeric: tabular-nums; }
.track { grid-column: 1 / -1; height: .7rem; background: var(--tint);
  border: 1px solid var(--line); border-radius: .2rem; }
.track i { display: block; height: 100%; background: var(--bar); border-radius: .15rem 0 0 .15rem; min-width: 2px; }
.scale { display: flex; justify-content: space-between; color: var(--soft); font-size: .85rem; }
@media (max-width: 32rem) { body { padding: 1.25rem 1rem 3rem; } th, td { padding-right: .5rem; } }
@media print { :root { --ink: #000; --soft: #444; --line: #bbb; --paper: #fff; --tint: #f2f2f2; --bar: #555;
    --alarm: #000; }
  html { font-size: 10pt; } body { max-width: none; padding: 0; }
  h2 { break-after: avoid; } tr, .chance, li { break-inside: avoid; }
  .wide { overflow: visible; } .track i { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
"""


def to_html(report: Any) -> str:
    """Return a report as one HTML page that needs no other file. It holds the report as JSON, too."""
    warning = report.alarm
    body = [f"<h1>{TITLE}</h1>", *([f'<p class="alarm">{escape(warning)}</p>'] if warning else [])]
    body += [f'<p class="caution">{escape(caution)}</p>' for caution in report.cautions]
    body.append(f'<p class="lead">{escape(summary(report))}</p>')
    for section in sections(report):
        body += [f"<h2>{escape(section.title)}</h2>", *(_part(part) for part in section.parts)]
    data = report.to_json().replace("<", "\\u003c")  # so that no text can end the element
    return "\n".join(
        (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{TITLE}</title>\n<style>{_STYLE}</style>\n</head>\n<body>",
            *body,
            f'<script type="application/json" id="privacy-report">\n{data}\n</script>\n</body>\n</html>\n',
        )
    )


def _part(part: Part) -> str:
    match part:
        case str():
            return f"<p>{escape(part)}</p>"
        case Table(columns, rows):
            return _table(columns, rows)
        case Bullets(items):
            return f"<ul>{''.join(f'<li>{escape(item)}</li>' for item in items)}</ul>"
        case Code(lines):
            return f"<pre>{escape(chr(10).join(lines))}</pre>"
        case Chances(rows):
            bars = "".join(_chance(name, chance) for name, chance in rows)
            return f'{bars}<div class="scale"><span>50%: no better than chance</span><span>100%: certain</span></div>'


def _chance(name: str, chance: float) -> str:
    width = 200.0 * (chance - 0.5)
    bar = f'<span class="track"><i style="width:{width:.2f}%"></i></span>'
    return f'<div class="chance"><span>{escape(name)}</span><b>{chance:.2%}</b>{bar}</div>'


def _table(columns: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> str:
    kinds = [' class="number"' if name.startswith(">") else "" for name in columns]
    head = "".join(
        f"<th{kind}>{escape(name.removeprefix('>'))}</th>" for name, kind in zip(columns, kinds, strict=True)
    )
    first = "td" if any(columns) else "th"
    body = "".join(
        "<tr>"
        + "".join(
            f"<{first if place == 0 else 'td'}{kind}>{escape(cell)}</{first if place == 0 else 'td'}>"
            for place, (cell, kind) in enumerate(zip(row, kinds, strict=True))
        )
        + "</tr>"
        for row in rows
    )
    heading = f"<thead><tr>{head}</tr></thead>" if any(columns) else ""
    return f'<div class="wide"><table>{heading}<tbody>{body}</tbody></table></div>'
