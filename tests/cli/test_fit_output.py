"""Where ``dpols fit`` writes to: found out before anything is spent, and nothing that was paid for is lost."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from dpols import BudgetLedger, PrivateLinearRegression
from dpols.storage import placed_file

pytest.importorskip("typer")
pytest.importorskip("pyarrow")
pytestmark = pytest.mark.extras


@pytest.fixture
def ledger(tmp_path):
    return BudgetLedger(tmp_path / "my.ledger", epsilon=2.0, delta=1e-5)


@pytest.fixture
def meanwhile(monkeypatch):
    """Let something happen right after a fit, before its result is written."""

    def register(event):
        fit = PrivateLinearRegression.fit

        def fit_and_then(self, *arguments, **named):
            fitted = fit(self, *arguments, **named)
            event()
            return fitted

        monkeypatch.setattr(PrivateLinearRegression, "fit", fit_and_then)

    return register


def hidden(folder):
    return [path for path in Path(folder).iterdir() if path.name.startswith(".")]


def saved_elsewhere(message):
    """The file that a message names as the one that was saved instead."""
    return Path(message.partition("saved to '")[2].partition("' instead")[0])


@pytest.mark.parametrize("option", ["--out", "--report"])
def test_a_full_disk_is_found_before_anything_is_spent(fit, ledger, small_disk, option):
    small_disk.fill()
    name = small_disk / ("model.json" if option == "--out" else "report.html")
    done = fit(option, name)
    assert done.code == 1
    assert f"no space for '{name}'" in done.err
    assert "before anything is spent" in done.err
    assert done.out == ""
    assert ledger.entries() == ()
    assert hidden(small_disk.path) == []
    assert not Path("model.json").exists()
    small_disk.free()
    assert fit(option, name).code == 0
    assert name.stat().st_size > 2000
    assert hidden(small_disk.path) == []


def test_the_space_that_was_taken_is_enough_when_the_disk_fills_up(fit, ledger, small_disk, meanwhile):
    meanwhile(small_disk.fill)
    done = fit("--out", small_disk / "model.json", "--report", small_disk / "report.html")
    assert (done.code, done.err) == (0, "")
    assert PrivateLinearRegression.load(small_disk / "model.json").n_features_in_ == 2
    assert len(ledger.entries()) == 1


def test_more_than_the_space_that_was_taken_is_saved_elsewhere(fit, ledger, small_disk, meanwhile, monkeypatch):
    monkeypatch.setattr(placed_file, "_BASE", -4000)
    meanwhile(small_disk.fill)
    done = fit("--out", small_disk / "model.json", "--inference")
    assert done.code == 1
    assert "No space left" in done.err
    saved = saved_elsewhere(done.err)
    model = PrivateLinearRegression.load(saved)
    assert model.privacy_report_.n_rows == 2000
    assert "Private least squares" in done.out
    assert not (small_disk / "model.json").exists()
    assert hidden(small_disk.path) == []
    shutil.rmtree(saved.parent)


@pytest.mark.parametrize("report", [False, True])
def test_a_folder_that_vanishes(fit, ledger, tmp_path, meanwhile, report):
    folder = tmp_path / "results"
    folder.mkdir()
    meanwhile(lambda: shutil.rmtree(folder))
    done = fit("--out", folder / "model.json", *(("--report", folder / "report.md") if report else ()))
    assert done.code == 1
    saved = saved_elsewhere(done.err)
    assert PrivateLinearRegression.load(saved).ledger_entry_ is None
    if report:
        second = saved_elsewhere(done.err[done.err.index("report.md' could not") :])
        assert second.read_text().startswith("#")
        shutil.rmtree(second.parent)
    shutil.rmtree(saved.parent)
    assert [entry.status for entry in ledger.entries()] == ["spent"]


def test_where_no_disk_has_space_the_model_is_printed(fit, small_disk, meanwhile, monkeypatch, tmp_path):
    monkeypatch.setattr(placed_file, "_BASE", -4000)
    monkeypatch.setattr(tempfile, "tempdir", str(small_disk.path))
    meanwhile(small_disk.fill)
    done = fit("--out", small_disk / "model.json", "--json", "--inference")
    assert done.code == 1
    assert "it was printed" in done.err
    model, end = json.JSONDecoder().raw_decode(done.out)
    report = json.loads(done.out[end:])
    (tmp_path / "again.json").write_text(done.out[: end + 1])
    again = PrivateLinearRegression.load(tmp_path / "again.json")
    assert model["content"]["report"] == report == again.privacy_report_.to_dict()


@pytest.mark.posix
def test_a_limit_on_the_size_of_files_is_found_before_anything_is_spent(fit, charged_fit, ledger):
    """The limit is below what a model might take and above what it and a ledger's journal do."""
    code = """
import resource, sys
from dpols.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))
main(sys.argv[1:])
"""
    refused = subprocess.run([sys.executable, "-c", code, *charged_fit], capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert "no space for 'model.json' (File too large)" in refused.stderr
    assert ledger.entries() == ()
    assert hidden(".") == []
    assert fit().code == 0


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission(fit, ledger, tmp_path):
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    done = fit("--out", locked / "model.json")
    assert done.code == 2
    assert "cannot write" in done.err
    assert ledger.entries() == ()


def test_a_folder_on_a_disk_that_cannot_be_written(fit, ledger, small_disk):
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk.path)], check=True)
    done = fit("--out", small_disk / "model.json")
    assert done.code == 1
    assert "cannot write to the folder" in done.err
    assert ledger.entries() == ()


