"""What a fit says of units, categories and columns for free, from numbers that it released anyway."""

import numpy as np
import pytest

from dpols import Bounds, CategoricalColumn, FeatureMap, NumericColumn, PrivateLinearRegression

pandas = pytest.importorskip("pandas")
pytestmark = pytest.mark.extras

N = 20_000
AGE = NumericColumn(18, 90)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    age = rng.uniform(18, 90, N)
    return pandas.DataFrame(
        {
            "age": age,
            "share": rng.uniform(0, 1, N),
            "year": np.full(N, 2020.0),
            "region": rng.choice(["north", "south ", "EAST"], N),
            "job": rng.choice(["a", "b", "new"], N, p=[0.5, 0.3, 0.2]),
            "flag": rng.uniform(size=N) < 0.2,
            "pay": 10 + 0.5 * age + rng.normal(0, 3, N),
        }
    )


def advice(table, columns, *, times=1.0, target=(0, 100), seed=0, **parameters):
    made = FeatureMap({"age": AGE, **columns}, target=target)
    model = PrivateLinearRegression(1.0, 1e-6, feature_map=made, random_state=seed, **parameters)
    model.fit(table.drop(columns="pay"), times * table["pay"])
    return " | ".join(model.privacy_report_.advice)


@pytest.mark.parametrize("inference", [False, True])
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"share": NumericColumn(0, 100)}, "'share' lie at the lower end of the bounds [0, 100]"),
        ({"share": NumericColumn(-1, 0.01)}, "'share' lie at the upper end of the bounds [-1, 0.01]"),
        ({"year": NumericColumn(2000, 2040)}, "'year' hardly varies"),
        ({"region": CategoricalColumn(["north", "soth", "east"])}, "few rows, if any, are 'soth' in 'region'"),
        ({"job": CategoricalColumn(["a", "b"], unknown="other")}, "20% of the rows have a value of 'job' that is none"),
    ],
)
def test_what_is_wrong_is_said_with_the_cure(table, columns, words, seed, inference):
    said = advice(table, columns, seed=seed, inference=inference)
    assert words.replace("20%", "") in said.replace("19%", "").replace("20%", "").replace("21%", "")
    cures = ("Check the unit", "Narrow the bounds", "Check the spelling", "Add the categories")
    assert any(cure in said for cure in cures)


@pytest.mark.parametrize(("times", "end"), [(1000.0, "upper"), (0.001, "lower")])
def test_a_target_in_another_unit_is_said_to_be_so(table, times, end):
    said = advice(table, {}, times=times)
    assert f"nearly all values of the target lie at the {end} end of the bounds [0, 100]" in said
    assert "another unit" in said


@pytest.mark.parametrize("inference", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_said_of_a_table_as_it_should_be(table, seed, inference):
    columns = {
        "share": NumericColumn(0, 1),
        "region": CategoricalColumn(["north", "south", "east"]),
        "job": CategoricalColumn(["a", "b"]),
        "flag": CategoricalColumn([False, True]),
    }
    assert advice(table, columns, seed=seed, inference=inference) == ""


def test_nothing_is_said_where_noise_hides_it(table):
    few = table[:100]
    said = advice(few, {"region": CategoricalColumn(["north", "soth", "east"]), "share": NumericColumn(0, 100)})
    assert "hardly any row" not in said
    assert "lie at the" not in said


def test_an_affine_map_of_a_column_and_its_bounds_changes_nothing(table):
    for factor, shift in ((1.0, 0.0), (-3.0, 500.0)):
        ends = sorted((factor * 2000 + shift, factor * 2040 + shift))
        changed = table.assign(year=factor * table["year"] + shift)
        assert "'year' hardly varies" in advice(changed, {"year": NumericColumn(*ends)})


def test_counts_of_clipped_values_say_the_same_cure(table):
    bounds = Bounds(features={"age": (18, 90), "share": (0, 0.001)}, target=(0, 100))
    rows = table[["age", "share"]]
    model = PrivateLinearRegression(1.0, 1e-6, bounds, count_clipped=True, random_state=0).fit(rows, table["pay"])
    said = " | ".join(model.privacy_report_.advice)
    assert "of the values of 'share' lie above the upper bound and were clipped: the column has another unit" in said
    assert "Widen" not in said


def test_rows_without_an_intercept_have_no_means_to_judge(table):
    made = FeatureMap({"age": AGE, "year": NumericColumn(2000, 2040)}, target=(0, 100))
    model = PrivateLinearRegression(1.0, 1e-6, feature_map=made, fit_intercept=False, random_state=0)
    model.fit(table, "pay")
    assert "hardly" not in " ".join(model.privacy_report_.advice)


@pytest.mark.parametrize("inference", [False, True])
def test_columns_of_yes_and_no_are_not_suspected(inference):
    rng = np.random.default_rng(0)
    columns = (rng.random((20_000, 2)) < (0.3, 0.6)).astype(float)
    bounds = Bounds(features=[(0.0, 1.0)] * 2, target=(0.0, 10.0))
    model = PrivateLinearRegression(3.0, 1e-6, bounds, inference=inference, random_state=0)
    assert model.fit(columns, 2.0 + columns[:, 1] + rng.normal(0.0, 1.0, 20_000)).privacy_report_.advice == ()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("inference", [False, True])
@pytest.mark.parametrize(("n", "p", "epsilon"), [(60, 80, 1.0), (100, 10, 1.0), (300, 10, 0.3), (2000, 40, 0.1)])
def test_short_of_budget_no_column_is_suspected(n, p, epsilon, inference):
    rng = np.random.default_rng(1)
    X = rng.uniform(-1.0, 1.0, (n, p))
    y = X[:, 0] + rng.normal(0.0, 0.3, n)
    bounds = Bounds(features=[(-1.0, 1.0)] * p, target=(-2.0, 2.0))
    for seed in range(15):
        model = PrivateLinearRegression(
            epsilon, 1e-6, bounds, inference=inference, random_state=seed, arithmetic="float"
        )
        said = " ".join(model.fit(X, y).privacy_report_.advice)
        assert "nearly all values" not in said
        assert "hardly varies" not in said


@pytest.mark.parametrize("seed", range(5))
def test_a_category_of_few_rows_is_not_called_rare_where_noise_hides_them(table, seed):
    some = table.assign(job=np.where(np.arange(N) % 20 == 0, "c", "a"))
    said = advice(some[: N // 8], {"job": CategoricalColumn(["a", "b", "c"])}, seed=seed)
    assert "'c'" not in said


def test_a_power_at_an_end_is_cured_by_the_bounds_of_its_column():
    from dpols import ols

    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"exper": rng.uniform(0.0, 12.0, 20_000)})
    frame["wage"] = 5.0 + 0.1 * frame["exper"] + rng.normal(0.0, 1.0, 20_000)
    bounds = Bounds(features={"exper": (0.0, 60.0)}, target=(0.0, 12.0))
    model = ols("wage ~ I(exper**2)", frame, epsilon=3.0, delta=1e-6, bounds=bounds, random_state=0)
    (said,) = model.privacy_report_.advice
    assert said.startswith("nearly all values of 'exper^2' lie at the lower end of the bounds [0, 3600], which follow")
    assert "Narrow the bounds of these columns" in said
    assert "unit" not in said
