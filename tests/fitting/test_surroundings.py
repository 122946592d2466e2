"""What voids the guarantee around a fit is said, at the line of the user."""

import json
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.ensemble import BaggingRegressor, RandomForestRegressor, StackingRegressor, VotingRegressor
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.feature_selection import SelectFromModel, SelectKBest
from sklearn.impute import IterativeImputer, SimpleImputer
from sklearn.linear_model import RANSACRegressor
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    SplineTransformer,
    StandardScaler,
    scale,
)
from sklearn.semi_supervised import SelfTrainingClassifier

from dpols import Bounds, BudgetLedger, PrivateGridSearch, PrivateLinearRegression, PrivateLogisticRegression
from dpols.errors import NotPrivateWarning

X = np.random.default_rng(0).uniform(-1, 1, size=(600, 2))
Y = X @ [0.5, -0.2]
WITH_A_GAP = np.column_stack((X, np.where(np.arange(len(Y)) < 9, np.nan, Y)))


def model(**more):
    return PrivateLinearRegression(1.0, 1e-6, Bounds(x_norm=2.0, target=(-1, 1)), **more)


def said(run):
    """Return what warns of privacy in a call, and check that each warning points to this file."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = run()
    found = [warning for warning in caught if issubclass(warning.category, NotPrivateWarning)]
    assert {Path(warning.filename).name for warning in found} <= {Path(__file__).name}
    return result, [str(warning.message) for warning in found]


LOGISTIC = PrivateLogisticRegression(1.0, 1e-6, Bounds(x_norm=2.0))


class Centred:
    """A transformer that knows nothing of scikit-learn."""

    def fit(self, X, y=None):
        self.mean = X.mean(axis=0)
        return self

    def transform(self, X):
        return X - self.mean

    def fit_transform(self, X, y=None):
        return self.fit(X).transform(X)


class Largest(Normalizer):
    """A transformer that learns, of a class that does not."""

    def fit(self, X, y=None):
        self.largest = np.abs(X).max(axis=0)
        return self

    def transform(self, X, copy=None):
        return X / self.largest


class Less(Normalizer):
    """Another, which learns in ``fit_transform`` alone."""

    def fit_transform(self, X, y=None):
        self.mean = X.mean(axis=0)
        return X - self.mean

    def transform(self, X, copy=None):
        return X - self.mean


class Halved(Normalizer):
    """A transformer with a ``fit`` of its own that says of itself that it needs none."""

    def fit(self, X, y=None):
        return self

    def transform(self, X, copy=None):
        return X / 2

    def __sklearn_tags__(self):
        return super().__sklearn_tags__()


LEARNS = {
    "StandardScaler": StandardScaler(),
    "MinMaxScaler": MinMaxScaler(),
    "SimpleImputer": SimpleImputer(),
    "PCA": PCA(2),
    "SelectKBest": SelectKBest(k=1),
    "OneHotEncoder": OneHotEncoder(max_categories=3, sparse_output=False),
    "SplineTransformer": SplineTransformer(degree=1, n_knots=3),
    "a class of others": Centred(),
    "a class of others that inherits": Largest(),
    "a class of others that inherits fit": Less(),
    "a column": ColumnTransformer([("scaled", StandardScaler(), [0])], remainder="passthrough"),
    "the remainder": ColumnTransformer([("kept", "passthrough", [0])], remainder=StandardScaler()),
    "a union": FeatureUnion([("same", FunctionTransformer()), ("scaled", StandardScaler())]),
    "a function of scikit-learn": FunctionTransformer(scale),
    "a part of one": FunctionTransformer(partial(scale, with_std=False)),
    "a bound method": FunctionTransformer(StandardScaler().fit_transform),
    "a pipeline inside": make_pipeline(FunctionTransformer(), StandardScaler()),
}
LEARNS_NOTHING = {
    "FunctionTransformer": FunctionTransformer(lambda rows: rows / 2),
    "Normalizer": Normalizer(),
    "a class of others": Halved(),
    "PolynomialFeatures": PolynomialFeatures(2, include_bias=False),
    "SplineTransformer": SplineTransformer(degree=1, knots=np.array([[-1.0, -1.0], [0.0, 0.0], [1.0, 1.0]])),
    "SimpleImputer": SimpleImputer(strategy="constant", fill_value=0, keep_empty_features=True),
    "passthrough": "passthrough",
    "a column": ColumnTransformer([("half", FunctionTransformer(), [0])], remainder="drop"),
}


@pytest.mark.parametrize("name", LEARNS)
def test_a_step_that_learns_from_the_rows_is_named_and_the_report_says_not_private(name, tmp_path):
    pipeline = make_pipeline(LEARNS[name], model())
    fitted, messages = said(lambda: pipeline.fit(X, Y))
    (message,) = messages
    assert "NOT PRIVATE" in message
    assert "was fitted to the rows without noise" in message
    report = fitted[-1].privacy_report_
    assert not report.private
    assert report.to_text().startswith("NOT PRIVATE: ")
    assert json.loads(report.to_json())["private"] is False
    fitted[-1].save(tmp_path / "model.json")
    assert not PrivateLinearRegression.load(tmp_path / "model.json").privacy_report_.private


@pytest.mark.parametrize("name", LEARNS_NOTHING)
def test_a_step_that_learns_nothing_is_fine(name):
    fitted, messages = said(lambda: make_pipeline(LEARNS_NOTHING[name], model()).fit(X, Y))
    assert messages == []
    assert fitted[-1].privacy_report_.private


def test_an_encoder_with_declared_categories_is_fine():
    declared = OneHotEncoder(categories=[["a", "b"]], sparse_output=False)
    letters = np.where(X[:, :1] > 0, "a", "b")
    fitted, messages = said(lambda: make_pipeline(declared, model()).fit(letters, Y))
    assert messages == []
    assert fitted[-1].privacy_report_.private


def test_a_target_that_is_scaled_by_its_own_rows_is_noticed():
    scaled = TransformedTargetRegressor(model(), transformer=MinMaxScaler((-1, 1)))
    fitted, messages = said(lambda: scaled.fit(X, Y))
    assert len(messages) == 1
    assert not fitted.regressor_.privacy_report_.private
    halved = TransformedTargetRegressor(model(), func=lambda y: y / 2, inverse_func=lambda y: 2 * y)
    fitted, messages = said(lambda: halved.fit(X, Y))
    assert messages == []
    assert fitted.regressor_.privacy_report_.private


@pytest.mark.parametrize("learns", [scale, MinMaxScaler((-1, 1)).fit_transform])
def test_a_function_that_scales_a_target_by_its_own_rows_is_noticed(learns):
    def column(y):
        return np.reshape(y, (-1, 1))

    scaled = TransformedTargetRegressor(model(), func=learns, inverse_func=column, check_inverse=False)
    fitted, messages = said(lambda: scaled.fit(X, column(Y)))
    assert len(messages) == 1
    assert not fitted.regressor_.privacy_report_.private


@pytest.mark.parametrize("stacked", ["forest", "private"])
def test_a_fit_on_predictions_of_what_is_not_private_is_not(stacked):
    first = RandomForestRegressor(2, max_depth=2) if stacked == "forest" else model()
    stack = StackingRegressor([("first", first)], model(), cv=2)
    for _ in range(2):  # the second time it has all attributes from the beginning
        fitted, messages = said(lambda: stack.fit(X, Y))
        reports = [each.privacy_report_ for each in fitted.estimators_ if hasattr(each, "privacy_report_")]
        assert all(report.private for report in reports)
        assert fitted.final_estimator_.privacy_report_.private == (stacked == "private")
        found = [message for message in messages if "NOT PRIVATE: RandomForestRegressor ('first')" in message]
        assert bool(found) == (stacked == "forest")


def test_an_imputer_that_begins_with_means_makes_its_fits_not_private():
    filled, messages = said(lambda: IterativeImputer(model(), max_iter=1).fit(WITH_A_GAP))
    assert any("NOT PRIVATE: IterativeImputer" in message for message in messages)
    assert not filled.imputation_sequence_[0].estimator.privacy_report_.private
    filled, messages = said(lambda: IterativeImputer(model(), max_iter=1, initial_strategy="constant").fit(WITH_A_GAP))
    assert not any("NOT PRIVATE: IterativeImputer" in message for message in messages)


SEVERAL_FITS = {
    "one against the rest": OneVsRestClassifier(LOGISTIC),
    "one against one": OneVsOneClassifier(LOGISTIC),
    "calibrated": CalibratedClassifierCV(LOGISTIC, cv=2),
    "trained by itself": SelfTrainingClassifier(LOGISTIC, max_iter=1),
    "without outliers": RANSACRegressor(model(), min_samples=100, max_trials=2),
}


@pytest.mark.parametrize("name", SEVERAL_FITS)
def test_whatever_else_of_scikit_learn_fits_an_estimator_is_taken_to_fit_it_several_times(name):
    y = Y if name == "without outliers" else (Y > 0).astype(int)
    _, messages = said(lambda: SEVERAL_FITS[name].fit(X, y))
    assert any("fits several times: each spends epsilon anew" in message for message in messages)


def test_a_pipeline_of_a_class_of_its_own_and_a_pipeline_around_a_pipeline_are_seen():
    class Named(Pipeline):
        """A user's own."""

    fitted, messages = said(lambda: Named([("scale", StandardScaler()), ("fit", model())]).fit(X, Y))
    assert len(messages) == 1
    assert not fitted[-1].privacy_report_.private
    around = make_pipeline(StandardScaler(), make_pipeline(FunctionTransformer(), model()))
    fitted, messages = said(lambda: around.fit(X, Y))
    assert len(messages) == 1
    assert not fitted[-1][-1].privacy_report_.private


