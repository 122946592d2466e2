"""Regressions of a transformed target: predictions in the target's own units, as medians or as means."""

import numpy as np
import pytest

from dpols import Bounds, FeatureMap, NumericColumn, PrivateLinearRegression, ols
from dpols.errors import BoundsError, DataError, ParameterError

pd = pytest.importorskip("pandas")
pytestmark = pytest.mark.extras

N = 60_000
BUDGET = {"epsilon": 20.0, "delta": 1e-6, "random_state": 0}
BOUNDS = Bounds(features={"years": (0, 20), "pay": (1, 100_000)}, target=(0, 1))


@pytest.fixture(scope="module")
def staff():
    rng = np.random.default_rng(1)
    years = rng.uniform(0, 20, N)
    return pd.DataFrame({"years": years, "pay": np.exp(6.0 + 0.1 * years + rng.normal(0, 0.8, N))})


@pytest.fixture(scope="module")
def model(staff):
    return ols("log(pay) ~ years", staff, bounds=BOUNDS, inference=True, **BUDGET)


def test_coefficients_are_those_of_the_logarithm(model):
    assert np.allclose(model.coef_, 0.1, atol=0.01)
    assert np.allclose(model.intercept_, 6.0, atol=0.05)
    assert model.target_range_ == (1.0, 100_000.0)
    assert ("target", "[0, 11.5129] of log(pay), where the target lies in [1, 100000]") in model.privacy_report_.bounds


def test_summaries_name_what_was_fitted(model):
    assert model.privacy_report_.target_name == "log(pay)"
    assert "log(pay)" in str(model.summary())


def test_models_with_a_link_of_their_own_refuse_a_transform(staff):
    from dpols import PrivatePoissonRegressor

    made = FeatureMap({"years": NumericColumn(0, 20)}, target=(0, 100), target_transform="log1p")
    with pytest.raises(BoundsError, match="leave the transform out"):
        PrivatePoissonRegressor(1.0, 1e-6, feature_map=made).fit(staff, "pay")


def test_a_prediction_is_the_median_unless_the_mean_is_asked_for(model):
    rows = pd.DataFrame({"years": [0.0, 10.0, 20.0]})
    line = 6.0 + 0.1 * rows["years"].to_numpy()
    assert np.allclose(model.predict(rows), np.exp(line), rtol=0.05)
    assert np.allclose(model.predict(rows, of="mean"), np.exp(line + 0.32), rtol=0.05)  # half the variance
    assert np.allclose(model.predict(rows, of="transformed"), line, atol=0.05)
    with pytest.raises(ParameterError, match="of='middle' must be 'median', 'mean', 'transformed'"):
        model.predict(rows, of="middle")


def test_means_are_those_of_the_rows(model, staff):
    ratio = model.predict(staff, of="mean").mean() / staff["pay"].mean()
    assert 0.97 < ratio < 1.03
    assert model.predict(staff).mean() / staff["pay"].mean() < 0.8


def test_intervals_hold_the_target_as_often_as_they_say(model, staff):
    found = model.predict_interval(staff, 0.1)
    held = ((found.lower <= staff["pay"]) & (staff["pay"] <= found.upper)).mean()
    assert 0.89 < held < 0.91
    frame = model.predict_frame(staff, 0.1)
    assert list(frame.columns) == ["prediction", "lower", "upper"]
    assert frame.index.equals(staff.index)


def test_limits_of_a_transformed_target_are_of_its_median_and_under_true_headings(model, staff):
    rows = staff[:5]
    found = model.predict_interval(rows, of="median")
    assert list(found.columns) == list(model.predict_interval(rows).columns) == ["median", "lower", "upper"]
    np.testing.assert_allclose(found["median"], model.predict(rows, raw=True))
    fitted = model.get_prediction(rows).summary_frame()
    np.testing.assert_allclose(np.log(found), fitted[["mean", "mean_ci_lower", "mean_ci_upper"]])
    narrow = model.predict_frame(rows, 0.05, interval="median")
    np.testing.assert_allclose(narrow[["lower", "upper"]], found[["lower", "upper"]])
    for refused in (
        lambda: model.predict_interval(rows, of="mean"),
        lambda: model.predict_frame(rows, 0.05, interval="mean"),
    ):
        with pytest.raises(ParameterError, match="Ask for those of the median"):
            refused()


