"""Searches over models of yes/no outcomes and counts: deviances with noise, and nothing that a row can move further."""

import math

import numpy as np
import pytest

from dpols import Bounds, PaidBounds, PrivateGridSearch, PrivateLogisticRegression, PrivatePoissonRegressor
from dpols.data.bounds import ReadFromData
from dpols.errors import BoundsError, DataError, ParameterError
from dpols.private_search.scores import Measure, scores_of

pytestmark = pytest.mark.filterwarnings("ignore")
FEATURES = [(-1.0, 1.0)] * 2
YES_NO = Measure("binomial", 0.0, 1.0, 10.0)
COUNTS = Measure("poisson", 0.0, 12.0, 10.0)


def drawn(n_rows=6000):
    rng = np.random.default_rng(3)
    X = rng.uniform(-1.0, 1.0, (n_rows, 2))
    yes = np.where(rng.random(n_rows) < 1.0 / (1.0 + np.exp(-2.0 - 3.0 * X[:, 0])), "yes", "no")
    return X, yes, np.minimum(rng.poisson(np.exp(0.9 + X[:, 0])), 12).astype(float)


def logistic(**more):
    return PrivateLogisticRegression(bounds=Bounds(features=FEATURES), classes=("no", "yes"), **more)


def poisson(**more):
    return PrivatePoissonRegressor(bounds=Bounds(features=FEATURES, target=(0, 12)), **more)


def search(estimator, grid=None, **more):
    how = {"epsilon": 4.0, "delta": 1e-6, "random_state": 1} | more
    return PrivateGridSearch(estimator, {"fit_intercept": [False, True]} if grid is None else grid, **how)


def test_the_better_setting_wins_by_its_deviance():
    X, yes, counts = drawn()
    for estimator, y in ((logistic(), yes), (poisson(), counts)):
        found = search(estimator).fit(X, y)
        assert found.best_params_ == {"fit_intercept": True}
        assert found.search_report_.spent_epsilon <= 4.0 * (1.0 + 1e-9)
        without, within = (result["mean_deviance"] for result in found.results_)
        assert within < without
        assert found.score(X, y) > 0.1


def test_released_deviances_are_those_of_the_definition():
    X, yes, counts = drawn()
    for estimator, y in ((logistic(), yes), (poisson(), counts)):
        found = search(estimator, {"fit_intercept": [True]}, epsilon=1e6, delta=0.1).fit(X, y)
        model = found.best_estimator_
        if estimator.family == "binomial":
            p = np.where(yes == "yes", *model.predict_proba(X).T[::-1])
            expected = np.minimum(-2.0 * np.log(p), 10.0).mean()
            np.testing.assert_array_equal(found.predict(X), model.predict(X))
            np.testing.assert_array_equal(found.predict_proba(X), model.predict_proba(X))
        else:
            mean = model.predict(X)
            safe = np.where(counts > 0.0, counts, 1.0)
            expected = np.minimum(2.0 * (counts * np.log(safe / mean) - counts + mean), 10.0).mean()
            assert not hasattr(found, "predict_proba")
        assert found.results_[0]["mean_deviance"] == pytest.approx(expected, rel=0.06)  # on a fifth of the rows


@pytest.mark.parametrize("weighted", [False, True])
def test_no_row_moves_the_scores_by_more_than_they_state(weighted):
    X, yes, counts = drawn(300)
    for estimator, y, measure in ((logistic, yes, YES_NO), (poisson, counts, COUNTS)):
        models = [estimator(epsilon=50.0, delta=1e-6, fit_intercept=own).fit(X, y) for own in (True, False)]
        for model in models:
            model.coef_ = 50.0 * model.coef_  # so that a row can be as far off as can be
        weights = np.linspace(0.1, 9.0, len(X)) if weighted else None
        largest = 4.0 if weighted else None
        moves = []
        for place in range(0, 300, 7):
            rest = np.arange(300) != place
            parts = [None if weights is None else weights[rows] for rows in (rest | ~rest, rest)]
            everything = scores_of(models, X, y, measure, parts[0], largest)
            less = scores_of(models, X[rest], y[rest], measure, parts[1], largest)
            moves.append(np.linalg.norm((everything.value - less.value).astype(float)) / everything.sensitivity)
        assert max(moves) <= 1.0
        assert max(moves) > 0.9


