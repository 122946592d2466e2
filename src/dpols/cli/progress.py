"""A bar for each pass over the rows of a file, with the number of the pass and rows per second."""

from collections.abc import Iterator
from contextlib import contextmanager

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


@contextmanager
def pass_bar(what: str, on: Console | None = None) -> Iterator[Hook]:
    """Show a bar while the block runs, on a terminal only; yields the hook that moves it."""
    terminal = console.progress if on is None else on
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} of {task.total:,.0f} rows"),
        RowsPerSecond(),
        console=terminal,
        disable=not terminal.is_terminal,
        transient=True,
    )
    with bar:
        task = bar.add_task(what, total=0)

        def move(number: int, rows: int, n_rows: int) -> None:
            if rows == 0:
                bar.reset(task, total=n_rows, description=f"{what}, pass {number}")
            else:
                bar.update(task, completed=rows)

        yield move
