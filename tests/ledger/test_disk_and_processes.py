"""A ledger under processes that race, die and run out of disk."""

import multiprocessing
import os
import signal
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest

from dpols import Bounds, BudgetLedger, PrivateLinearRegression
from dpols.data import ArraySource
from dpols.errors import BudgetExceeded, DataError, DpolsError, LedgerError, LedgerWarning
from dpols.ledger.store import Store
from dpols.privacy import GaussianRelease
from dpols.storage.output_file import check_replaceable
from dpols.verification import verify_file

pytestmark = pytest.mark.posix

VICTIM = """
import sys, time
import numpy as np
import dpols.fitting.running as fitting
from dpols import Bounds, PrivateLinearRegression
reserve = fitting.BudgetLedger.reserve
def hang_after(self, *args, **kwargs):
    entry = reserve(self, *args, **kwargs)
    print("reserved", flush=True)
    time.sleep(600)
    return entry
fitting.BudgetLedger.reserve = hang_after
x = np.linspace(-1, 1, 500)[:, None]
PrivateLinearRegression(0.5, 1e-7, Bounds(x_norm=1, y_abs=1), ledger=sys.argv[1]).fit(x, x[:, 0])
"""


def python(code, *arguments, **pipes):
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)], text=True, stdout=subprocess.PIPE, **pipes
    )


def race(path, multiplier, start, counts):
    """Charge a ledger until it refuses, and tell how often it did not."""
    ledger, count = BudgetLedger(path), 0
    start.wait()
    try:
        while True:
            ledger.add(GaussianRelease(multiplier), what="race")
            count += 1
    except BudgetExceeded:
        counts.put(count)


def make(path, start, heads):
    start.wait()
    heads.put(BudgetLedger(path, epsilon=1.0, delta=1e-6).head())


