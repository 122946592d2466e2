"""The comparison of planned and observed errors."""

import pytest

from dpols.bench.planning import Comparison, compare, render, run, summary


def test_plans_come_true_on_a_data_set_that_needs_no_download():
    rows = compare("diabetes", epsilons=(1.0, 10.0), trials=60)
    assert len(rows) == 6
    for row in rows:
        chance = 4.0 * (row.planned_stderr / row.planned + row.observed_stderr / row.observed)
        assert row.ratio == pytest.approx(1.0, abs=max(0.2, chance)), row
        assert chance < 0.6


def test_plans_come_true_on_a_data_set_of_the_paper(data_dir):
    rows = compare("solar", epsilons=(3.0,), trials=60)
    assert all(row.close for row in rows), rows


def test_what_is_off_is_marked_and_counted():
    rows = [
        Comparison("a", 100, 2, "ihm", 1.0, planned, 0.0, 1.0, 0.0).to_dict() for planned in (1.19, 0.81, 1.21, 0.5)
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
