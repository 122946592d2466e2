"""``dpols fit``: what it prints and saves, and that bad input costs nothing and leaves nothing."""

import json
import os

import pytest

from dpols import PrivacyReport, PrivateLinearRegression

pytest.importorskip("typer")
pytest.importorskip("pyarrow")
pytestmark = pytest.mark.extras


@pytest.fixture
def fit(dpols, csv, bounds, budget):
    """Run a fit that works; later arguments change earlier ones."""

    def run(*arguments, data=csv):
        return dpols("fit", data, "--target", "pay", "--bounds", bounds, *budget, "--out", "model.json", *arguments)

    return run


def test_a_fit_prints_its_report_and_saves_the_same(fit):
    done = fit("--epsilon", "50")
    assert (done.code, done.err) == (0, "")
    model = PrivateLinearRegression.load("model.json")
    assert list(model.feature_names_in_) == ["age", "hours"]
    assert model.coef_ == pytest.approx([1 / 2, 1 / 3], abs=0.1)
    for word in ("age", "hours", "intercept", "zero-out", "epsilon = 50", "X'X", "Model saved"):
        assert word in done.out


def test_what_is_printed_fits_80_columns(fit):
    assert max(map(len, fit().out.splitlines())) <= 80


def test_json_is_the_report_and_nothing_else(fit):
    done = fit("--json")
    report = PrivacyReport.from_dict(json.loads(done.out))
    assert report == PrivateLinearRegression.load("model.json").privacy_report_
    assert report.private


def test_csv_and_parquet_give_the_same_fit(fit, csv, parquet):
    reports = [json.loads(fit("--json", "--random-state", 0, data=data).out) for data in (csv, parquet)]
    assert [report.pop("table_name") for report in reports] == ["data.csv", "data.parquet"]
    assert reports[0] == reports[1]


def test_a_seeded_fit_says_that_it_is_not_private(fit):
    assert "NOT PRIVATE" in fit("--random-state", 0).out
    assert not PrivateLinearRegression.load("model.json").privacy_report_.private


def test_two_fits_draw_different_noise(fit):
    assert json.loads(fit("--json").out)["coefficients"] != json.loads(fit("--json").out)["coefficients"]


def test_choices_reach_the_estimator(fit):
    done = fit(
        *("--json", "--no-intercept", "--accounting", "paper", "--neighbours", "replace-one", "--delta", "1/n^2"),
        *("--option", "n_iterations=2", "--option", "sketch_size=40", "--method", "ihm", "--arithmetic", "float"),
    )
    report = json.loads(done.out)
    assert report["accounting"] == "paper"
    assert report["relation"] == "replace-one"
    assert report["arithmetic"] == "float"
    assert report["asked"]["delta"] == pytest.approx(2000**-2)
    assert [c["name"] for c in report["coefficients"]] == ["age", "hours"]
    (sketch,) = (line for line in report["lines"] if line["kind"] == "mixing")
    assert (sketch["times"], sketch["rows"]) == (2, 40)


def test_fractions_may_follow_whole_numbers(fit, csv, tmp_path):
    # More than pyarrow looks at to guess a type.
    rows = ["age,hours,city,pay", *(["40,20,town,37"] * 120_000), "40.5,20.5,town,37.5"]
    path = tmp_path / "long.csv"
    path.write_text("\n".join(rows) + "\n")
    assert fit("--json", data=path).code == 0


def test_true_and_false_are_numbers(fit, bounds, tmp_path):
    path = tmp_path / "flags.csv"
    path.write_text("age,hours,pay\n" + "true,1,2\nfalse,3,4\n" * 50)
    assert fit("--json", data=path).code == 0


def test_bad_rows_may_count_as_zeros(fit, csv):
    csv.write_text(csv.read_text() + ",1,town,20\n")
    assert fit().code == 2
    assert fit("--bad-rows", "zero").code == 0


def test_an_existing_model_is_replaced(fit, tmp_path):
    (tmp_path / "model.json").write_text("old")
    assert fit().code == 0
    assert PrivateLinearRegression.load("model.json").n_features_in_ == 2


def test_names_that_look_like_markup_are_printed_as_they_are(dpols, budget, tmp_path):
    (tmp_path / "odd.csv").write_text('"[red]a[/]","b, c",y\n' + "1,2,3\n2,1,3\n" * 30)
    made = dpols("bounds-template", "odd.csv", "--target", "y")
    filled = (tmp_path / "bounds.toml").read_text().replace("# low =", "low = 0").replace("# high =", "high = 5")
    (tmp_path / "bounds.toml").write_text(filled)
    done = dpols("fit", "odd.csv", "--target", "y", "--bounds", "bounds.toml", *budget, "--out", "m.json")
    assert (made.code, done.code) == (0, 0)
    assert "[red]a[/]" in done.out
    assert "b, c" in done.out


