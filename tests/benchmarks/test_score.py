"""The scoreboard: its arithmetic on known numbers, references against brute force, and a small run that goes on."""

import json
import math

import numpy as np
import pytest

from dpols.algorithms import ALGORITHMS
from dpols.errors import ParameterError
from dpols.privacy import PrivacyBudget
from dpols.privacy.gaussian import gaussian_multiplier
from dpols_bench.datasets import FAMILIES, REAL, load
from dpols_bench.paper.cells import problem
from dpols_bench.paper.summary import Mean
from dpols_bench.paper.variants import ABLATIONS, GRADIENT_DESCENT
from dpols_bench.score.board import Board, Reference, goals
from dpols_bench.score.contenders import CONTENDERS, DEFAULT, FOUR_PASSES, RIVALS, YARDSTICK
from dpols_bench.score.evaluation import TUNED_ON, Settings, score
from dpols_bench.score.references import mean_square_of_target, ridge_oracle_excess, zero_excess

pytestmark = pytest.mark.extras
pytest.importorskip("matplotlib")


def board(values, *, zero=1.0, error=0.0):
    places = [("a", 0.1), ("b", 0.1), ("a", 10.0), ("b", 10.0)]
    means = {
        (contender, place): Mean(value, error * value)
        for contender, numbers in values.items()
        for place, value in zip(places, numbers, strict=True)
    }
    references = {place: Reference(zero=zero, ridge_oracle=0.5, mean_square=2.0) for place in places}
    return Board(means, references, tuned_on=["a"], held_out=["b"], families=[])


def test_means_are_geometric_and_have_intervals():
    scores = board({DEFAULT: (1.0, 2.0, 4.0, 8.0), YARDSTICK: (2.0, 2.0, 2.0, 2.0)}, error=0.1)
    ratio = scores.mean_ratio(DEFAULT, YARDSTICK, scores.references)
    assert ratio.value == pytest.approx((0.5 * 1.0 * 2.0 * 4.0) ** 0.25)
    assert ratio.log_error == pytest.approx(math.hypot(0.1, 0.1) / math.sqrt(4.0))
    low, high = ratio.interval
    assert low < ratio.value < high
    assert low * high == pytest.approx(ratio.value**2)


def test_the_worst_cell_and_the_harm_are_found():
    scores = board({DEFAULT: (1.0, 0.5, 4.0, 1.02), YARDSTICK: (2.0, 1.0, 2.0, 2.0)})
    assert scores.worst(DEFAULT, YARDSTICK, scores.references)[0] == ("a", 10.0)
    place, harm = scores.most_harm(DEFAULT, scores.places(["b"]))
    assert (place, harm) == (("b", 10.0), pytest.approx(0.01))


def test_cells_count_as_below_unless_the_interval_says_otherwise():
    scores = board({DEFAULT: (1.0, 1.05, 1.5, 0.9), YARDSTICK: (1.0, 1.0, 1.0, 1.0)}, error=0.03)
    assert scores.share_at_or_below(DEFAULT, YARDSTICK, scores.references) == 0.75


@pytest.mark.parametrize("worse", [1.0, 3.0])
def test_goals_are_missed_by_a_method_that_is_no_better(worse):
    values = {DEFAULT: (0.3 * worse,) * 4, FOUR_PASSES: (0.5 * worse,) * 4, YARDSTICK: (1.0,) * 4}
    found = goals(board(values | {rival: (0.6,) * 4 for rival in RIVALS}))
    assert len(found) >= 10
    assert all(goal.reached for goal in found) == (worse == 1.0)


def test_goals_about_what_was_not_run_are_left_out():
    found = goals(board({DEFAULT: (0.3,) * 4, YARDSTICK: (1.0,) * 4}))
    assert not any("gradient descent" in goal.text or "4 passes" in goal.text for goal in found)


def test_references_are_what_they_say():
    on = problem("few-rows")
    X, y = on.data.features, on.data.target
    best = np.linalg.lstsq(X, y)[0]
    loss = np.square(y - X @ best).sum()
    assert zero_excess(on.risk) == pytest.approx((y @ y - loss) / len(y), rel=1e-9)
    assert mean_square_of_target(on.risk) == pytest.approx(y @ y / len(y), rel=1e-9)
    budget = PrivacyBudget(1.0, 1e-4)
    noise = gaussian_multiplier(budget) * np.random.default_rng(0).standard_normal((100, X.shape[1]))
    risks = [
        np.square((np.linalg.solve(X.T @ X + v * np.eye(X.shape[1]), (X.T @ y + noise).T).T - best) @ X.T)
        .sum(axis=1)
        .mean()
        / len(y)
        for v in np.geomspace(1.0, 1e3, 15)
    ]
    assert ridge_oracle_excess(on.risk, budget) == pytest.approx(min(risks), rel=0.1)


