"""Seconds of fits on Dask and on Spark, next to the same fit on the threads of this process."""

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dpols.data import read
from dpols.data.threads import worker_count
from dpols.errors import DpolsError

from .speed import median_seconds

_TARGET = "y"
Fit = Callable[..., object]  # fits a source, or a table and the name of its target


class MissingEngine(DpolsError, RuntimeError):
    """An engine, or what it needs, is not installed."""


@contextmanager
def dask_client() -> Iterator[Any]:
    """Start one worker of Dask for each core."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise MissingEngine("Dask is not installed: pip install '.[dask]' in a clone of dpols") from None
    options = {"n_workers": worker_count(), "threads_per_worker": 1, "dashboard_address": None, "memory_limit": 0}
    start: Any = LocalCluster  # has no types
    connect: Any = Client
    with start(**options) as cluster, connect(cluster) as client:
        yield client


def dask_seconds(path: Path, client: Any, fit: Fit, repeats: int) -> dict[str, float]:
    """Return median seconds of a fit on a Parquet file, by who reads it and how."""
    from dask import dataframe

    lazy = dataframe.read_parquet(path)
    kept = lazy.persist()
    return _median_seconds(
        {
            "threads": lambda: fit(read(path, target=_TARGET)),
            "Dask, row groups": lambda: fit(read(path, target=_TARGET, client=client)),
            "Dask DataFrame": lambda: fit(lazy, _TARGET),
            "Dask DataFrame, persisted": lambda: fit(kept, _TARGET),
        },
        repeats,
    )


@contextmanager
def spark_session() -> Iterator[Any]:
    """Start Spark on all cores with this Python."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingEngine("Spark is not installed: pip install '.[spark]' in a clone of dpols") from None
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        raise MissingEngine("Spark needs Java, and there is none on the path: install a JRE of version 17")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master(f"local[{worker_count()},4]")
        .appName("dpols-bench scale")
        .config("spark.driver.memory", "4g")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    try:
        yield session
    finally:
        session.stop()


def spark_seconds(path: Path, session: Any, fit: Fit, repeats: int) -> dict[str, float]:
    """Return median seconds of a fit on a Parquet file and on a cached table of it, and of MLlib's on the table."""
    from pyspark.ml.feature import VectorAssembler
    from pyspark.ml.regression import LinearRegression

    table = session.read.parquet(str(path)).cache()
    table.count()
    features = [name for name in table.columns if name != _TARGET]
    assembled = VectorAssembler(inputCols=features, outputCol="features").transform(table)
    regression = LinearRegression(featuresCol="features", labelCol=_TARGET)
    try:
        return _median_seconds(
            {
                "threads": lambda: fit(read(path, target=_TARGET)),
                "row groups": lambda: fit(read(path, target=_TARGET, spark=session)),
                "table": lambda: fit(table, _TARGET),
                "mllib": lambda: regression.fit(assembled),
            },
            repeats,
        )
    finally:
        table.unpersist()


def _median_seconds(contenders: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    median_seconds(contenders, 1)  # imports and compilation are not the fit's
    return median_seconds(contenders, repeats)
