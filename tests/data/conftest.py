"""One Spark session and one Dask cluster for all tests of a process."""

import os
import shutil
import sys

import pytest


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """A session whose workers run this Python; four attempts for each task, as a cluster has."""
    sql = pytest.importorskip("pyspark.sql")
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        pytest.skip("Spark needs Java, and there is none on the path: install a JRE of version 17")
    options = {
        # Most code runs a few times only, so that to compile it well takes longer than it saves.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "3",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
    }
    builder = sql.SparkSession.builder.master("local[2,4]").appName("dpols")
    for name, value in options.items():
        builder = builder.config(name, value)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()


@pytest.fixture(scope="session")
def _client_of_a_cluster():
    """Two workers in processes of their own."""
    distributed = pytest.importorskip("distributed")
    import dask

    # It stays to the end of all tests, and would use a few percent of a core while nothing runs on it.
    quiet = {
        "distributed.worker.profile.enabled": False,
        "distributed.admin.tick.interval": "1s",
        "distributed.admin.system-monitor.interval": "10s",
    }
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "memory_limit": 0}
    with (
        dask.config.set(quiet),
        distributed.LocalCluster(processes=True, **options) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def client(_client_of_a_cluster):
    """A cluster that Dask uses in this test only: threads do for others, and are faster."""
    from dask.base import get_scheduler

    with _client_of_a_cluster.as_current():
        assert get_scheduler() == _client_of_a_cluster.get
        yield _client_of_a_cluster