def test_a_search_in_a_pipeline_is_not_private(tmp_path):
    ledger = BudgetLedger(tmp_path / "ledger", epsilon=5.0, delta=1e-4)
    search = PrivateGridSearch(model(), {"fit_intercept": [True, False]}, epsilon=1.0, delta=1e-6, ledger=ledger)
    fitted, messages = said(lambda: make_pipeline(StandardScaler(), search).fit(X, Y))
    assert len(messages) == 1
    assert not fitted[-1].search_report_.private
    assert not fitted[-1].best_estimator_.privacy_report_.private
    assert "NOT PRIVATE: a step before it that learns from the rows" in ledger.entries()[-1].what


def test_a_ledger_notes_a_step_that_learns(tmp_path):
    ledger = BudgetLedger(tmp_path / "ledger", epsilon=5.0, delta=1e-4)
    said(lambda: make_pipeline(StandardScaler(), model(ledger=ledger)).fit(X, Y))
    assert "NOT PRIVATE" in ledger.entries()[-1].what


MANY = {
    "cross_val_score": lambda one: cross_val_score(one, X, Y, cv=2),
    "cross_validate": lambda one: cross_validate(one, X, Y, cv=2, scoring="neg_mean_squared_error"),
    "cross_val_predict": lambda one: cross_val_predict(one, X, Y, cv=2),
    "GridSearchCV": lambda one: GridSearchCV(one, {"fit_intercept": [True, False]}, cv=2).fit(X, Y),
    "threads": lambda one: cross_val_score(one, X, Y, cv=2, n_jobs=2),
    "BaggingRegressor": lambda one: BaggingRegressor(one.set_params(max_weight=10), n_estimators=2).fit(X, Y),
    "IterativeImputer": lambda one: IterativeImputer(one, max_iter=1).fit(WITH_A_GAP),
}


