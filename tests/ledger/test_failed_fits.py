"""Fits that fail in the middle: nothing is spent unless something was released, and a good fit afterwards works."""

import os
import shutil
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

from dpols import (
    Bounds,
    BudgetLedger,
    PaidBounds,
    PrivateGridSearch,
    PrivateLinearRegression,
    read,
    release_sketch,
)
from dpols.algorithms import ALGORITHMS
from dpols.data import ArraySource
from dpols.errors import DataError, DpolsError, LedgerError
from dpols.mechanisms import Channel

NAMES = ("a", "b", "y")
BOUNDS = Bounds(features=[(-1, 1)] * 2, target=(-1, 1))
N_ROWS = 60_000
VALUES = np.random.default_rng(3).uniform(-1, 1, size=(N_ROWS, 3)).round(4)
FEW = VALUES[:900]


@pytest.fixture(scope="module")
def releases():
    """What a fit releases."""
    return PrivateLinearRegression(0.3, 1e-8, BOUNDS).fit(FEW[:, :2], FEW[:, 2]).privacy_report_.releases


@pytest.fixture
def ledger(tmp_path, releases):
    ledger = BudgetLedger(tmp_path / "ledger", epsilon=3.0, delta=1e-6, black_boxes=(1.0, 1e-7))
    ledger.add(*releases, what="x")
    return ledger


def model(ledger, **parameters):
    return PrivateLinearRegression(0.2, 1e-8, **({"bounds": BOUNDS, "ledger": ledger} | parameters))


def left(ledger):
    """All that tells how much of a ledger is left."""
    state = ledger.state()
    return state.gaussian, state.leak, state.epsilon, state.delta, state.closed, ledger.gaussian_left()


def fails(ledger, run, error, *, status="void", words=()):
    """A run raises an error; then the ledger is as it was, but for a void row, and a good fit works."""
    before, count = left(ledger), len(ledger.entries())
    with pytest.raises(error) as caught:
        run()
    entries = ledger.entries()[count:]
    if status is None:
        assert entries == ()
    else:
        assert [entry.status for entry in entries] == [status]
        kept = "stays charged" if status == "spent" else "nothing is spent"
        assert kept in caught.value.__notes__[-1]
        assert type(caught.value).__name__ in entries[0].outcome
    assert (left(ledger) == before) == (status != "spent")
    assert [word for word in words if word not in str(caught.value)] == []
    ledger.check()
    good = model(ledger).fit(FEW[:, :2], FEW[:, 2])
    assert ledger.entries()[-1] == good.ledger_entry_
    assert good.ledger_entry_.status == "spent"
    return caught.value


def write_csv(path, values=VALUES, names=NAMES):
    np.savetxt(path, values, fmt="%.4f", delimiter=",", header=",".join(names), comments="")
    return path


def write_parquet(path, values=VALUES, names=NAMES):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pyarrow.table({name: values[:, i] for i, name in enumerate(names)})
    parquet.write_table(table, path, row_group_size=20_000, write_page_checksum=True, compression="none")
    return path


@pytest.fixture
def small_parts(monkeypatch):
    """Cut files into parts far smaller than they are, of which opening a file reads the first only."""
    pytest.importorskip("pyarrow")
    monkeypatch.setattr("dpols.data.files.task.TASK_CELLS", 1 << 15)
    monkeypatch.setattr("dpols.data.files.csv._TASK_BYTES", 100_000)


def with_cell(value, row=777, column=1):
    spoiled = FEW.copy()
    spoiled[row, column] = value
    return spoiled


@pytest.mark.parametrize("method", ALGORITHMS)
@pytest.mark.parametrize("arithmetic", ["exact", "float"])
def test_no_method_spends_on_a_row_that_is_not_finite(ledger, method, arithmetic):
    bad = with_cell(np.nan)
    fitting = model(ledger, method=method, arithmetic=arithmetic)
    fails(ledger, lambda: fitting.fit(bad[:, :2], bad[:, 2]), DataError, words=["Input contains NaN or infinity, and"])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("column", [1, 2])
