"""A search among candidates has one budget: fits and scores are about different rows, and both are paid for."""

import math

import numpy as np
import pytest
from scipy.stats import chi2
from sklearn.base import clone

from dpols import Bounds, BudgetLedger, FeatureMap, NumericColumn, PrivateGridSearch, PrivateLinearRegression
from dpols.errors import BoundsError, BudgetExceeded, DataError, DpolsError, NotPrivateWarning, ParameterError
from dpols.privacy import GaussianRelease, delta_of, epsilon_of
from dpols.private_search.scores import Measure, in_scoring_part, scores_of
from dpols.verification import verify_file

BOUNDS = Bounds(features=[(-1, 1)] * 2, target=(-1, 1))
RNG = np.random.default_rng(11)
X = RNG.uniform(-1, 1, size=(4000, 2))
Y = X @ [0.4, -0.2] + 0.3
SCORING = in_scoring_part(len(X), 0.2)
MEASURE = Measure.squared((-1.0, 1.0))


def search(grid=None, estimator=None, **parameters):
    estimator = estimator or PrivateLinearRegression(bounds=BOUNDS, method="adassp")
    grid = grid or {"fit_intercept": [True, False]}
    return PrivateGridSearch(estimator, grid, **{"epsilon": 1.0, "delta": 1e-6} | parameters)


def model(coefficients, intercept=0.0, bad_rows="raise"):
    fitted = PrivateLinearRegression(bad_rows=bad_rows)
    fitted.coef_, fitted.intercept_, fitted.feature_map_ = np.array(coefficients, dtype=float), intercept, None
    return fitted


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_the_parts_depend_on_places_alone_and_have_the_share(share):
    first, second = in_scoring_part(1000, share), in_scoring_part(2000, share)
    np.testing.assert_array_equal(first, second[:1000])
    assert abs(second.mean() - share) < 0.05


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_one_row_moves_the_scores_by_no_more_than_their_sensitivity_and_can_do_so(count):
    rng = np.random.default_rng(count)
    models = [model(rng.normal(size=2) * 10.0**scale, bad_rows="zero") for scale in range(count)]
    rows, targets = rng.uniform(-1, 1, size=(60, 2)), rng.uniform(-1, 1, size=60)
    largest = 0.0
    extremes = [(0.0, 0.0, 0.0), (1.0, 1.0, -1.0), (1e300, -1e300, 1.0), (5e-324, 1e308, 1e308), (-1.0, 1.0, 1.0)]
    for place, row in enumerate([*extremes, *rng.normal(size=(40, 3)) * 3.0]):
        with_row, with_target = rows.copy(), targets.copy()
        with_row[place], with_target[place] = row[:2], row[2]
        without, without_target = with_row.copy(), with_target.copy()
        without[place], without_target[place] = np.nan, np.nan  # counts as the zero row
        found = scores_of(models, with_row, with_target, MEASURE)
        neighbour = scores_of(models, without, without_target, MEASURE)
        moved = np.linalg.norm((found.value - neighbour.value).astype(float))
        assert moved <= found.sensitivity == neighbour.sensitivity
        largest = max(largest, moved)
    assert found.exact
    perfect = [model([0.0, 0.0])] * count
    alone = scores_of(perfect, np.zeros((1, 2)), np.zeros(1), MEASURE)
    assert np.linalg.norm(alone.value.astype(float)) >= 0.999999 * alone.sensitivity - 1.0


def test_scores_are_the_squared_errors_within_the_range():
    found = scores_of([model([1.0, 0.0], 0.25)], X, Y, MEASURE)
    direct = (((np.clip(X[:, 0] + 0.25, -1, 1) - Y) / 2.0) ** 2 - 0.5).sum()
    assert found.value[0] * found.step == pytest.approx(direct, abs=len(X) * 2.0**-20)


def test_a_row_for_scoring_does_not_enter_fits_and_one_for_fitting_enters_them_only():
    base = search(random_state=5).fit(X, Y)

    def coefficients(x, y):
        fitted = search(random_state=5).fit(x, y)
        return np.append(fitted.best_estimator_.coef_, [r["mean_squared_error"] for r in fitted.results_])

    other = Y.copy()
    other[np.flatnonzero(SCORING)[:50]] *= -1.0
    moved = coefficients(X, other)
    np.testing.assert_array_equal(moved[:2], base.best_estimator_.coef_)
    assert (moved[2:] != [r["mean_squared_error"] for r in base.results_]).all()
    other = Y.copy()
    other[np.flatnonzero(~SCORING)[:50]] *= -1.0
    assert (coefficients(X, other)[:2] != base.best_estimator_.coef_).all()


