"""Plans: they foretell what fits then do, and searches end where plans say."""

import inspect
import re
from dataclasses import replace

import numpy as np
import pytest

from dpols import (
    Bounds,
    CategoricalColumn,
    FeatureMap,
    NumericColumn,
    PrivateLinearRegression,
    plan_accuracy,
    required_epsilon,
    required_rows,
)
from dpols.errors import DpolsError, ParameterError
from dpols.planning import Assumptions, accuracy, search
from dpols.planning.accuracy import AccuracyPlan
from dpols.planning.question import Question
from dpols.planning.simulation import PlannedRow


def table(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 3))
    return X, 0.4 * X[:, 0] - 0.3 * X[:, 1] + 0.1 * X[:, 2] + 0.2 * np.clip(rng.standard_normal(n), -3, 3)


BOUNDS = Bounds(features=[(-1, 1)] * 3, target=(-1.5, 1.5))


@pytest.mark.parametrize(("method", "epsilon"), [("whitened", 0.3), ("adassp", 1.0), ("ihm", 1.0)])
def test_the_planned_excess_risk_is_the_one_of_fits_on_other_rows(method, epsilon):
    plan = plan_accuracy(
        n=4000, epsilon=epsilon, methods=[method], public_table=table(4000, 1)[0], target=table(4000, 1)[1],
        bounds=BOUNDS, intervals=False, trials=200,
    )  # fmt: skip
    X, y = table(4000, 2)
    joined = np.column_stack((X, np.ones(len(y))))
    best = np.mean((y - joined @ np.linalg.lstsq(joined, y, rcond=None)[0]) ** 2)
    fits = (
        PrivateLinearRegression(
            epsilon=epsilon, delta="1/n^2", bounds=BOUNDS, method=method, arithmetic="float", random_state=seed
        ).fit(X, y)
        for seed in range(60)
    )
    observed = [np.mean((y - fit.predict(X)) ** 2) - best for fit in fits]
    chance = 3.5 * np.std(observed) / np.sqrt(60) / np.var(y)
    assert plan.rows[0].excess_risk == pytest.approx(np.mean(observed) / np.var(y), rel=0.2, abs=chance)
    assert chance < 0.5 * plan.rows[0].excess_risk


def test_the_planned_interval_width_is_the_one_of_a_fit():
    X, y = table(50_000, 1)
    row = plan_accuracy(
        n=50_000, epsilon=3, methods="whitened", public_table=X, target=y, bounds=BOUNDS, trials=10
    ).rows[0]
    fit = PrivateLinearRegression(
        epsilon=3, delta="1/n^2", bounds=BOUNDS, inference=True, arithmetic="float", random_state=0
    ).fit(X, y)
    limits = np.asarray(fit.conf_int())[:3]
    width = np.median((limits[:, 1] - limits[:, 0]) * X.std(axis=0) / y.std())
    assert row.interval_width == pytest.approx(width, rel=0.2)
    assert (row.interval_share, row.no_interval_because) == (1.0, None)


def test_the_planned_share_of_intervals_is_that_of_the_slopes_of_fits():
    rng, n, trials = np.random.default_rng(1), 3_000, 100
    levels = rng.choice(6, n, p=[0.5, 0.3, 0.1, 0.05, 0.03, 0.02])
    X = np.column_stack((rng.uniform(-1, 1, n), (levels[:, None] == np.arange(1, 6)).astype(float)))
    y = np.clip(0.5 * X[:, 0] + 0.3 * X[:, 1] + 0.2 * rng.standard_normal(n), -1.5, 1.5)
    given = {"bounds": Bounds(features=[(-1, 1)] + [(0, 1)] * 5, target=(-1.5, 1.5)), "delta": 1e-6}
    planned = plan_accuracy(n=n, epsilon=1.2, methods="whitened", public_table=X, target=y, trials=trials, **given)
    model = PrivateLinearRegression(epsilon=1.2, inference=True, arithmetic="float", **given)
    found = [model.set_params(random_state=seed).fit(X, y).inference_ for seed in range(trials)]
    shares = np.isfinite([one.conf_int()[:6, 0] for one in found]).mean(axis=1)
    chance = 2.5 * shares.std() * np.sqrt(2 / trials)
    assert shares.mean() - np.mean(shares == 1.0) > chance  # or shares of fits with all intervals would pass as well
    assert planned.rows[0].interval_share == pytest.approx(shares.mean(), abs=chance)
    said = [reason for one in found for reason in (*one.why_not(), *one.why_empty())]
    assert sum(planned.rows[0].no_interval_because in reason for reason in said) > len(said) / 2


