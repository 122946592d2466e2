"""``dpols ledger``: create, show, check, cap and add, and fits that are charged."""

import json
import sqlite3
from contextlib import closing
from unittest.mock import ANY

import pytest

from dpols import BudgetLedger
from dpols.ledger.words import facts_of
from dpols.privacy import GaussianRelease

pytest.importorskip("typer")
pytestmark = pytest.mark.extras


@pytest.fixture
def ledger(dpols):
    def run(command, *arguments):
        return dpols("ledger", command, "my.ledger", *arguments)

    assert run("create", "--epsilon", 2, "--delta", "1e-6").code == 0
    return run


def shown(ledger):
    return json.loads(ledger("show", "--json").out)


def test_create_and_show(ledger):
    assert shown(ledger) | {"head": ""} == {
        "private": True,
        "not_private": [],
        "epsilon": 2.0,
        "delta": 1e-6,
        "data": None,
        "neighbours": "zero-out",
        "failure_share": 0.5,
        "black_boxes": [0.0, 0.0],
        "used": 0.0,
        "black_boxes_used": [0.0, 0.0],
        "gaussian_epsilon_left": pytest.approx(1.936, abs=1e-3),
        "one_fit_may_take_all": True,
        "head": "",
        "caps": [{"row": 1, "time": ANY, "epsilon": 2.0, "delta": 1e-6}],
        "entries": [],
    }
    again = ledger("create", "--epsilon", 9, "--delta", "1e-6")
    assert again.code == 2
    assert "exists already" in again.err
    assert shown(ledger)["epsilon"] == 2.0


def test_releases_made_elsewhere_are_charged_up_to_the_cap(ledger):
    assert ledger("add", "--gaussian", 20, "--what", "mean age").code == 0
    assert ledger("add", "--epsilon", 0.01, "--delta", 1e-9, "--what", "a count").code == 0
    refused = ledger("add", "--epsilon", 1.9, "--what", "too much")
    assert refused.code == 1
    assert refused.err.startswith("error: too much would take")
    entries = shown(ledger)["entries"]
    assert [entry["what"] for entry in entries] == ["mean age", "a count"]
    assert entries[0]["groups"] == [[{"kind": "gaussian", "times": 1, "multiplier": 20.0}]]
    table = ledger("show").out
    assert "mean age" in table
    assert f"{100 * entries[0]['charge']['gaussian']:.4g} %" in table
    for wrong in ((), ("--gaussian", 3, "--epsilon", 1), ("--gaussian", -3)):
        assert ledger("add", "--what", "nonsense", *wrong).code == 2


def test_black_boxes_have_their_own_part(dpols):
    create = ("--epsilon", 2, "--delta", "1e-6", "--black-boxes", "0.5", "1e-7", "--neighbours", "replace-one")
    assert dpols("ledger", "create", "boxes", *create).code == 0
    out = dpols("ledger", "add", "boxes", "--epsilon", 0.4, "--what", "box").out
    assert "0.4 of 0.5" in out
    assert "replace-one" in out


def test_the_cap_can_be_raised_and_not_lowered(ledger):
    assert ledger("cap", "--epsilon", 3, "--delta", "1e-6").code == 0
    assert shown(ledger)["epsilon"] == 3.0
    lowered = ledger("cap", "--epsilon", 1, "--delta", "1e-6")
    assert lowered.code == 2
    assert "can only be raised" in lowered.err


