"""What a summary shows: text of 80 columns, HTML without markup of names, a frame, and reasons."""

import json

import numpy as np
import pytest
from inference_problems import fitted, frame, table

from dpols import Bounds, FeatureMap, NumericColumn, PrivateLinearRegression

LONG = "a very long name of a column with <b>markup</b> & more than twenty letters"


def test_text_fits_80_columns_and_shows_every_coefficient():
    X, y = table()
    text = str(fitted(X, y).summary())
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    for name in ("x0", "x1", "intercept", "coef", "std err", "[0.025", "0.975]", "R-squared", "Residual variance"):
        assert name in text
    assert "NOT PRIVATE" in text  # seeded
    assert all(line == line.rstrip() for line in lines)


def test_numbers_are_those_of_the_intervals():
    X, y = table()
    model = fitted(X, y)
    summary, limits = model.summary(0.1, target="data"), model.conf_int(0.1, target="data")
    np.testing.assert_allclose([(row.lower, row.upper) for row in summary.rows], limits)
    np.testing.assert_allclose([row.value for row in summary.rows], model.inference_.estimate)
    assert summary.columns[-2:] == ("[0.05", "0.95]")
    assert "these very rows" in " ".join(str(summary).split())
    assert "population" in " ".join(str(model.summary()).split())


def test_without_inference_it_says_how_to_ask():
    X, y = table(500)
    model = fitted(X, y, inference=False)
    summary = model.summary()
    assert "inference=True" in str(summary)
    assert [row.value for row in summary.rows] == pytest.approx([*model.coef_, model.intercept_])
    assert all(row.lower is None for row in summary.rows)


@pytest.mark.extras
def test_names_are_shown_whole_and_escaped_in_html_and_cut_in_text():
    people = frame().rename(columns={"age": LONG})
    bounds = Bounds(features={LONG: (18, 90), "hours": (0, 60)}, target=(0, 100))
    model = PrivateLinearRegression(epsilon=3.0, delta=1e-6, bounds=bounds, inference=True).fit(people, "pay")
    summary = model.summary()
    assert "&lt;b&gt;markup&lt;/b&gt; &amp; more" in summary.to_html()
    assert "<b>" not in summary.to_html()
    assert summary._repr_html_() == summary.to_html()
    assert 'name="viewport"' in summary.to_page()
    assert max(map(len, str(summary).splitlines())) <= 80
    assert "NOT PRIVATE" not in str(summary)


@pytest.mark.extras
@pytest.mark.filterwarnings("ignore::dpols.errors.NotPrivateWarning")
def test_bounds_from_the_data_are_said_not_to_be_private():
    bounds = Bounds.from_data(frame(), target="pay", unsafe_from_data=True)
    summary = PrivateLinearRegression(epsilon=3.0, delta=1e-6, bounds=bounds).fit(frame(), "pay").summary()
    assert "NOT PRIVATE: the bounds were read from the data" in str(summary)
    assert "NOT PRIVATE" in summary.to_html()


@pytest.mark.extras
def test_the_frame_has_a_row_for_each_coefficient():
    model = PrivateLinearRegression(
        epsilon=3.0, delta=1e-6, bounds=Bounds({"age": (18, 90), "hours": (0, 60)}, (0, 100)), inference=True
    ).fit(frame(), "pay")
    shown = model.summary().to_frame()
    assert list(shown.index) == ["age", "hours", "intercept"]
    assert list(shown.columns) == ["coef", "std err", "privacy", "P>|t|", "[0.025", "0.975]"]
    np.testing.assert_allclose(shown[["[0.025", "0.975]"]], model.conf_int())
    assert np.isnan(model.summary().to_frame().to_numpy()).sum() == 0


def test_plain_data_is_json():
    X, y = table()
    data = json.loads(json.dumps(fitted(X, y).summary().to_dict(), allow_nan=False))
    assert [row["name"] for row in data["coefficients"]] == ["x0", "x1", "intercept"]
    assert data["alpha"] == 0.05


def test_powers_without_an_interval_come_with_advice_to_centre_them():
    rng = np.random.default_rng(0)
    age = rng.uniform(18, 90, 5000)
    cost = np.clip(500 + 100 * age + rng.normal(0, 1000, 5000), 0, 25_000)
    advice = "Centre powers at a public number"
    for term, has in ((("age", "age"), True), ("other", False)):
        columns = {"age": NumericColumn(18, 90), "other": NumericColumn(18, 90)}
        feature_map = FeatureMap(columns, terms=["age", term], target=(0, 25_000))
        model = PrivateLinearRegression(
            epsilon=0.05, delta=1e-6, feature_map=feature_map, inference=True, random_state=0
        ).fit(np.column_stack((age, age)), cost)
        assert "No interval" in str(model.summary())
        assert (advice in " ".join(str(model.summary()).split())) == has
        assert (advice in " ".join(str(model.privacy_report_).split())) == has
