"""Ways to bounds on the command line: files, paid, a reference, unsafely; units; and what public numbers say."""

import json

import numpy as np
import pytest

from dpols import PrivateLinearRegression

pytestmark = pytest.mark.extras


@pytest.fixture
def table(tmp_path):
    """Visits of 3,000 patients: income in thousands, and a flag."""
    rng = np.random.default_rng(0)
    n = 12_000
    income, flag, who = rng.lognormal(9.0, 0.5, n), rng.integers(0, 2, n), rng.integers(0, 3000, n)
    cost = 0.2 * income + 500.0 * flag + rng.normal(0.0, 100.0, n)
    rows = [f"p{w},{i:.2f},{f},{c:.2f}" for w, i, f, c in zip(who, income, flag, cost, strict=True)]
    path = tmp_path / "visits.csv"
    path.write_text("\n".join(["patient,income,flag,cost", *rows]) + "\n")
    return path


@pytest.fixture
def fit(dpols, table):
    def run(*arguments):
        return dpols(
            "fit", table, "--target", "cost", "--epsilon", 2, "--delta", "1e-6", "--out", "model.json", *arguments
        )

    return run


def near(model="model.json", tolerance=0.05):
    found = PrivateLinearRegression.load(model)
    return abs(found.coef_[0] - 0.2) < tolerance and abs(found.coef_[1] - 500.0) < 400.0


def test_paid_bounds_need_no_file(fit):
    done = fit("--paid-bounds", 0.1, "--features", "income,flag")
    assert done.code == 0, done.err
    assert near()
    assert "paid for" in done.out
    assert "counts of values by magnitude" in done.out


def test_paid_bounds_within_outer_limits(fit, tmp_path):
    (tmp_path / "outer.csv").write_text("column,low,high\nincome,0,1e9\nflag,0,1\ncost,-1e9,1e9\n")
    done = fit("--paid-bounds", 0.1, "--bounds", "outer.csv", "--json")
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert report["bounds_origin"] == "paid"
    bounds = dict(report["bounds"])
    assert bounds["flag"].endswith("1]")
    assert near()


def test_a_table_of_bounds_does_as_a_bounds_file(fit, tmp_path):
    (tmp_path / "meta.csv").write_text("column,low,high\nincome,0,40000\nflag,0,1\ncost,-500,9000\n")
    done = fit("--bounds", "meta.csv")
    assert done.code == 0, done.err
    assert near()
    assert "Declared bounds" in done.out


def test_a_public_reference_gives_bounds(fit, tmp_path):
    (tmp_path / "census.csv").write_text("income,flag,cost\n0,0,-500\n40000,1,9000\n100,0,5\n")
    done = fit("--reference-bounds", "census.csv", "--features", "income,flag")
    assert done.code == 0, done.err
    assert near()
    assert "declared to be public" in done.out


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_public_reference_gives_categories_too(dpols, tmp_path, suffix):
    pandas = pytest.importorskip("pandas")
    regions = ["north", "South", "east"]
    rows = pandas.DataFrame(
        {"age": [20 + i % 60 for i in range(3000)], "region": [regions[i % 3].upper() for i in range(3000)]}
    )
    rows["pay"] = 10.0 + rows["age"] / 2 + 20 * (rows["region"] == "SOUTH")
    rows.to_csv(tmp_path / "data.csv", index=False)
    census = pandas.DataFrame({"age": [18, 90, 40], "region": regions, "pay": [0.0, 100.0, 50.0]})
    census.to_csv(tmp_path / "census.csv", index=False)
    census.to_parquet(tmp_path / "census.parquet")
    budget = ("--epsilon", "20", "--delta", "1e-6", "--out", "model.json")
    done = dpols("fit", "data.csv", "--target", "pay", "--reference-bounds", f"census.{suffix}", *budget)
    assert done.code == 0, done.err
    model = PrivateLinearRegression.load("model.json")
    assert model.feature_map_.names == ("age", "region[east]", "region[north]")
    assert model.coef_ == pytest.approx([0.5, -20, -20], abs=1)
    assert model.privacy_report_.bounds_origin == "reference"
    assert "declared to be public" in done.out


def test_a_reference_that_lacks_a_column_says_so(fit, tmp_path):
    (tmp_path / "census.csv").write_text("income,cost\n0,-500\n40000,9000\n")
    done = fit("--reference-bounds", "census.csv", "--features", "income,flag")
    assert done.code == 2
    assert "has no column 'flag'" in done.err


