"""What people get wrong on the command line, and the one line that says what to do about it."""

import numpy as np
import pytest

pandas = pytest.importorskip("pandas")
pytest.importorskip("typer")
pytest.importorskip("pyarrow")
pytestmark = pytest.mark.extras

N = 4000
BOUNDS = """
[target]
name = "wage"
low = 0
high = 100

[features.education]
low = 0
high = 20

[features.region]
categories = ["north", "south"]
"""
BUDGET = ("--epsilon", "2", "--delta", "1e-6", "--random-state", "0", "--out", "model.json")
LARGER = ("--epsilon", "8", *BUDGET[2:])


def table():
    rng = np.random.default_rng(0)
    education = rng.integers(0, 21, N)
    region = rng.choice(["north", "south"], N)
    wage = 4.0 * education + 5.0 * (region == "south") + rng.normal(10, 1, N).round(2)
    return pandas.DataFrame({"education": education, "region": region, "name": "x", "wage": wage})


@pytest.fixture
def fit(dpols, tmp_path):
    """Fit a table that a mistake has changed, with bounds that another may have changed."""

    def run(changed=None, *options, bounds=BOUNDS, name="wages.csv", target=("--target", "wage"), budget=BUDGET):
        frame = table() if changed is None else changed
        frame.to_csv(tmp_path / name, index=False)
        (tmp_path / "bounds.toml").write_text(bounds, encoding="utf-8")
        return dpols("fit", name, *target, "--bounds", "bounds.toml", *budget, *options)

    return run


def one_line(done, *words):
    assert done.code == 2, done.out
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1
    assert [word for word in words if word not in done.err] == [], done.err


def advice(done):
    assert done.code == 0, done.err
    return " ".join(done.out.split())


def test_categories_are_what_people_see_however_they_are_typed(fit):
    plain = fit()
    typed = table()
    typed["region"] = [f" {name.upper()}" if i % 2 else name for i, name in enumerate(typed["region"])]
    assert fit(typed).out == plain.out
    assert "Advice" not in plain.out


def test_a_misspelt_category_is_told(fit):
    said = advice(fit(bounds=BOUNDS.replace('"south"', '"soth"'), budget=LARGER))
    assert "few rows, if any, are 'soth' in 'region'" in said
    assert "Check the spelling" in said


def test_a_misspelt_column_is_guessed(fit, dpols):
    formula, unnamed = ("--formula", "wagee ~ education"), BOUNDS.replace('name = "wage"', "")
    one_line(fit(target=formula), "'wagee' has no public range (did you mean 'wage'?)")
    one_line(fit(bounds=unnamed, target=formula), "'wages.csv' has no column 'wagee' (did you mean 'wage'?)")
    one_line(
        fit(bounds=unnamed, target=("--target", "Wage")), "'wages.csv' has no column 'Wage' (did you mean 'wage'?)"
    )
    template = "bounds-template", "wages.csv", "--out", "other.toml", "--target"
    one_line(dpols(*template, "Wage"), "--target 'Wage' is not a column", "(did you mean 'wage'?)")
    one_line(dpols(*template, "wage", "--categories", "Region"), "--categories 'Region'", "(did you mean 'region'?)")


def test_a_forgotten_category_is_told_where_others_have_a_category_of_their_own(fit):
    changed = table()
    changed["region"] = np.where(np.arange(N) % 5 == 0, "west", changed["region"])
    said = advice(fit(changed, bounds=BOUNDS + 'unknown = "other"\n'))
    assert "of the rows have a value of 'region' that is none of the declared categories. Add the categories" in said


def test_a_forgotten_category_is_said_to_count_as_the_reference(fit):
    changed = table()
    changed["region"] = np.where(np.arange(N) % 5 == 0, "west", changed["region"])
    said = advice(fit(changed))
    assert "north or undeclared (of region)" in said
    assert "undeclared categories count as 'north'" in said


