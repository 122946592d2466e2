"""How the commands print: plain tables on standard output, progress on standard error when someone is watching."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..seen_text import visible


class _VisibleConsole(Console):
    """A console that shows what is not seen in the text that it prints."""

    def print(self, *objects: Any, **how: Any) -> None:
        super().print(*(visible(one, keep="\n") if isinstance(one, str) else one for one in objects), **how)


out = _VisibleConsole(highlight=False, markup=False, emoji=False)
progress = _VisibleConsole(stderr=True, highlight=False, markup=False, emoji=False)


@contextmanager
def working(what: str) -> Iterator[Callable[[str], None]]:
    """Show a spinner while the block runs, on a terminal only; yields how to change its text."""
    if not progress.is_terminal:
        yield lambda _: None
        return
    with progress.status(Text(f"{what} ...")) as status:
        yield lambda text: status.update(Text(f"{text} ..."))


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table: a column named with a leading > is aligned to the right, long text is folded, none is lost."""
    out.print(Text(visible(title), style="bold"))
    table = Table(box=SIMPLE_HEAD, show_header=any(columns), pad_edge=False, show_edge=False)
    for name in columns:
        right = name.startswith(">")
        table.add_column(name.removeprefix(">"), justify="right" if right else "left", overflow="fold")
    for row in rows:
        # As text, since column names of the data may look like markup.
        table.add_row(*(Text(visible(cell)) for cell in row))
    out.print(table)
    out.print()


def print_json(content: Any) -> None:
    """Print plain data as JSON."""
    typer.echo(json.dumps(content, indent=2))


def number(value: float | None) -> str:
    """Return a number to six digits, with separators in the thousands where it has no exponent.

    >>> number(234567.8), number(0.00001234), number(None)
    ('234,568', '1.234e-05', 'unknown')
    """
    if value is None:
        return "unknown"
    text = f"{value:.6g}"
    return text if "e" in text else f"{float(text):,}".removesuffix(".0")
