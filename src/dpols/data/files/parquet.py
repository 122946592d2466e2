"""Parquet: each task is a run of row groups, decoded in batches so that no file and no row group is ever held whole."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from ...errors import DataError
from ..arrow import pyarrow, split_batch
from ..source import Array
from .task import FileTask, Stamp

BATCH_ROWS = 65536
_TASK_CELLS = 1 << 22  # what is worth a task of its own
_BUFFER = 1 << 20


def schema(file: Stamp) -> Any:
    """Return the Arrow schema of a file from its footer; no row is read."""
    return _metadata(file).schema.to_arrow_schema()


def parts(file: Stamp, names: tuple[str, ...]) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield runs of row groups, each with its number of rows."""
    metadata = _metadata(file)
    groups: list[int] = []
    n_rows = 0
    for group in range(metadata.num_row_groups):
        groups.append(group)
        n_rows += metadata.row_group(group).num_rows
        if n_rows * len(names) >= _TASK_CELLS:
            yield tuple(groups), n_rows
            groups, n_rows = [], 0
    if groups:
        yield tuple(groups), n_rows


def blocks(task: FileTask, *, threads: bool = False) -> Iterator[tuple[Array, Array]]:
    """Yield features and target of a task, block by block; ``threads`` lets pyarrow decode columns side by side."""
    arrow = pyarrow()
    from pyarrow import parquet

    constants = dict(task.constants)
    names = [name for name in (*task.features, *filter(None, [task.target])) if name not in constants]
    try:
        # pre_buffer, which is on by default, would hold the whole file.
        with parquet.ParquetFile(
            task.file.path, metadata=_metadata(task.file), pre_buffer=False, buffer_size=_BUFFER
        ) as file:
            batches = file.iter_batches(
                batch_size=BATCH_ROWS, row_groups=list(task.part), columns=names, use_threads=threads
            )
            for batch in batches:
                yield split_batch(batch, task.features, task.target, constants)
    except (arrow.ArrowException, OSError):  # how pyarrow reports damaged pages
        task.file.check()
        raise DataError(f"{task.file.path!r} cannot be read as Parquet; it is damaged. Write it anew.") from None


@lru_cache(maxsize=8)
def _metadata(file: Stamp) -> Any:
    """Return a file's footer, which for many row groups takes long to read."""
    arrow = pyarrow()
    from pyarrow import parquet

    try:
        return parquet.read_metadata(file.path)
    except FileNotFoundError:
        raise
    except (arrow.ArrowException, OSError):  # how pyarrow reports a damaged footer
        raise DataError(
            f"{file.path!r} is not a Parquet file, or is damaged or truncated. Write it anew, or rename it after its "
            "format."
        ) from None
