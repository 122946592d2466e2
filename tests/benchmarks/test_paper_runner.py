"""Cells, batches and the journal: the same numbers whatever else is run, and whatever happens in between."""

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dpols.algorithms import ALGORITHMS
from dpols.data import ArraySource, BoundedRows, Bounds
from dpols.errors import DataError, ParameterError
from dpols.randomness import streams
from dpols.statistics import clipped_gradient, gram
from dpols_bench.paper import cells, evaluation, methods, runner
from dpols_bench.paper.cells import Batch, BatchResult, Cell, RememberingSource, run_batch
from dpols_bench.paper.journal import batch_journal
from dpols_bench.paper.summary import summarise

CELL = Cell("diabetes", "ihm", "paper", "float", 1.0)


def result(first=0, count=2, cell=CELL, mean=1.0):
    return BatchResult(Batch(cell, first, count), mean, 0.5, 2.0, 0.25, count, mean, 0.5, 1, 6, 0.01)


def without_time(found):
    return {batch: replace(value, seconds=0.0) for batch, value in found.items()}


def test_trials_do_not_depend_on_how_they_are_batched():
    whole = summarise({b.batch: b for b in [run_batch(Batch(CELL, 0, 6))]}).cells[CELL]
    parts = [run_batch(Batch(CELL, 0, 2)), run_batch(Batch(CELL, 2, 4))]
    pieces = summarise({b.batch: b for b in reversed(parts)}).cells[CELL]
    assert pieces.trials == 6
    assert pieces.train.value == pytest.approx(whole.train.value, rel=1e-12)
    assert pieces.train.error == pytest.approx(whole.train.error, rel=1e-9)
    assert pieces.test.error == pytest.approx(whole.test.error, rel=1e-9)
    assert pieces.clipped_share == whole.clipped_share


def test_cells_have_seeds_of_their_own():
    others = (
        replace(CELL, method="ihm-t2"),
        replace(CELL, epsilon=1.5),
        replace(CELL, accounting="exact"),
        replace(CELL, dataset="sphere"),
    )
    assert len({cell.seed for cell in (CELL, *others)}) == 5


def test_another_method_changes_no_number():
    sizes = {"diabetes": 1}
    few = evaluation.Settings(datasets=("diabetes",), methods=("ihm",), trials=2, epsilons=(1.0,))
    many = replace(few, methods=("adassp", "ihm", "linmix"))
    batches = [runner.batches_of(evaluation.cells_of(settings, sizes), 2) for settings in (few, many)]
    assert set(batches[0]) < set(batches[1])
    one, two = ([run_batch(batch) for batch in group if batch.cell.method == "ihm"] for group in batches)
    assert [replace(r, seconds=0.0) for r in one] == [replace(r, seconds=0.0) for r in two]


def test_methods_run_where_the_paper_shows_them():
    settings = evaluation.Settings(datasets=("diabetes", "sphere", "forest"), epsilons=(1.0,), accountings=("paper",))
    found = {(c.dataset, c.method) for c in evaluation.cells_of(settings, {"diabetes": 1, "sphere": 1})}
    assert ("sphere", "ihm-t6") in found
    assert ("diabetes", "ihm-t6") not in found
    assert not any(dataset == "forest" for dataset, _ in found)


@pytest.mark.parametrize("row", [*methods.METHODS, *methods.DEVIATIONS], ids=lambda row: row.name)
def test_every_method_runs(row):
    found = run_batch(Batch(replace(CELL, method=row.name), 0, 2))
    assert np.isfinite(found.train_mean)
    assert found.train_mean >= 0.0


def test_a_method_of_the_library_without_a_row_runs_by_its_name():
    assert run_batch(Batch(replace(CELL, method="sheffet"), 0, 2)).train_mean > 0.0


@pytest.mark.parametrize(
    "bad",
    [
        {"methods": ("ihm", "magic")},
        {"datasets": ("nothing",)},
        {"trials": 1},
        {"jobs": -1},
        {"epsilons": (1.0, -1.0)},
    ],
)
def test_bad_settings_are_refused(bad):
    with pytest.raises(ParameterError):
        evaluation.Settings(**bad)