def test_numbers_of_a_row_agree_with_each_other():
    plan = plan_accuracy(n=3000, d=3, epsilon=[0.3, 3], r_squared=0.6, trials=8)
    assert [(r.method, r.epsilon) for r in plan.rows[:2]] == [("whitened", 0.3), ("whitened", 3.0)]
    assert plan.methods == accuracy.METHODS
    assert plan.nonprivate_r_squared == pytest.approx(0.6, abs=0.002)
    for row in plan.rows:
        assert row.r_squared == pytest.approx(plan.nonprivate_r_squared - row.excess_risk)
        assert row.mean_squared_error == pytest.approx(1.0 - row.r_squared)
        assert (row.interval_width is None) == (row.interval_share == 0.0)
        assert (row.interval_share == 1.0) == (row.no_interval_because is None)


def test_a_feature_map_makes_categories_and_powers_of_made_up_and_of_public_columns():
    columns = {"age": NumericColumn(18, 90), "region": CategoricalColumn(["north", "south", "west"])}
    feature_map = FeatureMap(columns, target=(0, 100)).plus(("age", "age"))
    (sample, *_) = Question.of(bounds=feature_map).samples(20_000)
    age, south, west, square = sample.source.features.T
    assert 18 <= age.min() < age.max() <= 90
    assert np.allclose(square, age**2)
    assert np.unique(np.column_stack((south, west)), axis=0).tolist() == [[0, 0], [0, 1], [1, 0]]
    assert (south.mean(), west.mean()) == pytest.approx((1 / 3, 1 / 3), abs=0.02)
    assert np.var(sample.source.target - np.column_stack((sample.source.features, np.ones(20_000))) @ sample.best) == (
        pytest.approx(0.5 * sample.target_variance, rel=0.02)
    )
    plan = plan_accuracy(n=20_000, bounds=feature_map, epsilon=3, methods="whitened", intervals=False, trials=2)
    assert plan.n_features == 4
    assert "categories are equally frequent" in plan.assumed
    rng = np.random.default_rng(0)
    rows = np.empty((500, 2), dtype=object)
    rows[:, 0], rows[:, 1] = rng.uniform(18, 90, 500), rng.choice(["north", "south", "west"], 500)
    target = rows[:, 0].astype(float) / 2 + 10 * (rows[:, 1] == "west") + rng.normal(0, 1, 500)
    public = plan_accuracy(n=5000, bounds=feature_map, epsilon=3, intervals=False, public_table=rows, target=target)
    assert public.n_features == 4
    assert public.nonprivate_r_squared > 0.98


def test_the_same_seed_gives_the_same_plan_and_another_one_another():
    plans = [plan_accuracy(n=500, d=2, epsilon=1, intervals=False, trials=4, seed=seed) for seed in (1, 1, 2)]
    assert plans[0] == plans[1] != plans[2]


def test_wider_bounds_and_fewer_rows_cost_accuracy():
    def excess(**changed):
        given = {"n": 5000, "d": 4, "epsilon": 0.5, "methods": "adassp", "intervals": False, "trials": 10}
        return plan_accuracy(**{**given, **changed}).rows[0].excess_risk

    assert excess(bounds_slack=3.0) > 1.3 * excess()
    assert excess(n=1000) > 1.3 * excess()
    assert excess(neighbours="replace-one") > 1.1 * excess()


def row(method, epsilon, r_squared):
    return PlannedRow(method, epsilon, 1e-6, 1000, 0.0, 0.0, 1 - r_squared, r_squared, 0.0, None, None, "not asked for")


