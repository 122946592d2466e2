"""The report as plain text of at most 100 columns."""

import re
import textwrap
from collections.abc import Iterable, Sequence

from ..seen_text import visible

Fact = tuple[str, str | None]
TextSection = tuple[str, Sequence[str]]
_WIDTH = 100


def as_text(head: Iterable[str], facts: Iterable[Fact], sections: Iterable[TextSection]) -> str:
    """Return lines, then facts under each other, then sections; what there is nothing to say of is left out."""
    lines = [*head, *(f"{name:<15}{fact}" for name, fact in facts if fact is not None)]
    for title, body in sections:
        lines += ["", title, *(f"  {line}" for line in body)] if body else []
    return "\n".join(part for line in lines for part in _folded(visible(line)))


def aligned(rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> list[str]:
    """Return rows of cells as lines, each column under itself, those named by ``right`` to the right."""
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    marks = [">" if i in right else "<" for i in range(len(wide))]
    return [
        "  ".join(
            [*(f"{cell:{mark}{width}}" for cell, mark, width in zip(row[:-1], marks, wide, strict=False)), row[-1]]
        )
        for row in rows
    ]


def bullets(items: Iterable[str]) -> list[str]:
    """Return statements as a list."""
    return [f"- {item}" for item in items]


def _folded(line: str) -> list[str]:
    """Return a line of text in parts, under where its text begins."""
    label = re.match(r"[A-Z][A-Za-z. ]+? {2,}| +", line)
    indent = " " * (label.end() if label else 0)
    return textwrap.wrap(line, _WIDTH, subsequent_indent=indent) if len(line) > _WIDTH else [line]