def eight_times(target, *arguments):
    """Run a function in eight processes that start at once, and return what each of them tells."""
    processes = multiprocessing.get_context("fork")
    start, told = processes.Barrier(8), processes.Queue()
    running = [processes.Process(target=target, args=(*arguments, start, told)) for _ in range(8)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads, which these do not use
        for process in running:
            process.start()
    answers = [told.get(timeout=120) for _ in running]
    for process in running:
        process.join(timeout=60)
    return answers


def test_eight_processes_that_race_for_a_cap_get_exactly_the_cap(tmp_path):
    ledger = BudgetLedger(tmp_path / "raced", epsilon=2.0, delta=1e-6)
    multiplier = 7.0 * ledger.state().caps.multiplier  # 49 fit
    counts = eight_times(race, ledger.path, multiplier)
    assert sum(counts) == len(ledger.entries()) == 49
    assert float(ledger.state().gaussian) <= 1.0
    ledger.check()


def reserve_and_void(path, multiplier, start, counts):
    """Reserve until the ledger refuses three times, and void every other reservation; tell how many were kept."""
    ledger, kept, refused, turn = BudgetLedger(path), 0, 0, 0
    start.wait()
    while refused < 3:
        try:
            entry = ledger.reserve([[GaussianRelease(multiplier)]], what="race")
        except BudgetExceeded:
            refused += 1
            continue
        assert ledger.state().gaussian <= 1
        turn += 1
        if turn % 2:
            ledger.void(entry, why="nothing was released")
        else:
            ledger.settle(entry)
            kept += 1
    counts.put(kept)


def test_eight_processes_that_reserve_settle_and_void_never_exceed_the_cap(tmp_path):
    ledger = BudgetLedger(tmp_path / "raced", epsilon=2.0, delta=1e-6)
    multiplier = 5.0 * ledger.state().caps.multiplier  # 25 fit
    kept = sum(eight_times(reserve_and_void, ledger.path, multiplier))
    state = ledger.state()
    assert kept == len(state.counted) <= 25
    assert {entry.status for entry in state.entries} == {"spent", "void"}
    assert state.gaussian == sum(Fraction(entry.charge.gaussian) for entry in state.counted) <= 1
    ledger.check()


def test_eight_processes_that_create_a_ledger_make_one(tmp_path):
    heads = eight_times(make, tmp_path / "made")
    assert set(heads) == {BudgetLedger(tmp_path / "made").head()}


def test_a_fit_that_is_killed_after_its_reservation_counts_as_spent(tmp_path):
    ledger = BudgetLedger(tmp_path / "killed", epsilon=2.0, delta=1e-6)
    victim = python(VICTIM, ledger.path)
    assert victim.stdout.readline() == "reserved\n"
    os.kill(victim.pid, signal.SIGKILL)
    assert victim.wait(timeout=60) == -signal.SIGKILL
    victim.stdout.close()
    (entry,) = ledger.entries()
    assert entry.status == "open"
    assert ledger.state().used == max(entry.charge.gaussian, entry.charge.leak) > 0.0
    ledger.check()
    other = ledger.add(GaussianRelease(100.0), what="others go on")
    ledger.void(entry.number, why="killed before it read the data, as its owner says")
    assert [each.status for each in ledger.entries()] == ["void", "spent"]
    assert ledger.state().gaussian == Fraction(other.charge.gaussian)


def test_a_writer_that_is_killed_in_mid_transaction_leaves_the_ledger_as_it_was(tmp_path):
    ledger = BudgetLedger(tmp_path / "torn", epsilon=2.0, delta=1e-6)
    before = ledger.head()
    code = """
import sys, time
from pathlib import Path
from dpols.ledger.store import Store
def content(rows):
    return {"kind": "charge"}
store = Store(Path(sys.argv[1]))
with store._writing("rw") as connection:
    connection.execute("PRAGMA cache_spill = 1")
    connection.execute("INSERT INTO history VALUES (2, ?, 'x')", ("x" * 100000,))
    print("writing", flush=True)
    time.sleep(600)
"""
    victim = python(code, ledger.path)
    assert victim.stdout.readline() == "writing\n"
    os.kill(victim.pid, signal.SIGKILL)
    victim.wait(timeout=60)
    victim.stdout.close()
    assert ledger.check() == before
    ledger.add(GaussianRelease(100.0), what="others go on")


def fit(path):
    model = PrivateLinearRegression(0.1, 1e-7, Bounds(x_norm=1, y_abs=1), ledger=path)
    x = np.linspace(-1, 1, 500)[:, None]
    return model, lambda: model.fit(x, x[:, 0])


def test_a_full_disk_refuses_to_release(small_disk):
    ledger = BudgetLedger(small_disk / "ledger", epsilon=2.0, delta=1e-6)
    model, run = fit(ledger.path)
    run()
    before = ledger.head()
    small_disk.fill()
    released = model.coef_.copy()
    with pytest.raises(LedgerError, match="nothing may be released"):
        run()
    assert (model.coef_ == released).all()
    assert ledger.head() == before
    small_disk.free()
    run()


class FillsTheDisk:
    """A source of rows that fills a disk in its first pass, and then fails unless told otherwise."""

    n_rows, n_features, columns = 500, 1, None

    def __init__(self, disk, error=None):
        x = np.linspace(-1, 1, 500)[:, None]
        self.source, self.disk, self.error = ArraySource(x, x[:, 0]), disk, error

    def total(self, function, *arguments):
        self.disk.fill()
        if self.error is not None:
            raise self.error
        return self.source.total(function, *arguments)


def test_an_error_on_a_full_disk_is_raised_with_a_note_and_the_charge_stays(small_disk):
    ledger = BudgetLedger(small_disk / "ledger", epsilon=2.0, delta=1e-6)
    model, run = fit(ledger.path)
    with pytest.raises(DataError, match="a bad row") as caught:
        model.fit(FillsTheDisk(small_disk, DataError("a bad row")))
    (note,) = caught.value.__notes__
    assert "Nothing was released. How it ended could not be written" in note
    assert "counts as spent" in note
    assert "full" in note
    (entry,) = ledger.entries()
    assert entry.status == "open"
    assert ledger.state().used > 0.0
    small_disk.free()
    ledger.void(entry.number, why="the disk was full")
    assert ledger.state().used == 0.0
    run()


def test_a_fit_that_ends_on_a_full_disk_returns_what_is_paid_for(small_disk):
    ledger = BudgetLedger(small_disk / "ledger", epsilon=2.0, delta=1e-6)
    model, run = fit(ledger.path)
    with pytest.warns(LedgerWarning, match="row 2 .* counts as spent all the same"):
        model.fit(FillsTheDisk(small_disk))
    assert np.isfinite(model.coef_).all()
    assert ledger.entries() == (model.ledger_entry_,)
    assert model.ledger_entry_.status == "open"
    assert ledger.state().used > 0.0
    with pytest.raises(LedgerError, match="nothing may be released"):
        run()


def test_a_full_disk_is_found_before_the_data_is_touched(small_disk):
    ledger = BudgetLedger(small_disk / "ledger", epsilon=2.0, delta=1e-6)
    small_disk.fill()
    model, _ = fit(ledger.path)
    with pytest.raises(LedgerError, match="nothing may be released"):
        model.fit(FillsTheDisk(small_disk, AssertionError("the data was touched")))
    assert ledger.entries() == ()


def test_a_read_only_disk_refuses_to_release_and_can_be_looked_at(small_disk):
    ledger = BudgetLedger(small_disk / "ledger", epsilon=2.0, delta=1e-6)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk.path)], check=True)
    model, run = fit(ledger.path)
    with pytest.raises(LedgerError, match="nothing may be released"):
        run()
    assert not hasattr(model, "coef_")
    assert ledger.entries() == ()
    ledger.check()
    with pytest.raises(LedgerError):
        BudgetLedger(small_disk / "new", epsilon=2.0, delta=1e-6)


GET_THE_LOCK = """
import sqlite3, sys
try:
    sqlite3.connect(sys.argv[1], isolation_level=None, timeout=0.1).execute("BEGIN IMMEDIATE")
    print("got it")
except sqlite3.OperationalError as error:
    print(error)
"""


@pytest.mark.posix
@pytest.mark.parametrize(
    "look",
    [lambda path: check_replaceable(path, "path"), verify_file, PrivateLinearRegression.load],
    ids=["to replace it", "to verify it", "to load a model"],
)
def test_a_ledger_stays_locked_while_a_thread_of_the_same_process_looks_at_it(tmp_path, look):
    """A process that closes a file loses all its locks on it, unless SQLite itself opened it."""
    path = tmp_path / "ledger"
    BudgetLedger(path, epsilon=1.0, delta=1e-6)

    def others():
        return subprocess.run([sys.executable, "-c", GET_THE_LOCK, path], capture_output=True, text=True).stdout.strip()

    def looked_at(_rows):
        found.append(others())
        with ThreadPoolExecutor(1) as pool, pytest.raises(DpolsError):
            pool.submit(look, path).result()
        found.append(others())
        raise InterruptedError

    found = []
    with pytest.raises(InterruptedError):
        Store(path).append(looked_at)
    assert found == ["database is locked"] * 2
    assert others() == "got it"