@pytest.mark.parametrize("name", [name for name in MANY if name != "threads"])
def test_tools_that_fit_many_times_are_noticed(name, tmp_path):
    _, messages = said(lambda: MANY[name](model()))
    assert any("fits several times: each spends epsilon anew" in message for message in messages)
    ledger = BudgetLedger(tmp_path / "ledger", epsilon=50.0, delta=1e-3)
    _, messages = said(lambda: MANY[name](model(ledger=ledger)))
    assert any("the ledger is charged for each. Scores that it computes are not private" in m for m in messages)


def test_threads_do_not_hinder_it():
    from joblib import parallel_backend

    with warnings.catch_warnings(record=True) as caught, parallel_backend("threading"):
        warnings.simplefilter("always")
        MANY["threads"](model())
    assert any("fits several times" in str(warning.message) for warning in caught)


def test_the_user_is_warned_where_other_processes_fit():
    _, messages = said(lambda: cross_val_score(model(), X, Y, cv=2, n_jobs=2))
    assert any("fits several times: each spends epsilon anew" in message for message in messages)


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_copies_that_workers_fit_know_of_the_steps_before_the_tool(backend):
    from joblib import parallel_backend

    voting = VotingRegressor([("one", model()), ("two", model())], n_jobs=2)
    with parallel_backend(backend), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = make_pipeline(StandardScaler(), voting).fit(X, Y)
    assert any("NOT PRIVATE: StandardScaler" in str(warning.message) for warning in caught)
    for copy in fitted[-1].estimators_:
        assert not copy.privacy_report_.private
        assert said(lambda copy=copy: copy.fit(X, Y).privacy_report_.private) == (True, [])


