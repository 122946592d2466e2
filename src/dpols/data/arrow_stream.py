"""Rows of anything that streams Arrow batches again and again, such as a query of duckdb, ibis or polars.

Each pass asks for the stream anew and holds no more than a few of its batches.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

from ..errors import DataError
from .arrow import BLOCK_ROWS, holds_numbers, pyarrow, split_batch
from .columns import feature_names, require_name, require_numeric
from .kinds import is_lazy_frame, unquoted
from .source import Array, Block, Kernel, Total, add_up
from .threads import map_stream
from .weights import require_column


@dataclass(frozen=True, repr=False)
class StreamSource:
    """Rows of an object that offers an Arrow stream, read anew in every pass."""

    stream: Any
    n_rows: int
    columns: tuple[str, ...]
    target: str | None
    make: Callable[[Any], Block] | None = None  # makes a block of a record batch; by default its columns are it
    weights: str | None = None  # the column of weights; with make, that one's affair
    is_local: ClassVar[bool] = True

    @property
    def n_features(self) -> int:
        return len(self.columns)

    def total(self, kernel: Kernel, *args: Any) -> Total:
        def work(batch: Any) -> tuple[tuple[Array, ...], int]:
            return kernel(*self._block(batch), *args), batch.num_rows

        return add_up(map_stream(work, _blocks(self.stream)))

    def _block(self, batch: Any) -> Block:
        if self.make is not None:
            return self.make(batch)
        return split_batch(batch, self.columns, self.target, {}, self.weights)


def stream_source(stream: Any, target: Any, names: Collection[str] | None = None, weights: Any = None) -> StreamSource:
    """Return the rows of an object that offers an Arrow stream; target and weights are names of columns, or None.

    Where the stream has all columns of ``names``, others are left out.
    """
    require_name(target, "a query")
    require_column(weights, "a query")
    with _opened(stream) as reader:
        kinds = dict(zip(reader.schema.names, reader.schema.types, strict=True))
        features = feature_names(reader.schema.names, target, weights)
        if names and set(names) <= set(features):
            features = [name for name in features if name in names]
        wanted = [*features, *(name for name in (target, weights) if name is not None)]
        require_numeric([name for name in wanted if not holds_numbers(kinds[name])], wanted)
        n_rows = sum(batch.num_rows for batch in reader)
    return StreamSource(stream, n_rows, tuple(features), target, weights=weights)


def stream_columns(stream: Any) -> tuple[str, ...]:
    """Return the names of the columns of an object that offers an Arrow stream."""
    if is_lazy_frame(stream):
        return tuple(stream.collect_schema().names())
    with _opened(stream) as reader:
        return tuple(reader.schema.names)


def made_stream_source(stream: Any, target: str, columns: Sequence[str], make: Callable[[Any], Block]) -> StreamSource:
    """Return the rows that ``make`` makes of each record batch of a stream, after a check of the first one."""
    require_name(target, "a query")
    with _opened(stream) as reader:
        make(reader.schema.empty_table())
        n_rows = sum(batch.num_rows for batch in reader)
    if n_rows < 1:
        raise DataError("the table has no rows (0 sample(s)); at least one is required.")
    return StreamSource(stream, n_rows, tuple(columns), target, make)


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
    with unquoted(_reason):
        reader = _lazy_reader(stream) if is_lazy_frame(stream) else arrow.RecordBatchReader.from_stream(stream)
        with reader:
            yield reader


def _lazy_reader(frame: Any) -> Any:
    """Return a reader of the batches that a query of polars gives, one after the other."""
    schema = frame.head(0).collect().to_arrow().schema
    blocks = (rows.to_arrow() for rows in frame.collect_batches(chunk_size=BLOCK_ROWS))
    batches = (batch for block in blocks for batch in block.cast(schema).to_batches())
    return pyarrow().RecordBatchReader.from_batches(schema, batches)


def _reason(error: Exception) -> str:
    name = type(error).__name__
    return f"X could not be read: its query or stream failed with {name}. Run it by itself to see why."
