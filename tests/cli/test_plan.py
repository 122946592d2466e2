"""``dpols plan``: expected accuracy before anything is spent."""

import json
import re

import pytest

from dpols.planning.accuracy import AccuracyPlan
from dpols.planning.simulation import PlannedRow

pytest.importorskip("typer")
pytestmark = pytest.mark.extras

FEW = ("--trials", 2)


def test_a_plan_fits_80_columns_and_says_that_nothing_is_spent(dpols):
    done = dpols("plan", "--rows", 2000, "--features", 3, "--epsilon", "1,10", *FEW)
    assert done.code == 0
    assert max(map(len, done.out.splitlines())) <= 85  # what is assumed is not wrapped
    assert all(len(line) <= 80 for line in done.out.splitlines() if line.startswith(("method", "whitened", "dp-gd")))
    assert "Recommendation: " in done.out
    assert "nothing spent" in " ".join(done.out.split())


def test_json_has_the_rows_of_the_plan(dpols):
    arguments = ("plan", "--rows", 500, "--features", 2, "--epsilon", 1, "--methods", "adassp,ihm", "--no-intervals")
    content = json.loads(dpols(*arguments, "--json", *FEW).out)
    assert [row["method"] for row in content["rows"]] == ["adassp", "ihm"]
    assert content["rows"][0]["delta"] == pytest.approx(500**-2)
    assert content["recommendation"]["reason"]


def test_a_public_table_and_a_bounds_file(dpols, csv, bounds):
    numbers = csv.with_name("numbers.csv")
    numbers.write_text(csv.read_text().replace(",city", "").replace(",town", ""))
    common = ("plan", "--rows", 5000, "--target", "pay", "--epsilon", 3, "--methods", "adassp", "--json", *FEW)
    by_bounds = json.loads(dpols(*common, "--public-table", csv, "--bounds", bounds).out)
    by_ranges = json.loads(dpols(*common, "--public-table", numbers).out)
    assert by_bounds["n_features"] == by_ranges["n_features"] == 2
    # The table is linear to the last digit, and the bounds of the file are the wider ones.
    assert by_bounds["nonprivate_r_squared"] > 0.999
    assert by_bounds["rows"][0]["excess_risk"] > by_ranges["rows"][0]["excess_risk"]


def test_the_inverse_questions(dpols):
    wanted = ("plan", "--features", 2, "--want-r-squared", 0.4, *FEW)
    epsilon = json.loads(dpols(*wanted, "--rows", 2000, "--json").out)
    n = json.loads(dpols(*wanted, "--epsilon", 1, "--json").out)
    assert (epsilon["quantity"], n["quantity"]) == ("epsilon", "n")
    assert epsilon["reachable"]
    assert n["expected"]["r_squared"] >= 0.4
    shown = dpols(*wanted, "--rows", 2000).out
    assert f"answer: epsilon = {epsilon['value']:g} with whitened is enough for R^2 >= 0.4; epsilon = " in shown
    assert "assumed: made-up rows" in shown


def test_a_picture(dpols, tmp_path):
    pytest.importorskip("matplotlib")
    done = dpols("plan", "--rows", 500, "--features", 2, "--epsilon", "1,3", "--plot", tmp_path / "p.png", *FEW)
    assert done.code == 0
    assert (tmp_path / "p.png").stat().st_size > 10_000


def test_a_page_to_hand_on(dpols, tmp_path):
    arguments = ("plan", "--rows", 4000, "--features", 2, "--epsilon", "0.3,3", "--methods", "whitened,ihm", *FEW)
    done = dpols(*arguments, "--report", tmp_path / "plan.html")
    page = (tmp_path / "plan.html").read_text(encoding="utf-8")
    assert f"Page: {tmp_path / 'plan.html'}" in done.out
    numbers = json.loads(dpols(*arguments, "--json").out)
    for row in numbers["rows"]:
        assert f"<td>{row['r_squared']:.3f}</td>" in page
    said = numbers["recommendation"]["reason"].replace("R^2", "R\u00b2")
    assert said[1:] in page
    assert page.count('class="best"') == 2  # one for each epsilon
    assert "<script" not in page
    assert "http" not in page


def test_what_stands_on_a_page_is_escaped():
    row = PlannedRow("<i>", 1.0, 1e-6, 1000, 0.1, 0.0, 0.6, 0.4, 0.1, 0.0, None, "a < b")
    page = AccuracyPlan((row,), 1000, 3, "<b>", 0.5, 2, left_out=(("<u>", "c > d"),)).to_html()
    assert not {"<i>", "<b>bounds", "<u>"} & set(re.findall(r"<[a-z]+>", page.replace("<b>0.400</b>", "")))
    assert "a &lt; b" in page


