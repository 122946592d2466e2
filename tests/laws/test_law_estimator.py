"""Law 9: the estimator is a scikit-learn regressor in every respect that scikit-learn checks, and in a few more."""

import inspect
import pickle
import re

import numpy as np
import pytest
from law_cases import carry_out, every_check, problem
from sklearn.base import clone, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from dpols import Bounds, Constraints, PrivateLinearRegression
from dpols.algorithms import ALGORITHMS

NORMS = Bounds(x_norm=1.0, y_abs=1.0)


def estimator(**changes):
    parameters = {"epsilon": 1.0, "delta": 1e-6, "bounds": NORMS, "random_state": 0}
    return PrivateLinearRegression(**(parameters | changes))


def checked(**changes):
    return estimator(max_weight=10.0, **changes)


CONFIGURATIONS = [
    *(checked(method=method) for method in ALGORITHMS),
    *(checked(method=method, arithmetic="float") for method in ("adassp", "linmix-dynamic")),
    checked(fit_intercept=False),
    checked(constraints=Constraints(lower=0.0)),
    checked(arithmetic="float", bounds=Bounds(x_norm=10.0, target=(-100.0, 300.0))),
    checked(arithmetic="float", accounting="paper", neighbours="replace-one", delta="1/n^1.5"),
]


@every_check(CONFIGURATIONS)
def test_scikit_learn_finds_nothing_wrong(estimator, check):
    carry_out(check, estimator)


def test_it_is_tagged_as_a_noisy_regressor():
    assert is_regressor(estimator())
    tags = estimator().__sklearn_tags__()
    assert tags.regressor_tags.poor_score
    assert not tags.non_deterministic
    assert estimator(random_state=None).__sklearn_tags__().non_deterministic


def test_parameters_are_kept_as_given_and_the_required_ones_default_to_none():
    signature = inspect.signature(PrivateLinearRegression)
    required = ("epsilon", "delta", "bounds")
    assert all(signature.parameters[name].default is None for name in required)
    given = {name: object() for name in signature.parameters}
    assert PrivateLinearRegression(**given).get_params(deep=False) == given


def test_the_docstring_lists_the_parameters_of_the_signature_and_their_defaults():
    documentation = inspect.getdoc(PrivateLinearRegression)
    section = documentation.split("Parameters\n----------\n")[1].split("\n\nAttributes")[0]
    documented = dict(re.findall(r"^(\w+) : (.*)$", section, flags=re.MULTILINE))
    signature = inspect.signature(PrivateLinearRegression).parameters
    assert list(documented) == list(signature)
    for name, text in documented.items():
        stated = re.search(r"default=(.+)$", text)
        default = signature[name].default
        if stated is None:
            assert default is None
        else:
            assert stated.group(1).strip('"') == str(default)


def test_the_docstring_lists_the_attributes_that_a_fit_leaves():
    section = inspect.getdoc(PrivateLinearRegression).split("Attributes\n----------\n")[1].split("\n\nExamples")[0]
    documented = set(re.findall(r"^(\w+_) : ", section, flags=re.MULTILINE))
    model = estimator().fit(*problem())
    left = {name for name in vars(model) if name.endswith("_")}
    assert left == documented - {"feature_names_in_"}


@pytest.mark.parametrize("method", ALGORITHMS)
def test_a_clone_is_unfitted_and_fits_alike(method):
    X, y = problem()
    fitted = estimator(method=method).fit(X, y)
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        copy.predict(X)
    np.testing.assert_array_equal(copy.fit(X, y).coef_, fitted.coef_)


@pytest.mark.parametrize("method", ALGORITHMS)
def test_a_pickle_predicts_and_reports_alike(method):
    X, y = problem()
    fitted = estimator(method=method).fit(X, y)
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.predict(X), fitted.predict(X))
    assert copy.privacy_report_ == fitted.privacy_report_
    assert copy.get_params() == fitted.get_params()


def test_it_works_in_a_pipeline_and_under_cross_validation():
    X, y = problem(2000, 3)
    pipeline = make_pipeline(FunctionTransformer(np.negative), estimator(epsilon=100.0))
    plain = estimator(epsilon=100.0).fit(-X, y)
    np.testing.assert_allclose(pipeline.fit(X, y).predict(X), plain.predict(-X))
    scores = cross_val_score(estimator(epsilon=100.0), X, y, cv=3)
    assert scores.shape == (3,)
    assert scores.min() > 0.9