def test_charges_are_shown_in_shares_of_the_present_cap(ledger):
    """Also those of black boxes, which take Gaussian and leak, and of a cap that was raised twice."""
    ledger("add", "--gaussian", 20, "--what", "mean age")
    ledger("add", "--epsilon", 0.05, "--delta", 1e-8, "--what", "a count")
    before = [entry["share"] for entry in shown(ledger)["entries"]]
    assert ledger("cap", "--epsilon", 3, "--delta", "1e-6").code == 0
    ledger("add", "--gaussian", 20, "--what", "again")
    assert ledger("cap", "--epsilon", 4, "--delta", "2e-6").code == 0
    found = shown(ledger)
    first, box, again = (entry["share"] for entry in found["entries"])
    assert first == pytest.approx(again)
    assert first < before[0]
    assert box < before[1]
    assert first + again < found["used"] <= first + box + again
    assert [(cap["row"], cap["epsilon"], cap["delta"]) for cap in found["caps"]] == [
        (1, 2.0, 1e-6),
        (4, 3.0, 1e-6),
        (6, 4.0, 2e-6),
    ]
    charges = ledger("show").out.split("\nCharges\n")[1]  # the head above it may end in a line of digits
    lines = [line.split() for line in charges.splitlines()]
    rows = {line[0]: line for line in lines if line and line[0].isdigit()}
    assert list(rows) == ["2", "3", "4", "5", "6"]
    assert [rows[row][3] for row in ("2", "3", "5")] == [f"{100 * share:.4g}" for share in (first, box, again)]
    assert rows["4"][3:6] == ["cap", "raised", "to"]


def test_what_is_left_of_a_fresh_ledger_is_all_of_it_for_one_fit(ledger, dpols, csv, bounds):
    def words(command):
        return " ".join(ledger(command).out.split())

    assert "left all of it for one fit, which is then the last; or, to share it, at most one Gaussian" in words("show")
    fit = ("fit", csv, "--target", "pay", "--bounds", bounds, "--out", "model.json", "--ledger", "my.ledger")
    assert dpols(*fit, "--epsilon", 2, "--delta", "1e-6").code == 0
    assert shown(ledger)["one_fit_may_take_all"] is False
    assert "left at most one Gaussian fit of epsilon = 0 " in words("show")


def test_errors_name_the_option_and_the_remedy(ledger, dpols):
    create = ("ledger", "create", "new.ledger", "--delta", "1e-6")
    for arguments, start in (
        (("ledger", "add", "my.ledger", "--what", "it", "--gaussian", -2), "--gaussian -2.0 must"),
        (("ledger", "add", "my.ledger", "--what", "it", "--epsilon", 1, "--delta", 3), "--delta 3.0 must"),
        ((*create, "--epsilon", 0), "--epsilon 0.0 must"),
        ((*create, "--epsilon", 1, "--failure-share", 3), "--failure-share 3.0 must"),
        ((*create, "--epsilon", 1, "--black-boxes", 3, 4), "--black-boxes (3.0, 4.0) must"),
    ):
        done = dpols(*arguments)
        assert done.code == 2
        assert done.err.startswith(f"error: {start}")
    assert "create it by 'dpols ledger create'" in dpols("ledger", "show", "none.ledger").err
    refused = ledger("add", "--gaussian", 0.5, "--what", "too much").err
    assert "larger multiplier" in refused
    assert "smaller epsilon" not in refused
    assert "smaller epsilon" in ledger("add", "--epsilon", 50, "--what", "too much").err
    void = ("void", "--because", "it was killed", "--nothing-was-released", "--row", 99)
    assert "row 99" in ledger(*void).err
    assert "none is open" in ledger(*void).err
    BudgetLedger("my.ledger").reserve([[GaussianRelease(20.0)]], what="killed")
    assert "open ones are in row 2" in ledger(*void).err


def test_check_finds_what_was_changed(ledger):
    ledger("add", "--gaussian", 20, "--what", "mean age")
    fine = ledger("check", "--json")
    head = json.loads(fine.out)["head"]
    assert fine.code == 0
    assert head == BudgetLedger("my.ledger").head()
    assert ledger("check", "--head", head).out == f"OK, head {head}\n"
    assert ledger("check", "--head", head.replace("2:", "3:")).code == 1
    with closing(sqlite3.connect("my.ledger")) as connection, connection:
        connection.execute("UPDATE history SET content = replace(content, '20.0', '99.0')")
    bad = ledger("check", "--json")
    assert bad.code == 1
    assert "row 2 is not what was written" in json.loads(bad.out)["problem"]
    assert ledger("check").code == 1
    assert ledger("show").code == 2


