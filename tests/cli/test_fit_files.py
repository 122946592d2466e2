"""``dpols fit`` on files and folders of every kind: one result, a bar for each pass, and a disk that is full."""

import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("typer")
pyarrow = pytest.importorskip("pyarrow")
pytestmark = pytest.mark.extras


@pytest.fixture
def kinds(csv, tmp_path):
    """The table of ``csv`` in files and folders of other kinds; what has no names calls its columns x0, x1, x2."""
    from pyarrow import csv as reader
    from pyarrow import feather, parquet

    table = reader.read_csv(csv)
    numbers = table.select(["age", "hours", "pay"])
    feather.write_feather(table, tmp_path / "data.feather")
    feather.write_feather(table, tmp_path / "data.arrow", compression="uncompressed")
    np.save(
        tmp_path / "data.npy", np.rec.fromarrays([c.to_numpy() for c in numbers.columns], names=numbers.column_names)
    )
    parquet.write_table(table, tmp_path / "data.parquet", row_group_size=300)
    parquet.write_to_dataset(table, tmp_path / "by-hours", partition_cols=["hours"])
    (tmp_path / "parts").mkdir()
    reader.write_csv(table.slice(0, 900), tmp_path / "parts" / "1.csv")
    reader.write_csv(table.slice(900), tmp_path / "parts" / "2.csv")
    return ["data.csv", "data.feather", "data.arrow", "data.npy", "data.parquet", "by-hours", "parts"]


def test_every_kind_of_file_and_folder_gives_the_same_report(dpols, kinds, bounds, budget):
    arguments = ("--target", "pay", "--bounds", bounds, *budget, "--out", "model.json", "--json", "--random-state", 0)
    reports = []
    for data in kinds:
        done = dpols("fit", data, *arguments)
        assert (done.code, done.err) == (0, ""), data
        reports.append(json.loads(done.out))
        assert reports[-1].pop("table_name") == data
    assert reports[0]["n_rows"] == 2000
    assert all(report == reports[0] for report in reports)


def test_a_bounds_template_and_predictions_of_a_folder(dpols, kinds, bounds, budget, tmp_path):
    for data in kinds:
        template = dpols("bounds-template", data, "--target", "pay", "--out", "-")
        assert template.code == 0
        assert "[features.age]" in template.out
        assert "[features.hours]" in template.out
    assert dpols("fit", "parts", "--target", "pay", "--bounds", bounds, *budget, "--out", "model.json").code == 0
    for data, name in (("parts", "a.csv"), ("data.csv", "b.csv"), ("data.parquet", "c.csv")):
        assert dpols("predict", "model.json", data, "--out", name).code == 0
    assert len({(tmp_path / name).read_text() for name in ("a.csv", "b.csv", "c.csv")}) == 1


def test_a_matrix_without_names_has_the_columns_x0_x1_and_so_on(dpols, budget, tmp_path):
    rng = np.random.default_rng(0)
    values = rng.uniform(-1.0, 1.0, (500, 3))
    np.save(tmp_path / "matrix.npy", values)
    limits = "low = -1\nhigh = 1\n"
    (tmp_path / "b.toml").write_text(f"[target]\n{limits}[features.x0]\n{limits}[features.x1]\n{limits}")
    done = dpols("fit", "matrix.npy", "--target", "x2", "--bounds", "b.toml", *budget, "--out", "m.json", "--json")
    assert [c["name"] for c in json.loads(done.out)["coefficients"]] == ["x0", "x1", "intercept"]


def test_a_terminal_shows_a_bar_for_each_pass(kinds):
    from rich.console import Console

    from dpols import Bounds, PrivateLinearRegression, read
    from dpols.cli.progress import pass_bar

    screen = io.StringIO()
    terminal = Console(file=screen, force_terminal=True, width=120)
    bounds = Bounds(features={"age": (18, 90), "hours": (0, 60)}, target=(0, 100))
    model = PrivateLinearRegression(1.0, 1e-6, bounds, method="ihm", options={"n_iterations": 3})
    with pass_bar("Fitting", terminal) as progress:
        model.fit(read("data.parquet", "pay", ["age", "hours"], progress=progress))
    shown = screen.getvalue()
    assert "Fitting, pass 3" in shown
    assert "2,000 of 2,000 rows" in shown
    assert "rows/s" in shown


def test_nothing_is_shown_where_no_one_is_watching(dpols, csv, bounds, budget):
    done = dpols("fit", csv, "--target", "pay", "--bounds", bounds, *budget, "--out", "model.json")
    assert done.err == ""


@pytest.mark.parametrize("kind", ["data.parquet", "parts"])
def test_the_hook_counts_passes_and_rows(kinds, kind):
    from dpols import Bounds, PrivateLinearRegression, read

    seen = []
    source = read(kind, "pay", ["age", "hours"], progress=lambda *numbers: seen.append(numbers))
    bounds = Bounds(features={"age": (18, 90), "hours": (0, 60)}, target=(0, 100))
    PrivateLinearRegression(1.0, 1e-6, bounds, method="ihm", options={"n_iterations": 3}).fit(source)
    assert [rows for number, rows, _ in seen if number == 2] == sorted(rows for number, rows, _ in seen if number == 2)
    assert {number: rows for number, rows, _ in seen} == {1: 2000, 2: 2000, 3: 2000}
    assert {n_rows for _, _, n_rows in seen} == {2000}


@pytest.mark.posix
def test_a_full_disk_is_found_before_anything_is_released_and_leaves_no_file(dpols, csv, bounds, budget, tmp_path):
    import resource

    def command(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "dpols", *map(str, arguments)],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)),
        )

    fitting = ("fit", csv, "--target", "pay", "--bounds", bounds, *budget, "--out", "model.json")
    before = sorted(tmp_path.iterdir())
    done = command(*fitting)
    assert (done.returncode, done.stdout) == (1, "")
    assert "File too large" in done.stderr
    assert "before anything is spent" in done.stderr
    assert sorted(tmp_path.iterdir()) == before
    assert dpols(*fitting).code == 0
    before = sorted(tmp_path.iterdir())
    done = command("predict", "model.json", csv, "--out", "predictions.csv")
    assert (done.returncode, done.stdout) == (1, "")
    assert "File too large" in done.stderr
    assert sorted(tmp_path.iterdir()) == before