@pytest.mark.parametrize("method", ["adassp", "ihm", "linmix-dynamic"])
@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
def test_fits_and_scores_each_meet_the_budget_and_use_it(method, neighbours):
    fitted = search(
        {"fit_intercept": [True, False], "bad_rows": ["raise"]},
        PrivateLinearRegression(bounds=BOUNDS, method=method, arithmetic="float"),
        neighbours=neighbours,
    ).fit(X, Y)
    report = fitted.search_report_
    assert report.private
    assert report.n_scoring == SCORING.sum() == len(X) - report.n_fitting
    for part in (report.fits, report.scores):
        assert delta_of(part, 1.0, relation=neighbours) <= 1e-6
        assert epsilon_of(part, 1e-6, relation=neighbours) > (0.4 if method == "linmix-dynamic" else 0.95)
    assert report.spent_epsilon <= 1.0 + 1e-9
    zero_out = report.asked.for_zero_out(neighbours)
    assert report.candidate_budget.epsilon > (0.5 if method == "linmix-dynamic" else 0.6) * zero_out.epsilon * 0.99


def test_a_report_is_shown_in_words():
    fitted = search().fit(X, Y)
    report = fitted.search_report_
    text = str(report)
    assert text == repr(report) == report.to_text()
    assert "Guarantee      private: epsilon 1, delta 1e-06, protects single rows\n" in text
    assert f"{report.n_fitting:,} for fitting, {report.n_scoring:,} for scoring" in text
    assert f"1 x scores  Gaussian noise, standard deviation {report.scores[0].multiplier:.5g} x sensitivity" in text
    assert max(map(len, text.splitlines())) <= 100
    large = str(search(epsilon=20.0).fit(X, Y).search_report_)
    assert "CAUTION: epsilon = 20" in large
    hidden = str(search(neighbours="add-remove", random_state=0).fit(X, Y).search_report_)
    assert hidden.startswith("NOT PRIVATE: random_state was given")
    assert "Rows           their number is not public" in hidden
    assert str(len(X)) not in hidden


def test_the_report_of_the_chosen_fit_says_what_the_choice_cost(tmp_path):
    chosen = search(neighbours="replace-one").fit(X, Y).best_estimator_
    report = chosen.privacy_report_
    assert report.asked.epsilon < 1.0
    said = "the search did: (epsilon=1, delta=1e-06), replace-one neighbours"
    for text in (report.to_text(), report.to_html(), report.to_markdown(), chosen.summary().as_text()):
        assert said in " ".join(text.split())
    chosen.save(tmp_path / "model.json")
    (tmp_path / "report.html").write_text(report.to_html(), encoding="utf-8")
    for name in ("model.json", "report.html"):
        assert all(finding.holds for finding in verify_file(tmp_path / name))
    assert PrivateLinearRegression.load(tmp_path / "model.json").privacy_report_ == report
    assert search({"fit_intercept": [True]}).fit(X, Y).best_estimator_.privacy_report_.chosen is None
    assert chosen.set_params(neighbours="zero-out").fit(X, Y).privacy_report_.chosen is None


def test_the_better_candidate_is_chosen_and_predicts():
    fitted = search().fit(X, Y)
    assert fitted.best_params_ == {"fit_intercept": True}
    assert fitted.best_index_ == 0
    assert fitted.results_[1]["mean_squared_error"] - fitted.results_[0]["mean_squared_error"] > 0.02
    np.testing.assert_allclose(fitted.predict(X), Y, atol=0.2)
    assert fitted.ledger_entry_ is None
    np.testing.assert_array_equal(fitted.predict(X), fitted.best_estimator_.predict(X))


def test_scores_have_the_noise_that_is_stated():
    grid = {"fit_intercept": [True]}
    estimator = PrivateLinearRegression(bounds=BOUNDS, method="adassp", arithmetic="float")
    found = [search(grid, estimator, random_state=seed, epsilon=50.0).fit(X, Y).results_[0] for seed in range(150)]
    errors = np.array([result["mean_squared_error"] for result in found])
    stated = found[0]["noise"]
    zero_out_scores = scores_of([model([0.4, -0.2], 0.3)], X[SCORING], Y[SCORING], MEASURE)
    assert zero_out_scores.sensitivity == 2**19
    # At so large a budget the fit itself hardly varies.
    low, high = chi2.ppf([1e-4, 1.0 - 1e-4], len(errors) - 1)
    for factor, accepted in ((1.0, True), (2 / 3, False), (3 / 2, False)):
        ratio = errors.var() * len(errors) / (factor * stated) ** 2
        assert (low < ratio < high) == accepted