@pytest.mark.parametrize(
    "parameters",
    [{}, {"bounds": PaidBounds()}, {"count_clipped": True}, {"inference": True}, {"random_state": 0}],
    ids=repr,
)
def test_nothing_that_a_fit_buys_is_spent_on_bad_values(ledger, value, column, parameters):
    bad = with_cell(value, column=column)
    fails(ledger, lambda: model(ledger, **parameters).fit(bad[:, :2], bad[:, 2]), DataError)


def test_units(ledger):
    bad, people = with_cell(np.nan), np.arange(900) // 3
    fitting = model(ledger, max_rows_per_unit=3)
    fails(ledger, lambda: fitting.fit(bad[:, :2], bad[:, 2], groups=people), DataError)


def test_sketches(ledger):
    bounds = Bounds(features=[(-1, 1)] * 3)
    bad = with_cell(np.inf)
    fails(
        ledger,
        lambda: release_sketch(bad, ledger=ledger, bounds=bounds, epsilon=0.2, delta=1e-8, rows=20),
        DataError,
    )


def search_with(ledger):
    return PrivateGridSearch(
        PrivateLinearRegression(bounds=BOUNDS), {"method": ["adassp", "ihm"]}, epsilon=0.3, delta=1e-8, ledger=ledger
    )


@pytest.mark.parametrize("row", range(12))
def test_searches_look_at_all_rows_before_the_first_fit(ledger, row):
    bad = with_cell(np.nan, row=row)
    fails(ledger, lambda: search_with(ledger).fit(bad[:, :2], bad[:, 2]), DataError)


def test_a_search_that_has_failed_works_on_good_rows(ledger):
    bad, search = with_cell(np.nan), search_with(ledger)
    fails(ledger, lambda: search.fit(bad[:, :2], bad[:, 2]), DataError)
    search.fit(FEW[:, :2], FEW[:, 2])
    assert search.ledger_entry_ == ledger.entries()[-1]


@pytest.mark.extras
@pytest.mark.usefixtures("small_parts")
def test_a_string_far_down_in_a_csv_file(ledger, tmp_path):
    path = write_csv(tmp_path / "rows.csv")
    lines = path.read_text().splitlines()
    lines[50_000] = "0.1,SECRET,0.2"
    path.write_text("\n".join(lines) + "\n")
    spoiled = read(path, "y")
    error = fails(ledger, lambda: model(ledger).fit(spoiled), DpolsError, words=["'b'", "rows.csv"])
    assert "SECRET" not in f"{error}{error.__notes__}"


@pytest.mark.extras
@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("method", ["whitened", "ihm", "adassp", "ihm-adaptive"])
def test_damage_in_the_second_row_group_of_a_parquet_file(ledger, tmp_path, method):
    path = write_parquet(tmp_path / "rows.parquet")
    from pyarrow import parquet

    group = parquet.ParquetFile(path).metadata.row_group(1).column(0)
    start = group.data_page_offset if group.dictionary_page_offset is None else group.dictionary_page_offset
    content = bytearray(path.read_bytes())
    for place in range(start + 100, start + group.total_compressed_size - 100, 50):
        content[place] ^= 0xFF
    path.write_bytes(content)
    fails(ledger, lambda: model(ledger, method=method).fit(read(path, "y")), DataError, words=["rows.parquet"])
    model(ledger, method=method).fit(read(write_parquet(path), "y"))


@pytest.mark.extras
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_folder_whose_second_file_has_another_schema(ledger, tmp_path, suffix):
    pytest.importorskip("pyarrow")
    folder, write = tmp_path / "folder", write_csv if suffix == ".csv" else write_parquet
    folder.mkdir()
    write(folder / f"1{suffix}")
    write(folder / f"2{suffix}", names=("a", "c", "y"))
    fails(ledger, lambda: model(ledger).fit(read(folder, "y")), DataError, status=None, words=["'b'", f"2{suffix}"])
    write(folder / f"2{suffix}")
    source = read(folder, "y")
    write(folder / f"2{suffix}", names=("a", "c", "y"))
    fails(ledger, lambda: model(ledger).fit(source), DpolsError, words=[f"2{suffix}"])
    write(folder / f"2{suffix}")
    model(ledger).fit(read(folder, "y"))


