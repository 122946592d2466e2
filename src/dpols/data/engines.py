"""Tables whose rows lie in partitions that an engine computes: Dask and Spark."""

from typing import Any

from .source import RowSource

ENGINES = ("dask", "pyspark")


def engine_source(library: str, table: Any, target: Any) -> RowSource:
    """Return the rows of a table of Dask or Spark; a pass over them runs on the engine's workers."""
    if library == "dask":
        from .dask_source import dask_source

        return dask_source(table, target)
    from .spark_source import spark_source

    return spark_source(table, target)