def test_a_bounds_file_with_categories(dpols, csv, tmp_path):
    (tmp_path / "c.toml").write_text(
        '[target]\nlow = 0\nhigh = 100\n[features.age]\nlow = 18\nhigh = 90\n[features.city]\ncategories = ["a", "b"]\n'
    )
    common = ("plan", "--rows", 5000, "--bounds", tmp_path / "c.toml", "--epsilon", 3, "--methods", "whitened", *FEW)
    made_up = json.loads(dpols(*common, "--json").out)
    assert made_up["n_features"] == 2
    assert "categories are equally frequent" in made_up["assumed"]
    table = tmp_path / "public.csv"
    rows = "".join(f"{18 + i % 70},{'ab'[i % 2]},{20 + i % 70 / 2 + 9 * (i % 2) + i % 3}\n" for i in range(300))
    table.write_text(f"age,city,pay\n{rows}")
    public = json.loads(dpols(*common, "--public-table", table, "--target", "pay", "--json").out)
    assert public["n_features"] == 2
    assert public["nonprivate_r_squared"] > 0.9
    refused = dpols("plan", "--rows", 5000, "--bounds", tmp_path / "c.toml", "--features", 5)
    assert "--features 5 does not match" in refused.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--features", 2), "--rows is required"),
        (("--rows", 100), "--features is required"),
        (("--rows", -1, "--features", 2), "'--rows'"),
        (("--rows", 5, "--features", 2), "--rows 5 must be at least 6"),
        (("--rows", 100, "--features", 2, "--epsilon", "1,0"), "--epsilon 0.0 must be"),
        (("--rows", 100, "--features", 2, "--methods", "magic"), "--methods 'magic'"),
        (("--rows", 100, "--features", 2, "--want-width", -1), "--want-width -1.0 must be"),
        (("--rows", 100, "--features", 2, "--want-r-squared", 2), "--want-r-squared 2.0 must lie"),
        (("--rows", 100, "--features", 2, "--want-width", 1, "--want-share", 2), "--want-share 2.0 must be"),
        (("--rows", 100, "--features", 2, "--bounds-slack", 0.5), "--bounds-slack 0.5 must be"),
        (("--rows", 100, "--features", 2, "--r-squared", 2), "--r-squared 2.0 must lie"),
        (("--rows", 100, "--features", 2, "--plot", "a.xyz"), ".png, .svg or .pdf"),
        (("--rows", 100, "--features", 2, "--plot", "/nowhere/a.png"), "of --plot"),
        (("--rows", 100, "--features", 2, "--want-width", 1, "--want-r-squared", 0.4), "not both"),
        (("--rows", 100, "--features", 2, "--epsilon", "x"), "not a number"),
        (("--rows", 100, "--features", 2, "--want-width", 1, "--epsilon", "1"), "give --rows"),
        (("--features", 2, "--want-width", 1, "--epsilon", "1,2"), "one number"),
        (("--rows", 100, "--features", 2, "--want-width", 1, "--methods", "ihm,adassp"), "one method"),
        (("--rows", 100, "--features", 2, "--want-width", 1, "--plot", "a.png"), "--plot"),
        (("--rows", 100, "--features", 2, "--want-width", 1, "--report", "a.html"), "--report"),
        (("--rows", 100, "--features", 2, "--want-width", 1, "--no-intervals"), "--no-intervals"),
        (("--rows", 100, "--features", 2, "--want-r-squared", 0.4, "--want-share", 0.5), "--want-share goes with"),
        (("--rows", 100, "--features", 2, "--want-share", 0.5), "--want-share goes with"),
        (("--rows", 100, "--features", 2, "--report", "a.txt"), "must end in .html"),
        (("--rows", 100, "--features", 2, "--target", "pay"), "--target"),
        (("--rows", 100, "--formula", "y ~ x"), "--formula needs a --bounds file"),
        (("--rows", 100, "--features", 2, "--unit", "who"), "--unit needs --max-rows-per-unit"),
        (("--rows", 20, "--features", 2, "--max-rows-per-unit", 5), "at least 6 units of 5 rows"),
    ],
)
def test_mistakes_are_named(dpols, arguments, message):
    done = dpols("plan", *arguments)
    assert done.code == 2
    assert message in done.err


def test_a_public_table_needs_its_columns(dpols, csv):
    common = ("plan", "--rows", 100, "--public-table", csv)
    assert "--target is required" in dpols(*common).err
    assert "no column 'wage'" in dpols(*common, "--target", "wage").err
    assert "'city'" in dpols(*common, "--target", "pay").err


def test_a_formula_and_units(dpols, tmp_path):
    (tmp_path / "c.toml").write_text(
        '[target]\nname = "pay"\nlow = 0\nhigh = 100\n[features.age]\nlow = 18\nhigh = 90\n'
        '[features.city]\ncategories = ["a", "b", "c"]\n'
    )
    common = ("plan", "--rows", 5000, "--bounds", tmp_path / "c.toml", "--epsilon", 3, "--methods", "whitened", *FEW)
    found = json.loads(dpols(*common, "--formula", "pay ~ I((age - 50)**2) + age*city", "--json").out)
    assert found["n_features"] == 6
    without = json.loads(dpols(*common, "--formula", "pay ~ 0 + age", "--json").out)
    assert without["n_features"] == 1
    assert "no intercept" in without["assumed"]
    units = json.loads(dpols(*common, "--unit", "person", "--max-rows-per-unit", 20, "--json").out)
    rows = json.loads(dpols(*common, "--json").out)
    assert "each unit has 20 rows, which are alike" in units["assumed"]
    assert units["rows"][0]["excess_risk"] > 10.0 * rows["rows"][0]["excess_risk"]
    assert "'wage'" in dpols(*common, "--formula", "pay ~ wage").err