def test_a_fit_that_fails_leaves_no_file_and_no_charge(fit, csv, ledger):
    csv.write_text(csv.read_text().replace("20,2,town", "nan,2,town", 1))
    done = fit("--report", "report.html")
    assert done.code == 2
    assert "has an empty or infinite cell" in done.err
    assert "nothing is spent: row 2 of ledger" in done.err
    assert done.err.count("\n") == 1
    assert ledger.state().used == 0.0
    assert hidden(".") == []
    assert not Path("model.json").exists()
    assert not Path("report.html").exists()


def test_an_existing_file_stays_until_it_is_replaced(fit, csv, ledger):
    Path("model.json").write_text("old")
    good = csv.read_text()
    csv.write_text(good.replace("20,2,town", "nan,2,town", 1))
    assert fit().code == 2
    assert Path("model.json").read_text() == "old"
    csv.write_text(good)
    assert fit().code == 0
    assert Path("model.json").stat().st_mode & 0o777 == 0o666 & ~placed_file._umask()
    assert Path("model.json").read_text() == PrivateLinearRegression.load("model.json").to_json()


def test_an_interrupt_says_what_it_cost_and_leaves_no_file(charged_fit, ledger):
    code = """
import sys, time
import dpols.fitting.running
from dpols.cli import main
def reading(prepared, bits):
    print("reading", flush=True)
    time.sleep(60)
dpols.fitting.running._run = reading
main(sys.argv[1:])
"""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    child = subprocess.Popen([sys.executable, "-c", code, *charged_fit], text=True, **pipes)
    assert child.stdout.readline() == "reading\n"
    assert [entry.status for entry in ledger.entries()] == ["open"]
    assert len(hidden(".")) == 1
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=60)
    assert child.returncode == 130
    assert said.startswith("interrupted. Nothing was released, and nothing is spent")
    assert ledger.state().used == 0.0
    assert hidden(".") == []


@pytest.mark.parametrize("inference", [False, True])
def test_the_space_taken_is_more_than_a_model_takes(inference):
    import numpy as np

    from dpols import Bounds

    for size in (1, 8, 40):
        names = [f"a column with a rather long name, number {i}" for i in range(size)]
        rows = np.linspace(-1, 1, 200 * size).reshape(200, size)
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame(rows, columns=names)
        bounds = Bounds(features={name: (-1.23456789e-7, 1) for name in names}, target=(-1, 1))
        model = PrivateLinearRegression(1.0, 1e-6, bounds, inference=inference, arithmetic="float")
        model.fit(frame, rows[:, 0])
        room = placed_file.room_for(names, pairs=inference)
        assert max(len(model.to_json().encode()), len(model.privacy_report_.to_html().encode())) < room / 1.5


def test_a_fit_says_that_rows_are_protected_and_not_people(dpols, csv, bounds, tmp_path):
    budget = ("--epsilon", 1, "--delta", 1e-6, "--out", tmp_path / "rows.json")
    done = dpols("fit", csv, "--target", "pay", "--bounds", bounds, *budget)
    assert done.code == 0
    said = " ".join(done.out.split())
    assert "single rows; people with several rows are not fully covered" in said
    assert "person" not in said


def test_progress_is_kept_in_a_file_for_others_to_read(fit, tmp_path):
    assert fit("--progress", "p.json").code == 0
    found = json.loads((tmp_path / "p.json").read_text())
    assert found["pass"] > 1
    assert found["of"] == 2000
    assert fit("--progress", "data.csv").code == 2