def test_what_a_row_adds_depends_on_that_row_alone():
    X, yes, counts = drawn(300)
    for estimator, y, measure in ((logistic, yes, YES_NO), (poisson, counts, COUNTS)):
        models = [estimator(epsilon=5.0, delta=1e-6).fit(X, y)]
        whole = scores_of(models, X, y, measure).value
        order = np.random.default_rng(0).permutation(np.arange(3, 300))
        parts = [scores_of(models, X[rows], y[rows], measure).value for rows in ([0], [1, 2], order)]
        np.testing.assert_array_equal(whole, sum(parts))


def test_a_row_that_is_not_finite_or_has_another_label_adds_nothing():
    X, yes, _ = drawn(300)
    model = logistic(epsilon=5.0, delta=1e-6).fit(X, yes)
    worse, other = X.copy(), yes.astype(object)
    worse[0, 0], other[1] = np.nan, "perhaps"
    np.testing.assert_array_equal(
        scores_of([model], worse, other, YES_NO).value, scores_of([model], X[2:], yes[2:], YES_NO).value
    )


def test_noise_grows_with_the_largest_deviance():
    X, yes, _ = drawn(2000)
    one, two = (search(logistic(), largest_deviance=size).fit(X, yes) for size in (5.0, 20.0))
    assert two.results_[0]["noise"] == pytest.approx(4.0 * one.results_[0]["noise"])
    assert search(logistic()).fit(X, yes).results_[0]["noise"] == pytest.approx(2.0 * one.results_[0]["noise"])
    assert math.isfinite(one.results_[0]["mean_deviance"])


def test_rows_may_be_of_a_number_that_is_not_public():
    X, yes, counts = drawn(3000)
    for estimator, y in ((logistic(), yes), (poisson(), counts)):
        found = search(estimator, neighbours="add-remove").fit(X, y)
        assert found.search_report_.n_scoring is None
        assert math.isfinite(found.results_[0]["mean_deviance"])


@pytest.mark.parametrize(
    ("estimator", "more", "error", "words"),
    [
        (PrivateLogisticRegression(bounds=Bounds(features=FEATURES)), {}, ParameterError, "classes"),
        (logistic(), {"grid": {"classes": [("no", "yes"), ("yes", "no")]}}, ParameterError, "classes must be the same"),
        (logistic(), {"target_range": (0, 1)}, ParameterError, "target_range"),
        (logistic(), {"largest_deviance": 0.0}, BoundsError, "largest_deviance"),
        (logistic(unit=0, max_rows_per_unit=2), {}, ParameterError, "unit"),
        (poisson(exposure_range=(0.1, 1.0)), {}, ParameterError, "exposure"),
        (poisson(), {"target_range": (-1, 12)}, BoundsError, "0 or above"),
        (PrivatePoissonRegressor(bounds=PaidBounds()), {}, BoundsError, "target_range"),
    ],
)
def test_what_is_refused(estimator, more, error, words):
    X, yes, counts = drawn(200)
    with pytest.raises(error, match=words):
        search(estimator, **more).fit(X, yes if estimator.family == "binomial" else counts)


def test_outcomes_must_be_given_themselves():
    X, *_ = drawn(200)
    with pytest.raises(DataError, match="the outcomes themselves"):
        search(logistic()).fit(X, "y")


def test_a_size_read_from_the_data_voids_the_guarantee():
    X, yes, _ = drawn(500)
    assert search(logistic(), largest_deviance=ReadFromData(8.0)).fit(X, yes).search_report_.bounds_origin == "data"