def test_fits_are_charged_and_refused_at_the_cap(ledger, dpols, csv, bounds):
    fit = ("fit", csv, "--target", "pay", "--bounds", bounds, "--delta", "1e-7", "--out", "model.json")
    assert dpols(*fit, "--epsilon", 0.5, "--ledger", "my.ledger").code == 0
    (entry,) = shown(ledger)["entries"]
    assert "fit at (epsilon=0.5, delta=1e-07)" in entry["what"]
    refused = dpols(*fit, "--epsilon", 3, "--ledger", "my.ledger")
    assert refused.code == 1
    assert "of the ledger" in refused.err
    assert dpols(*fit, "--epsilon", 0.5, "--ledger", "another.ledger").code == 2
    assert len(shown(ledger)["entries"]) == 1


def test_a_ledger_says_first_which_charges_are_not_private(ledger, dpols, csv, bounds, tmp_path):
    fit = ("fit", csv, "--target", "pay", "--bounds", bounds, "--delta", "1e-7", "--ledger", "my.ledger", "--out")
    assert dpols(*fit, "one.json", "--epsilon", 0.1).code == 0
    assert "NOT PRIVATE" not in ledger("show").out
    assert dpols(*fit, "two.json", "--epsilon", 0.2, "--random-state", 3).code == 0
    row = shown(ledger)["entries"][1]["number"]
    assert shown(ledger)["private"] is False
    assert shown(ledger)["not_private"] == [{"row": row, "why": "a seed"}]
    alarm = f"NOT PRIVATE: row {row}, a seed."
    page = tmp_path / "ledger.html"
    assert ledger("show", "--html", page).out.startswith(alarm)
    assert f'<p class="alarm">{alarm}' in page.read_text(encoding="utf-8")
    state = BudgetLedger("my.ledger").state()
    assert dict(facts_of(state, ""))["promises"].endswith(f"for all together, but NOT PRIVATE: row {row}")
    assert alarm in BudgetLedger("my.ledger")._repr_html_()


def test_a_fit_that_fails_is_shown_as_void(ledger, dpols, csv, bounds):
    csv.write_text(csv.read_text().replace("20,2,town", "nan,2,town", 1))
    fit = ("fit", csv, "--target", "pay", "--bounds", bounds, "--delta", "1e-7", "--out", "model.json")
    failed = dpols(*fit, "--epsilon", 0.5, "--ledger", "my.ledger")
    assert failed.code == 2
    assert "nothing is spent: row 2" in failed.err
    found = shown(ledger)
    (entry,) = found["entries"]
    assert (entry["status"], entry["outcome"]) == ("void", "BadRowsError before the first release")
    assert found["used"] == 0.0
    table = ledger("show").out
    assert "nothing" in table
    assert "void" in table
    assert ledger("check").code == 0


def test_a_reservation_that_was_left_open_can_be_voided_by_its_owner(ledger):
    made = BudgetLedger("my.ledger")
    made.add(GaussianRelease(30.0), what="done")
    made.reserve([[GaussianRelease(20.0)]], what="killed")
    assert "row 3: running or killed, and counted as spent" in " ".join(ledger("show").out.split())
    used = shown(ledger)["used"]
    void = ("void", "--because", "the machine lost power before the first pass")
    assert ledger(*void, "--row", 3).code == 2
    assert "--nothing-was-released" in ledger(*void, "--row", 3).err
    assert shown(ledger)["used"] == used
    for row in (1, 2, 9):
        assert ledger(*void, "--row", row, "--nothing-was-released").code == 2
    done = ledger(*void, "--row", 3, "--nothing-was-released", "--json")
    assert done.code == 0
    found = json.loads(done.out)
    assert found["used"] == found["entries"][0]["charge"]["gaussian"] < used
    assert found["entries"][1]["outcome"] == "by hand: the machine lost power before the first pass"
    assert "open" not in ledger("show").out
    assert ledger(*void, "--row", 3, "--nothing-was-released").code == 2


def test_the_group_alone_lists_its_commands(dpols):
    result = dpols("ledger")
    assert result.code == 0
    assert all(name in result.out for name in ("create", "show", "check", "cap", "add", "void"))
