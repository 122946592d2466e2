"""Engines that compute on workers: Dask and Spark, for their own tables and for the tasks that make up files."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ..errors import ParameterError, quoted
from .kinds import library_of
from .partitions import ReadBlocks
from .source import Block, RowsOfWorkers, RowSource

ENGINES = ("dask", "pyspark")
TaskEngine = Callable[[Sequence[Any], ReadBlocks, int, Sequence[str]], RowsOfWorkers]


def engine_source(table: Any, target: Any, weights: Any = None) -> RowSource:
    """Return the rows of a table of Dask or Spark; a pass over them runs on the engine's workers."""
    if library_of(table) == "dask":
        from .dask_source import dask_source

        return dask_source(table, target, weights)
    from .spark_source import spark_source

    return spark_source(table, target, weights)


def made_engine_source(
    table: Any, raw: Sequence[str], text: Sequence[str], columns: Sequence[str], make: Callable[[Any], Block]
) -> RowSource:
    """Return what ``make`` makes of the raw columns of a table of Dask or Spark, on the engine's workers.

    Those in ``text`` need not hold numbers.
    """
    if library_of(table) == "dask":
        from .dask_source import made_dask_source

        return made_dask_source(table, raw, columns, make)
    from .spark_source import made_spark_source

    return made_spark_source(table, raw, text, columns, make)


def task_engine(client: Any, spark: Any) -> TaskEngine | None:
    """Return what makes a source of tasks on a distributed client or a Spark session; None where neither is given."""
    if client is not None and spark is not None:
        raise ParameterError("give client or spark, not both: one engine reads the files.")
    if client is not None:
        if not (library_of(client) == "distributed" and hasattr(client, "scheduler_info")):
            raise ParameterError(f"client={quoted(client)} must be a distributed.Client.")
        from . import dask_source

        return partial(dask_source.source_of_tasks, client)
    if spark is not None:
        if not (library_of(spark) == "pyspark" and hasattr(spark, "range")):
            raise ParameterError(f"spark={quoted(spark)} must be a pyspark.sql.SparkSession.")
        from . import spark_source

        return partial(spark_source.source_of_tasks, spark)
    return None
