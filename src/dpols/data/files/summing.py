"""What one thread or worker does with its part of a file. Both functions can be sent to another process."""

from collections.abc import Iterator
from typing import Any

from ...errors import DataError
from ..source import Array, Kernel, add_up
from .formats import FORMATS
from .task import FileTask


def task_blocks(task: FileTask, *, threads: bool = False) -> Iterator[tuple[Array, Array]]:
    """Yield features and target of a task in blocks of at most 64k rows; a file that has changed is refused.

    ``threads`` allows the reader threads of its own, for a task that runs alone.
    """
    task.file.check()
    n_rows = 0
    for features, target in FORMATS[task.kind].blocks(task, threads=threads):
        n_rows += len(target)
        yield features, target
    task.file.check()
    if n_rows != task.n_rows:
        raise DataError(
            f"{task.file.path!r} gave {n_rows} rows where {task.n_rows} were announced; it is damaged or has changed."
        )


def sum_of(task: FileTask, kernel: Kernel, *args: Any, threads: bool = False) -> tuple[tuple[Array, ...], int]:
    """Return the sum of ``kernel(features, target, *args)`` over the blocks of a task, and the number of its rows."""
    blocks = task_blocks(task, threads=threads)
    total = add_up((kernel(features, target, *args), len(target)) for features, target in blocks)
    return total.values, total.n_rows
