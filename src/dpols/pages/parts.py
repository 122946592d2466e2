"""What pages are made of: sections of sentences, tables, lists, lines of code and chances."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Table:
    """Rows of text under headings; a heading that begins with > belongs to numbers."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Bullets:
    """A list of statements."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Code:
    """What to type, line by line."""

    lines: tuple[str, ...]


@dataclass(frozen=True)
class Chances:
    """Probabilities between a half and one, each with what it is of."""

    rows: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Bars:
    """Intervals to be drawn, and what the drawing shows."""

    rows: tuple[Any, ...]
    meaning: str


@dataclass(frozen=True)
class Shares:
    """Parts of a whole, each with what it is of, to be drawn and written."""

    rows: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Scatter:
    """Mean residuals to be drawn against fitted values, and what the drawing shows."""

    picture: Any
    meaning: str


Part = str | Table | Bullets | Code | Chances | Bars | Shares | Scatter


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it."""

    title: str
    parts: tuple[Part, ...]


def notebook_part(
    title: str,
    sections: Sequence[Section],
    *,
    more: Sequence[Section] = (),
    alarm: str | None = None,
    cautions: Sequence[str] = (),
    share: tuple[str, float] | None = None,
) -> str:
    """Return a part of an HTML page, such as a notebook shows; ``more`` is folded, and a ``share`` is a bar."""
    from . import render

    of, value = ("", None) if share is None else share
    words = {"title": title, "alarm": alarm, "cautions": cautions, "share": value, "share_of": of}
    return render("part.html", sections=sections, more=more, **words)
