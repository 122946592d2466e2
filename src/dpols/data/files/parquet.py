"""Parquet: each task is a run of row groups, decoded in batches so that no file and no row group is ever held whole."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from ...errors import DataError
from ..arrow import BLOCK_ROWS, holds_numbers, pyarrow
from .task import Header, Part, Stamp, runs_of

_BUFFER = 1 << 18
_REMEDY = "Write it anew, or rename it after its format."


def header(file: Stamp) -> Header:
    """Return the columns that the file's footer lists; no row is read."""
    return [(field.name, None if holds_numbers(field.type) else str(field.type)) for field in schema(file)]


def schema(file: Stamp) -> Any:
    """Return the columns with their types of Arrow."""
    try:
        return _metadata(file).schema.to_arrow_schema()
    except pyarrow().ArrowException:
        raise DataError(f"{file.path!r} has columns of types that Arrow does not know. {_REMEDY}") from None


def parts(file: Stamp, names: Sequence[str]) -> list[Part]:
    """Return runs of row groups, each with its number of rows."""
    metadata = _metadata(file)
    counts = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
    return list(runs_of(counts, len(names)))


def batches(
    file: Stamp, part: tuple[int, ...], names: Sequence[str], *, threads: bool = False, text: Sequence[str] = ()
) -> Iterator[Any]:
    """Yield record batches of some row groups; ``threads`` decodes columns side by side."""
    arrow = pyarrow()
    from pyarrow import parquet

    try:
        # pre_buffer, which is on by default, would hold the whole file.
        with parquet.ParquetFile(
            file.path, metadata=_metadata(file), pre_buffer=False, buffer_size=_BUFFER, page_checksum_verification=True
        ) as opened:
            yield from opened.iter_batches(BLOCK_ROWS, list(part), list(names), use_threads=threads)
    except (arrow.ArrowException, OSError):  # how pyarrow reports damaged pages
        file.check()
        raise DataError(f"{file.path!r} cannot be read as Parquet; it is damaged. Write it anew.") from None


@lru_cache(maxsize=8)
def _metadata(file: Stamp) -> Any:
    """Return a file's footer, which for many row groups takes long to read."""
    arrow = pyarrow()
    from pyarrow import parquet

    try:
        return parquet.read_metadata(file.path)
    except FileNotFoundError:
        raise
    except (arrow.ArrowException, OSError, UnicodeDecodeError):  # how pyarrow reports a damaged footer
        raise DataError(f"{file.path!r} is not a Parquet file, or is damaged or truncated. {_REMEDY}") from None
