"""Rows in Spark: each partition goes through mapInArrow, which returns one row with the sums of the partition.

Sums come back as the result of a query and never through an accumulator, which a repeated task would raise twice.
"""

import pickle
import re
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any

from ..errors import DataError
from .arrow import split_batch
from .columns import feature_names, require_name, require_numeric
from .kinds import unquoted
from .partitions import (
    KeptPart,
    ReadBlocks,
    kept_blocks,
    kept_partition,
    kept_total,
    may_be_kept,
    no_rows,
    sum_partition,
)
from .row_map import RowMap
from .source import Block, Kernel, Total, add_up
from .weights import require_column

_SCHEMA = "part long, total binary"
_KEPT_SCHEMA = "part binary"
_ADDED_AT_ONCE = 32
# Ten thousand partitions of this size are below Spark's default limit of 1 GiB for the results of a query.
_SMALL_TOTAL = 1 << 16
_TASKS_PER_CORE = 2  # in which kept rows are summed, so that cores do not wait long for one another
# What Spark calls it when a process is gone, not a row at fault.
_LOST = ("ExecutorLostFailure", "Python worker exited unexpectedly", "OutOfMemoryError", "FetchFailed")


@dataclass(frozen=True, repr=False)
class SparkSource:
    """The rows of a query, of which ``read`` makes blocks, one partition's record batches at a time."""

    query: Any
    read: ReadBlocks
    n_rows: int
    n_features: int
    columns: tuple[str, ...]

    def total(self, kernel: Kernel, *args: Any) -> Total:
        empty = no_rows(self.n_features)
        sums = self.query.mapInArrow(partial(_sum_batches, self.read, empty, kernel, args), _SCHEMA)
        zeros = kernel(*empty, *args)
        if _is_large(zeros):
            # Neighbours are added on the workers first: all of them at once might not fit into the driver.
            groups = sums.selectExpr("part", "total", f"part div {_ADDED_AT_ONCE} as neighbours")
            sums = groups.repartition("neighbours").mapInArrow(_add_neighbours, _SCHEMA)
        with unquoted(_reason):
            rows = sorted(sums.collect(), key=lambda row: row["part"])
        return add_up([(zeros, 0), *(pickle.loads(row["total"]) for row in rows)])

    def kept(self, row_map: RowMap) -> tuple["_KeptSource", Total] | None:
        """Let Spark keep all rows, bounded and rounded; those that it has lost or given up it makes anew."""
        from pyspark import StorageLevel

        cores = _cores(self.query.sparkSession)
        if not may_be_kept(row_map, self.n_rows, cores):
            return None
        # Spark sends tables to Python through buffers of Arrow, and these as they are, which takes a fraction of it.
        # To start a task takes longer than to sum what a small partition keeps.
        rdd = self._parts(row_map).coalesce(_TASKS_PER_CORE * cores).persist(StorageLevel.MEMORY_ONLY)
        source = _KeptSource(rdd, self.n_rows, row_map.n_coordinates, self.columns, row_map.beside is not None)
        weakref.finalize(source, _forget, rdd)
        return source, source.sum(kept_total, kept_total(()))

    def _parts(self, row_map: RowMap) -> Any:
        """Return what is to be kept, as a collection of Python's objects."""
        return self.query.mapInArrow(partial(_keep_batches, self.read, row_map), _KEPT_SCHEMA).rdd.map(_unpickled)


@dataclass(frozen=True, repr=False)
class _TaskSource(SparkSource):
    """The rows of tasks, whose numbers the query gives."""

    tasks: Sequence[Any]
    read_task: ReadBlocks

    def _parts(self, row_map: RowMap) -> Any:
        tasks = self.query.sparkSession.sparkContext.parallelize(self.tasks, len(self.tasks))
        return tasks.flatMap(partial(kept_partition, self.read_task, row_map))


@dataclass(frozen=True, repr=False)
class _KeptSource:
    """Rounded rows that Spark keeps."""

    rdd: Any
    n_rows: int
    n_features: int
    columns: tuple[str, ...]
    beside: bool  # whether something stands beside the targets

    def total(self, kernel: Kernel, *args: Any) -> Total:
        empty = no_rows(self.n_features, beside=self.beside)
        zeros = Total(kernel(*empty, *args), 0)
        return self.sum(partial(sum_partition, kept_blocks, empty, kernel, args), zeros)

    def sum(self, total_of: Callable[[Iterable[KeptPart]], Total], zeros: Total) -> Total:
        """Add what a function gives for each partition, in their order."""
        sums = self.rdd.mapPartitionsWithIndex(partial(_numbered, total_of))
        if _is_large(zeros.values):
            sums = sums.groupByKey().map(_added)
        with unquoted(_reason):
            found = sorted(sums.collect(), key=lambda group: (group[0], group[1][0][0]))
        return add_up([zeros, *(total for _, ((_, total),) in found)])


