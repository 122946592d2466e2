"""Options of a method: each is documented, changes the fit, can be searched, and is named where it is wrong."""

import inspect
import re

import numpy as np
import pytest
from method_problems import easy_problem
from sklearn.model_selection import GridSearchCV

from dpols import Bounds, PrivateLinearRegression
from dpols.algorithms import ALGORITHMS

OPTIONS = {
    "whitened": {"n_iterations": 5},
    "whitened-inference": {"n_iterations": 8, "cov_type": "nonrobust", "clip": "range", "residual_plot": True},
    "ihm": {"n_iterations": 2, "ridge": True, "gradient_share": 0.7},
    "ihm-adaptive": {"max_iterations": 3, "eigenvalue_share": 0.2},
    "linmix": {"sketch_size": 50, "eigenvalue": "on"},
    "linmix-dynamic": {"eigenvalue_share": 0.4},
    "adassp": {"eigenvalue_share": 0.1, "failure_probability": 0.05},
    "boosted-adassp": {"n_iterations": 4, "shrinkage": "1/t"},
    "dp-gd": {"learning_rate": 1.0, "n_iterations": 5},
    "sheffet": {"sketch_size": 30},
}
BUDGET = {"epsilon": 2.0, "delta": 1e-6, "bounds": Bounds(x_norm=1.0, y_abs=1.0), "random_state": 0}
every_method = pytest.mark.parametrize("method", OPTIONS)


def model(method, **options):
    return PrivateLinearRegression(**BUDGET, method=method, options=options)


def test_every_method_is_here():
    assert set(OPTIONS) == set(ALGORITHMS)


@every_method
def test_options_change_the_fit(method):
    X, y = easy_problem(600, 3)
    given, default = model(method, **OPTIONS[method]).fit(X, y), model(method).fit(X, y)
    assert not np.array_equal(given.coef_, default.coef_)
    np.testing.assert_array_equal(PrivateLinearRegression(**BUDGET, method=method).fit(X, y).coef_, default.coef_)


@every_method
def test_the_plan_documents_its_options_and_their_defaults(method):
    plan = ALGORITHMS[method].plan_for
    section = inspect.getdoc(plan).split("Parameters\n----------\n")[1]
    documented = {
        name: kind
        for names, kind in re.findall(r"^(\w+(?:, \w+)*) : (.*)$", section, flags=re.MULTILINE)
        for name in names.split(", ")
    }
    options = {
        name: parameter.default for name, parameter in inspect.signature(plan).parameters.items() if name != "given"
    }
    assert set(options) <= set(documented)
    for name, default in options.items():
        stated = re.search(r"default=(.+)$", documented[name])
        assert stated is None or stated.group(1).strip('"') == str(default)


def test_options_can_be_searched():
    X, y = easy_problem(900, 3)
    grid = {"options": [{"learning_rate": 1e-3, "n_iterations": 3}, {"learning_rate": 2.0, "n_iterations": 3}]}
    search = GridSearchCV(model("dp-gd"), grid, cv=2).fit(X, y)
    assert search.best_params_["options"]["learning_rate"] == 2.0


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        ("boosted-adassp", {"shrinkage": "none"}, "shrinkage='none' must be one of"),
        ("dp-gd", {"n_steps": 3}, "n_steps"),
    ],
)
def test_a_wrong_option_is_named(method, options, message):
    with pytest.raises(ValueError, match=message):
        model(method, **options).fit(*easy_problem(50, 3))