def test_searches_that_workers_carry_out_know_of_the_steps_before_the_tool():
    from joblib import parallel_backend

    search = PrivateGridSearch(model(), {"fit_intercept": [True, False]}, epsilon=1.0, delta=1e-6)
    voting = VotingRegressor([("one", search), ("two", search)], n_jobs=2)
    with parallel_backend("threading"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = make_pipeline(StandardScaler(), voting).fit(X, Y)
    for copy in fitted[-1].estimators_:
        assert not copy.search_report_.private
        assert not copy.best_estimator_.privacy_report_.private


def test_workers_that_make_copies_say_that_they_may_not_see_the_steps_before_the_tool():
    from joblib import parallel_backend

    several = MultiOutputRegressor(model(), n_jobs=2)
    with parallel_backend("threading"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        make_pipeline(StandardScaler(), several).fit(X, np.column_stack((Y, Y)))
    assert any("may not see a step that stands before it" in str(warning.message) for warning in caught)
    one_by_one = make_pipeline(StandardScaler(), several.set_params(n_jobs=1))
    fitted, messages = said(lambda: one_by_one.fit(X, np.column_stack((Y, Y))))
    assert not any("may not see" in message for message in messages)
    assert not any(one.privacy_report_.private for one in fitted[-1].estimators_)


def test_a_tool_that_fits_once_is_not_said_to_fit_several_times():
    once = [SelectFromModel(model()).fit, FixedThresholdClassifier(LOGISTIC).fit]
    for fit, y in zip(once, (Y, (Y > 0).astype(int)), strict=True):
        _, messages = said(lambda fit=fit, y=y: fit(X, y))
        assert not messages
    nested = FixedThresholdClassifier(CalibratedClassifierCV(LOGISTIC, cv=2))
    _, messages = said(lambda: nested.fit(X, (Y > 0).astype(int)))
    assert any("sklearn.calibration fits several times" in message for message in messages)


def test_a_plain_fit_and_a_private_search_warn_of_nothing():
    _, messages = said(lambda: model().fit(X, Y))
    assert messages == []
    search = PrivateGridSearch(model(), {"fit_intercept": [True, False]}, epsilon=1.0, delta=1e-6)
    _, messages = said(lambda: search.fit(X, Y))
    assert messages == []


@pytest.mark.parametrize("ledger", [False, True])
def test_a_score_says_that_it_is_exact(ledger, tmp_path):
    kept = BudgetLedger(tmp_path / "ledger", epsilon=5.0, delta=1e-4) if ledger else None
    fitted = model(ledger=kept).fit(X, Y)
    for scored in (fitted, make_pipeline(FunctionTransformer(), fitted)):
        _, (message,) = said(lambda scored=scored: scored.score(X, Y))
        assert "score is not private" in message


def test_a_function_of_the_user_between_does_not_move_the_line():
    def helper():
        return make_pipeline(StandardScaler(), model()).fit(X, Y)

    with pytest.warns(NotPrivateWarning) as caught:
        helper()
    lines = Path(__file__).read_text().splitlines()
    assert "return make_pipeline(StandardScaler(), model()).fit(X, Y)" in lines[caught[0].lineno - 1]