def source_of_tasks(
    session: Any, tasks: Sequence[Any], read: ReadBlocks, n_rows: int, columns: Sequence[str]
) -> SparkSource:
    """Return rows of which ``read`` makes blocks, task by task, on the workers of a Spark session."""
    numbers = session.range(0, len(tasks), 1, len(tasks))  # a partition for each
    read_by_number = partial(_task_blocks, tuple(tasks), read)
    return _TaskSource(numbers, read_by_number, n_rows, len(columns), tuple(columns), tasks, read)


def spark_source(table: Any, target: Any, weights: Any = None) -> SparkSource:
    """Return the rows of a Spark DataFrame; target and weights are names of columns, or None."""
    require_name(target, "a Spark DataFrame")
    require_column(weights, "a Spark DataFrame")
    features = feature_names(table.columns, target, weights)
    wanted = [*features, *(name for name in (target, weights) if name is not None)]
    numeric = _numeric(table)
    require_numeric([name for name in wanted if name not in numeric], wanted)
    query, plain = _selected(table, wanted, wanted)
    called = dict(zip(wanted, plain, strict=True))
    read = partial(_batch_blocks, plain[: len(features)], called.get(target), called.get(weights))
    with unquoted(_reason):
        n_rows = table.count()
    return SparkSource(query, read, n_rows, len(features), tuple(features))


def made_spark_source(
    table: Any, raw: Sequence[str], text: Sequence[str], columns: Sequence[str], make: Callable[[Any], Block]
) -> SparkSource:
    """Return what ``make`` makes of the raw columns of a Spark DataFrame; those in ``text`` need not hold numbers."""
    import pyarrow

    feature_names(table.columns, None)
    query, _ = _selected(table, raw, [name for name in _numeric(table) if name not in text])
    make(_named(pyarrow.RecordBatch.from_pylist([], _arrow_schema(query)), raw))  # refuses wrong columns
    with unquoted(_reason):
        n_rows = table.count()
    if n_rows < 1:
        raise DataError("the table has no rows (0 sample(s)); at least one is required.")
    return SparkSource(query, partial(_made_blocks, tuple(raw), make), n_rows, len(columns), tuple(columns))


def _arrow_schema(query: Any) -> Any:
    """Return the columns of a query with their types of Arrow."""
    from pyspark.sql.pandas.types import to_arrow_schema

    try:
        return to_arrow_schema(query.schema)
    except AssertionError:  # newer versions ask for a zone where there are times, which here have no rows
        return to_arrow_schema(query.schema, timezone="UTC")


def _numeric(table: Any) -> list[str]:
    """Return the names of the columns that hold numbers or truth values."""
    from pyspark.sql.types import BooleanType, NumericType

    return [field.name for field in table.schema.fields if isinstance(field.dataType, NumericType | BooleanType)]


def _selected(table: Any, names: Sequence[str], as_doubles: Sequence[str]) -> tuple[Any, list[str]]:
    """Return a query of some columns, and what they are called in it: names may hold dots and quotes."""
    from pyspark.sql.functions import col

    plain = [f"c{i}" for i in range(len(names))]
    columns = [col("`" + name.replace("`", "``") + "`") for name in names]
    cast = [c.cast("double") if name in as_doubles else c for name, c in zip(names, columns, strict=True)]
    return table.select(*(c.alias(name) for c, name in zip(cast, plain, strict=True))), plain


def _is_large(values: tuple[Any, ...]) -> bool:
    """Return whether such values of many partitions might not fit into the driver."""
    return sum(getattr(value, "nbytes", 0) for value in values) > _SMALL_TOTAL


def _reason(error: Exception) -> str:
    """Say why a query failed, in words that hold no cell: names that Spark has for its errors, or what we refused."""
    text = str(error)
    lines = text.splitlines()
    if any(line.startswith("ModuleNotFoundError: ") for line in lines):
        return (
            "the Python of Spark's workers lacks a package. Install dpols there; or, before the session is made, "
            "set the environment variable PYSPARK_PYTHON to a Python that has it."
        )
    if refused := [line for line in lines if line.startswith(f"{DataError.__module__}.")]:
        return refused[-1].partition(": ")[2]
    name = f"{type(error).__name__}{_condition(error)}"
    if lost := [sign for sign in _LOST if sign in text]:
        return f"Spark failed with {name}: it lost a worker ({', '.join(lost)}). See its log, and try again."
    return (
        f"X could not be computed: Spark failed with {name}. Every cell must be of the type of its column. Run the "
        "query by itself to see why it fails."
    )


