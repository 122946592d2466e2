"""Replay and audit where a row is added or removed: nothing but its own contribution changes.

As everywhere in these tests, whole fits are on a tape; what a row moves is seen by leaving it out.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_replay import BOUNDS as MANY_BOUNDS
from test_replay import BUDGETS, OPTIONS, all_bits, tables
from whole_fits import (
    BOUNDS,
    MOST,
    OWN,
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
    without_allowances,
)

from dpols import Bounds, PrivateGridSearch, PrivateLogisticRegression, PrivatePoissonRegressor
from dpols.algorithms import ALGORITHMS, GENERALISED
from dpols.audit import audit, epsilon_lower_bound, replay
from dpols.audit.likelihood import log_likelihood_ratio
from dpols.audit.subjects import BUDGET, data_a, end_to_end
from dpols.private_search import grid_search

METHODS = [name for name, row in ALGORITHMS.items() if row.needs_rows is None]
UNKNOWN = {"neighbours": "add-remove", "bad_rows": "raise"}


def left_out(rows, *arrays):
    """The arrays without some rows."""
    return tuple(np.delete(array, list(rows), axis=0) for array in arrays)


def assert_only_own_contribution(tape, other):
    """Two runs took the same way and show the same, and their releases differ by what was declared."""
    assert [call.path for call in tape.calls] == [call.path for call in other.calls]
    for call, changed in zip(tape.calls, other.calls, strict=True):
        if call.is_sketch:
            assert leverage(call, changed) * call.declared["floor"] <= 1.0 + 1e-6
        else:
            assert moved(call, changed) <= call.statistic.sensitivity * np.max(call.statistic.step) * (1.0 + 1e-9)


@pytest.mark.parametrize("arithmetic", ["exact", "float"])
@pytest.mark.parametrize("method", [*METHODS, *GENERALISED])
@settings(max_examples=25)
@given(data=st.data())
def test_one_row_more_moves_every_release_by_no_more_than_declared_and_nothing_else(method, arithmetic, data):
    table = data.draw(tables)
    units = data.draw(st.booleans())
    report = replay(
        method,
        (table[:, :-1], table[:, -1]),
        data.draw(st.integers(0, len(table) - 1)),
        bounds=data.draw(st.sampled_from(MANY_BOUNDS)),
        budget=data.draw(st.sampled_from(BUDGETS)),
        fit_intercept=data.draw(st.booleans()),
        arithmetic=arithmetic,
        options=data.draw(st.sampled_from(OPTIONS.get(method, ({},)))),
        direction=data.draw(st.sampled_from(["remove", "add"])),
        bits=[data.draw(all_bits)],
        neighbours="add-remove",
        ids=[data.draw(st.sampled_from("abc")) for _ in table] if units else None,
        max_rows_per_unit=data.draw(st.integers(1, 4)) if units else 1,
    )
    assert report.calls
    assert report.same_path
    assert report.same_output
    assert report.accounted
    assert all(call.within for call in report.calls)
    if arithmetic == "exact":
        assert report.worst_ratio <= 1.0


@pytest.mark.parametrize("bounds", [BOUNDS, PAID], ids=["declared", "paid"])
@pytest.mark.parametrize("most", [None, MOST], ids=["rows", "units"])
@pytest.mark.parametrize("arithmetic", ["exact", "float"])
@pytest.mark.parametrize("method", METHODS)
def test_a_unit_more_moves_what_a_fit_lets_out_as_declared_and_nothing_else(method, arithmetic, most, bounds):
    X, y, people = visits()
    own = OWN[:1] if most is None else OWN
    chosen = model(
        method=method, arithmetic=arithmetic, bounds=bounds, count_clipped=True, max_rows_per_unit=most, **UNKNOWN
    )

    def run(X, y, people):
        return returned(chosen.fit(X, y, groups=None if most is None else people)), chosen.privacy_report_

    tape, other = pair_on_tape(run, (X, y, people), left_out(own, X, y, people))
    assert_only_own_contribution(tape, other)
    assert tape.result == other.result
    assert released(tape.calls) == without_allowances(tape.result[1].releases)


@pytest.mark.parametrize("method", METHODS)
def test_all_that_a_fit_shows_follows_from_what_it_released_on_any_number_of_rows(method):
    run = model(method=method, epsilon=300.0, count_clipped=True, **UNKNOWN).fit
    others = [(np.tile(array, (3,) + (1,) * (array.ndim - 1))) for array in strangers()]
    tape, other = pair_on_tape(lambda X, y: returned(run(X, y)), visits()[:2], others)
    assert [call.path for call in tape.calls] == [call.path for call in other.calls]
    assert tape.result == other.result


@pytest.mark.parametrize("estimator", [PrivateLogisticRegression, PrivatePoissonRegressor])
def test_one_row_more_moves_what_fits_of_other_families_let_out_as_declared(estimator):
    X, y, _ = visits()
    y = (y > 0.0).astype(float)
    bounds = Bounds(features=BOUNDS.features, target=(0.0, 1.0))
    binary = {"classes": (0.0, 1.0)} if estimator is PrivateLogisticRegression else {}
    chosen = estimator(epsilon=5.0, delta=1e-3, bounds=bounds, random_state=0, neighbours="add-remove", **binary)
    tape, other = pair_on_tape(lambda X, y: chosen.fit(X, y).to_json(), (X, y), left_out([5], X, y))
    assert_only_own_contribution(tape, other)
    assert tape.result == other.result


@pytest.mark.parametrize("scoring", [True, False], ids=["scoring", "fitting"])
def test_one_row_more_moves_the_fits_of_a_search_or_its_scores(scoring, monkeypatch):
    """Other rows keep their coins."""
    X, y, _ = visits()
    coins = np.arange(len(y)) % 5 == 2
    place = int(np.flatnonzero(coins == scoring)[3])
    by_length = {len(y): coins, len(y) - 1: np.delete(coins, place)}
    monkeypatch.setattr(grid_search, "in_scoring_part", lambda n, share, coins: by_length[n])

    def run(X, y):
        search = PrivateGridSearch(
            model(method="adassp"),
            {"fit_intercept": [True, False]},
            epsilon=8.0,
            delta=1e-3,
            random_state=0,
            neighbours="add-remove",
        ).fit(X, y)
        return search.results_, returned(search.best_estimator_), search.search_report_

    tape, other = pair_on_tape(run, (X, y), left_out([place], X, y))
    assert_only_own_contribution(tape, other)
    assert tape.result == other.result
    *fits, scores = [moved(call, changed) for call, changed in zip(tape.calls, other.calls, strict=True)]
    assert (scores > 0.0) == scoring
    assert any(fits) != scoring


@pytest.mark.parametrize("method", ["whitened", "whitened-inference"])
def test_no_attack_finds_more_than_is_claimed_of_a_row_that_is_added(method):
    found = audit(end_to_end(method, rows_are_public=False)[0], runs=4000, seed=1)
    assert found.holds
    assert found.lower_bound > 0.8
    assert found.lower_bound <= found.exact_epsilon


def test_an_attack_finds_a_number_of_rows_that_is_shown_with_too_little_noise():
    """Totals with a tenth of their noise, as if a number of rows could be told."""
    subject = end_to_end("whitened", rows_are_public=False)[0]

    def careless(rows, bits):
        plan = ALGORITHMS["whitened"].plan(BUDGET, n_rows=None, n_features=2)
        return ALGORITHMS["whitened"].run(rows, replace(plan, totals_multiplier=0.1 * plan.totals_multiplier), bits)

    assert not audit(replace(subject, program=careless), runs=4000, seed=1).holds


def test_no_attack_on_whole_fits_finds_more_than_is_claimed():
    """The estimator itself, on data with and without its most telling row."""
    X, y = data_a()
    runs, scores = 120, {}
    for sign, (data, others) in {1: ((X, y), (X[1:], y[1:])), -1: ((X[1:], y[1:]), (X, y))}.items():
        scores[sign] = []
        for seed in range(runs):
            chosen = model(
                seed,
                epsilon=BUDGET.epsilon,
                delta=BUDGET.delta,
                bounds=Bounds(x_norm=1.0, y_abs=1.0),
                fit_intercept=False,
                options={"n_iterations": 3},
                **UNKNOWN,
            )
            first = on_tape(lambda data=data, chosen=chosen: chosen.fit(*data))
            second = on_tape(lambda others=others, chosen=chosen: chosen.fit(*others), following=first)
            scores[sign].append(sign * float(log_likelihood_ratio(first, second)[0]))
    present, absent = np.array(scores[1]), np.array(scores[-1])
    pairs = (present, absent), (-absent, -present)
    bounds = [epsilon_lower_bound(*pair, BUDGET.delta).lower_bound for pair in pairs]
    assert 0.1 < max(bounds) <= BUDGET.epsilon, bounds
