"""Tables with numbers, categories and empty cells, from the header to predictions."""

import json

import numpy as np
import pytest

from dpols import PrivateLinearRegression

pytest.importorskip("typer")
pytest.importorskip("pyarrow")
pytestmark = pytest.mark.extras

DECLARED = """
[target]
low = 0
high = 100

[features.age]
low = 18
high = 90
missing = 45

[features.region]
categories = ["north", "south", "west"]
unknown = "other"

[features.code]
categories = [1, 2]
missing = 2
"""


@pytest.fixture
def mixed(tmp_path):
    """A CSV file whose pay is 10 + age / 2 + 20 in the south, with categories of text and numbers, some empty."""
    rng = np.random.default_rng(0)
    lines = ["age,region,code,pay"]
    for i in range(3000):
        age, region = rng.uniform(18, 90), rng.choice(["north", "south", "west", "abroad"])
        pay = 10 + age / 2 + 20 * (region == "south")
        lines.append(f"{'' if i % 50 == 0 else round(age, 1)},{region},{rng.choice(['1', '2', ''])},{pay:.2f}")
    (tmp_path / "mixed.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "declared.toml").write_text(DECLARED)
    return tmp_path / "mixed.csv"


@pytest.fixture
def fit(dpols, mixed):
    def run(*arguments):
        budget = ("--epsilon", "50", "--delta", "1e-6", "--bounds", "declared.toml", "--out", "model.json")
        return dpols("fit", mixed, *budget, *arguments)

    return run


NAMED = DECLARED.replace("[target]", '[target]\nname = "pay"')


@pytest.mark.parametrize("declared", [DECLARED, NAMED, DECLARED.replace("[target]\nlow = 0\nhigh = 100", "")])
def test_a_formulas_target_has_the_range_under_its_own_name(fit, tmp_path, declared):
    (tmp_path / "declared.toml").write_text(declared)
    done = fit("--formula", "age ~ region", "--bad-rows", "zero", "--json")
    assert (done.code, done.err) == (0, "")
    assert dict(json.loads(done.out)["bounds"])["target"] == "[18, 90]"


def test_a_table_of_bounds_has_the_range_of_any_target(dpols, mixed, tmp_path):
    (tmp_path / "catalogue.csv").write_text("column,low,high\nage,18,90\npay,0,100\n")
    budget = ("--epsilon", 50, "--delta", "1e-6", "--bounds", "catalogue.csv", "--out", "model.json", "--json")
    for formula, expected in (("age ~ pay", "[18, 90]"), ("pay ~ age", "[0, 100]")):
        done = dpols("fit", mixed, "--formula", formula, *budget, "--bad-rows", "zero")
        assert (done.code, done.err) == (0, "")
        assert dict(json.loads(done.out)["bounds"])["target"] == expected


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--target", "weight"], ["[target] is that of 'pay'", "--target pay"]),
        (["--formula", "weight ~ age"], ["'weight' has no public range", "'pay'", "add 'weight' to the features"]),
        (["--formula", "region ~ age"], ["'region'", "numbers"]),
    ],
)
def test_the_range_of_another_target_is_not_used(fit, tmp_path, arguments, words):
    (tmp_path / "declared.toml").write_text(NAMED)
    done = fit(*arguments)
    assert done.code == 2
    assert [word for word in words if word not in done.err] == []
    assert not (tmp_path / "model.json").exists()


def test_a_fit_by_name_needs_the_range_of_its_target(fit, tmp_path):
    (tmp_path / "declared.toml").write_text(DECLARED.replace("[target]\nlow = 0\nhigh = 100", ""))
    done = fit("--target", "pay")
    assert done.code == 2
    assert "has no table [target]" in done.err


def test_a_mixed_table_is_fitted_and_predicted(fit, dpols, mixed, tmp_path):
    done = fit("--target", "pay", "--report", "report.html")
    assert (done.code, done.err) == (0, "")
    model = PrivateLinearRegression.load("model.json")
    coefficients = dict(zip(model.feature_map_.names, model.coef_, strict=True))
    assert coefficients["age"] == pytest.approx(0.5, abs=0.1)
    assert coefficients["region[south]"] == pytest.approx(20, abs=3)
    assert "empty cells count as 45" in (tmp_path / "report.html").read_text()
    assert dpols("predict", "model.json", mixed, "--out", "predictions.csv").code == 0
    predictions = [float(line) for line in (tmp_path / "predictions.csv").read_text().splitlines()[1:]]
    pay = [float(line.rpartition(",")[2]) for line in mixed.read_text().splitlines()[1:]]
    assert np.corrcoef(predictions, pay)[0, 1] > 0.95


def test_a_formula_names_target_and_features(fit):
    done = fit("--formula", "pay ~ age + region + age:region", "--json")
    assert done.code == 0
    names = [c["name"] for c in json.loads(done.out)["coefficients"]]
    assert names[:4] == ["age", "region[south]", "region[west]", "region[other]"]
    assert names[4] == "age:region[south]"
    assert names[-1] == "intercept"
    without = json.loads(fit("--formula", "pay ~ 0 + age + region", "--json").out)["coefficients"]
    assert [c["name"] for c in without] == ["age", *(f"region[{x}]" for x in ("north", "south", "west", "other"))]


BAD = {
    "no target": ([], ["--target", "--formula"]),
    "two targets": (["--formula", "pay ~ age", "--target", "age"], ["'age'", "'pay'"]),
    "unknown column": (["--formula", "pay ~ age + hours"], ["'hours'", "public range"]),
    "computed from data": (["--formula", "pay ~ scale(age)"], ["scale(age)"]),
    "malformed": (["--formula", "pay ~ (age"], ["cannot be read"]),
    "intercept twice": (["--formula", "pay ~ age", "--no-intercept"], ["--no-intercept", "0 +"]),
    "not in the table": (["--formula", "salary ~ age"], ["'salary'"]),
}


@pytest.mark.parametrize("case", BAD)
def test_what_contradicts_itself_is_refused(fit, tmp_path, case):
    arguments, words = BAD[case]
    done = fit(*arguments)
    assert (done.code, done.out) == (2, "")
    assert [word for word in words if word not in done.err] == [], done.err
    assert done.err.count("\n") == 1
    assert not (tmp_path / "model.json").exists()


def test_text_among_numbers_is_refused_without_quoting_it(fit, mixed, tmp_path):
    mixed.write_text(mixed.read_text() + "SECRET,north,1,20\n")
    done = fit("--target", "pay")
    assert (done.code, done.out) == (2, "")
    assert "'age'" in done.err
    assert "SECRET" not in done.err


def test_an_empty_cell_without_replacement_is_refused_or_its_row_left_out(fit, mixed):
    mixed.write_text(mixed.read_text() + "40,,1,20\n")
    done = fit("--target", "pay")
    assert done.code == 2
    words = (
        "mixed.csv' has an empty or infinite cell",
        "missing = ...",
        "(nothing yet of 'region')",
        "--bad-rows zero to fit on complete rows only: rows with an empty cell are left out",
        "of the target there is no such value",
    )
    assert [word for word in words if word not in done.err] == []
    assert "leaving them out (zero)" in " ".join(fit("--help").out.replace("│", " ").split())
    assert fit("--target", "pay", "--bad-rows", "zero").code == 0
