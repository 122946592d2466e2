"""The comparison of planned and observed errors."""

import numpy as np
import pytest

from dpols_bench.datasets import load
from dpols_bench.paper.preprocessing import prepare
from dpols_bench.planning import CERTAIN, Comparison, compare, mean_error, render, run, summary


def test_plans_come_true_on_a_data_set_that_needs_no_download():
    rows = compare("diabetes", epsilons=(1.0, 10.0), trials=60, most_trials=60)
    assert len(rows) == 6
    for row in rows:
        chance = 4.0 * (row.planned_stderr / row.planned + row.observed_stderr / row.observed)
        assert row.ratio == pytest.approx(1.0, abs=max(0.2, chance)), row
        assert chance < 0.6


def test_plans_come_true_on_a_data_set_of_the_paper(data_dir):
    rows = compare("solar", methods=("ihm", "adassp"), epsilons=(3.0,), trials=60, most_trials=240)
    assert all(row.close for row in rows), rows


def test_plans_from_one_half_come_true_on_the_other():
    rows = compare("diabetes", epsilons=(3.0,), trials=100, most_trials=400, halves=True)
    assert {row.n_rows for row in rows} == {len(prepare(load("diabetes")).target) // 2}
    # Halves of 176 rows differ by chance, but not by much.
    assert all(0.5 < row.ratio < 2.0 for row in rows), rows
    assert rows != compare("diabetes", epsilons=(3.0,), trials=100, most_trials=400)


def test_the_default_is_foretold_where_rows_are_of_about_one_length(data_dir):
    (row,) = compare("concrete", methods=("whitened",), epsilons=(3.0,), trials=60, most_trials=240)
    assert row.close, row


def test_a_mean_is_taken_of_more_fits_until_it_is_certain(monkeypatch):
    asked = []

    def simulated_errors(samples, method, budget, *, trials, seed):
        asked.append((trials, seed))
        return np.random.default_rng(seed).exponential(1.0, trials), None

    monkeypatch.setattr("dpols_bench.planning.simulated_errors", simulated_errors)
    mean, stderr, count = mean_error([], "ihm", None, trials=100, most_trials=10_000, seed=5)
    assert asked == [(100, 5), (100, 105), (200, 205), (400, 405), (800, 805)]
    assert count == 1600
    assert stderr <= CERTAIN * mean
    assert mean_error([], "ihm", None, trials=100, most_trials=300, seed=5)[2] == 300


def test_what_is_off_is_marked_and_counted():
    rows = [
        Comparison("a", 100, 2, "ihm", 1.0, planned, 0.0, 100, 1.0, 0.0, 100).to_dict()
        for planned in (1.19, 0.81, 1.21, 0.5)
    ]
    assert [row["close"] for row in rows] == [True, True, False, False]
    assert "ihm: 2 of 4 cells within 20% (50%); median ratio" in summary(rows)[0]
    assert "from 0.50 to 1.21" in summary(rows)[0]
    assert render(rows).count(" ! |") == 2


def test_quick_takes_small_data_sets_only(monkeypatch):
    monkeypatch.delenv("DPOLS_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/nowhere")
    named = []
    rows = run(quick=True, trials=2, progress=named.append)
    assert named == ["diabetes", "concrete", "wine"]
    assert {row["dataset"] for row in rows} == {"diabetes"}