def _condition(error: Exception) -> str:
    """Return Spark's name for what went wrong, such as CAST_INVALID_INPUT, where it has one."""
    asked = getattr(error, "getCondition", getattr(error, "getErrorClass", None))
    name = asked() if asked is not None else None
    return f" ({name})" if isinstance(name, str) and re.fullmatch("[A-Z0-9_.]+", name) else ""


def _sum_batches(
    read: ReadBlocks, empty: Block, kernel: Kernel, args: tuple[Any, ...], batches: Iterator[Any]
) -> Iterator[Any]:
    """Sum one partition on a worker."""
    from pyspark import TaskContext

    task: Any = TaskContext.get()
    yield _record(task.partitionId(), sum_partition(read, empty, kernel, args, batches))


def _keep_batches(read: ReadBlocks, row_map: RowMap, batches: Iterator[Any]) -> Iterator[Any]:
    """Return the rows of one partition in records of bytes, on a worker."""
    import pyarrow

    for part in kept_partition(read, row_map, batches):
        column = pyarrow.array([pickle.dumps(part)], pyarrow.binary())
        yield pyarrow.RecordBatch.from_arrays([column], names=["part"])


def _unpickled(record: Any) -> KeptPart:
    part: KeptPart = pickle.loads(record[0])
    return part


def _numbered(
    total_of: Callable[[Iterable[KeptPart]], Total], number: int, parts: Iterable[KeptPart]
) -> Iterator[tuple[int, list[tuple[int, Total]]]]:
    """Return what a function gives for a partition, with its number and that of its neighbours."""
    yield number // _ADDED_AT_ONCE, [(number, total_of(parts))]


def _added(group: tuple[int, Iterable[list[tuple[int, Total]]]]) -> tuple[int, list[tuple[int, Total]]]:
    """Add sums of neighbouring partitions on a worker, in their order."""
    number, pairs = group
    found = sorted((pair for (pair,) in pairs), key=itemgetter(0))
    return number, [(0, add_up(total for _, total in found))]


def _cores(session: Any) -> int:
    """Return how many tasks run at a time; zero where Spark does not say, as behind Spark Connect."""
    try:
        return int(session.sparkContext.defaultParallelism)
    except (AttributeError, NotImplementedError):
        return 0


def _forget(rdd: Any) -> None:
    """Let Spark give up what it keeps; a session that has ended has done so."""
    with suppress(Exception):
        rdd.unpersist()


def _add_neighbours(batches: Iterator[Any]) -> Iterator[Any]:
    """Add sums of neighbouring partitions on a worker, in their order."""
    found = [row for batch in batches for row in batch.to_pylist()]
    found.sort(key=lambda row: row["part"])
    for number, rows in groupby(found, key=lambda row: row["neighbours"]):
        yield _record(number, add_up(pickle.loads(row["total"]) for row in rows))


def _record(part: int, total: Total) -> Any:
    """Return a sum as a record batch of one row."""
    import pyarrow

    columns = [pyarrow.array([part], pyarrow.int64()), pyarrow.array([pickle.dumps(total)], pyarrow.binary())]
    return pyarrow.RecordBatch.from_arrays(columns, names=["part", "total"])


def _batch_blocks(
    features: Sequence[str], target: str | None, weights: str | None, batches: Iterable[Any]
) -> Iterator[Block]:
    for batch in batches:
        yield split_batch(batch, features, target, {}, weights)


def _made_blocks(names: Sequence[str], make: Callable[[Any], Block], batches: Iterable[Any]) -> Iterator[Block]:
    for batch in batches:
        yield make(_named(batch, names))


def _named(batch: Any, names: Sequence[str]) -> Any:
    """Return a record batch with the names of its columns in the table."""
    import pyarrow

    return pyarrow.RecordBatch.from_arrays(batch.columns, names=list(names))


def _task_blocks(tasks: Sequence[Any], read: ReadBlocks, batches: Iterable[Any]) -> Iterator[Block]:
    for batch in batches:
        for number in batch.column("id").to_pylist():
            yield from read(tasks[number])
