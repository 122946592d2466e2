"""What an output must never take the place of: ledgers, what belongs to them, links, pipes."""

import os
import shutil
from pathlib import Path

import pytest

from dpols import BudgetLedger, PrivateLinearRegression
from dpols.errors import ParameterError
from dpols.privacy import GaussianRelease
from dpols.storage.output_file import is_ledger

pytest.importorskip("typer")
pytest.importorskip("pyarrow")
pytestmark = pytest.mark.extras


@pytest.fixture
def ledger(tmp_path):
    made = BudgetLedger(tmp_path / "my.ledger", epsilon=2.0, delta=1e-5)
    made.add(GaussianRelease(30.0), what="earlier")
    return made


def refused(done, ledger, *words):
    """Check that a fit stopped at a mistake, and that the ledger holds what it held."""
    assert (done.code, done.out) == (2, "")
    assert all(word in done.err for word in words), done.err
    assert [entry.what for entry in ledger.entries()] == ["earlier"]
    assert ledger.check()


@pytest.mark.parametrize("name", ["my.ledger", "./my.ledger", "hard-link"])
def test_a_model_never_overwrites_the_ledger_it_is_charged_to(fit, ledger, name):
    words = ["--out", "would overwrite a ledger"]
    if name == "hard-link":
        os.link("my.ledger", name)
        words = ["has a second name (a hard link)"]
    done = fit("--out", name)
    Path("hard-link").unlink(missing_ok=True)
    refused(done, ledger, *words)


@pytest.mark.parametrize("other", ["report", "predict", "bounds-template", "save"])
def test_nor_does_anything_else_overwrite_any_ledger(dpols, fit, ledger, csv, other):
    assert fit().code == 0
    before = ledger.head()
    name = "ledger.csv" if other == "predict" else "ledger.json"
    shutil.copy("my.ledger", name)  # another ledger, under a name that the output may have
    if other == "save":
        with pytest.raises(ParameterError, match="would overwrite a ledger"):
            PrivateLinearRegression.load("model.json").save(name)
        return
    command = {
        "report": ("report", "model.json"),
        "predict": ("predict", "model.json", csv),
        "bounds-template": ("bounds-template", csv, "--target", "pay"),
    }[other]
    done = dpols(*command, "--out", name)
    assert done.code == 2
    assert "would overwrite a ledger" in done.err
    assert (ledger.head(), BudgetLedger(name).head()) == (before, before)


def test_a_report_never_overwrites_the_ledger(fit, tmp_path):
    ledger = BudgetLedger(tmp_path / "ledger.json", epsilon=2.0, delta=1e-5)
    ledger.add(GaussianRelease(30.0), what="earlier")
    done = fit("--ledger", ledger.path, "--report", ledger.path)
    refused(done, ledger, "--report", "would overwrite a ledger")


@pytest.mark.parametrize("ending", ["-journal", "-wal", "-shm", "-creating"])
def test_names_that_a_ledger_needs_beside_it_are_refused(fit, ledger, ending):
    refused(fit("--out", f"my.ledger{ending}"), ledger, "needs for itself")
    assert fit("--out", f"other{ending}").code == 0


@pytest.mark.posix
@pytest.mark.parametrize("option", ["--out", "--report"])
def test_a_pipe_stays_a_pipe(fit, ledger, option):
    os.mkfifo("pipe.json")
    refused(fit(option, "pipe.json"), ledger, option, "not a regular file")
    assert Path("pipe.json").is_fifo()


@pytest.mark.parametrize("option", ["--out", "--report"])
@pytest.mark.parametrize("target", ["there.json", "not-there.json", "link.json"])
def test_a_link_stays_a_link(fit, ledger, option, target):
    Path("there.json").write_text("kept")
    os.symlink(target, "link.json")
    refused(fit(option, "link.json"), ledger, option, "is a link, to", "name the file itself")
    assert os.readlink("link.json") == target
    assert Path("there.json").read_text() == "kept"
    assert not Path("not-there.json").exists()


@pytest.mark.posix
def test_a_model_is_saved_to_no_link_and_no_pipe(fit):
    assert fit().code == 0
    model = PrivateLinearRegression.load("model.json")
    os.mkfifo("pipe")
    os.symlink("pipe", "link")
    for name, words in (("pipe", "not a regular file"), ("link", "is a link"), (".", "not a regular file")):
        with pytest.raises(ParameterError, match=words):
            model.save(name)
    assert Path("pipe").is_fifo()
    assert Path("link").is_symlink()
    os.mkdir("folder")
    os.symlink("folder", "linked-folder")
    model.save("linked-folder/model.json")
    assert Path("folder/model.json").is_file()


def test_what_is_a_ledger(ledger, tmp_path):
    import sqlite3
    from contextlib import closing

    assert is_ledger(ledger.path)
    with closing(sqlite3.connect("other.db")) as connection, connection:
        connection.execute("CREATE TABLE t (x)")
    Path("short").write_bytes(b"SQLite format 3\0")
    for name in ("other.db", "short", "none", "."):
        assert not is_ledger(tmp_path / name)


@pytest.mark.parametrize("option", ["--out", "--report"])
def test_a_folder_that_is_missing_is_said_to_be_that_of_the_right_option(fit, ledger, option):
    refused(fit(option, "nowhere/file.json"), ledger, f"'nowhere' of {option}")