@pytest.mark.parametrize(
    ("values", "epsilon", "text"),
    [
        ((0.1, 0.3, 0.48), 1.0, "epsilon = 1 with b is the smallest"),
        ((0.1, 0.3, 0.48), 1.0, "epsilon = 0.3 gives 0.300 at best."),
        ((0.49, 0.49, 0.49), 0.1, "not tried"),
        ((0.1, 0.48, 0.3), 0.3, "epsilon = 0.3 with b"),
        ((0.1, 0.2, 0.4), None, "b at epsilon = 1 reaches 0.400"),
        ((-1.0, -0.5, 0.0), None, "no epsilon up to 1 helps"),
    ],
)
def test_the_recommendation_is_the_smallest_epsilon_close_to_least_squares(values, epsilon, text):
    epsilons = (0.1, 0.3, 1.0)
    rows = [row("a", e, -2.0) for e in epsilons]
    rows += [row("b", e, value) for e, value in zip(epsilons, values, strict=True)]
    advice = AccuracyPlan(tuple(rows), 1000, 3, "", 0.5, 2).recommendation
    assert advice.epsilon == epsilon
    assert text in advice.reason


@pytest.mark.parametrize(
    ("shares", "epsilon", "text"),
    [
        ((0.0, 0.95, 1.0), 0.3, "epsilon = 0.3 with b is the smallest tried whose expected R^2"),
        ((0.0, 0.2, 1.0), 1.0, "epsilon = 1 with b is the smallest tried at which 90% of slopes have an interval."),
        ((0.0, 0.2, 1.0), 1.0, "At epsilon = 0.3, 20% of slopes would have an interval; without intervals it is"),
        ((0.0, 0.0, 0.5), 0.3, "no epsilon up to 1 gives 90% of them one: for intervals use more rows"),
    ],
)
def test_the_recommendation_is_an_epsilon_at_which_intervals_exist_if_they_are_asked_for(shares, epsilon, text):
    rows = [
        replace(row("b", e, value), interval_share=share)
        for e, value, share in zip((0.1, 0.3, 1.0), (0.1, 0.48, 0.49), shares, strict=True)
    ]
    advice = AccuracyPlan((*rows, replace(row("a", 0.3, 0.2), interval_share=0.0)), 1000, 3, "", 0.5, 2).recommendation
    assert (advice.method, advice.epsilon) == ("b", epsilon)
    assert text in advice.reason


def test_the_epsilon_found_is_the_smallest_of_the_grid_that_is_enough():
    given = {"n": 3000, "d": 3, "r_squared": 0.5, "trials": 8}
    answer = required_epsilon(**given, wanted_r_squared=0.47)
    grid = search._grid(*search.EPSILON_RANGE)
    below = grid[grid.index(answer.value) - 1]
    planned = plan_accuracy(**given, epsilon=[below, answer.value], methods="whitened", intervals=False).rows
    assert planned[0].r_squared < 0.47 <= planned[1].r_squared
    assert planned[1].r_squared == answer.row.r_squared
    assert len(answer.simulated) <= 7


def test_the_number_of_rows_found_is_enough_and_falls_with_epsilon():
    given = {"d": 2, "wanted_r_squared": 0.45, "trials": 6}
    answers = [required_rows(**given, epsilon=epsilon) for epsilon in (0.3, 3.0)]
    assert answers[0].value > answers[1].value
    assert all(answer.row.r_squared >= 0.45 and answer.row.n_rows == answer.value for answer in answers)
    assert all(isinstance(answer.value, int) for answer in answers)


def test_fewer_slopes_with_an_interval_need_fewer_rows():
    given = {"epsilon": 1.0, "d": 5, "condition": 50.0, "interval_width": 1.0, "trials": 6}
    few, most = (required_rows(**given, interval_share=share) for share in (0.2, 1.0))
    assert few.value < most.value
    assert 0.2 <= few.row.interval_share < 1.0 == most.row.interval_share
    with pytest.raises(ParameterError, match="interval_share=0"):
        required_rows(**given, interval_share=0.0)


def test_a_width_is_reached_by_enough_epsilon_or_said_to_be_out_of_reach():
    answer = required_epsilon(n=20_000, d=2, interval_width=0.1, trials=4)
    assert answer.row.interval_width <= 0.1
    assert answer.row.interval_share >= 0.9
    assert "intervals of width <= 0.1 for at least 90% of slopes" in answer.reason
    assert not required_epsilon(n=200, d=5, interval_width=1e-6, trials=4).reachable