def test_exact_arithmetic_gives_about_the_same_risk():
    cell = replace(CELL, epsilon=10.0)
    one, two = run_batch(Batch(cell, 0, 20)), run_batch(Batch(replace(cell, arithmetic="exact"), 0, 20))
    assert two.train_mean == pytest.approx(one.train_mean, rel=0.5)


def test_remembered_sums_are_the_same_and_computed_once(monkeypatch):
    rng = np.random.default_rng(0)
    plain = ArraySource(rng.standard_normal((50, 3)) / 4, rng.uniform(-1, 1, 50))
    row_map = Bounds(x_norm=1.0, y_abs=1.0).row_map(n_features=3, columns=None, fit_intercept=False)
    right, remembered = BoundedRows(plain, row_map), BoundedRows(RememberingSource(plain), row_map)
    for theta in (np.zeros((4, 3)), rng.standard_normal((4, 3))):
        np.testing.assert_allclose(
            clipped_gradient(remembered, theta, residual_bound=1.0).value,
            clipped_gradient(right, theta, residual_bound=1.0).value,
        )
    first = gram(remembered).value
    monkeypatch.setattr(ArraySource, "total", lambda *_: pytest.fail("computed again"))
    np.testing.assert_array_equal(gram(remembered).value, first)
    assert clipped_gradient(remembered, np.zeros((7, 3)), residual_bound=1.0).value.shape == (7, 3)


def test_clipped_iterations_are_counted_where_trials_choose_how_many_there_are():
    cell = replace(CELL, method="ihm-adaptive", accounting="exact")
    found = run_batch(Batch(cell, 0, 4))
    assert 4 * 2 <= found.watched_iterations <= 4 * 6
    assert 0 <= found.clipped_iterations <= found.watched_iterations - 4  # the first of each never clips


def test_the_share_of_clipped_iterations_is_counted_from_the_released_values():
    cell = replace(CELL, epsilon=10.0)
    found = run_batch(Batch(cell, 0, 3))
    assert found.watched_iterations == 9
    assert found.clipped_iterations == 0
    on = cells.problem("diabetes")
    plan = replace(cells.plan_of(cell, *on.data.features.shape), residual_bound=1e-3)
    rows = on.rows("float")
    fit = ALGORITHMS["ihm"].run(rows, plan, streams(0, 3))
    # All but the first of each trial, which starts at 0 and is taken to be within the bound.
    assert cells.clipped_iterations(on, plan, fit.transcript, 3) == (6, 9)
    assert cells.clipped_iterations(on, plan, fit.transcript, 0) == (0, 0)


def test_a_journal_gives_back_what_was_added(tmp_path):
    journal = batch_journal(tmp_path / "deep" / "results.jsonl")
    assert journal.read() == {}
    with journal.appending() as add:
        for first in (0, 2):
            add(result(first))
    with journal.appending() as add:
        add(result(2, mean=9.0))  # the same batch again does not count
    assert journal.read() == {r.batch: r for r in (result(0), result(2))}


@pytest.mark.parametrize("damage", [b'{"dataset": "dia', b"{}\n", b"\x00\x00\n", b"nonsense"])
def test_a_damaged_last_line_is_dropped(tmp_path, damage):
    journal = batch_journal(tmp_path / "results.jsonl")
    with journal.appending() as add:
        add(result(0))
    whole = journal.path.read_bytes()
    journal.path.write_bytes(whole + damage)
    assert list(journal.read()) == [result(0).batch]
    with journal.appending() as add:
        add(result(2))
    assert journal.read() == {r.batch: r for r in (result(0), result(2))}
    assert journal.path.read_bytes().startswith(whole)
    assert all(json.loads(line) for line in journal.path.read_bytes().splitlines())


