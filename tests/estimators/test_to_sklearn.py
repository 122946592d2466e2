"""A fitted model as scikit-learn's own."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

from dpols import Bounds, CategoricalColumn, FeatureMap, NumericColumn, PrivateLinearRegression


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_plain_regression_predicts_the_same_and_holds_nothing_else(fit_intercept):
    X = np.random.default_rng(0).uniform(-1, 1, (500, 2))
    bounds = Bounds(features=[(-1, 1), (-1, 1)], target=(-3, 3))
    model = PrivateLinearRegression(1.0, 1e-6, bounds, fit_intercept=fit_intercept).fit(X, X @ [1.0, 2.0])
    plain = model.to_sklearn()
    assert type(plain) is LinearRegression
    np.testing.assert_array_equal(plain.predict(X), model.predict(X, raw=True))
    assert plain.get_params() == LinearRegression(fit_intercept=fit_intercept).get_params()
    assert {name for name in vars(plain) if name.endswith("_")} == {"coef_", "intercept_", "n_features_in_"}
    plain.coef_[:] = 0.0
    assert model.coef_.any()


def test_of_a_feature_map_it_takes_the_features():
    rows = np.array([[i % 10, "ab"[i % 2]] for i in range(400)], dtype=object)
    made = FeatureMap({"x": NumericColumn(0, 9), "c": CategoricalColumn(["a", "b"])}, target=(0, 9))
    model = PrivateLinearRegression(1.0, 1e-6, feature_map=made).fit(rows, rows[:, 0].astype(float))
    plain = model.to_sklearn()
    assert plain.feature_names_in_.tolist() == ["x", "c[b]"]
    np.testing.assert_allclose(made.transform(rows) @ plain.coef_ + plain.intercept_, model.predict(rows, raw=True))


def test_an_unfitted_model_has_none():
    with pytest.raises(NotFittedError):
        PrivateLinearRegression().to_sklearn()
