"""Rows in Dask: each partition is summed where it lies, and only sums travel.

A task returns a value and changes nothing, so a task that is retried, or lost with its worker, counts once.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ..errors import BoundsError, DataError, MissingExtraError
from .columns import feature_names, require_numeric
from .kinds import library_of, unquoted
from .memory import pandas_numbers
from .missing import floats, unmasked
from .partitions import (
    BLOCK_ROWS,
    ReadBlocks,
    count_only,
    kept_blocks,
    kept_partition,
    kept_total,
    may_be_kept,
    no_rows,
    require_same_length,
    sum_partition,
)
from .row_map import RowMap
from .source import Array, Block, Kernel, Total, add_up
from .threads import worker_count
from .weights import refuse_name

_ADDED_AT_ONCE = 32


@dataclass(frozen=True, repr=False)
class DaskSource:
    """Rows in partitions, each of one or more pieces, delayed or not, of which ``read`` makes blocks.

    Without a client, Dask computes in its usual place.
    """

    partitions: Sequence[tuple[Any, ...]]
    read: ReadBlocks
    n_rows: int
    n_features: int
    columns: tuple[str, ...] | None = None
    client: Any = None
    beside: bool = False  # whether rounded rows have something beside their targets

    def total(self, kernel: Kernel, *args: Any) -> Total:
        empty = no_rows(self.n_features, beside=self.beside)
        # One callable, since Dask would look for its own kind of objects in each argument.
        return _sum(partial(sum_partition, self.read, empty, kernel, args), self.partitions, self.client)

    def kept(self, row_map: RowMap) -> tuple["DaskSource", Total] | None:
        """Let workers keep all rows, bounded and rounded; where one is lost, Dask makes them anew."""
        if not may_be_kept(row_map, self.n_rows, _cores(self.client)):
            return None
        dask = _dask()
        keep = dask.delayed(partial(kept_partition, self.read, row_map), pure=False)
        pieces = [keep(*each) for each in self.partitions]
        with unquoted(_reason):
            found = dask.persist(*pieces) if self.client is None else self.client.persist(pieces)
        partitions = [(piece,) for piece in found]
        source = replace(
            self,
            partitions=partitions,
            read=kept_blocks,
            n_features=row_map.n_coordinates,
            beside=row_map.beside is not None,
        )
        return source, _sum(kept_total, partitions, self.client)


def source_of_tasks(
    client: Any, tasks: Sequence[Any], read: ReadBlocks, n_rows: int, columns: Sequence[str]
) -> DaskSource:
    """Return rows of which ``read`` makes blocks, task by task, on the workers of a distributed client."""
    return DaskSource([(task,) for task in tasks], read, n_rows, len(columns), tuple(columns), client)


def dask_source(table: Any, target: Any, weights: Any = None) -> DaskSource:
    """Return the rows of a Dask DataFrame or Array.

    ``target`` is a column of the frame, a Dask Series or vector in the same partitions, values in memory where the
    table is an array, or None; so are ``weights``.
    """
    if len(getattr(table, "shape", ())) != 2:
        raise DataError(
            f"X must have rows and columns, but is a Dask {type(table).__name__} of another shape; pass a Dask "
            "DataFrame or a two-dimensional Dask Array."
        )
    return (_frame_source if hasattr(table, "dtypes") else _array_source)(table, target, weights)


def made_dask_source(
    table: Any, raw: Sequence[str], columns: Sequence[str], make: Callable[[Any], Block]
) -> DaskSource:
    """Return what ``make`` makes of the raw columns of each partition of a Dask DataFrame."""
    labels = {str(label): label for label in table.columns}
    table = table[[labels[name] for name in raw]]
    table.columns = list(raw)
    make(table._meta)  # a frame without rows: refuses wrong columns
    with unquoted(_reason):
        pieces, n_rows = [(part,) for part in table.to_delayed()], len(table)
    if n_rows < 1:
        raise DataError("the table has no rows (0 sample(s)); at least one is required.")
    return DaskSource(pieces, partial(_made_blocks, make), n_rows, len(columns), tuple(columns))


def _frame_source(table: Any, target: Any, weights: Any) -> DaskSource:
    features = feature_names([str(name) for name in table.columns], target, weights)
    inside = [isinstance(one, str) for one in (target, weights) if one is not None]
    wanted = [*features, *(one for one in (target, weights) if isinstance(one, str))]
    labels = {str(label): label for label in table.columns}
    table = table[[labels[name] for name in wanted]]
    require_numeric([name for name, kind in zip(wanted, table.dtypes, strict=True) if not _is_real(kind)], wanted)
    with unquoted(_reason):
        pieces = [(part,) for part in table.to_delayed()]
    for name, vector in (("y", target), ("sample_weight", weights)):
        if vector is not None and not isinstance(vector, str):
            if not hasattr(vector, "to_delayed"):
                raise DataError(
                    f"{name} must be the name of a column, or a Dask Series in the same partitions as X: values in "
                    "memory cannot be matched with rows in partitions."
                )
            pieces = _paired(pieces, _vector(vector, name).to_delayed(), name)
    with unquoted(_reason):
        n_rows = len(table)  # of many kinds of table Dask knows it without reading a row
    read = partial(_frame_blocks, len(features), inside)
    return DaskSource(pieces, read, n_rows, len(features), tuple(features))


def _array_source(table: Any, target: Any, weights: Any) -> DaskSource:
    refuse_name(weights)
    if isinstance(target, str):
        raise DataError(f"y={target!r} names a column, but X is not a table; pass the targets.")
    if not table.shape[1] > 0:  # nor nan, which is Dask's word for unknown
        raise BoundsError(f"X has {table.shape[1]} columns; at least one is required, and Dask must know how many.")
    if not _is_real(table.dtype):
        raise DataError(f"X must hold real numbers, not {table.dtype}; convert it with astype(float).")
    table = table.rechunk({1: -1})
    (lengths, (n_features,)) = table.chunks
    pieces: list[tuple[Any, ...]] = [(part,) for part in table.to_delayed()[:, 0]]
    known = not np.isnan(lengths).any()
    for name, values in (("y", target), ("sample_weight", weights)):
        if values is None:
            continue
        vector = _vector(values, name)
        if known and vector.shape[0] == vector.shape[0]:
            if vector.shape[0] != sum(lengths):
                raise DataError(f"{name} must have one value for each row of X, and their numbers differ.")
            vector = vector.rechunk((lengths,))
        pieces = _paired(pieces, vector.to_delayed(), name)
    source = DaskSource(pieces, _array_blocks, 0, int(n_features))
    return replace(source, n_rows=int(sum(lengths) if known else source.total(count_only).n_rows))


def _vector(target: Any, name: str) -> Any:
    """Return targets or weights as a Dask vector."""
    from dask.array import from_array

    array: Any = from_array  # has no types
    target = getattr(target, "values", target)  # a Series as an array keeps its partitions
    vector = target if hasattr(target, "to_delayed") else array(np.asanyarray(target), chunks=-1)
    vector = vector[:, 0] if vector.ndim == 2 and vector.shape[1] == 1 else vector
    if vector.ndim != 1:
        raise DataError(f"{name} has {vector.ndim} dimensions; expected one number for each row.")
    if not _is_real(vector.dtype):
        raise DataError(f"{name} must hold real numbers, not {vector.dtype}; convert it with astype(float).")
    return vector


def _paired(pieces: Sequence[tuple[Any, ...]], targets: Sequence[Any], name: str) -> list[tuple[Any, ...]]:
    if len(pieces) != len(targets):
        raise DataError(f"X has {len(pieces)} partitions but {name} has {len(targets)}; partition them alike.")
    return [(*piece, target) for piece, target in zip(pieces, targets, strict=True)]


def _sum(total_of: Callable[..., Total], partitions: Sequence[tuple[Any, ...]], client: Any) -> Total:
    """Sum on the client, or where Dask would compute: on the current client, or else on threads."""
    dask = _dask()
    work, add = (dask.delayed(each, pure=False) for each in (total_of, add_up))
    sums = [work(*pieces) for pieces in partitions]
    while len(sums) > 1:
        sums = [add(sums[i : i + _ADDED_AT_ONCE]) for i in range(0, len(sums), _ADDED_AT_ONCE)]
    with unquoted(_reason):
        (total,) = dask.compute(sums[0], scheduler=client)
    return Total(*total)


def _cores(client: Any) -> int:
    """Return how many cores share the memory in which partitions would be kept; zero where that is far from them."""
    from dask import threaded
    from dask.base import get_scheduler
    from dask.local import get_sync

    get: Any = get_scheduler  # has no types
    found = get(scheduler=client)
    if found in (None, threaded.get, get_sync):
        return worker_count()
    threads = getattr(getattr(found, "__self__", None), "nthreads", None)  # of a distributed client
    return sum(threads().values()) if callable(threads) else 0


def _reason(error: Exception) -> str:
    """Say why a task failed; errors of distributed itself are about workers and connections, and are raised again."""
    if library_of(error) == "distributed":
        raise error
    return (
        f"X could not be computed: Dask failed with {type(error).__name__}. Every cell must be of the type that "
        "its column was declared or guessed to have. Compute X by itself to see why it fails."
    )


def _frame_blocks(n_features: int, inside: Sequence[bool], frame: Any, *vectors: Any) -> Iterator[Block]:
    """Yield blocks of a pandas frame of features, then of the target and the weights that are ``inside``.

    Those that are not come beside the frame, in the same order.
    """
    for vector in vectors:
        require_same_length(frame, vector)
    for start in range(0, len(frame), BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        values = pandas_numbers(frame.iloc[rows])
        own, beside = iter(values[:, n_features:].T), iter(vectors)
        yield _block(values[:, :n_features], *(next(own) if here else next(beside)[rows] for here in inside))


def _made_blocks(make: Callable[[Any], Block], frame: Any) -> Iterator[Block]:
    for start in range(0, len(frame), BLOCK_ROWS):
        yield make(frame.iloc[start : start + BLOCK_ROWS])


def _array_blocks(features: Any, *vectors: Any) -> Iterator[Block]:
    yield _block(_doubles(features), *vectors)


def _block(features: Array, *vectors: Any) -> Block:
    """Return features with target and weights; where there is no target, it is zero."""
    if not vectors:
        return features, np.zeros(len(features))
    target, *weights = map(_doubles, vectors)
    return features, np.column_stack((target, *weights)) if weights else target


def _doubles(values: Any) -> Array:
    array = np.asarray(unmasked(values))
    if array.dtype == object:  # a partition may have another type than Dask was told
        return floats(array.ravel().tolist()).reshape(array.shape)
    with np.errstate(over="ignore"):  # beyond double precision is infinite, and a warning would tell of it
        return array.astype(np.float64, copy=False)


def _is_real(kind: Any) -> bool:
    """Return whether a column's type is that of real numbers or booleans; objects may be anything."""
    return getattr(kind, "kind", "O") in "fiub"


def _dask() -> Any:
    try:
        import dask
    except ImportError:
        raise MissingExtraError("dask", "dask") from None
    return dask