@pytest.mark.parametrize("way", ["itself", "link", "hard link", "folder around it", "file in the folder"])
def test_a_reference_that_is_the_data_is_refused(dpols, table, tmp_path, way):
    data, reference = table, table
    if way == "link":
        reference = tmp_path / "census.csv"
        reference.symlink_to(table)
    elif way == "hard link":
        reference = tmp_path / "census.csv"
        reference.hardlink_to(table)
    elif way != "itself":
        (tmp_path / "visits").mkdir()
        inner = table.rename(tmp_path / "visits" / "part.csv")
        data, reference = (inner, inner.parent) if way == "folder around it" else (inner.parent, inner)
    budget = ("--epsilon", 2, "--delta", "1e-6", "--out", "model.json", "--features", "income,flag")
    done = dpols("fit", data, "--target", "cost", *budget, "--reference-bounds", reference)
    assert done.code == 2
    assert "--reference-bounds" in done.err
    assert "--paid-bounds" in done.err
    assert not (tmp_path / "model.json").exists()


def test_bounds_from_the_data_are_called_unsafe_in_the_first_line(fit):
    done = fit("--unsafe-bounds-from-data", "--features", "income,flag")
    assert done.code == 0, done.err
    assert done.out.lstrip().startswith("NOT PRIVATE: the bounds were read from the data")


def test_a_formula_needs_no_file_of_bounds_where_ranges_are_paid_for(dpols, tmp_path, fit):
    done = fit("--paid-bounds", 0.1, "--formula", "cost ~ income + flag", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["bounds_origin"] == "paid"


def test_units_are_protected(fit):
    done = fit("--paid-bounds", 0.1, "--unit", "patient", "--max-rows-per-unit", 3, "--count-clipped", "--json")
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert (report["unit"], report["rows_per_unit"], report["n_rows"]) == ("patient", 3, 12_000)
    assert [c["name"] for c in report["coefficients"]] == ["income", "flag", "intercept"]
    assert report["advice"]
    assert near(tolerance=0.1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--bounds is missing"),
        (["--paid-bounds", 0.1, "--unsafe-bounds-from-data"], "cannot go together"),
        (["--reference-bounds", "a.csv", "--bounds", "b.toml"], "cannot go together"),
        (["--paid-bounds", 2, "--features", "income"], "--paid-bounds 2 must lie"),
        (["--paid-bounds", 0.1, "--features", "income,age"], "'age'"),
        (["--paid-bounds", 0.1, "--features", "income,cost"], "'cost'"),
        (["--paid-bounds", 0.1, "--unit", "who", "--max-rows-per-unit", 2], "--unit 'who' is not a column"),
        (["--paid-bounds", 0.1, "--unit", "patient"], "--max-rows-per-unit is missing"),
        (["--bounds", "meta.csv", "--unit", "who", "--max-rows-per-unit", 2], "--unit 'who' is not a column"),
        (["--paid-bounds", 0.1, "--max-rows-per-unit", 2], "--max-rows-per-unit goes with --unit"),
        (["--unsafe-bounds-from-data", "--formula", "cost ~ income"], "--formula needs a --bounds file"),
        (["--paid-bounds", 0.1, "--formula", "cost ~ log(income)"], "declare a low above 0"),
        (["--paid-bounds", 0.1], "patient"),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, list) else "",
)
def test_what_is_wrong_is_named_and_nothing_is_written(fit, tmp_path, arguments, message):
    done = fit(*arguments)
    assert done.code == 2
    assert message in done.err
    assert not (tmp_path / "model.json").exists()


def test_the_row_of_the_target_is_named_by_an_option(dpols, tmp_path):
    (tmp_path / "meta.csv").write_text("column,low,high\nincome,0,40000\ncost,-500,9000\n")
    arguments = ("bounds-check", "meta.csv", "--rows", 1000, "--epsilon", 1, "--delta", "1e-6")
    done = dpols(*arguments)
    assert done.code == 2
    assert "by --target" in done.err
    assert dpols(*arguments, "--target", "cost").code == 0


def test_public_numbers_tell_how_wide_bounds_may_be(dpols, bounds):
    arguments = ["bounds-check", bounds, "--epsilon", 1, "--delta", "1e-6"]
    done = dpols(*arguments, "--rows", 100_000, "--json")
    assert done.code == 0, done.err
    many = json.loads(done.out)
    assert many["room_in_standard_deviations"] > 5.0
    assert many["advice"] == []
    np.testing.assert_allclose(
        many["least_standard_deviation_by_column"]["age"], 36.0 / many["room_in_standard_deviations"]
    )
    few = json.loads(dpols(*arguments, "--rows", 50, "--json").out)
    assert few["room_in_standard_deviations"] < 1.7
    assert "no bounds can help" in few["advice"][0]
    units = json.loads(dpols(*arguments, "--rows", 100_000, "--max-rows-per-unit", 4, "--json").out)
    np.testing.assert_allclose(units["room_in_standard_deviations"], many["room_in_standard_deviations"] / 2.0)
    shown = dpols(*arguments, "--rows", 100_000)
    assert "hours" in shown.out
    assert "standard deviations" in shown.out