def test_a_fit_that_will_have_no_intervals_says_so_in_one_line(fit):
    budget = ("--epsilon", "0.01", "--delta", "1e-9", "--out", "model.json")
    done = fit(None, "--inference", budget=budget)
    assert done.code == 0
    (warning,) = [line for line in done.err.splitlines() if "will have an interval" in line]
    assert warning.startswith("warning: probably no coefficient will have an interval")
    assert "rows, or fewer features would do" in warning


def test_residuals_are_asked_for_by_an_option(fit, tmp_path):
    done = fit(None, "--inference", "--option", "residual_plot=true", "--report", "report.txt")
    assert done.code == 0, done.err
    assert "Mean residuals by fitted value" in (tmp_path / "report.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(("factor", "end"), [(0.001, "lower"), (1000.0, "upper")])
def test_a_target_in_another_unit_gets_the_cure(fit, factor, end):
    changed = table().assign(wage=lambda frame: factor * frame["wage"])
    said = advice(fit(changed))
    assert f"nearly all values of the target lie at the {end} end of the bounds [0, 100]" in said
    assert "Check the unit and correct the bounds." in said


def test_a_feature_in_another_unit_gets_the_cure(fit):
    said = advice(fit(bounds=BOUNDS.replace("high = 20", "high = 2000"), budget=LARGER))
    assert "nearly all values of 'education' lie at the lower end of the bounds [0, 2000]" in said


def test_a_column_of_text_is_answered_with_categories(fit):
    bounds = BOUNDS.replace('categories = ["north", "south"]', "low = 0\nhigh = 1")
    one_line(fit(bounds=bounds), "'region'", "categories = [...]")


def test_reversed_bounds_are_told(fit):
    one_line(fit(bounds=BOUNDS.replace("high = 20", "high = -3")), "[features.education]", "low must be less than high")


def test_spellings_that_differ_in_case_are_asked_about(fit):
    bounds = BOUNDS.replace('"south"]', '"south", "South"]')
    one_line(fit(bounds=bounds), "[features.region]", "'south' and 'South'", "case='exact'")
    assert fit(bounds=bounds + 'case = "exact"\n').code == 0


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("wage ~ education^2", ("Write I(education**2)",)),
        ("wage ~ ln(education)", ("'ln(education)'", "log(a)")),
        ("wage ~ log(education)", ("needs values above 0", "log1p")),
        ("wage ~ scale(education)", ("scale(COLUMN, center=40, scale=10)",)),
        ("wage ~ bs(education, df=4)", ("knots=[...]",)),
        ("wage ~ factor(region)", ("C(COLUMN, levels=[...], ref=...)",)),
    ],
)
def test_formulas_of_other_programs_are_answered_with_what_to_write(fit, formula, words):
    one_line(fit(None, "--formula", formula, target=()), *words)


def test_a_delta_that_promises_nothing_is_said_once(fit):
    done = fit(budget=("--epsilon", "2", "--delta", "0.05", "--random-state", "0", "--out", "model.json"))
    assert done.code == 0
    assert " ".join((done.out + done.err).split()).count("delta = 0.05 is above 1 / (number of rows)") == 1


def test_columns_without_bounds_are_left_out(fit):
    done = fit()
    assert done.code == 0
    assert "'name'" not in done.out


def test_unknown_ranges_are_paid_for_beside_categories(fit):
    wide = BOUNDS.replace("high = 20", "high = 100000").replace("high = 100\n", "high = 1000000\n")
    budget = ("--epsilon", "5", "--delta", "1e-6", "--random-state", "0", "--out", "model.json")
    done = fit(None, "--paid-bounds", "0.2", bounds=wide, budget=budget)
    assert done.code == 0, done.err
    from dpols import PrivateLinearRegression

    model = PrivateLinearRegression.load("model.json")
    assert model.feature_map_.names == ("education", "region[south]")
    assert model.coef_ == pytest.approx([4.0, 5.0], abs=1.0)
    assert "education, found" in done.out
