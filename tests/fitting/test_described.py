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


def with_empty_cells(**changes):
    rng = np.random.default_rng(0)
    X = rng.uniform(18.0, 90.0, (4_000, 1))
    X[: 4_000 // 4] = np.nan
    bounds = Bounds([(18, 90)], (0, 100))
    model = PrivateLinearRegression(5.0, 1e-6, bounds, **{"bad_rows": "zero", "inference": True} | changes)
    return model.fit(X, rng.uniform(0.0, 100.0, 4_000))


def forms(found):
    texts = found.to_text(), re.sub(r"\\(.)", r"\1", found.to_markdown()), found.to_html(), found._repr_html_()
    return [" ".join(text.split()) for text in texts]


def test_every_form_says_how_many_rows_are_used_and_that_those_with_an_empty_cell_are_left_out():
    model = with_empty_cells()
    found = report(model)
    assert found.rows_used == round(model.inference_.rows_told) != 4_000
    assert found.rows_used == pytest.approx(3_000, abs=6 * found.rows_used_noise)
    assert found.rows_used_noise == model.inference_.rows_noise
    used = f"of which about {found.rows_used:,} are used (a count with noise of standard deviation"
    for text in forms(found):
        assert f"4,000 rows, {used}" in text
        assert "rows with an empty cell are left out" in text
    without = with_empty_cells(inference=False)
    used = f"4,000, of which about {without.privacy_report_.rows_used:,} are used"
    assert dict(without.summary().facts)["Rows"].startswith(used)


def test_where_the_rows_in_use_are_not_counted_it_is_said_so():
    found = report(with_empty_cells(inference=False, method="dp-gd"))
    assert (found.rows_used, found.rows_used_noise) == (None, None)
    for text in forms(found):
        assert "4,000 rows, of which those with an empty cell are left out (how many was not released)" in text


def test_a_hidden_number_of_rows_is_all_that_is_said_of_those_in_use():
    found = report(with_empty_cells(neighbours="add-remove"))
    assert (found.rows_used, found.rows_used_noise) == (found.n_rows, found.n_rows_noise)
    for text in forms(found):
        assert "4,000" not in text
        assert "of which" not in text
        assert "rows with an empty cell are left out" in text


def test_without_empty_cells_all_rows_are_used_and_a_declared_value_is_named(people):
    columns = {"age": NumericColumn(18, 90, missing=40), "region": CategoricalColumn(LEVELS)}
    model = PrivateLinearRegression(5.0, 1e-6, feature_map=FeatureMap(columns, target=(0, 100)))
    found = report(model.fit(people, "pay"))
    assert (found.rows_used, found.rows_used_noise, found.bad_rows) == (400, None, "raise")
    for text in forms(found):
        assert "a row with an empty cell stops the fit, unless the bounds say what it counts as" in text
        assert "undeclared categories count as" in text


def test_a_report_reads_back_where_the_noise_hides_all_rows():
    X = np.linspace(-1.0, 1.0, 60)[:, None]
    bounds = Bounds(features=[(-1.0, 1.0)], target=(-1.0, 1.0))
    counts = []
    for seed in range(20):
        model = PrivateLinearRegression(0.1, 1e-6, bounds, method="adassp", max_rows_per_unit=3, random_state=seed)
        report = model.fit(X, X[:, 0], groups=np.arange(60) // 3).privacy_report_
        assert PrivacyReport.from_dict(report.to_dict()) == report
        counts.append(report.rows_used)
    assert 1 in counts
