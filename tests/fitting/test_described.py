"""A report says what was fitted: dependent variable, formula, reference levels and date, as far as they have names."""

import re

import numpy as np
import pytest

from dpols import (
    Bounds,
    CategoricalColumn,
    Factor,
    FeatureMap,
    NumericColumn,
    PrivacyReport,
    PrivateLinearRegression,
    ols,
)

BOUNDS = Bounds(features={"age": (18, 90)}, target=(0, 100))
LEVELS = ["north", "south", "west"]


@pytest.fixture
def people():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    age, region = rng.uniform(18, 90, 400), rng.choice(LEVELS, 400)
    return pandas.DataFrame({"age": age, "region": region, "pay": age / 2})


def report(model):
    again = PrivacyReport.from_dict(model.privacy_report_.to_dict())
    assert again == model.privacy_report_
    return again


def test_a_column_a_series_and_a_file_have_a_name_and_an_array_has_none(people, tmp_path):
    from dpols import read

    model = PrivateLinearRegression(5.0, 1e-6, BOUNDS)
    assert report(model.fit(people[["age", "pay"]], "pay")).target_name == "pay"
    assert report(model.fit(people[["age"]], people["pay"])).target_name == "pay"
    assert report(model.fit(people[["age"]], people["pay"].to_numpy())).target_name is None
    people[["age", "pay"]].to_csv(tmp_path / "people.csv", index=False)
    pytest.importorskip("pyarrow")
    assert report(model.fit(read(tmp_path / "people.csv", "pay"))).target_name == "pay"


def test_a_formula_and_its_reference_levels_are_named(people):
    formula = "pay ~ age +\n C(region, levels=['north', 'south', 'west'])"
    model = ols(formula, people, epsilon=5.0, delta=1e-6, bounds=BOUNDS)
    found = report(model)
    assert found.formula == " ".join(formula.split())
    assert found.target_name == "pay"
    assert found.reference_levels == (("region", "north or undeclared"),)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", found.date)
    for text in (" ".join(found.to_text().split()), re.sub(r"\\(.)", r"\1", found.to_markdown())):
        for words in ("pay ~ age + C(region", "north or undeclared (of region)", found.date):
            assert words in text
    assert FeatureMap.from_dict(model.feature_map_.to_dict()).formula == found.formula


def test_levels_that_all_have_a_column_have_no_reference():
    columns = {"age": NumericColumn(0, 1), "region": CategoricalColumn(LEVELS)}
    assert FeatureMap(columns).reference_levels == {"region": "north"}
    assert FeatureMap(columns, [Factor("region", all_levels=True)]).reference_levels == {}
    assert FeatureMap(columns, ["age"]).reference_levels == {}
    assert FeatureMap({"region": CategoricalColumn(LEVELS, drop_first=False)}).reference_levels == {}


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_fit_without_slopes_is_said_to_be_one(fit_intercept):
    rng = np.random.default_rng(1)
    X = rng.uniform(-1.0, 1.0, (2000, 40))
    y = X[:, 0] + rng.normal(0.0, 0.3, 2000)
    bounds = Bounds(features=[(-1.0, 1.0)] * 40, target=(-2.0, 2.0))
    constant = 0
    for seed in range(10):
        model = PrivateLinearRegression(
            0.1, 1e-6, bounds, random_state=seed, arithmetic="float", fit_intercept=fit_intercept
        ).fit(X, y)
        none = float(np.abs(model.coef_).max()) < 1e-9
        constant += none
        said = "the fit predicts a constant" if fit_intercept else "the fit predicts zero"
        assert (model.privacy_report_.verdict == said) == none
    assert constant > 0
