"""What a process leaves behind that is killed while it writes to a ledger."""

import os
import signal
import subprocess
import sys

import pytest
from kill_loop import run

from dpols import BudgetLedger
from dpols.errors import LedgerError
from dpols.privacy import GaussianRelease

pytestmark = pytest.mark.posix

# Writes rows until some of them are in the file itself, and waits to be killed.
WRITER = """
import sys, time
from pathlib import Path
from dpols.ledger.store import Store
with Store(Path(sys.argv[1]))._writing("rwc") as connection:
    connection.execute("PRAGMA cache_size = 1")
    connection.execute("CREATE TABLE IF NOT EXISTS history (number INTEGER PRIMARY KEY, content TEXT, sha256 TEXT)")
    for number in range(100, 150):
        connection.execute("INSERT INTO history VALUES (?, ?, 'x')", (number, "x" * 3000))
    print("writing", flush=True)
    time.sleep(600)
"""


def kill_a_writer(path):
    """Kill a process in mid-write, so that the file holds half of a transaction and a journal lies beside it."""
    with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], text=True, stdout=subprocess.PIPE) as writer:
        assert writer.stdout.readline() == "writing\n"
        os.kill(writer.pid, signal.SIGKILL)
    assert path.with_name(f"{path.name}-journal").stat().st_size > 0
    assert path.stat().st_size > 100_000


@pytest.fixture
def ledger(tmp_path):
    made = BudgetLedger(tmp_path / "killed.ledger", epsilon=2.0, delta=1e-6)
    made.add(GaussianRelease(20.0), what="mean")
    return made


def test_a_hundred_kills_lose_nothing(tmp_path):
    tally = run(tmp_path, 100)
    assert tally.kills == 100
    assert tally.journals >= 1  # about 60 on a disk, 3 to 6 in memory; the tests below have a journal always
    assert len(tally.during) >= 5


@pytest.mark.parametrize(
    "use",
    [
        lambda path: BudgetLedger(path).head(),
        lambda path: BudgetLedger(path, epsilon=2.0, delta=1e-6).head(),
        lambda path: BudgetLedger(path).check(),
    ],
)
def test_whoever_comes_first_after_a_kill_finds_what_was_there(ledger, use):
    before = ledger.head()
    kill_a_writer(ledger.path)
    assert use(ledger.path) == before
    assert ledger.add(GaussianRelease(20.0), what="others go on").number == 3


def test_a_creation_that_was_killed_can_be_done_again(tmp_path):
    path = tmp_path / "new.ledger"
    kill_a_writer(path)
    with pytest.raises(LedgerError, match="is empty: its creation was cut short"):
        BudgetLedger(path)
    kill_a_writer(path)
    assert BudgetLedger(path, epsilon=2.0, delta=1e-6).entries() == ()


@pytest.mark.parametrize(
    "use",
    [
        lambda ledger: BudgetLedger(ledger.path),
        lambda ledger: BudgetLedger(ledger.path, epsilon=2.0, delta=1e-6),
        lambda ledger: ledger.add(GaussianRelease(20.0), what="mean"),
    ],
)
def test_a_ledger_that_was_emptied_is_no_new_one(ledger, use):
    os.truncate(ledger.path, 0)
    with pytest.raises(LedgerError, match=r"has been emptied.*Put back a copy of it"):
        use(ledger)
    assert ledger.path.stat().st_size == 0


def test_nothing_lies_beside_a_ledger_that_was_created(ledger):
    assert [entry.name for entry in ledger.path.parent.iterdir()] == [ledger.path.name]


def test_a_marker_that_was_left_behind_goes_with_the_next_charge(ledger):
    ledger.path.with_name(f"{ledger.path.name}-creating").touch()
    ledger.add(GaussianRelease(20.0), what="mean")
    os.truncate(ledger.path, 0)
    with pytest.raises(LedgerError, match="has been emptied"):
        BudgetLedger(ledger.path, epsilon=2.0, delta=1e-6)


@pytest.mark.extras
def test_the_command_creates_again_what_was_cut_short(tmp_path):
    path = tmp_path / "new.ledger"
    kill_a_writer(path)
    create = [sys.executable, "-m", "dpols", "ledger", "create", str(path), "--epsilon", "2", "--delta", "1e-6"]
    assert subprocess.run(create, capture_output=True).returncode == 0
    again = subprocess.run(create, capture_output=True, text=True)
    assert again.returncode == 2
    assert "exists already" in again.stderr


def test_a_disk_that_cannot_be_written_refuses_what_a_kill_left(small_disk):
    path = small_disk / "ledger"
    ledger = BudgetLedger(path, epsilon=2.0, delta=1e-6)
    before = ledger.head()
    kill_a_writer(path)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk.path)], check=True)
    with pytest.raises(LedgerError, match=r"was killed.*Open it once with that right\. Never delete the journal"):
        ledger.head()
    subprocess.run(["mount", "-o", "remount,rw", str(small_disk.path)], check=True)
    assert ledger.head() == before


def test_a_second_name_is_refused_under_which_a_journal_would_not_be_seen(ledger, tmp_path):
    os.link(ledger.path, tmp_path / "second name")
    with pytest.raises(LedgerError, match="has a second name"):
        BudgetLedger(tmp_path / "second name")
    with pytest.raises(LedgerError, match="has a second name"):
        ledger.add(GaussianRelease(20.0), what="mean")
    (tmp_path / "second name").unlink()
    ledger.check()


def test_a_symbolic_link_finds_the_journal(ledger, tmp_path):
    before = ledger.head()
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link"
    link.symlink_to(ledger.path)
    kill_a_writer(ledger.path)
    assert BudgetLedger(link).head() == before
