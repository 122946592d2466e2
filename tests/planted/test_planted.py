"""Known mistakes can be planted in the source as it is, and the tests find some of them; ``make planted`` tries all."""

import json
import re
import shutil

import pytest
from bugs import BUGS
from editing import Edit
from planting import Caught, outcome, passing
from records import PROJECT, Records, _within_functions

TESTS = PROJECT / "tests"
MISTAKES = list(dict.fromkeys(bug.mistake for bug in BUGS))
# The short form: a few places, each with a test or a file of tests that finds it soon.
SHORT = {
    "no clipping (residuals)": "tests/laws/test_law_sensitivity.py::"
    "test_removing_a_row_moves_the_clipped_gradients_by_at_most_the_sensitivity[no-intercept-unit norm]",
    "NaN passed through (rows)": "tests/estimators/test_bad_input.py",
    "absolute tolerance 1e-12 (calibration)": "tests/privacy/test_calibration.py",
    "side releases charged as of one row (counts of clipped values)": "tests/audit/test_whole_fits.py",
    "words of few random bits (16 of 64)": "tests/test_system_bits.py",
}


def test_every_place_has_a_name_of_its_own():
    assert len(BUGS) >= 72
    assert len(MISTAKES) >= 37
    assert len({bug.name for bug in BUGS}) == len(BUGS)


def test_the_documentation_lists_all_places():
    places = {mistake: "; ".join(bug.place for bug in BUGS if bug.mistake == mistake) for mistake in MISTAKES}
    page = (PROJECT / "docs" / "audit.md").read_text(encoding="utf-8")
    assert f": {len(MISTAKES)} mistakes in {len(BUGS)} places." in page
    table = page.partition("| mistake | places |\n|---|---|\n")[2].partition("\n\n")[0]
    assert table.split("\n") == [f"| {mistake} | {listed} |" for mistake, listed in places.items()]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_bug_fits_the_source_and_leaves_it_valid(bug, tmp_path):
    for edit in bug.edits:
        copy = tmp_path / edit.file
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PROJECT / "src" / "dpols" / edit.file, copy)
    bug.plant(tmp_path)
    for edit in bug.edits:
        compile((tmp_path / edit.file).read_text(encoding="utf-8"), edit.file, "exec")


@pytest.mark.parametrize("text", ["not there", "twice"])
def test_a_change_that_no_longer_fits_says_so(text, tmp_path):
    (tmp_path / "module.py").write_text("twice twice")
    with pytest.raises(LookupError, match=r"update the change in tests/planted"):
        Edit("module.py", text, "").apply(tmp_path)


def test_a_change_knows_its_lines(tmp_path):
    (tmp_path / "module.py").write_text("one\ntwo\nthree\nfour\n")
    assert Edit("module.py", "two\nthr", "").lines(tmp_path) == range(2, 4)
    assert Edit("module.py", "two\n", "").lines(tmp_path) == range(2, 3)


def test_lines_are_those_of_their_statements_and_imports_are_told_apart(tmp_path):
    module = tmp_path / "module.py"
    body = ["if (", "    x", "):", "    x = [", "        3,", "    ]", "return x"]
    module.write_text("\n".join(["LEVEL = 1", "", "def f(", "    x=2,", "):", *(f"    {line}" for line in body)]))
    assert _within_functions(module, [1]) is None
    assert _within_functions(module, [4]) is None
    assert _within_functions(module, [7]) == {6, 7, 8}
    assert _within_functions(module, [10, 12]) == {9, 10, 11, 12}


def test_one_case_of_each_test_comes_before_the_second_case_of_any():
    records = Records(PROJECT, {})
    records.__dict__["seconds"] = {"t.py::a[1]": 0.2, "t.py::a[2]": 0.1, "t.py::b": 0.5, "t.py::c[1]": 0.3}
    assert records._in_order(records.seconds) == ["t.py::a[2]", "t.py::c[1]", "t.py::b", "t.py::a[1]"]
    caught = {"t.py::b": 9}
    assert records._in_order(records.seconds, caught) == ["t.py::b", "t.py::a[2]", "t.py::c[1]", "t.py::a[1]"]


def test_tests_that_caught_other_bugs_are_counted(tmp_path):
    caught = Caught(tmp_path / "caught.json")
    assert not caught.counts()
    for bug, test in zip(BUGS, ("t.py::a[1]", "t.py::a[2]", "t.py::b"), strict=False):
        caught.remember(bug, test)
    assert caught.counts() == {"t.py::a": 2, "t.py::b": 1}
    read = Caught(tmp_path / "caught.json")
    assert [read.test(bug) for bug in BUGS[:4]] == ["t.py::a[1]", "t.py::a[2]", "t.py::b", None]
    read.keep(BUGS[1:])
    assert read.counts() == {"t.py::a": 1, "t.py::b": 1}


def test_what_is_remembered_is_of_places_that_there_are():
    names = json.loads((TESTS / "planted" / "caught.json").read_text(encoding="utf-8"))
    assert set(names) <= {bug.name for bug in BUGS}


def test_only_tests_that_pass_without_a_mistake_count():
    there = "tests/test_linalg.py::"
    names = re.findall(r"^def (test_\w+)\(\):$", (TESTS / "test_linalg.py").read_text(encoding="utf-8"), re.MULTILINE)
    known = {there + name for name in names[:2]}
    assert len(known) == 2
    assert passing([*known, there + "test_that_is_gone", "tests/test_gone.py::test_it"]) == known


def test_no_other_test_knows_what_is_planted():
    others = [file for file in TESTS.rglob("*.py") if file.parent != TESTS / "planted"]
    assert len(others) > 20
    told = ("from bugs", "import bugs", "from planting", "import planting", *(bug.name for bug in BUGS))
    assert not [file for file in others if any(words in file.read_text(encoding="utf-8") for words in told)]


@pytest.mark.parametrize("name", SHORT)
def test_the_tests_find_a_planted_bug(name):
    (bug,) = (bug for bug in BUGS if bug.name == name)
    assert outcome(bug, [SHORT[name]]).failed is not None
