"""Law 9 of the other families: estimators of yes/no outcomes and counts are scikit-learn estimators in every way."""

import inspect
import pickle
import re

import numpy as np
import pytest
from law_cases import carry_out, every_check
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError

from dpols import Bounds, PrivateLogisticRegression, PrivatePoissonRegressor

NORM = Bounds(x_norm=1.0)
COUNTS = Bounds(x_norm=1.0, target=(0.0, 20.0))


def logistic(**changes):
    return PrivateLogisticRegression(**({"epsilon": 1.0, "delta": 1e-6, "bounds": NORM, "random_state": 0} | changes))


def poisson(**changes):
    return PrivatePoissonRegressor(**({"epsilon": 1.0, "delta": 1e-6, "bounds": COUNTS, "random_state": 0} | changes))


def problem(n_rows=2000):
    rng = np.random.default_rng(4)
    X = rng.uniform(-1.0, 1.0, (n_rows, 3)) / np.sqrt(3.0)
    eta = 3.0 * X[:, 0] - 2.0 * X[:, 1]
    return X, (rng.random(n_rows) < 1.0 / (1.0 + np.exp(-eta))).astype(int), rng.poisson(np.exp(0.5 + eta))


both = pytest.mark.parametrize("make", [logistic, poisson])
every_class = pytest.mark.parametrize("estimator", [PrivateLogisticRegression, PrivatePoissonRegressor])


@every_check(
    [
        logistic(max_weight=10.0),
        logistic(max_weight=10.0, arithmetic="float", fit_intercept=False),
        logistic(max_weight=10.0, epsilon=100.0, bounds=Bounds(x_norm=10.0)),
        poisson(max_weight=10.0),
        poisson(max_weight=10.0, arithmetic="float", fit_intercept=False),
    ],
)
def test_scikit_learn_finds_nothing_wrong(estimator, check):
    carry_out(check, estimator)


def test_they_are_tagged_as_what_they_are():
    assert is_classifier(logistic())
    assert not is_classifier(poisson())
    assert is_regressor(poisson())
    assert not is_regressor(logistic())
    assert logistic(random_state=None).__sklearn_tags__().non_deterministic


@every_class
def test_parameters_are_kept_as_given_and_documented_with_their_defaults(estimator):
    signature = inspect.signature(estimator).parameters
    given = {name: object() for name in signature}
    assert estimator(**given).get_params(deep=False) == given
    section = inspect.getdoc(estimator).split("Parameters\n----------\n")[1].split("\n\nAttributes")[0]
    documented = dict(re.findall(r"^(\w+) : (.*)$", section, flags=re.MULTILINE))
    assert list(documented) == list(signature)
    for name, text in documented.items():
        stated = re.search(r"default=(.+)$", text)
        assert (None if stated is None else stated.group(1).strip('"')) == (
            None if signature[name].default is None and stated is None else str(signature[name].default)
        )


@both
def test_the_docstring_lists_the_attributes_that_a_fit_leaves(make):
    X, yes, counts = problem()
    model = make().fit(X, yes if make is logistic else counts)
    section = inspect.getdoc(type(model)).split("Attributes\n----------\n")[1].split("\n\nExamples")[0]
    documented = set(re.findall(r"^(\w+_) : ", section, flags=re.MULTILINE))
    assert {name for name in vars(model) if name.endswith("_")} == documented - {"feature_names_in_"}
    assert not [name for name in vars(model) if name.startswith("_") and "sklearn" not in name]


@both
def test_clones_and_pickles_fit_and_predict_alike(make):
    X, yes, counts = problem()
    y = yes if make is logistic else counts
    fitted = make().fit(X, y)
    copy = clone(fitted)
    with pytest.raises(NotFittedError):
        copy.predict(X)
    np.testing.assert_array_equal(copy.fit(X, y).coef_, fitted.coef_)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    assert again.privacy_report_ == fitted.privacy_report_