def test_it_works_in_a_grid_search():
    X, y = problem(2000, 3)
    grid = {"epsilon": [1e-3, 100.0], "fit_intercept": [True, False], "options": [None, {"n_iterations": 2}]}
    search = GridSearchCV(estimator(method="ihm"), grid, cv=2, error_score="raise").fit(X, y)
    assert search.best_params_["epsilon"] == 100.0
    assert search.best_estimator_.privacy_report_.asked.epsilon == 100.0


def test_repr_shows_what_was_set():
    assert repr(estimator(random_state=None)) == (
        "PrivateLinearRegression(bounds=Bounds(x_norm=1.0, y_abs=1.0), delta=1e-06,\n"
        "                        epsilon=1.0)"
    )


def test_a_column_of_targets_is_taken_with_a_warning():
    X, y = problem()
    with pytest.warns(match="column-vector y"):
        column = estimator().fit(X, y[:, None])
    np.testing.assert_array_equal(column.coef_, estimator().fit(X, y).coef_)


@pytest.mark.extras
class TestTables:
    """Names of columns."""

    @pytest.fixture
    def frame(self):
        pandas = pytest.importorskip("pandas")
        X, y = problem(300, 3)
        return pandas.DataFrame(X, columns=["b", "a", "c"]).assign(y=y)

    def fitted(self, frame):
        return estimator(bounds=Bounds(features={"a": (-1, 1), "b": (-1, 1), "c": (-1, 1)}, y_abs=1.0)).fit(frame, "y")

    def test_names_are_remembered_and_reported_in_the_order_of_the_columns(self, frame):
        model = self.fitted(frame)
        assert model.feature_names_in_.tolist() == ["b", "a", "c"]
        assert model.feature_names_in_.dtype == object
        assert model.n_features_in_ == 3
        assert [c.name for c in model.privacy_report_.coefficients] == ["b", "a", "c", "intercept"]
        np.testing.assert_array_equal(model.coef_, [c.value for c in model.privacy_report_.coefficients[:-1]])

    def test_the_target_by_name_by_series_and_by_array_are_the_same(self, frame):
        by_name = self.fitted(frame)
        model = clone(by_name)
        for y in (frame["y"], frame["y"].to_numpy(), frame["y"].tolist()):
            np.testing.assert_array_equal(model.fit(frame.drop(columns="y"), y).coef_, by_name.coef_)

    def test_predicting_needs_the_same_columns_in_the_same_order(self, frame):
        model = self.fitted(frame)
        good = frame[["b", "a", "c"]]
        np.testing.assert_array_equal(model.predict(good), good.to_numpy() @ model.coef_ + model.intercept_)
        np.testing.assert_array_equal(model.predict(frame), model.predict(good))  # others are left out
        for bad in (frame[["a", "b", "c"]], frame[["b", "a"]], good.rename(columns={"a": "z"})):
            with pytest.raises(ValueError, match="feature names"):
                model.predict(bad)
        with pytest.warns(UserWarning, match="feature names"):
            model.predict(good.to_numpy())

    def test_polars_and_arrow_tables_predict_alike(self, frame):
        polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
        model = self.fitted(frame)
        good = frame[["b", "a", "c"]]
        expected = model.predict(good)
        for table in (polars.DataFrame(good.to_dict("list")), pyarrow.table(good.to_dict("list"))):
            np.testing.assert_allclose(model.predict(table), expected)
            again = clone(model).fit(table, frame["y"].to_numpy())
            np.testing.assert_array_equal(again.coef_, model.coef_)

    @pytest.mark.filterwarnings("error")
    def test_columns_without_names_are_columns_without_names(self, frame):
        nameless = frame[["b", "a", "c"]].set_axis([0, 1, 2], axis=1)
        model = estimator().fit(nameless, frame["y"])
        assert not hasattr(model, "feature_names_in_")
        np.testing.assert_allclose(model.predict(nameless), model.predict(nameless.to_numpy()))
        assert [c.name for c in model.privacy_report_.coefficients] == ["x0", "x1", "x2", "intercept"]

    def test_names_are_forgotten_when_fitted_again_without(self, frame):
        model = estimator().fit(frame, "y")
        assert hasattr(model, "feature_names_in_")
        model.fit(frame[["b", "a"]].to_numpy(), frame["y"].to_numpy())
        assert not hasattr(model, "feature_names_in_")
        assert model.n_features_in_ == 2
