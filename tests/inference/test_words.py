"""The words of statsmodels and of broom on a fitted model: the numbers of its inference, with names."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from inference_problems import BOUNDS, fitted, frame, least_squares, table

from dpols import Bounds, PrivateLinearRegression, summary_col
from dpols.errors import BoundsError, InferenceWarning, MissingExtraError, ParameterError

pandas = pytest.importorskip("pandas")
pytestmark = pytest.mark.extras

NAMES = ["age", "hours", "intercept"]


@pytest.fixture(scope="module")
def model():
    return PrivateLinearRegression(epsilon=3.0, delta=1e-6, bounds=BOUNDS, inference=True, random_state=0).fit(
        frame(5000), "pay"
    )


@pytest.fixture(scope="module")
def hidden():
    """A fit in which the noise hides everything."""
    return fitted(*table(200), epsilon=0.5)


@pytest.fixture
def no_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)


def test_words_have_the_numbers_of_the_inference(model):
    found = model.inference_
    for words, numbers in (
        (model.params, found.estimate),
        (model.bse, found.standard_errors()),
        (model.tvalues, found.estimate / found.standard_errors()),
        (model.pvalues, found.p_values()),
    ):
        assert list(words.index) == NAMES
        np.testing.assert_array_equal(words, numbers)
    covariance = model.cov_params()
    assert list(covariance.index) == list(covariance.columns) == NAMES
    np.testing.assert_allclose(np.sqrt(np.diag(covariance)), model.bse)
    assert (np.diag(model.cov_params(target="data")) < np.diag(covariance)).all()
    assert model.df_resid == pytest.approx(model.nobs - 3)
    assert model.nobs == pytest.approx(5000, rel=0.2)
    assert model.scale == found.residual_variance.value
    assert model.rsquared == found.r_squared()[0]
    adjusted = 1 - (1 - model.rsquared) * (model.nobs - 1) / (model.nobs - 3)
    assert model.rsquared_adj == pytest.approx(adjusted)
    assert model.fvalue == model.f_test(["age", "hours"]).fvalue
    assert model.f_pvalue == model.f_test(["age", "hours"]).pvalue


def test_without_noise_they_are_those_of_least_squares():
    X, y = table(2000)
    model = fitted(X, y, epsilon=1e9, arithmetic="float")
    solution, stderr, variance, r_squared = least_squares(X, y)
    np.testing.assert_allclose(model.params, solution, rtol=1e-3)
    np.testing.assert_allclose(model.bse, stderr, rtol=0.01)
    assert model.scale == pytest.approx(variance, rel=0.01)
    assert model.rsquared_adj == pytest.approx(1 - variance / np.var(y, ddof=1), abs=1e-3)
    assert model.fvalue == pytest.approx(r_squared / 2 / ((1 - r_squared) / 1997), rel=0.02)


def test_limits_and_predictions_are_frames_with_names(model):
    limits = model.conf_int(0.1)
    assert list(limits.index) == NAMES
    assert list(limits.columns) == ["lower", "upper"]
    np.testing.assert_array_equal(limits, model.inference_.conf_int(0.1))
    wide = model.conf_int(0.1, simultaneous="max-t")
    assert ((wide["lower"] < limits["lower"]) & (wide["upper"] > limits["upper"])).all()
    rows = frame(10)[["age", "hours"]].iloc[[7, 3]]
    found = model.predict_interval(rows)
    assert list(found.index) == [7, 3]
    assert list(found.columns) == ["mean", "stderr", "lower", "upper"]
    shown = model.get_prediction(rows).summary_frame(0.05)
    assert list(shown.index) == [7, 3]
    np.testing.assert_array_equal(shown[["obs_ci_lower", "obs_ci_upper"]], found[["lower", "upper"]])
    mean = model.predict_interval(rows, of="mean")
    np.testing.assert_array_equal(shown[["mean", "mean_se", "mean_ci_lower", "mean_ci_upper"]], mean)
    prediction = model.get_prediction(rows)
    np.testing.assert_array_equal(prediction.se_obs, found["stderr"])
    np.testing.assert_array_equal(prediction.predicted_mean, mean["mean"])
    np.testing.assert_array_equal(prediction.conf_int(), mean[["lower", "upper"]])
    np.testing.assert_array_equal(prediction.conf_int(obs=True), found[["lower", "upper"]])


@pytest.mark.parametrize("target", ["population", "data"])
def test_a_test_of_one_coefficient_is_its_line_of_the_summary(model, target):
    tested, rows = model.t_test(np.eye(3), target=target), model.summary(0.02, target=target).rows
    np.testing.assert_allclose(tested.limits(0.02), [(row.lower, row.upper) for row in rows])
    np.testing.assert_allclose(tested.limits(0.02), model.conf_int(0.02, target=target))
    np.testing.assert_allclose(tested.pvalue, [row.p_value for row in rows])
    np.testing.assert_allclose(tested.tvalue, [row.t_value for row in rows])
    for row, name in zip(rows, NAMES, strict=True):
        assert model.wald_test(f"{name} = 0", target=target).pvalue == pytest.approx(row.p_value)


def test_tidy_and_glance_have_the_words_of_broom(model):
    tidy, glance = model.tidy(), model.glance()
    assert list(tidy["term"]) == NAMES
    assert list(tidy.columns[1:]) == [
        *("estimate", "std_error", "std_error_privacy", "statistic", "p_value", "conf_low", "conf_high")
    ]
    np.testing.assert_array_equal(tidy["std_error"], model.bse)
    np.testing.assert_array_equal(tidy[["conf_low", "conf_high"]], model.conf_int())
    assert len(glance) == 1
    assert glance.loc[0, "adj_r_squared"] == model.rsquared_adj
    assert glance.loc[0, "sigma"] ** 2 == pytest.approx(model.scale)
    assert (glance.loc[0, "epsilon"], glance.loc[0, "df"]) == (3.0, 2.0)
    assert glance["private"].tolist() == [False]  # seeded
    assert tidy.attrs["warning"].startswith("NOT PRIVATE: random_state was given")
    X, y = table(5000)
    model = PrivateLinearRegression(epsilon=3.0, delta=1e-6, bounds=BOUNDS, inference=True)
    model.fit(pandas.DataFrame(X, columns=list(BOUNDS.features)), y)
    assert model.glance()["private"].tolist() == [True]
    assert model.tidy().attrs == model.summary().to_frame().attrs == {}


def test_a_smaller_model_is_compared_by_the_names_that_it_has(model):
    smaller = PrivateLinearRegression(
        epsilon=3.0, delta=1e-6, bounds=type(BOUNDS)({"age": (18.0, 90.0)}, BOUNDS.target), random_state=0
    ).fit(frame(5000)[["age", "pay"]], "pay")
    assert model.compare_f_test(smaller) == model.f_test("hours = 0")
    with pytest.raises(ParameterError, match="nothing to test"):
        model.compare_f_test(model)
    with pytest.raises(ParameterError, match=r"f_test\(\[\.\.\.\]\)"):
        model.compare_f_test(["age"])


def test_what_the_noise_hides_is_nan_in_frames_and_said_in_text(hidden):
    assert np.isfinite(hidden.params).all()
    tidy = hidden.tidy().drop(columns="term")
    for numbers in (hidden.bse, hidden.tvalues, hidden.pvalues, hidden.cov_params(), tidy):
        assert np.isnan(np.asarray(numbers)).all()
    assert np.isnan([hidden.rsquared, hidden.rsquared_adj, hidden.scale, hidden.fvalue, hidden.f_pvalue]).all()
    with pytest.warns(InferenceWarning, match="no intervals"):
        assert np.isnan(hidden.conf_int(simultaneous="scheffe")).to_numpy().all()
    assert "hidden by the noise" in str(hidden.f_test("x0 = x1"))
    assert np.isnan(hidden.get_prediction(np.ones((2, 2))).summary_frame()["mean_se"]).all()


def test_without_inference_there_are_coefficients_only():
    model = fitted(*table(500), inference=False)
    np.testing.assert_array_equal(model.params, [*model.coef_, model.intercept_])
    assert model.nobs == 500.0
    for ask in (
        lambda: model.bse,
        lambda: model.rsquared,
        lambda: model.fvalue,
        lambda: model.tidy(),
        lambda: model.t_test("x0"),
        lambda: model.cov_params(),
    ):
        with pytest.raises(ParameterError, match="inference=True"):
            ask()


def test_before_a_fit_there_is_nothing():
    from sklearn.exceptions import NotFittedError

    model = PrivateLinearRegression()
    assert not hasattr(model, "params")
    with pytest.raises(NotFittedError):
        model.summary()


@pytest.mark.usefixtures("no_pandas")
def test_without_pandas_tables_have_the_same_names(model):
    limits = model.conf_int()
    assert list(limits.index) == NAMES
    assert list(limits) == list(limits.columns) == ["lower", "upper"]
    np.testing.assert_array_equal(limits, model.inference_.conf_int())
    np.testing.assert_array_equal(limits["upper"], limits.to_numpy()[:, 1])
    assert model.params["hours"] == model.inference_.estimate[1]
    assert len(model.params) == 3
    assert "lower" in repr(limits)
    assert "intercept" in repr(model.params)
    with pytest.raises(KeyError):
        limits["middle"]
    with pytest.raises(MissingExtraError, match="pandas"):
        model.tidy()


def test_several_models_stand_in_one_table(model, hidden):
    plain = fitted(*table(500), inference=False)
    shown = summary_col([model, hidden, plain], names=["first", "second", "third"], stars=True)
    text = shown.as_text()
    assert max(map(len, text.splitlines())) <= 80
    frame_of = shown.to_frame()
    assert list(frame_of.columns) == ["first", "second", "third"]
    assert list(frame_of.index[:5]) == ["age", "hours", "x0", "x1", "intercept"]
    assert frame_of.loc["age", "first"].startswith(f"{model.params['age']:.5g}***")
    assert f"({model.bse['age']:.5g})" in frame_of.loc["age", "first"]
    assert frame_of.loc["x0", "second"] == "hidden by the noise"
    assert frame_of.loc["x0", "first"] == ""
    assert frame_of.loc["x0", "third"] == f"{plain.coef_[0]:.5g}"
    assert frame_of.loc["R-squared", "second"] == "hidden by the noise"
    assert frame_of.loc["Rows", "first"] == "5,000"
    assert frame_of.loc["Guarantee", "first"] == "NOT PRIVATE"  # seeded
    for words in (shown.as_latex(), shown.as_html(), text):
        assert "NOT PRIVATE" in words  # seeded
    assert "hidden by the noise" in shown.as_html()
    assert r"\multicolumn" not in shown.as_latex()
    assert shown.as_latex().count(" & ") == 3 * (1 + 5 + 3 + 7)  # three coefficients have a standard error
    assert summary_col([model]).models == ("pay (1)",)
    many = summary_col([model] * 9).as_text()
    assert max(map(len, many.splitlines())) <= 80
    assert many.count("pay (") >= 9


def test_a_long_name_stands_whole_above_its_numbers():
    model = fitted(*table(3000))
    long = "number_customer_service_calls[many]"
    model.inference_ = replace(model.inference_, names=(long, *model.inference_.names[1:]))
    lines = summary_col([model]).as_text().splitlines()
    place = lines.index(long)
    assert lines[place + 1].split() == [f"{model.params[long]:.5g}"]
    assert lines[place + 2].split() == [f"({model.bse[long]:.5g})"]


def test_a_column_that_is_called_intercept_is_not_lost():
    X, y = table(3000)
    bounds = type(BOUNDS)({"intercept": (18.0, 90.0), "hours": (0.0, 60.0)}, BOUNDS.target)
    named = pandas.DataFrame(X, columns=["intercept", "hours"])
    model = PrivateLinearRegression(epsilon=3.0, delta=1e-6, bounds=bounds, inference=True, fit_intercept=False)
    model.fit(named, y)
    shown = summary_col([model]).to_frame()
    assert {"intercept", "hours"} <= set(shown.index)
    assert "intercept (2)" not in shown.index
    assert [row.name for row in model.summary().rows] == ["intercept", "hours"]
    assert len(model.tidy()) == 2
    assert model.fvalue == model.f_test(np.eye(2)).fvalue  # it is a slope like others, and is tested with them
    with pytest.raises(BoundsError, match="a feature is named 'intercept', and so is the constant"):
        model.set_params(fit_intercept=True).fit(named, y)


def test_two_coefficients_of_one_name_both_stand_in_a_table():
    """No fit makes them now that a feature called intercept is refused beside a constant, but none must be lost."""
    model = fitted(*table(3000))
    model.inference_ = replace(model.inference_, names=("intercept", "hours", "intercept"))
    assert {"intercept", "hours", "intercept (2)"} <= set(summary_col([model]).to_frame().index)
    assert len(model.tidy()) == 3
    assert model.fvalue == model.f_test(np.eye(3)[:2]).fvalue


@pytest.mark.parametrize("models", [[], "models", [1], None])
def test_only_fitted_models_stand_in_a_table(models, model):
    with pytest.raises(ParameterError, match="models must be a list"):
        summary_col(models)
    with pytest.raises(ParameterError, match="models must be a list"):
        summary_col(model)
    with pytest.raises(ParameterError, match="a heading for each"):
        summary_col([model], names=["a", "b"])


def test_a_noisy_number_of_rows_is_about_one_in_a_table_of_fits():
    X = np.random.default_rng(0).uniform(-1.0, 1.0, (3000, 2))
    bounds = Bounds(features=[(-1.0, 1.0)] * 2, target=(-2.0, 2.0))
    fits = [
        PrivateLinearRegression(3.0, 1e-6, bounds, neighbours=relation, random_state=0).fit(X, X.sum(axis=1))
        for relation in ("zero-out", "add-remove")
    ]
    public, noisy = dict(summary_col(fits).facts)["Rows"]
    assert public == "3,000"
    assert noisy == f"about {fits[1].privacy_report_.n_rows:,}"
