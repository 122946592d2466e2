"""Parquet: each task is a run of row groups, decoded in batches so that no file and no row group is ever held whole."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from ...errors import DataError
from ..arrow import BLOCK_ROWS, holds_numbers, pyarrow, split_batch
from ..source import Array
from .task import FileTask, Header, Part, Stamp, runs_of

_BUFFER = 1 << 20


def header(file: Stamp) -> Header:
    """Return the columns that the file's footer lists; no row is read."""
    schema = _metadata(file).schema.to_arrow_schema()
    return [(field.name, None if holds_numbers(field.type) else str(field.type)) for field in schema]


def parts(file: Stamp, names: Sequence[str]) -> list[Part]:
    """Return runs of row groups, each with its number of rows."""
    metadata = _metadata(file)
    counts = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
    return list(runs_of(counts, len(names)))


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
                batch_size=BLOCK_ROWS, row_groups=list(task.part), columns=names, use_threads=threads
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