def test_a_target_that_was_not_transformed_has_limits_of_its_mean(staff):
    plain = ols("pay ~ years", staff, bounds=BOUNDS, inference=True, **BUDGET)
    assert list(plain.predict_interval(staff[:5], of="mean").columns) == ["mean", "stderr", "lower", "upper"]
    with pytest.raises(ParameterError, match="of='median' must be"):
        plain.predict_interval(staff[:5], of="median")


def test_a_mean_needs_what_the_fit_did_not_release(staff):
    plain = ols("log(pay) ~ years", staff, bounds=BOUNDS, **BUDGET)
    with pytest.raises(ParameterError, match="fit with inference=True, or take of='median'"):
        plain.predict(staff, of="mean")


def test_a_saved_model_predicts_the_same(model, staff, tmp_path):
    model.save(tmp_path / "model.json")
    loaded = PrivateLinearRegression.load(tmp_path / "model.json")
    for of in ("median", "mean", "transformed"):
        assert np.array_equal(loaded.predict(staff[:9], of=of), model.predict(staff[:9], of=of))


def test_predictions_stay_within_the_range_of_the_target_unless_all_are_asked_for(staff):
    bounds = Bounds(features={"years": (0, 20), "pay": (1, 500)}, target=(0, 1))
    model = ols("sqrt(pay) ~ years", staff, bounds=bounds, **BUDGET)
    assert model.predict(staff).max() <= 500
    assert (model.predict(staff, raw=True) >= model.predict(staff)).all()


@pytest.mark.parametrize("target", ["pay", "values"])
def test_a_feature_map_gives_what_a_formula_gives(model, staff, target):
    made = FeatureMap({"years": NumericColumn(0, 20)}, target=(1, 100_000), target_transform="log")
    same = PrivateLinearRegression(feature_map=made, inference=True, **BUDGET)
    same.fit(staff, "pay") if target == "pay" else same.fit(staff[["years"]], staff["pay"])
    assert np.array_equal(same.coef_, model.coef_)


def test_targets_beyond_their_range_are_clipped_before_the_transform():
    rows = pd.DataFrame({"x": np.linspace(0, 1, 1000), "y": np.tile([-5.0, 0.0, 1.0, 2.0], 250)})
    made = FeatureMap({"x": NumericColumn(0, 1)}, target=(1, 4), target_transform="log")
    model = PrivateLinearRegression(feature_map=made, **BUDGET).fit(rows, "y")
    assert 1.0 <= model.predict(rows).min() <= model.predict(rows).max() <= 4.0
    rows.loc[3, "y"] = np.inf
    with pytest.raises(DataError):
        PrivateLinearRegression(feature_map=made, **BUDGET).fit(rows, "y")


def test_bounds_and_a_transform_of_the_target_are_declared_together():
    with pytest.raises(BoundsError, match="needs the public range of the target"):
        FeatureMap({"x": NumericColumn(0, 1)}, target_transform="log")


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("pay ~ sqrt(years)", "'pay', which is declared as log"),
        ("log(pay) ~ years", "'years', which is declared as sqrt"),
    ],
)
def test_a_formula_that_leaves_out_a_declared_transform_is_refused(staff, formula, message):
    columns = {"years": NumericColumn(0, 20, transform="sqrt")}
    made = FeatureMap(columns, target=(1, 100_000), target_name="pay", target_transform="log")
    with pytest.raises(BoundsError, match=message):
        ols(formula, staff, bounds=made, **BUDGET)
    assert ols("log(pay) ~ sqrt(years)", staff, bounds=made, **BUDGET).feature_map_.names == ("sqrt(years)",)
