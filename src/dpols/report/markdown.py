"""The report in Markdown."""

import re
from typing import Any

from ..pages.parts import Bars, Bullets, Chances, Code, Scatter, Shares, Table
from ..seen_text import visible
from .content import guarantee, sections, summary, title_of, verdict


def to_markdown(report: Any) -> str:
    """Return a report as Markdown with tables."""
    warnings = (*([report.alarm] if report.alarm else []), *report.cautions)
    first = (*warnings, *guarantee(report), verdict(report))
    blocks = [f"# {_escaped(title_of(report))}", *(f"**{_escaped(text)}**" for text in first)]
    blocks.append(_escaped(summary(report)))
    for section in sections(report):
        parts = [
            part for part in section.parts if not isinstance(part, Bars | Scatter)
        ]  # their numbers stand in a table, too
        blocks += [f"## {section.title}", *map(_part, parts)]
    return "\n\n".join(blocks) + "\n"


def _part(part: str | Table | Bullets | Code | Chances | Shares) -> str:
    match part:
        case str():
            return _escaped(part)
        case Table(columns, rows):
            return _table(columns, rows)
        case Bullets(items):
            return "\n".join(f"- {_escaped(item)}" for item in items)
        case Code(lines):
            return "\n".join(f"    {line}" for line in lines)
        case Shares(rows):
            return _table(("", ">share of the rows"), tuple((name, f"{share:.1%}") for name, share in rows))
        case Chances(rows):
            return _table(("", ">right with probability"), tuple((name, f"{chance:.2%}") for name, chance in rows))


def _table(columns: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> str:
    heads = [_escaped(name.removeprefix(">")) for name in columns]
    rules = ["---:" if name.startswith(">") else "---" for name in columns]
    lines = [heads, rules, *([_escaped(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _escaped(text: str) -> str:
    """Return text on one line in which nothing is markup."""
    return re.sub(r"([\\`*_{}\[\]<>|#~$&])", r"\\\1", visible(" ".join(text.split())))
