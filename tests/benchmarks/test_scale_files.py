"""The benchmark of files: real measurements of small ones, and memory that does not grow with a file."""

import numpy as np
import pytest

from dpols.data import read
from dpols_bench import scale_files

pytest.importorskip("pyarrow")
pytestmark = pytest.mark.extras


def test_each_file_and_arithmetic_gives_a_row_of_results(tmp_path, monkeypatch):
    # Processes of their own, which take long to start, matter for memory only, as below.
    monkeypatch.setattr(scale_files, "in_new_process", lambda work, *args: work(*args))
    rows = scale_files.run(tmp_path, quick=True, shapes=[(4_000, 3)], suffixes=[".csv"])
    cases = [("default", "exact"), ("IHM", "exact"), ("IHM", "float")]
    assert [(r["kind"], r["method"], r["arithmetic"]) for r in rows] == [("csv", *case) for case in cases]
    for r in rows:
        assert (r["rows"], r["features"]) == (4_000, 3)
        # So small a file the default reads once; IHM has three gradients, the first with the Gram matrix.
        assert r["passes"] == (1 if r["method"] == "default" else 3)
        assert min(r[name] for name in ("file_mb", "decode", "gram", "gradient", "fit")) > 0
        assert r["pass_speed"] == pytest.approx(r["decode"] * r["passes"] / r["fit"])
    text = scale_files.render(rows)
    assert text.count("\n") == 5
    assert max(map(len, text.splitlines())) <= 120


def test_a_file_is_made_once(tmp_path):
    path = scale_files.make_file(tmp_path, 1_000, 2, suffix=".arrow")
    made = path.stat().st_mtime_ns
    assert scale_files.make_file(tmp_path, 1_000, 2, suffix=".arrow").stat().st_mtime_ns == made
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    assert scale_files.decode(read(path, target="y")) == 1_000


def same_rows(path, times):
    """A file of the same 100,000 rows over and over, which is quickly written."""
    from pyarrow import parquet, table

    names = (*(f"x{i}" for i in range(20)), "y")
    rows = table(dict(zip(names, np.random.default_rng(0).uniform(-1.0, 1.0, (len(names), 100_000)), strict=True)))
    with parquet.ParquetWriter(path, rows.schema, compression="none", use_dictionary=False) as writer:
        for _ in range(times):
            writer.write_table(rows)
    return path


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(tmp_path):
    small, large = (same_rows(tmp_path / f"{times}.parquet", times) for times in (5, 20))
    peaks = [scale_files.in_new_process(scale_files._peak_mb, path, "float") for path in (small, large)]
    if None in peaks:
        pytest.skip("the peak memory of a process cannot be read here")
    assert peaks[1] < 600
    assert peaks[1] - peaks[0] < 60 < 0.2 * large.stat().st_size / 1e6
