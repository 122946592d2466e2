"""The commands where the number of rows is not public: none of them tells it."""

import json

import numpy as np
import pytest

pytest.importorskip("typer")
pytestmark = pytest.mark.extras

FIT = ("--target", "y", "--epsilon", "1", "--delta", "1e-6", "--neighbours", "add-remove", "--bad-rows", "zero")


@pytest.fixture
def tables(tmp_path):
    """Two tables of which the second has three zero rows more, and bounds for both."""
    rng = np.random.default_rng(0)
    lines = [f"{a!r},{b!r},{a - b!r}" for a, b in rng.uniform(0.0, 1.0, (300, 2)).tolist()]
    for name, text in (("one", lines), ("two", [",,", *lines[:50], ",,", "0.5,,0.1", *lines[50:]])):
        (tmp_path / name).mkdir()
        (tmp_path / name / "table.csv").write_text("\n".join(["a,b,y", *text]))
    ranges = "".join(f"[features.{name}]\nlow = 0\nhigh = 1\n" for name in "ab")
    (tmp_path / "bounds.toml").write_text(f"{ranges}[target]\nname = 'y'\nlow = -1\nhigh = 1\n")
    return tmp_path


def fitted(dpols, folder, name, *more):
    """What a fit prints, and the model that it writes."""
    out = folder / "model.json"
    files = (folder / name / "table.csv", "--bounds", folder / "bounds.toml", "--out", out)
    printed = dpols("fit", *files, *FIT, "--random-state", 1, *more)
    assert printed.code == 0, printed.err
    content = json.loads(out.read_text())
    content.pop("sha256")
    content["content"]["report"].pop("date")
    return printed.out, printed.err, content


@pytest.mark.parametrize("more", [(), ("--inference",), ("--paid-bounds", "0.1", "--count-clipped")])
def test_a_fit_prints_and_writes_the_same_whatever_zero_rows_there_are(more, tables, dpols):
    one, two = (fitted(dpols, tables, name, *more) for name in ("one", "two"))
    assert one == two
    assert "add-remove" in one[0]
    assert "300" not in one[0]
    assert "303" not in two[0]


def test_a_cost_needs_no_number_of_rows(dpols):
    sizes = ("--features", "3", "--epsilon", "1", "--delta", "1e-6")
    found = json.loads(dpols("cost", *sizes, "--neighbours", "add-remove", "--json").out)
    assert found["rows"] is None
    assert found["accounting"]["exact"]["exact_epsilon"] == pytest.approx(1.0)
    assert "whose number is not public" in dpols("cost", *sizes, "--neighbours", "add-remove").out
    assert "dp-gd" not in dpols("cost", *sizes, "--neighbours", "add-remove", "--method", "all").out
    assert "--rows is missing" in dpols("cost", *sizes).err


def test_a_rule_of_the_number_of_rows_is_refused(dpols):
    asked = ("--features", "3", "--epsilon", "1", "--delta", "1/n^2", "--neighbours", "add-remove")
    assert "give delta as a number" in dpols("cost", *asked).err
    assert "give delta as a number" in dpols("plan", "--rows", "5000", *asked).err


def test_a_plan_simulates_fits_that_do_not_know_the_number_of_rows(dpols):
    asked = ("--rows", "2000", "--features", "2", "--epsilon", "1", "--delta", "1e-6", "--trials", "4", "--json")
    public, private = (
        json.loads(dpols("plan", *asked, "--neighbours", neighbours).out) for neighbours in ("zero-out", "add-remove")
    )
    assert public["rows"][0]["excess_risk"] != private["rows"][0]["excess_risk"]
    assert "dp-gd" in private["left_out"] or all(row["method"] != "dp-gd" for row in private["rows"])