def test_a_search_is_charged_once_with_fits_and_scores_as_groups(tmp_path):
    ledger = BudgetLedger(tmp_path / "ledger", epsilon=2.0, delta=1e-5)
    fitted = search(ledger=ledger).fit(X, Y)
    (entry,) = ledger.entries()
    report = fitted.search_report_
    assert fitted.ledger_entry_ == entry
    assert len(entry.groups) == 2
    assert sorted(map(repr, entry.groups[0])) == sorted(map(repr, report.fits))
    assert entry.groups[1] == report.scores
    assert entry.what == "search of 2 candidates at (epsilon=1, delta=1e-06), zero-out"
    with pytest.raises(BudgetExceeded):
        search(ledger=str(ledger.path), epsilon=3.0).fit(X, Y)
    assert len(ledger.entries()) == 1
    with pytest.warns(NotPrivateWarning):
        fitted.score(X, Y)
    assert clone(search(ledger=ledger)).ledger is ledger


def test_bad_rows_are_refused_or_count_as_zero_rows():
    broken = X.copy()
    broken[np.flatnonzero(SCORING)[0], 1] = np.nan
    with pytest.raises(DataError, match="Input contains NaN"):
        search().fit(broken, Y)
    lenient = PrivateLinearRegression(bounds=BOUNDS, method="adassp", bad_rows="zero")
    search(estimator=lenient).fit(broken, Y)


NOT_USABLE = {
    "nan": lambda table, row: table.assign(a=table["a"].where(np.arange(len(table)) != row)),
    "text": lambda table, row: table.assign(
        a=table["a"].astype(object).where(np.arange(len(table)) != row, "Jane Doe")
    ),
    "a list": lambda table, row: table.assign(a=[[1] if place == row else 0.5 for place in range(len(table))]),
}
KINDS = {
    "an array": lambda table: table.to_numpy(),
    "a table": lambda table: table,
    "a feature map": lambda table: table,
}


@pytest.mark.extras
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("spoil", NOT_USABLE.values(), ids=NOT_USABLE)
def test_failed_searches_do_not_find_the_place_of_a_row(tmp_path, kind, spoil):
    table = pytest.importorskip("pandas").DataFrame(X[:300], columns=["a", "b"])
    ranges = Bounds(features={"a": (-1, 1), "b": (-1, 1)}, target=(-1, 1))
    declared = {
        "an array": {"bounds": BOUNDS},
        "a table": {"bounds": ranges},
        "a feature map": {
            "feature_map": FeatureMap({"a": NumericColumn(-1, 1), "b": NumericColumn(-1, 1)}, target=(-1, 1))
        },
    }
    estimator = PrivateLinearRegression(method="adassp", **declared[kind])
    ledger = BudgetLedger(tmp_path / "ledger", epsilon=2.0, delta=1e-5)
    told, parts = set(), set()
    for row in (0, 150, 299):
        broken = KINDS[kind](spoil(table, row))
        for share in (0.1, 0.5, 0.9):
            with pytest.raises(DpolsError) as caught:
                search(estimator=estimator, scoring_share=share, ledger=ledger, target_range=(-1, 1)).fit(
                    broken, Y[:300]
                )
            told.add((type(caught.value), str(caught.value)))
            parts.add(bool(in_scoring_part(300, share)[row]))
    assert parts == {True, False}
    assert len(told) == 1
    assert "Jane" not in repr(told)
    assert len({(entry.status, entry.outcome) for entry in ledger.entries()}) <= 1
    assert len(ledger.entries()) in (0, 9)


@pytest.mark.extras
def test_rows_that_a_feature_map_cannot_use_count_as_zero_rows():
    table = pytest.importorskip("pandas").DataFrame(X, columns=["a", "b"])
    table.loc[::50, "b"] = np.nan
    full, half = (FeatureMap({name: NumericColumn(-1, 1) for name in names}, target=(-1, 1)) for names in ("ab", "a"))
    estimator = PrivateLinearRegression(feature_map=full, bad_rows="zero")
    grid = {"feature_map": [full, half], "fit_intercept": [True]}
    fitted = search(grid, estimator, epsilon=10.0, target_range=(-1, 1)).fit(table, Y)
    # Such a row counts as an error of half the squared range, which is 4.
    unusable = 2.0 * table["b"].isna()[SCORING].mean()
    for result, expected in zip(fitted.results_, (unusable, 0.2**2 / 3), strict=True):
        assert result["mean_squared_error"] == pytest.approx(expected, abs=0.003 + 4 * result["noise"])
    assert unusable > 0.02
    assert result["noise"] < 0.003
    with pytest.raises(DataError, match="Input contains NaN"):
        search(grid, clone(estimator).set_params(bad_rows="raise"), target_range=(-1, 1)).fit(table, Y)