def test_what_cannot_be_reached_is_said_with_a_remedy():
    assert "even without privacy" in required_epsilon(n=1000, d=2, wanted_r_squared=0.6).reason
    assert "so few rows" in required_epsilon(n=60, d=20, wanted_r_squared=0.49).reason
    assert "at most" in required_rows(epsilon=1, d=2, wanted_r_squared=0.6).reason
    far = required_epsilon(n=300, d=20, wanted_r_squared=0.44, method="dp-gd", trials=2)
    assert far.value is None
    assert "use more rows" in far.reason


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"n": 0}, "n=0"),
        ({"n": 4}, "n=4"),
        ({"d": None}, "d is required"),
        ({"d": 2.5}, "d=2.5"),
        ({"r_squared": 1.0}, "r_squared=1.0"),
        ({"condition": 0.5}, "condition=0.5"),
        ({"bounds_slack": "wide"}, "bounds_slack='wide'"),
        ({"bounds": BOUNDS}, "does not match bounds"),
        ({"bounds": (0, 1)}, "must be a dpols.Bounds"),
        ({"epsilon": []}, "names nothing"),
        ({"epsilon": [1, -1]}, "epsilon=-1"),
        ({"epsilon": None}, "epsilon=None"),
        ({"epsilon": "1"}, "epsilon='1'"),
        ({"delta": 2.0}, "delta=2.0"),
        ({"methods": ["magic"]}, "method='magic'"),
        ({"neighbours": "both"}, "neighbours='both'"),
        ({"trials": 1}, "trials=1"),
        ({"seed": -1}, "seed=-1"),
        ({"public_table": np.ones((9, 2))}, "leave them out"),
        ({"public_table": np.ones((9, 2)), "d": None}, "target is required"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(changed, message):
    with pytest.raises(DpolsError, match=message.replace("(", r"\(")):
        plan_accuracy(**{"n": 1000, "d": 2, "epsilon": 1.0, **changed})


def test_shared_keywords_have_defaults_in_one_place_and_words_in_the_docstring():
    names = set(Assumptions.__annotations__)
    assert names == set(inspect.signature(Question.of).parameters)
    documented = re.findall(
        r"^    ([a-z_, ]+) : ", inspect.cleandoc(plan_accuracy.__doc__).replace("\n", "\n    "), re.M
    )
    own = set(inspect.signature(plan_accuracy).parameters) - {"assumed"}
    assert set(", ".join(documented).split(", ")) == names | own
    with pytest.raises(TypeError, match="'r_square'"):
        plan_accuracy(n=1000, d=2, r_square=0.4)


def test_a_goal_is_one_number():
    for wanted in ({}, {"wanted_r_squared": 0.4, "interval_width": 0.1}, {"wanted_r_squared": 1.4}):
        with pytest.raises(ParameterError, match="wanted_r_squared"):
            required_epsilon(n=1000, d=2, **wanted)


def test_progress_counts_to_the_end():
    seen = []
    plan_accuracy(n=100, d=1, epsilon=[1, 2], methods=["adassp"], trials=2, progress=lambda *step: seen.append(step))
    assert [step[1:] for step in seen] == [(0, 2), (1, 2), (2, 2)]


@pytest.mark.extras
def test_the_picture_has_a_curve_for_each_method(tmp_path):
    pytest.importorskip("matplotlib")
    plan = plan_accuracy(n=2000, d=2, epsilon=[1, 10], methods=["whitened", "adassp"], trials=2)
    plan.save_plot(tmp_path / "plan.png")
    assert (tmp_path / "plan.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize("method", ["logistic", "poisson"])
def test_methods_of_other_families_are_not_planned(method):
    with pytest.raises(ParameterError, match=rf"{method}.* for linear models; the methods are .*whitened"):
        plan_accuracy(n=2000, d=2, epsilon=[1.0], methods=[method])
    for plan, given in ((required_epsilon, {"n": 2000}), (required_rows, {"epsilon": 1.0})):
        with pytest.raises(ParameterError, match="for linear models"):
            plan(d=2, wanted_r_squared=0.3, method=method, **given)
