"""What one thread or worker does with its part of a file. Both functions can be sent to another process."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ...errors import DataError, DataTypeError
from ..arrow import columns_of, split_batch, with_constants
from ..scratch import shared_scratch
from ..source import Block, Columns, Kernel, Total, add_up
from .formats import FORMATS
from .task import FileTask

MISSING_PARTITION = "__HIVE_DEFAULT_PARTITION__"


def task_blocks(task: FileTask, *, threads: bool = False) -> Iterator[Block]:
    """Yield features and target of a task in blocks of at most 64k rows; a file that has changed is refused.

    ``threads`` allows the reader threads of its own, for a task that runs alone.
    """
    return _split(task, split_batch, threads)


def task_columns(task: FileTask, *, threads: bool = False) -> Iterator[Columns | Block]:
    """Yield the same as columns, where the reader has such."""
    return _split(task, columns_of, threads)


def _split(task: FileTask, split: Callable[..., Any], threads: bool) -> Iterator[Any]:
    task.file.check()
    n_rows = 0
    constants = dict(task.constants)
    numbers = {name: number(value) for name, value in constants.items() if name not in task.text}
    for batch in FORMATS[task.kind].batches(task.file, task.part, task.names, threads=threads, text=task.text):
        n_rows += len(batch)
        if n_rows > task.n_rows:
            break
        if task.make is not None:
            try:
                block = task.make(with_constants(batch, task.names, {**constants, **numbers}))
            except (DataError, DataTypeError) as error:
                raise type(error)(f"{task.file.path!r}: {error}") from None
            yield block
        else:
            yield split(batch, task.features, task.target, numbers, task.weights)
    task.file.check()
    if n_rows != task.n_rows:
        raise DataError(
            f"{task.file.path!r} gave another number of rows than at first; it is damaged or has changed. Write it "
            "anew."
        )


def sum_of(blocks: Iterable[Block], kernel: Kernel, *args: Any) -> Total:
    """Return the sum of ``kernel(features, target, *args)`` over the blocks of a task."""
    with shared_scratch():
        return add_up((kernel(features, target, *args), len(target)) for features, target in blocks)


def number(text: str) -> float:
    """Return the value of a partition column as a number."""
    return float("nan") if text == MISSING_PARTITION else float(text)