@pytest.mark.extras
def test_a_row_adds_nothing_to_the_scores_of_models_that_cannot_use_it():
    pandas = pytest.importorskip("pandas")
    models = []
    for names in ("ab", "a"):
        each = model([0.5] * len(names), bad_rows="zero")
        each.set_params(feature_map=FeatureMap({name: NumericColumn(-1, 1) for name in names}))
        models.append(each)
    rows, targets = pandas.DataFrame(X[:60], columns=["a", "b"]), Y[:60].copy()
    whole = scores_of(models, rows, targets, MEASURE)
    rows.loc[7, "b"] = np.nan  # of use to the second model only
    found = scores_of(models, rows, targets, MEASURE)
    without = scores_of(models, rows.drop(index=7), np.delete(targets, 7), MEASURE)
    assert found.value.tolist() == [without.value[0], whole.value[1]]
    assert np.linalg.norm((found.value - whole.value).astype(float)) <= found.sensitivity == whole.sensitivity
    targets[7] = np.inf
    np.testing.assert_array_equal(scores_of(models, rows, targets, MEASURE).value, without.value)


def test_tables_options_and_rules_of_delta_will_do():
    pd = pytest.importorskip("pandas")
    bounds = Bounds(features={"a": (-1, 1), "b": (-1, 1)}, target=(-1, 1))
    table = pd.DataFrame(X, columns=["a", "b"])
    grid = {"options": [{"eigenvalue_share": 0.1}, {"eigenvalue_share": 0.3}]}
    fitted = search(grid, PrivateLinearRegression(bounds=bounds, method="adassp"), delta="1/n^2").fit(table, Y)
    assert fitted.search_report_.asked.delta == pytest.approx(len(X) ** -2.0)
    assert fitted.predict(table).shape == Y.shape


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"epsilon": None}, ParameterError, "epsilon and delta are required"),
        ({"scoring_share": 1.0}, ParameterError, "scoring_share=1.0"),
        ({"grid": {"epsilon": [1.0]}}, ParameterError, "must not hold epsilon"),
        ({"grid": {"bad_rows": ["raise", "zero"]}}, ParameterError, "bad_rows must be the same"),
        ({"estimator": GaussianRelease(1.0)}, ParameterError, "estimator must be"),
        ({"target_range": (1.0, 0.0)}, BoundsError, "finite and rising"),
        ({"estimator": PrivateLinearRegression()}, BoundsError, "target_range is required"),
        ({"neighbours": "none"}, ParameterError, "neighbours='none'"),
    ],
)
def test_what_makes_no_sense_is_refused(parameters, error, message):
    with pytest.raises(error, match=message):
        search(**parameters).fit(X, Y)


def test_a_ledger_or_neighbours_of_the_estimator_are_not_passed_over(tmp_path):
    ledger = BudgetLedger(tmp_path / "a.ledger", epsilon=3.0, delta=1e-5)
    with pytest.raises(ParameterError, match="pass it to PrivateGridSearch"):
        search(estimator=PrivateLinearRegression(bounds=BOUNDS, ledger=ledger)).fit(X, Y)
    with pytest.raises(ParameterError, match="pass it to PrivateGridSearch"):
        search(estimator=PrivateLinearRegression(bounds=BOUNDS, ledger=ledger.path), ledger=ledger).fit(X, Y)
    stricter = PrivateLinearRegression(bounds=BOUNDS, method="adassp", neighbours="replace-one")
    with pytest.raises(ParameterError, match=r"neighbours='replace-one' of the estimator"):
        search(estimator=stricter).fit(X, Y)
    assert search(estimator=stricter, neighbours="replace-one").fit(X, Y).search_report_.relation == "replace-one"
    assert not ledger.entries()


def test_data_that_cannot_be_divided_is_refused():
    for x, y in ((X, "pay"), (X, None), (X[:1], Y[:1])):
        with pytest.raises(DataError):
            search().fit(x, y)


def test_a_seeded_search_says_that_it_is_not_private():
    first, second = (search(random_state=3).fit(X, Y) for _ in range(2))
    assert not first.search_report_.private
    assert first.results_ == second.results_
    noise = [r["mean_squared_error"] for r in search().fit(X, Y).results_]
    assert noise != [r["mean_squared_error"] for r in first.results_]
    assert math.isfinite(first.search_report_.spent_epsilon)


def test_scores_have_the_noise_that_is_stated_where_rows_are_not_public():
    X = np.random.default_rng(0).uniform(-1.0, 1.0, (600, 2))
    bounds = Bounds(features=[(-1.0, 1.0)] * 2, target=(-2.0, 2.0))
    found = [
        PrivateGridSearch(
            PrivateLinearRegression(bounds=bounds),
            {"fit_intercept": [True]},
            epsilon=30.0,
            delta=1e-6,
            neighbours="add-remove",
            random_state=seed,
        )
        .fit(X, X.sum(axis=1))
        .results_[0]
        for seed in range(60)
    ]
    spread, stated = np.std([one["mean_squared_error"] for one in found]), np.mean([one["noise"] for one in found])
    assert 0.75 < spread / stated < 1.33