def test_a_damaged_line_in_the_middle_is_an_error(tmp_path):
    journal = batch_journal(tmp_path / "results.jsonl")
    with journal.appending() as add:
        add(result(0))
        add(result(2))
    lines = journal.path.read_bytes().splitlines(keepends=True)
    journal.path.write_bytes(b"nonsense\n" + lines[1] + lines[0])
    with pytest.raises(DataError, match="line 1"):
        journal.read()


def test_a_run_skips_what_is_there(tmp_path, monkeypatch):
    cell = replace(CELL, method="dp-gd")
    batches = runner.batches_of([cell], 2 * runner.BATCH_TRIALS + 5)
    assert [(b.first, b.count) for b in batches] == [(0, 125), (125, 125), (250, 5)]
    journal = batch_journal(tmp_path / "results.jsonl")
    with journal.appending() as add:
        add(result(125, 125, cell))
    seen = []
    monkeypatch.setattr(runner, "run_batch", lambda batch: seen.append(batch) or result(batch.first, batch.count, cell))
    found = runner.run(batches, journal, sizes={"diabetes": 1}, jobs=1)
    assert [batch.first for batch in seen] == [0, 250]
    assert list(found) == batches


SCRIPT = """
import sys
from pathlib import Path
from dpols_bench.paper import runner
from dpols_bench.paper.journal import batch_journal
from test_paper_runner import all_batches

if __name__ == "__main__":
    runner.run(all_batches(), batch_journal(Path(sys.argv[1])), sizes={"diabetes": 1}, jobs=2)
"""


def all_batches():
    settings = evaluation.Settings(
        datasets=("diabetes",), methods=("ihm", "linmix"), trials=250, accountings=("paper",)
    )
    return runner.batches_of(evaluation.cells_of(settings, {"diabetes": 1}), settings.trials)


def children_of(process):
    try:
        with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
            return file.read().split()
    except OSError:
        return []


def test_a_run_that_is_killed_goes_on_with_nothing_lost_or_counted_twice(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    path = os.pathsep.join([str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    interrupted, whole = batch_journal(tmp_path / "interrupted"), batch_journal(tmp_path / "whole")
    process = subprocess.Popen(
        [sys.executable, str(script), str(interrupted.path)], env={**os.environ, "PYTHONPATH": path}
    )
    until = time.monotonic() + 100.0
    while not (interrupted.path.exists() and interrupted.path.read_bytes().count(b"\n") >= 3):
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.005)
    children = children_of(process)
    process.kill()
    process.wait()
    before = interrupted.read()
    assert 3 <= len(before) < len(all_batches())
    with interrupted.path.open("ab") as file:
        file.write(b'{"dataset": "diabetes", "meth')

    for journal in (interrupted, whole):
        runner.run(all_batches(), journal, sizes={"diabetes": 1}, jobs=1)
    resumed = interrupted.read()
    assert interrupted.path.read_bytes().count(b"\n") == len(resumed) == len(all_batches())
    assert {batch: resumed[batch] for batch in before} == before
    assert without_time(resumed) == without_time(whole.read())

    # Workers notice that their parent is gone.
    until = time.monotonic() + 30.0
    while any(os.path.exists(f"/proc/{child}") for child in children) and time.monotonic() < until:
        time.sleep(0.05)
    assert not [child for child in children if os.path.exists(f"/proc/{child}")]


def test_the_largest_data_sets_are_held_by_one_process(monkeypatch, tmp_path):
    order = []
    monkeypatch.setattr(
        runner, "_in_processes", lambda batches, jobs: iter([order.append(("apart", len(batches)))][:0])
    )
    monkeypatch.setattr(runner, "run_batch", lambda batch: order.append("shared") or result(cell=batch.cell))
    big = replace(CELL, dataset="mlp")
    batches = [Batch(big, 0, 2)]
    runner.run(batches, batch_journal(tmp_path / "r.jsonl"), sizes={"mlp": 1 << 26}, jobs=2)
    assert order == [("apart", 0), "shared"]
    assert cells.problem.cache_info().currsize == 0
