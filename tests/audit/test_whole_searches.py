"""Replay of whole searches and sketches: what one row moves, the noise in it, and what a ledger is charged for it."""

import numpy as np
import pytest
from whole_fits import (
    BOUNDS,
    PAID,
    leverage,
    model,
    moved,
    on_tape,
    pair_on_tape,
    released,
    returned,
    strangers,
    visits,
    without,
    without_allowances,
)

from dpols import Bounds, BudgetLedger, PrivateGridSearch, release_sketch
from dpols.private_search.scores import in_scoring_part

GRIDS = {
    "intercept": {"fit_intercept": [True, False]},
    "everything": {
        "method": ["whitened"],
        "options": [{"n_iterations": 6}],
        "bounds": [BOUNDS, PAID],
        "count_clipped": [True],
        "inference": [True],
    },
}
SKETCH = {"bounds": Bounds(features=[(-3.0, 3.0), (0.0, 50.0)]), "epsilon": 2.0, "delta": 1e-4, "rows": 12}


def searching(grid, seed=0, neighbours="zero-out", ledger=None):
    """A search as a function of the data."""
    search = PrivateGridSearch(
        model(method="adassp"),
        GRIDS[grid],
        epsilon=8.0,
        delta=1e-3,
        target_range=(-10.0, 10.0),
        random_state=seed,
        neighbours=neighbours,
        ledger=ledger,
    )
    return search.fit


def rows_with_one_of_a_kind(place):
    """The data with a row, at a place, that lies beyond all bounds."""
    X, y, _ = visits()
    X, y = np.clip(X, (-3.0, 0.0), (3.0, 50.0)), np.clip(y, -10.0, 10.0)
    X[place], y[place] = (9.0, 90.0), 40.0
    return X, y


def shown(search):
    """All that a search shows, the models that it keeps included."""
    return search.results_, search.best_index_, returned(search.best_estimator_), search.search_report_


@pytest.mark.parametrize("grid", GRIDS)
def test_all_that_a_search_shows_follows_from_what_it_released(grid):
    tape, other = pair_on_tape(searching(grid), visits()[:2], strangers())
    assert [call.path for call in tape.calls] == [call.path for call in other.calls]
    assert shown(tape.result) == shown(other.result)


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("scoring", [True, False], ids=["scoring", "fitting"])
def test_a_row_moves_the_fits_of_a_search_or_its_scores_and_nothing_else(grid, scoring):
    place = int(np.flatnonzero(in_scoring_part(120, 0.2) == scoring)[3])
    data = rows_with_one_of_a_kind(place)
    tape, other = pair_on_tape(searching(grid), data, without(*data, [place]))
    assert [call.path for call in tape.calls] == [call.path for call in other.calls]
    assert shown(tape.result) == shown(other.result)
    *fits, scores = [moved(call, changed) for call, changed in zip(tape.calls, other.calls, strict=True)]
    assert (scores > 0.0) == scoring
    assert any(fits) != scoring
    for call, distance in zip(tape.calls, (*fits, scores), strict=True):
        assert distance <= call.statistic.sensitivity * np.max(call.statistic.step) * (1.0 + 1e-9)
    report = tape.result.search_report_
    assert without_allowances(report.fits) == released(tape.calls[:-1])
    assert without_allowances(report.scores) == released(tape.calls[-1:])


@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
@pytest.mark.parametrize("grid", GRIDS)
def test_a_ledger_is_charged_for_the_fits_and_the_scores_of_a_search(grid, neighbours, tmp_path):
    ledger = BudgetLedger(tmp_path / "ledger", epsilon=10.0, delta=0.5, neighbours=neighbours)
    X, y, _ = visits()
    tape = on_tape(lambda: searching(grid, neighbours=neighbours, ledger=ledger)(X, y))
    (entry,) = ledger.entries()
    assert entry == tape.result.ledger_entry_
    fits, scores = entry.groups
    assert without_allowances(fits) == released(tape.calls[:-1])
    assert without_allowances(scores) == released(tape.calls[-1:])


@pytest.mark.parametrize("eigenvalue", ["off", "on"])
@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
def test_a_row_moves_a_sketch_as_declared_and_the_ledger_is_charged_for_it(eigenvalue, neighbours, tmp_path):
    place = 7
    table, target = rows_with_one_of_a_kind(place)

    def run(table, _target):
        return release_sketch(
            table,
            **SKETCH,
            eigenvalue=eigenvalue,
            neighbours=neighbours,
            bad_rows="zero",
            random_state=0,
            ledger=BudgetLedger(tmp_path / "ledger", epsilon=10.0, delta=0.5, neighbours=neighbours),
        )

    tape, other = pair_on_tape(run, (table, target), without(table, target, [place]))
    assert [call.path for call in tape.calls] == [call.path for call in other.calls]
    np.testing.assert_array_equal(tape.result.rows_, other.result.rows_)
    assert tape.result.report == other.result.report
    assert without_allowances(tape.result.report.releases) == released(tape.calls)
    for call, changed in zip(tape.calls, other.calls, strict=True):
        if call.is_sketch:
            assert 0.0 < leverage(call, changed) * call.declared["floor"] <= 1.0 + 1e-6
        else:
            assert moved(call, changed) <= call.statistic.sensitivity * call.statistic.step * (1.0 + 1e-9)
    for entry in BudgetLedger(tmp_path / "ledger").entries():
        assert without_allowances(entry.releases) == released(tape.calls)
