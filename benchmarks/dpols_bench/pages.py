"""Parts of HTML pages that need no network, and goals with what was measured."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 60rem; padding: 1rem; color: #222; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .5rem; text-align: right; } th:first-child, td:first-child { text-align: left; }
thead th { border-bottom: 2px solid #888; } tbody tr:hover { outline: 1px solid #888; }
.yes { color: #14642b; } .no { color: #a3141f; font-weight: 600; }
p { max-width: 44rem; }
"""


@dataclass(frozen=True)
class Goal:
    """Something to be reached, and whether it was."""

    text: str
    limit: float
    value: float
    reached: bool
    detail: str

    @property
    def verdict(self) -> str:
        """Reached or missed."""
        return "reached" if self.reached else "missed"


def page(title: str, parts: Sequence[str]) -> str:
    """Return a whole page."""
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<link rel="icon" href="data:,">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of cells that are HTML already."""
    head = "".join(f"<th>{escape(text)}</th>" for text in headings)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def goal_table(goals: Sequence[Goal]) -> str:
    """Return what was to be reached and what was."""
    rows = [
        [
            escape(goal.text),
            f"{goal.limit:.3g}",
            escape(goal.detail),
            f'<span class="{"yes" if goal.reached else "no"}">{goal.verdict}</span>',
        ]
        for goal in goals
    ]
    return table(["goal", "limit", "measured", ""], rows)


def goal_rows(goals: Sequence[Goal]) -> list[list[str]]:
    """Return the same as rows of plain text."""
    return [[goal.text, f"{goal.limit:.3g}", goal.detail, goal.verdict] for goal in goals]
