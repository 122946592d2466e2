"""Arrow files, also known as Feather version 2: mapped into memory, each task a run of record batches."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...errors import DataError
from ..arrow import BLOCK_ROWS, holds_numbers, pyarrow
from .task import Header, Part, Stamp, runs_of


def header(file: Stamp) -> Header:
    """Return the columns that the file's schema lists; no row is read."""
    with _opened(file) as reader:  # also while names are read, which may be no text
        return [(field.name, None if holds_numbers(field.type) else str(field.type)) for field in reader.schema]


def schema(file: Stamp) -> Any:
    """Return the columns with their types of Arrow."""
    with _opened(file) as reader:
        return reader.schema


def parts(file: Stamp, names: Sequence[str]) -> list[Part]:
    """Return runs of record batches, each with its number of rows."""
    with _opened(file, names[:1]) as reader:
        counts = [reader.get_batch(i).num_rows for i in range(reader.num_record_batches)]
    return list(runs_of(counts, len(names)))


def batches(
    file: Stamp, part: tuple[int, ...], names: Sequence[str], *, threads: bool = False, text: Sequence[str] = ()
) -> Iterator[Any]:
    """Yield slices of some record batches; ``threads`` decompresses columns side by side."""
    with _opened(file, names, threads=threads) as reader:
        for index in part:
            batch = reader.get_batch(index)
            batch.validate(full=True)  # what points outside of its column would be read from anywhere in memory
            for start in range(0, batch.num_rows, BLOCK_ROWS):
                yield batch.slice(start, BLOCK_ROWS)


@contextmanager
def _opened(file: Stamp, names: Sequence[str] | None = None, *, threads: bool = False) -> Iterator[Any]:
    """Open a file for the named columns, and say clearly what is wrong with it."""
    arrow = pyarrow()
    from pyarrow import ipc

    try:
        with arrow.memory_map(file.path) as mapped:
            with ipc.open_file(mapped) as reader:
                at = reader.schema.get_field_index
            options = ipc.IpcReadOptions(
                use_threads=threads, included_fields=None if names is None else [*map(at, names)]
            )
            with ipc.open_file(mapped, options=options) as reader:
                yield reader
    except (arrow.ArrowException, OSError, UnicodeDecodeError, IndexError) as error:  # the third of a column's name
        if isinstance(error, FileNotFoundError | PermissionError):
            raise
        file.check()
        raise DataError(
            f"{file.path!r} is not an Arrow file (Feather version 2), or is damaged or truncated. Write it anew; a "
            "stream, or Feather version 1, must be converted."
        ) from None
