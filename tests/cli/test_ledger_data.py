"""What the commands say of a ledger's data: its name, labels of charges, pages, and tables that are not its own."""

import json

import pytest

pytest.importorskip("typer")
pytestmark = pytest.mark.extras

FIT = ("--epsilon", "0.5", "--delta", "1e-7", "--out", "model.json")
OTHER = "[target]\nlow = 0\nhigh = 1\n\n[features.price]\nlow = 0\nhigh = 1\n"


def test_a_charge_names_file_and_note_and_another_table_must_be_confirmed(dpols, csv, bounds, tmp_path):
    made = dpols("ledger", "create", "one.ledger", "--epsilon", 3, "--delta", 1e-5, "--data", "staff 2024")
    assert "staff 2024" in made.out
    to = ("--ledger", "one.ledger", *FIT)
    assert dpols("fit", csv, "--bounds", bounds, "--target", "pay", "--ledger-note", "table 2", *to).code == 0
    found = json.loads(dpols("ledger", "show", "one.ledger", "--json").out)
    assert found["data"] == "staff 2024"
    assert found["entries"][0]["about"]["file"] == "data.csv"
    assert found["entries"][0]["about"]["note"] == "table 2"
    (tmp_path / "other.csv").write_text("\n".join(["price,sold", *(f"{i / 99},{i / 99}" for i in range(100))]))
    (tmp_path / "other.toml").write_text(OTHER)
    asked = ("fit", "other.csv", "--bounds", "other.toml", "--target", "sold", *to)
    refused = dpols(*asked)
    assert refused.code != 0
    assert "--same-data" in refused.err
    assert dpols(*asked, "--same-data").code == 0
    assert "--ledger" in dpols("fit", csv, "--bounds", bounds, "--target", "pay", *FIT, "--same-data").err


def test_a_ledger_is_shown_as_a_page(dpols, tmp_path):
    dpols("ledger", "create", "one.ledger", "--epsilon", 3, "--delta", 1e-5)
    shown = dpols("ledger", "show", "one.ledger", "--html", "page.html")
    assert "how fits add up" in shown.out
    assert "how fits add up" in (tmp_path / "page.html").read_text()
    assert dpols("ledger", "show", "one.ledger", "--html", "one.ledger").code != 0
