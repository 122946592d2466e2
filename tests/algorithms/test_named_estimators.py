"""One estimator for each method: its options are real parameters, and it fits what the general estimator fits."""

import inspect
import pickle
import re

import numpy as np
import pytest
from method_problems import easy_problem
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

import dpols
from dpols import Bounds, PrivateLinearRegression
from dpols.algorithms import ALGORITHMS
from dpols.errors import ModelFileError

NAMED = {
    "ihm": dpols.IHMRegression,
    "ihm-adaptive": dpols.AdaptiveIHMRegression,
    "linmix": dpols.LinMixRegression,
    "linmix-dynamic": dpols.DynamicLinMixRegression,
    "adassp": dpols.AdaSSPRegression,
    "boosted-adassp": dpols.BoostedAdaSSPRegression,
    "dp-gd": dpols.DPGDRegression,
    "sheffet": dpols.SheffetRegression,
}
OPTIONS = {
    "ihm": {"n_iterations": 2, "ridge": True, "gradient_share": 0.7},
    "ihm-adaptive": {"max_iterations": 3, "eigenvalue_share": 0.2},
    "linmix": {"sketch_size": 50, "eigenvalue": "on"},
    "linmix-dynamic": {"eigenvalue_share": 0.4},
    "adassp": {"eigenvalue_share": 0.1, "failure_probability": 0.05},
    "boosted-adassp": {"n_iterations": 4, "shrinkage": "1/t"},
    "dp-gd": {"learning_rate": 1.0, "n_iterations": 5},
    "sheffet": {"sketch_size": 30},
}
NORMS = Bounds(x_norm=1.0, y_abs=1.0)
BUDGET = {"epsilon": 2.0, "delta": 1e-6, "bounds": NORMS, "random_state": 0}
every_class = pytest.mark.parametrize(("method", "named"), NAMED.items(), ids=NAMED)


def test_every_method_of_the_literature_has_its_estimator():
    assert set(NAMED) <= set(ALGORITHMS)
    assert {method: cls.method for method, cls in NAMED.items()} == {method: method for method in NAMED}
    assert all(cls.__name__ in dpols.__all__ for cls in NAMED.values())


@every_class
def test_the_signature_is_that_of_the_general_estimator_and_of_the_plan(method, named):
    own = inspect.signature(named).parameters
    general = inspect.signature(PrivateLinearRegression).parameters
    plan = inspect.signature(ALGORITHMS[method].plan).parameters
    shared = {name: p.default for name, p in general.items() if name not in ("method", "options")}
    options = {
        name: p.default for name, p in plan.items() if name not in ("budget", "n_rows", "n_features", "accounting")
    }
    assert {name: p.default for name, p in own.items()} == shared | options
    assert set(own) == set(named().get_params())


@every_class
def test_it_fits_what_the_general_estimator_fits(method, named):
    X, y = easy_problem(600, 3)
    own = named(**BUDGET, **OPTIONS[method]).fit(X, y)
    general = PrivateLinearRegression(**BUDGET, method=method, options=OPTIONS[method]).fit(X, y)
    default = PrivateLinearRegression(**BUDGET, method=method).fit(X, y)
    np.testing.assert_array_equal(own.coef_, general.coef_)
    assert own.privacy_report_ == general.privacy_report_
    assert not np.array_equal(own.coef_, default.coef_)


@every_class
def test_it_can_be_cloned_changed_pickled_saved_and_read(method, named, tmp_path):
    X, y = easy_problem(600, 3)
    model = named(**BUDGET, **OPTIONS[method])
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    name, value = next(iter(OPTIONS[method].items()))
    assert named(**BUDGET).set_params(**{name: value}).options[name] == value
    model.fit(X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    model.save(tmp_path / "model.json")
    again = named.load(tmp_path / "model.json")
    assert type(again) is named
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    other = NAMED["ihm" if method != "ihm" else "adassp"]
    with pytest.raises(ModelFileError, match=f"method '{method}'"):
        other.load(tmp_path / "model.json")


@every_class
def test_the_docstring_lists_the_parameters_of_the_signature_and_their_defaults(method, named):
    section = inspect.getdoc(named).split("Parameters\n----------\n")[1].split("\n\nAttributes")[0]
    documented = dict(re.findall(r"^(\w+) : (.*)$", section, flags=re.MULTILINE))
    signature = inspect.signature(named).parameters
    assert list(documented) == list(signature)
    for name, text in documented.items():
        stated = re.search(r"default=(.+)$", text)
        default = signature[name].default
        assert (default is None) if stated is None else stated.group(1).strip('"') == str(default)
    assert "coef_ : " in inspect.getdoc(named)
    assert not [line for line in inspect.getdoc(named).splitlines() if len(line) > 120]


def test_options_can_be_searched():
    X, y = easy_problem(900, 3)
    search = GridSearchCV(dpols.DPGDRegression(**BUDGET), {"learning_rate": [1e-3, 2.0]}, cv=2).fit(X, y)
    assert search.best_params_ == {"learning_rate": 2.0}


def test_a_wrong_option_is_named():
    X, y = easy_problem(50, 3)
    with pytest.raises(ValueError, match="shrinkage='none' must be one of"):
        dpols.BoostedAdaSSPRegression(**BUDGET, shrinkage="none").fit(X, y)
    with pytest.raises(TypeError, match="n_steps"):
        dpols.DPGDRegression(n_steps=3)


@parametrize_with_checks([NAMED[name](**BUDGET, arithmetic="float") for name in ("adassp", "linmix-dynamic")])
def test_scikit_learn_finds_nothing_wrong(estimator, check):
    check(estimator)