@pytest.mark.extras
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_missing_column(ledger, tmp_path, suffix):
    pytest.importorskip("pyarrow")
    path = (write_csv if suffix == ".csv" else write_parquet)(tmp_path / f"rows{suffix}", names=("a", "c", "y"))
    fails(ledger, lambda: model(ledger).fit(read(path, "y", ["a", "b"])), DataError, status=None, words=["'b'"])
    fails(ledger, lambda: model(ledger).fit(read(path, "z")), DataError, status=None, words=["'z'"])


@pytest.mark.extras
def test_a_column_of_strings_in_one_of_two_files(ledger, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    folder = tmp_path / "folder"
    folder.mkdir()
    write_parquet(folder / "1.parquet")
    text = pyarrow.table({"a": VALUES[:, 0], "b": ["SECRET"] * N_ROWS, "y": VALUES[:, 2]})
    parquet.write_table(text, folder / "2.parquet")
    fails(ledger, lambda: model(ledger).fit(read(folder, "y")), DpolsError, status=None, words=["'b'"])


@pytest.mark.extras
@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("change", ["vanishes", "schema", "damage"])
@pytest.mark.parametrize("when", ["first pass", "second pass"])
def test_a_second_file_that_changes_while_the_fit_runs(ledger, tmp_path, suffix, change, when):
    folder, write = tmp_path / "folder", write_csv if suffix == ".csv" else write_parquet
    folder.mkdir()
    write(folder / f"1{suffix}")
    second = write(folder / f"2{suffix}")
    number = 1 if when == "first pass" else 2

    def progress(pass_number, rows, n_rows):
        if (pass_number, rows) != (number, 0):
            return
        if change == "vanishes":
            second.unlink()
        elif change == "schema":
            write(second, names=("a", "c", "y"))
        else:
            os.truncate(second, second.stat().st_size // 2)

    source = read(folder, "y", progress=progress)
    errors = FileNotFoundError if change == "vanishes" else DpolsError
    fails(
        ledger,
        lambda: model(ledger, method="ihm").fit(source),
        errors,
        status="void" if number == 1 else "spent",
        words=[second.name],
    )


@pytest.mark.extras
def test_a_dask_task_that_fails_in_the_first_pass(ledger):
    dask_frames, pandas = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    frame = pandas.DataFrame(FEW, columns=list(NAMES))
    counted = []

    def fail_once_the_rows_are_counted(part, partition_info=None):
        if partition_info is not None and partition_info["number"] == 1:
            counted.append(True)
            if len(counted) > 1:
                raise RuntimeError("the worker died")
        return part

    failing = dask_frames.from_pandas(frame, npartitions=3).map_partitions(
        fail_once_the_rows_are_counted, meta=frame.iloc[:0]
    )
    fails(ledger, lambda: model(ledger).fit(failing, "y"), DataError, words=["Dask failed with RuntimeError"])
    spoiled = dask_frames.from_pandas(pandas.DataFrame(with_cell(np.nan), columns=list(NAMES)), npartitions=3)
    fails(ledger, lambda: model(ledger).fit(spoiled, "y"), DataError, words=["Input contains NaN or infinity, and"])


class FailsAt:
    """A source of rows that fails in a pass, by its number."""

    def __init__(self, number, error=ZeroDivisionError, act=lambda: None):
        self.source, self.number, self.error, self.act, self.passes = (
            ArraySource(FEW[:, :2], FEW[:, 2]),
            number,
            error,
            act,
            0,
        )

    n_rows, n_features, columns = 900, 2, None

    def total(self, function, *arguments):
        self.passes += 1
        if self.passes == self.number:
            self.act()
            if self.error is not None:
                raise self.error
        return self.source.total(function, *arguments)


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt, SystemExit, MemoryError, ConnectionError])
def test_an_engine_that_fails_in_the_first_pass(ledger, error):
    fails(ledger, lambda: model(ledger).fit(FailsAt(1, error)), error)


@pytest.mark.parametrize("method", ["ihm", "whitened", "dp-gd", "boosted-adassp"])
@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_what_fails_after_the_first_release_stays_charged(ledger, method, error):
    fails(ledger, lambda: model(ledger, method=method).fit(FailsAt(2, error)), error, status="spent")


