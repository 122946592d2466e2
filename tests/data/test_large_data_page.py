"""What the page on large data shows works as it stands there: files, queries, Dask and Spark."""

import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytestmark = pytest.mark.extras

PAGE = (Path(__file__).parents[2] / "docs" / "scale.md").read_text(encoding="utf-8")
FIRST, TEXT, QUERIES, DASK, SPARK = re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)


@pytest.fixture
def people(tmp_path, monkeypatch):
    """The files that the page reads, in the folder of the test."""
    import pandas as pd

    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.uniform(16, 70, 4000), "hours": rng.uniform(0, 60, 4000)})
    frame["pay"] = 300 * frame["age"] + 900 * frame["hours"] + rng.normal(0, 2000, 4000)
    (tmp_path / "people").mkdir()
    frame.iloc[:2000].to_parquet(tmp_path / "people" / "1.parquet")
    frame.iloc[2000:].to_parquet(tmp_path / "people" / "2.parquet")
    frame.to_parquet(tmp_path / "people.parquet")
    frame.to_csv(tmp_path / "people.csv.gz", sep=";", index=False)
    return tmp_path / "people"


def run(block, people, **names):
    """Run the block that makes the model, then another, and compare the last fit with what the rows were made from."""
    exec(FIRST + block.replace("/shared/people", str(people)), names)
    assert names["model"].coef_ == pytest.approx([300, 900], rel=0.2)


@pytest.mark.parametrize("block", [TEXT, QUERIES], ids=["text", "queries"])
def test_files_and_queries_are_fitted(people, block):
    pytest.importorskip("duckdb")
    pytest.importorskip("polars")
    run(block, people)


def test_dask_is_fitted(people, client):
    there = DASK.replace("client = Client()", "")
    assert there != DASK
    run(there, people, __name__="__main__", client=client)


@pytest.mark.spark
def test_spark_is_fitted(people, spark, monkeypatch):
    monkeypatch.setenv("PYSPARK_PYTHON", "set by the page, and set back by the test")
    run(SPARK, people)