def test_half_of_the_data_sets_are_held_out():
    assert set(REAL) >= TUNED_ON
    assert 2 * len(TUNED_ON) <= len(REAL)


@pytest.mark.parametrize("name", sorted(set(FAMILIES) - {"million-rows"}))
def test_families_are_the_same_every_time_and_have_the_signal_they_say(name):
    one, other = load(name), load(name)
    np.testing.assert_array_equal(one.features, other.features)
    np.testing.assert_array_equal(one.target, other.target)
    fitted = one.features @ np.linalg.lstsq(one.features, one.target)[0]
    explained = np.var(fitted) / np.var(one.target)
    assert (explained < 0.02) if name == "no-signal" else (0.2 < explained < 0.9)


def test_gradient_descent_stops_later_with_more_rows_and_never_too_late():
    budget = PrivacyBudget(1.0, 1e-8)
    with GRADIENT_DESCENT.in_force():
        plans = [ALGORITHMS["dp-gd"].plan(budget, n_rows=n, n_features=10) for n in (4, 1000, 5000, 10**7)]
    counts = [plan.n_iterations for plan in plans]
    assert counts == sorted(counts)
    assert (counts[0], counts[-1]) == (1, 400)
    clips = [plan.norm_bound for plan in plans]
    assert clips[:2] == [0.25, 0.25]
    assert 0.25 < clips[2] < clips[3] == 1.0


def test_gradient_descent_returns_the_mean_of_the_later_half_of_its_points():
    from dpols.algorithms import dp_gd

    with GRADIENT_DESCENT.in_force():
        np.testing.assert_allclose(dp_gd._end(np.array([[[0.0], [9.0], [2.0], [4.0]]])), [[3.0]])
    np.testing.assert_allclose(dp_gd._end(np.array([[[0.0], [9.0], [2.0], [4.0]]])), [[4.0]])


@pytest.mark.parametrize("row", ABLATIONS, ids=lambda row: row.name)
def test_an_ablation_replaces_what_is_there_and_puts_it_back(row):
    from dpols.algorithms import adaptive

    before = {name: getattr(adaptive, name) for name in row.replaced}
    with row.in_force():
        assert all(getattr(adaptive, name) is value for name, value in row.replaced.items())
    assert {name: getattr(adaptive, name) for name in row.replaced} == before


def small(trials=4):
    return Settings(("few-rows", "no-signal"), (DEFAULT, YARDSTICK, *RIVALS), (0.631, 10.0), trials=trials, jobs=1)


def test_a_run_that_stopped_goes_on_and_gives_the_same(tmp_path):
    whole = score(small(), tmp_path / "whole")
    stopped = tmp_path / "stopped"
    stopped.mkdir()
    lines = (tmp_path / "whole" / "scores.jsonl").read_bytes().splitlines(keepends=True)
    (stopped / "scores.jsonl").write_bytes(b"".join(lines[: len(lines) // 2]) + lines[-1][:20])
    resumed = score(small(), stopped)
    assert resumed.board.means == whole.board.means
    assert len((stopped / "scores.jsonl").read_bytes().splitlines()) == len(lines)


def test_a_run_leaves_a_page_a_picture_and_numbers(tmp_path):
    scores = score(small(), tmp_path)
    page = (tmp_path / "scores.html").read_text(encoding="utf-8")
    assert "few-rows" in page
    assert "http" not in page
    assert (tmp_path / "heat-map.png").read_bytes().startswith(b"\x89PNG")
    assert len(json.loads((tmp_path / "scores.json").read_text(encoding="utf-8"))) == len(scores.board.means)
    assert [goal["text"] for goal in json.loads((tmp_path / "goals.json").read_text())] == [
        g.text for g in scores.goals
    ]


def test_bad_settings_are_refused():
    for bad in ({"trials": 1}, {"jobs": -1}, {"datasets": ("nowhere",)}):
        with pytest.raises(ParameterError):
            Settings(**bad)
    assert len(set(CONTENDERS)) == len(CONTENDERS)
