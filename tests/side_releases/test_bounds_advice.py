"""Advice on bounds: tight ones show in paid counts, wide ones in the noise, and both say what to do."""

import re

import numpy as np
import pytest

import dpols
from dpols import Bounds, CategoricalColumn, FeatureMap, NumericColumn, PrivateLinearRegression
from dpols.algorithms import ALGORITHMS
from dpols.privacy import GaussianRelease, PrivacyBudget, epsilon_of
from dpols.privacy.calibration import gaussian_multiplier
from dpols.side_releases.bounds_advice import COUNTS_NAME, room_for_width


def rows(n=20_000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(0.0, 1.0, (n, 2))
    return X, X @ (1.0, 2.0) + rng.normal(0.0, 0.5, n)


def report(bounds, n=20_000, **parameters):
    return PrivateLinearRegression(1.0, 1e-6, bounds, random_state=0, **parameters).fit(*rows(n)).privacy_report_


def test_tight_bounds_are_found_by_counting():
    found = report(Bounds(features=[(-4, 4), (-4, 1)], target=(-8, 8)), count_clipped=True)
    (said,) = found.advice
    assert "'x1'" in said
    assert "above the upper bound" in said
    share = float(said.split("about ")[1].split("%")[0])
    assert abs(share - 15.9) < 2.0  # a normal exceeds one standard deviation so often
    assert "Advice" in found.to_text()


def test_bounds_that_clip_little_are_said_to():
    (said,) = report(Bounds(features=[(-4, 4), (-4, 4)], target=(-10, 10)), count_clipped=True).advice
    assert "no bound is clearly too tight or too wide" in said


def test_a_norm_that_clips_is_found_too():
    (said,) = report(Bounds(x_norm=1.0, y_abs=10.0), count_clipped=True).advice
    assert "'norm of a row'" in said


def test_counting_is_charged_and_nothing_is_counted_unasked():
    bounds = Bounds(features=[(-4, 4), (-4, 4)], target=(-10, 10))
    counted, plain = report(bounds, count_clipped=True), report(bounds)
    assert COUNTS_NAME in [line.what for line in counted.lines]
    assert COUNTS_NAME not in [line.what for line in plain.lines]
    assert plain.advice == ()
    assert epsilon_of(counted.releases, 1e-6) <= 1.0
    whole = gaussian_multiplier(PrivacyBudget(1.0, 1e-6))
    (release,) = [line.release for line in counted.lines if line.what == COUNTS_NAME]
    assert isinstance(release, GaussianRelease)
    np.testing.assert_allclose((whole / release.multiplier) ** 2, 0.02)


@pytest.mark.parametrize("arithmetic", ["exact", "float"])
def test_counts_are_noisy_and_differ_between_fits(arithmetic):
    bounds = Bounds(features=[(-4, 4), (-4, 1)], target=(-8, 8))
    X, y = rows()
    said = {
        PrivateLinearRegression(1.0, 1e-6, bounds, count_clipped=True, arithmetic=arithmetic)
        .fit(X, y)
        .privacy_report_.advice
        for _ in range(8)
    }
    assert len(said) > 1


def test_bounds_far_too_wide_are_found_by_counting():
    found = report(Bounds(features=[(-4, 4), (-100, 100)], target=(-10, 10)), count_clipped=True)
    (said,) = found.advice
    assert "'x1'" in said
    assert "narrow them" in said
    low, high = (float(end) for end in re.search(r"\[(.*), (.*)\]", said).groups())
    assert (low, high) == (-12.5, 12.5)


def test_where_no_bounds_can_help_the_report_says_so_from_public_numbers():
    bounds = Bounds(features=[(-4, 4), (-4, 4)], target=(-10, 10))
    (said,) = report(bounds, n=100).advice
    assert "no bounds can help" in said
    assert report(bounds, n=20_000).advice == ()


@pytest.mark.parametrize("method", ["ihm", "adassp", "linmix"])
def test_the_public_room_for_width_foretells_where_a_coefficient_is_damped(method):
    X, y = rows(20_000)
    budget = PrivacyBudget(1.0, 1e-6)
    releases = ALGORITHMS[method].plan(budget, n_rows=len(y), n_features=3).releases
    row_map = Bounds(features=[(-1, 1)] * 2, target=(-10, 10)).row_map(n_features=2, columns=None, fit_intercept=True)
    room = room_for_width(row_map, releases, len(y))
    assert 5 < room < 50

    def coefficient(width, seed):
        bounds = Bounds(features=[(-4, 4), (-width, width)], target=(-10, 10))
        return PrivateLinearRegression(1.0, 1e-6, bounds, method=method, random_state=seed).fit(X, y).coef_[1]

    assert np.median([coefficient(max(0.35 * room, 3.5), seed) for seed in range(5)]) > 1.4  # of 2
    assert np.median([coefficient(6.0 * room, seed) for seed in range(5)]) < 0.7


REGIONS = ("north", "south", "east", "west")


def advice_on_regions(declared, n=50_000, **parameters):
    rng = np.random.default_rng(1)
    age, region = rng.uniform(18, 90, n), rng.choice(REGIONS, n)
    rows = np.column_stack([age.astype(object), region.astype(object)])
    columns = {"age": NumericColumn(18, 90), "region": CategoricalColumn(declared, case="exact", **parameters)}
    feature_map = FeatureMap(columns, target=(0, 100)).plus(("age", "region"))
    model = PrivateLinearRegression(1.0, 1e-6, feature_map=feature_map, count_clipped=True, random_state=0)
    return model.fit(rows, age + 5.0 * (region == "south")).privacy_report_.advice


def test_misspelt_categories_are_told_and_not_called_wide():
    (said,) = advice_on_regions([name.title() for name in REGIONS])
    assert said.startswith("few rows, if any, have 'South' or 'East' or 'West' in 'region'")
    assert "spelt" in said
    (said,) = advice_on_regions(["north", "south", "East", "west"], unknown="other", drop_first=False)
    assert said.startswith("few rows, if any, have 'East' in 'region'")


def test_a_category_that_may_be_that_of_many_rows_is_not_called_rare():
    (said,) = advice_on_regions(["north", "south", "East", "west"], n=5_000, unknown="other", drop_first=False)
    assert "no bound is clearly too tight or too wide" in said


@pytest.mark.parametrize("unknown", ["zeros", "other"])
def test_categories_that_occur_are_not_talked_of(unknown):
    (said,) = advice_on_regions(REGIONS, unknown=unknown)
    assert "no bound is clearly too tight or too wide" in said


def table_of_wages(n=20_000):
    rng = np.random.default_rng(1)
    pd = pytest.importorskip("pandas")
    school, age = rng.uniform(5.0, 20.0, n), rng.uniform(16.0, 70.0, n)
    wage = np.exp(1.0 + 0.05 * school + 0.01 * age + rng.normal(0.0, 0.4, n))
    return pd.DataFrame({"wage": wage, "school": school, "age": age, "sex": np.where(age * 7 % 2 < 1, "F", "M")})


def shares_said(found):
    """The share of values beyond bounds by column and end, as the advice has it."""
    return {
        match[2]: float(match[1]) / 100
        for text in found.advice
        if (match := re.search(r"about ([0-9.]+)%.* of the values of ('\w+' lie (?:below|above))", text))
    }


@pytest.mark.extras
@pytest.mark.parametrize("formula", ["log(wage) ~ school + age", "wage ~ log(school) + age:C(sex, levels=['F', 'M'])"])
@pytest.mark.parametrize("given", ["in memory", "in a file", "units"])
def test_values_that_a_feature_map_clips_are_counted_before_that(formula, given, tmp_path):
    table = table_of_wages()
    bounds = Bounds(features={"school": (1, 14), "age": (25, 70)}, target=(2, 12))
    units, rows = {}, table
    if given == "in a file":
        pytest.importorskip("pyarrow")
        table.to_parquet(tmp_path / "wages.parquet")
        rows = dpols.read(tmp_path / "wages.parquet", target="wage")
    elif given == "units":
        rows, units = table.assign(person=np.arange(len(table))), {"unit": "person", "max_rows_per_unit": 1}
    model = dpols.ols(
        formula, rows, epsilon=2.0, delta=1e-6, bounds=bounds, count_clipped=True, random_state=0, **units
    )
    expected = {
        "'school' lie above": (table["school"] > 14).mean(),
        "'age' lie below": (table["age"] < 25).mean(),
        "'target' lie above": (table["wage"] > 12).mean(),
    }
    found = shares_said(model.privacy_report_)
    assert set(found) == set(expected)
    for name, share in expected.items():
        assert abs(found[name] - share) < 0.02


@pytest.mark.extras
def test_shares_are_of_the_rows_in_use():
    table = table_of_wages()
    table.loc[table.index % 2 == 0, "wage"] = np.nan
    bounds = Bounds(features={"school": (1, 14), "age": (10, 80)}, target=(0.1, 100))
    model = dpols.ols(
        "wage ~ school + age",
        table,
        epsilon=2.0,
        delta=1e-6,
        bounds=bounds,
        count_clipped=True,
        bad_rows="zero",
        random_state=0,
    )
    assert abs(shares_said(model.privacy_report_)["'school' lie above"] - 0.4) < 0.03


@pytest.mark.extras
def test_columns_of_yes_or_no_outcomes_are_counted_before_they_are_clipped():
    table = table_of_wages().assign(rich=lambda t: np.where(t["wage"] > 8, "yes", "no"))
    bounds = Bounds(features={"school": (1, 14), "age": (10, 80)})
    given = {"epsilon": 2.0, "delta": 1e-6, "bounds": bounds, "classes": ("no", "yes"), "random_state": 0}
    model = dpols.logit("rich ~ school + C(sex, levels=['F', 'M']) + age", table, count_clipped=True, **given)
    found = shares_said(model.privacy_report_)
    assert set(found) == {"'school' lie above"}
    assert abs(found["'school' lie above"] - 0.4) < 0.02


@pytest.mark.extras
def test_with_paid_bounds_values_are_counted_beyond_those():
    given = {"epsilon": 4.0, "delta": 1e-6, "bounds": dpols.PaidBounds(), "random_state": 0}
    found = dpols.ols("wage ~ school + age", table_of_wages(), count_clipped=True, **given).privacy_report_
    assert not any("a small part of its bounds" in text for text in found.advice)
