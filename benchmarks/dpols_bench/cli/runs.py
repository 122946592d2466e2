"""Options and parts that the commands share which run for long and can be stopped and run again."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from dpols.cli import options as given
from dpols.cli.console import progress as watched

Settings = TypeVar("Settings", bound=Any)

Jobs = Annotated[int, typer.Option(help="Processes; 0 for all cores.")]
Folder = Annotated[Path, typer.Option(metavar="DIR", help="Folder for results; a run that stopped goes on there.")]
Tables = Annotated[str | None, typer.Option("--tables", metavar="A,B", help="Tables by name; all of them.")]
Diffprivlib = Annotated[
    Path | None,
    typer.Option(metavar="PYTHON", help="A Python that has diffprivlib and scikit-learn < 1.6; else left out."),
]
FewSplits = Annotated[bool, typer.Option("--quick", help="Few splits.")]
SixEpsilons = Annotated[str | None, typer.Option(metavar="E,F", help="Six from 0.1 to 10 unless given.")]


def settings_of(
    usual: Settings, names: str | None, epsilons: str | None, splits: int | None, quick: int | None, **more: Any
) -> Settings:
    """Return the usual settings with what options say in their place; ``quick`` is how many splits a quick run has."""
    return replace(
        usual,
        tables=usual.tables if names is None else given.split_list("--tables", names),
        epsilons=usual.epsilons if epsilons is None else tuple(given.numbers("--epsilons", epsilons)),
        splits=splits if splits is not None else quick if quick is not None else usual.splits,
        **more,
    )


def check_folder(out: Path) -> None:
    """Refuse a file where a folder is to be."""
    if out.exists() and not out.is_dir():
        raise NotADirectoryError(f"--out {str(out)!r} is a file; name a folder.")


@contextmanager
def progress_bar() -> Iterator[Callable[[Any], None]]:
    """Show a bar with the time left, on a terminal only."""
    if not watched.is_terminal:
        yield lambda _: None
        return
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.table import Column

    columns = (
        BarColumn(bar_width=16),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("gone,"),
        TimeRemainingColumn(),
        TextColumn("left:"),
        TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True)),
    )
    with Progress(*columns, console=watched, speed_estimate_period=600.0) as bar:
        task = bar.add_task("Starting", total=None)

        def show(step: Any) -> None:
            bar.update(task, description=step.what, completed=step.done, total=step.total)

        yield show
