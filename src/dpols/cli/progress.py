"""A bar for each pass over the rows of a file, with the number of the pass and rows per second; or a file with them."""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.text import Text

from ..data.files import Progress as Hook
from . import console


class RowsPerSecond(ProgressColumn):
    """Rows per second of the pass that runs."""

    def render(self, task: Task) -> Text:
        """Return the speed, or nothing while there is none."""
        speed = task.completed / task.elapsed if task.elapsed else 0.0
        return Text(f"{speed / 1e6:.2f} million rows/s" if speed else "")


class _Rows(ProgressColumn):
    """Rows read of all rows; nothing where their number is not public."""

    def render(self, task: Task) -> Text:
        """Return the two numbers."""
        return Text(f"{task.completed:,.0f} of {task.total:,.0f} rows" if task.total else "")


@contextmanager
def pass_bar(what: str, on: Console | None = None) -> Iterator[Hook]:
    """Show a bar while the block runs, on a terminal only; yields the hook that moves it."""
    terminal = console.progress if on is None else on
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        _Rows(),
        RowsPerSecond(),
        console=terminal,
        disable=not terminal.is_terminal,
        transient=True,
    )
    with bar:
        task = bar.add_task(what, total=0)

        def move(number: int, rows: int, n_rows: int) -> None:
            if rows == 0:
                bar.reset(task, total=n_rows or None, description=f"{what}, pass {number}")
            else:
                bar.update(task, completed=rows)

        yield move


_EVERY = 0.2  # seconds between two versions of a file


@contextmanager
def passes_in_file(path: Path) -> Iterator[Hook]:
    """Keep the number of the pass, its rows and all rows in a file while the block runs, for others to read."""
    last = -_EVERY
    beside = path.with_name(f".{path.name}.new")

    def write(number: int, rows: int, n_rows: int) -> None:
        nonlocal last
        if time.monotonic() - last < _EVERY and rows:
            return
        last = time.monotonic()
        with suppress(OSError):  # a full disk must not stop what is being paid for
            beside.write_text(json.dumps({"pass": number, "rows": rows, "of": n_rows}), encoding="utf-8")
            os.replace(beside, path)

    try:
        yield write
    finally:
        beside.unlink(missing_ok=True)