@pytest.mark.parametrize("method", ALGORITHMS)
@pytest.mark.parametrize("parameters", [{}, {"bounds": PaidBounds()}, {"count_clipped": True}], ids=repr)
def test_a_charge_is_void_if_and_only_if_no_mechanism_was_entered(ledger, method, parameters, monkeypatch):
    entered = []
    for name in ("gaussian", "symmetric_gaussian", "mix_gram", "mix_rows"):
        through = getattr(Channel, name)

        def watched(*arguments, through=through, **more):
            entered.append(True)
            return through(*arguments, **more)

        monkeypatch.setattr(Channel, name, watched)
    for number in range(1, 9):
        entered.clear()
        source = FailsAt(number)
        try:
            model(ledger, method=method, arithmetic="float", **parameters).fit(source)
        except ZeroDivisionError:
            assert ledger.entries()[-1].status == ("spent" if entered else "void")
        else:
            assert source.passes < number
            break
    assert number > 1


def test_an_error_after_the_draw_and_before_the_value_stays_charged(ledger, monkeypatch):
    monkeypatch.setattr("dpols.mechanisms._in_units", lambda *_: 1 / 0)
    fitting = model(ledger, method="adassp")
    with pytest.raises(ZeroDivisionError):
        fitting.fit(FEW[:, :2], FEW[:, 2])
    assert ledger.entries()[-1].status == "spent"


def test_the_end_of_a_fit_counts_once(ledger):
    before = ledger.state().gaussian
    fitted = model(ledger).fit(FEW[:, :2], FEW[:, 2])
    assert ledger.state().gaussian - before == fitted.ledger_entry_.charge.gaussian


def test_while_a_fit_runs_others_see_its_charge(tmp_path):
    ledger = BudgetLedger(tmp_path / "shared", epsilon=1.0, delta=1e-8)
    inside, go_on, seen = threading.Event(), threading.Event(), []

    def wait():
        inside.set()
        assert go_on.wait(60)

    thread = threading.Thread(
        target=lambda: PrivateLinearRegression(1.0, 1e-8, BOUNDS, ledger=str(ledger.path)).fit(FailsAt(1, None, wait))
    )
    thread.start()
    try:
        assert inside.wait(60)
        seen = [entry.status for entry in ledger.entries()]
        with pytest.raises(ValueError, match="0 % is left"):
            model(ledger).fit(FailsAt(1, AssertionError("the data was touched")))
    finally:
        go_on.set()
        thread.join(60)
    assert seen == ["open"]
    assert [entry.status for entry in ledger.entries()] == ["spent"]


def test_a_failing_fit_beside_one_that_draws_is_void_all_the_same(ledger):
    def meanwhile():
        model(ledger).fit(FEW[:, :2], FEW[:, 2])

    with pytest.raises(ZeroDivisionError):
        model(ledger).fit(FailsAt(1, ZeroDivisionError, meanwhile))
    assert [entry.status for entry in ledger.entries()] == ["spent", "void", "spent"]


@pytest.mark.posix
@pytest.mark.parametrize("word", ["before", "after"])
def test_a_real_interrupt(ledger, word):
    number = 1 if word == "before" else 2
    code = f"""
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # tests in the background of a shell ignore it
sys.path.insert(0, {os.path.dirname(__file__)!r})
from test_failed_fits import FailsAt, model
def wait():
    print("reading", flush=True)
    time.sleep(60)
model(sys.argv[1], method="ihm").fit(FailsAt({number}, None, wait))
"""
    before = left(ledger)
    child = subprocess.Popen(
        [sys.executable, "-c", code, str(ledger.path)], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert child.stdout.readline() == "reading\n", child.stderr.read()
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=60)
    assert "KeyboardInterrupt" in said
    entry = ledger.entries()[-1]
    assert entry.outcome == f"KeyboardInterrupt {word} the first release"
    assert entry.status == ("void" if word == "before" else "spent")
    assert (left(ledger) == before) == (word == "before")
    assert entry.outcome.split()[0] in said


def test_a_damaged_ledger_keeps_the_data_untouched(ledger):
    shutil.copy(ledger.path, f"{ledger.path}-copy")
    ledger.path.write_bytes(b"no ledger any more" * 99)
    with pytest.raises(LedgerError):
        model(f"{ledger.path}").fit(FailsAt(1, AssertionError("the data was touched")))