def replaced(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


BAD_BOUNDS = {
    "low not below high": ("high = 90", "high = 18", ["[features.age]", "18", "less than"]),
    "missing bound": ("high = 90", "", ["[features.age]", "no high"]),
    "bound that is text": ("high = 90", 'high = "90"', ["[features.age]", "'90'", "number"]),
    "bound that is nan": ("high = 90", "high = nan", ["[features.age]", "nan"]),
    "bound that is infinite": ("high = 90", "high = inf", ["age", "finite"]),
    "unknown column": ("features.age", "features.aeg", ["'aeg'", "'age', 'hours', 'city', 'pay'"]),
    "column of text": ("features.age", "features.city", ["'city'", "numbers"]),
    "unknown limit": ("high = 90", "high = 90\nmiddle = 50", ["[features.age]", "'middle'"]),
    "unknown table": ("[target]", "[goal]", ["'goal'", "[target]"]),
    "malformed TOML": ("high = 90", "high = ", ["TOML", "line 8"]),
    "target among the features": ("features.age", "features.pay", ["'pay'", "also a feature"]),
}


@pytest.mark.parametrize("case", BAD_BOUNDS)
def test_bad_bounds_are_refused(fit, bounds, tmp_path, case):
    old, new, words = BAD_BOUNDS[case]
    replaced(bounds, old, new)
    assert_refused(fit(), words, tmp_path)


def test_a_bounds_file_needs_features_and_target(fit, bounds, tmp_path):
    bounds.write_text("[target]\nlow = 0\nhigh = 1\n")
    assert_refused(fit(), ["no feature"], tmp_path)
    bounds.write_text("[features.age]\nlow = 0\nhigh = 1\n")
    assert_refused(fit(), ["[target]"], tmp_path)


BAD_ROWS = {
    "missing value": ("20,2,town", ",2,town", ["empty or infinite cell", "such rows are refused"]),
    "nan": ("20,2,town", "nan,2,town", ["empty or infinite cell", "such rows are refused"]),
    "infinity": ("20,2,town", "inf,2,town", ["empty or infinite cell", "such rows are refused"]),
    "text": ("20,2,town", "SECRET,2,town", ["'age'", "numbers"]),
    "line too short": ("20,2,town", "SECRET", ["more or fewer values", "header, which has 4"]),
    "a name in another encoding": ("age", "\udcff", ["no column 'age'", "'ÿ'"]),
    "another separator in the header": (
        "age,hours,city,pay",
        "age;hours;city;pay",
        ["more or fewer values", "header, which has 4"],
    ),
    "column twice": ("age,hours,city,pay", "age,age,hours,pay", ["'age'", "unique"]),
}


@pytest.mark.parametrize("case", BAD_ROWS)
def test_bad_rows_are_refused_without_quoting_them(fit, csv, tmp_path, case):
    old, new, words = BAD_ROWS[case]
    text = csv.read_text()
    assert old in text
    csv.write_bytes(text.replace(old, new, 1).encode(errors="surrogateescape"))
    done = fit()
    assert_refused(done, words, tmp_path)
    assert "SECRET" not in done.err


def test_text_far_down_is_refused_without_quoting_it(fit, tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("\n".join(["age,hours,city,pay", *(["40,20,town,37"] * 120_000), "40,SECRET,town,37"]) + "\n")
    done = fit(data=path)
    assert_refused(done, ["'hours'", "text"], tmp_path)
    assert "SECRET" not in done.err


BAD_ARGUMENTS = {
    "epsilon of zero": (["--epsilon", "0"], ["epsilon=0.0", "positive"]),
    "negative epsilon": (["--epsilon", "-1"], ["epsilon=-1.0", "positive"]),
    "epsilon of nan": (["--epsilon", "nan"], ["epsilon", "nan"]),
    "epsilon of text": (["--epsilon", "much"], ["--epsilon", "valid"]),
    "delta of zero": (["--delta", "0"], ["delta=0.0", "between 0 and 1"]),
    "delta of one": (["--delta", "1"], ["delta=1.0", "between 0 and 1"]),
    "delta of text": (["--delta", "tiny"], ["delta='tiny'", "1/n^2"]),
    "missing target": (["--target", "salary"], ["'salary'", "'age', 'hours', 'city', 'pay'"]),
    "unknown method": (["--method", "ols"], ["method='ols'", "ihm"]),
    "unknown arithmetic": (["--arithmetic", "int"], ["--arithmetic", "int"]),
    "unknown accounting": (["--accounting", "loose"], ["--accounting", "loose"]),
    "unknown option": (["--option", "speed=9"], ["'speed'", "n_iterations"]),
    "option without value": (["--option", "ridge"], ["NAME=VALUE"]),
    "option of wrong type": (["--option", "n_iterations=few"], ["n_iterations", "int"]),
    "option twice": (["--option", "n_iterations=4", "--option", "n_iterations=5"], ["'n_iterations'", "twice"]),
    "option out of range": (["--option", "n_iterations=2"], ["n_iterations=2"]),
    "folder that is not there": (["--out", "nowhere/model.json"], ["'nowhere'", "cannot write"]),
    "folder that is a file": (["--out", "data.csv/model.json"], ["'data.csv'", "cannot write"]),
    "folder as file": (["--out", "."], ["folder"]),
    "output over the data": (["--out", "data.csv"], ["'data.csv'", "overwrite"]),
    "output over the bounds": (["--out", "bounds.toml"], ["'bounds.toml'", "overwrite"]),
    "missing bounds file": (["--bounds", "nope.toml"], ["'nope.toml'", "No such file"]),
    "unknown argument": (["--quietly"], ["--quietly", "dpols fit --help"]),
}


@pytest.mark.parametrize("case", BAD_ARGUMENTS)
def test_bad_arguments_are_refused(fit, tmp_path, case):
    arguments, words = BAD_ARGUMENTS[case]
    assert_refused(fit(*arguments), words, tmp_path)


BAD_FILES = {
    "missing.csv": (None, ["'missing.csv'", "No such file"]),
    "table.xlsx": (b"PK", ["'table.xlsx'", "cannot be read as a workbook", "CSV"]),
    "table.sav": (b"PK", ["'table.sav'", "read_spss", ".to_parquet("]),
    "empty.csv": (b"", ["'empty.csv'", "empty"]),
    "header.csv": (b"age,hours,pay\n", ["no rows"]),
    "empty.parquet": (b"", ["'empty.parquet'", "Parquet"]),
    "text.parquet": (b"age,hours,pay\n1,2,3\n", ["'text.parquet'", "Parquet"]),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files_are_refused(fit, tmp_path, name):
    content, words = BAD_FILES[name]
    if content is not None:
        (tmp_path / name).write_bytes(content)
    assert_refused(fit(data=name), words, tmp_path)


def test_a_damaged_parquet_file_is_refused(fit, parquet, tmp_path):
    whole = parquet.read_bytes()
    parquet.write_bytes(whole[:8] + bytes(len(whole) // 2) + whole[8 + len(whole) // 2 :])
    assert_refused(fit(data=parquet), ["data.parquet"], tmp_path)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read and write everything")
def test_files_and_folders_without_permission_are_refused(fit, csv, tmp_path):
    csv.chmod(0)
    assert_refused(fit(), ["data.csv", "Permission"], tmp_path)
    csv.chmod(0o600)
    tmp_path.chmod(0o500)
    done = fit()
    tmp_path.chmod(0o700)
    assert_refused(done, ["cannot write", "Permission"], tmp_path)


def test_debugging_keeps_the_traceback(fit, monkeypatch):
    monkeypatch.setenv("DPOLS_DEBUG", "1")
    with pytest.raises(ValueError, match="epsilon"):
        fit("--epsilon", "0")


def assert_refused(done, words, folder):
    """Exit code 2, one line that holds all words, nothing on standard output and no file written."""
    assert done.code == 2
    assert done.out == ""
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1
    assert [word for word in words if word not in done.err] == [], done.err
    assert not (folder / "model.json").exists()
    assert not [path for path in folder.rglob("*") if path.name.startswith(".")]


@pytest.mark.parametrize(
    ("limits", "meets", "said"),
    [
        (["nonnegative"], lambda age, hours: min(age, hours) >= 0.0, "every slope at least 0"),
        (["age=:0.25", "hours=0.1:"], lambda age, hours: age <= 0.25 and hours >= 0.1, "slope of age at most 0.25"),
        (["norm=0.2"], lambda age, hours: age**2 + hours**2 <= 0.04 * (1.0 + 1e-12), "norm of the slopes at most 0.2"),
    ],
)
def test_constraints_are_kept_and_said(fit, limits, meets, said):
    done = fit(*(text for limit in limits for text in ("--constraint", limit)))
    assert done.code == 0
    assert meets(*PrivateLinearRegression.load("model.json").coef_)
    words = " ".join(done.out.split())
    assert said in words
    assert "No intervals: the coefficients are kept within constraints." in words


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (["age"], "is not understood"),
        (["age=:"], "is not understood"),
        (["age=low:3"], "'low' is not a number"),
        (["norm=two"], "'two' is not a number"),
        (["norm=1", "age=0:"], "must stand alone"),
        (["nonnegative", "age=0:"], "must stand alone"),
        (["age=0:", "age=:1"], "limits 'age' twice"),
        (["weight=0:"], "unknown features"),
        (["age=2:1"], "lower < upper"),
    ],
)
def test_constraints_that_say_nothing_are_refused(fit, limits, words):
    done = fit(*(text for limit in limits for text in ("--constraint", limit)))
    assert (done.code, done.out) == (2, "")
    assert words in done.err
    assert not os.path.exists("model.json")


def test_constraints_and_intervals_do_not_go_together(fit):
    done = fit("--constraint", "nonnegative", "--inference")
    assert done.code == 2
    assert "inference cannot go with constraints" in done.err
