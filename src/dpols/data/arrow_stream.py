"""Rows of anything that streams Arrow batches again and again, such as a query of duckdb or ibis.

Each pass asks for the stream anew and holds no more than a few of its batches.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

from ..errors import DataError
from .arrow import BLOCK_ROWS, holds_numbers, pyarrow, split_batch
from .columns import feature_names, require_name, require_numeric
from .kinds import unquoted
from .source import Array, Kernel, Total, add_up
from .threads import map_stream


@dataclass(frozen=True, repr=False)
class StreamSource:
    """Rows of an object that offers an Arrow stream, read anew in every pass."""

    stream: Any
    n_rows: int
    columns: tuple[str, ...]
    target: str | None
    is_local: ClassVar[bool] = True

    @property
    def n_features(self) -> int:
        return len(self.columns)

    def total(self, kernel: Kernel, *args: Any) -> Total:
        def work(batch: Any) -> tuple[tuple[Array, ...], int]:
            return kernel(*split_batch(batch, self.columns, self.target, {}), *args), batch.num_rows

        return add_up(map_stream(work, _blocks(self.stream)))


def stream_source(stream: Any, target: Any) -> StreamSource:
    """Return the rows of an object that offers an Arrow stream; ``target`` is the name of a column, or None."""
    require_name(target, "a query")
    with _opened(stream) as reader:
        kinds = dict(zip(reader.schema.names, reader.schema.types, strict=True))
        features = feature_names(reader.schema.names, target)
        wanted = features if target is None else [*features, target]
        require_numeric([name for name in wanted if not holds_numbers(kinds[name])], wanted)
        n_rows = sum(batch.num_rows for batch in reader)
    return StreamSource(stream, n_rows, tuple(features), target)


def _blocks(stream: Any) -> Iterator[Any]:
    """Yield the stream's batches, none of more than a block."""
    empty = True
    with _opened(stream) as reader:
        for batch in reader:
            for start in range(0, batch.num_rows, BLOCK_ROWS):
                empty = False
                yield batch.slice(start, BLOCK_ROWS)
    if empty:
        raise DataError("X gave no rows in a pass; it must give the same rows each time. Write them to a file.")


@contextmanager
def _opened(stream: Any) -> Iterator[Any]:
    """Open a stream; where it fails, say so without what its message may quote."""
    arrow = pyarrow()
    with unquoted(_reason), arrow.RecordBatchReader.from_stream(stream) as reader:
        yield reader


def _reason(error: Exception) -> str:
    name = type(error).__name__
    return f"X could not be read: its query or stream failed with {name}. Run it by itself to see why."
