"""Known mistakes can be planted in the source as it is, and the tests find some of them; ``make planted`` tries all."""

import shutil
from pathlib import Path

import pytest
from bugs import BUGS, MISTAKES, Edit
from planting import PROJECT, outcome

TESTS = PROJECT / "tests"


def test_every_mistake_is_planted_somewhere():
    assert len(MISTAKES) == 16
    assert {bug.mistake for bug in BUGS} == set(MISTAKES)
    assert len({bug.name for bug in BUGS}) == len(BUGS)


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_bug_fits_the_source_and_leaves_it_valid(bug, tmp_path):
    package = Path(shutil.copytree(PROJECT / "src" / "dpols", tmp_path / "dpols"))
    bug.plant(package)
    for edit in bug.edits:
        compile((package / edit.file).read_text(encoding="utf-8"), edit.file, "exec")


@pytest.mark.parametrize("text", ["not there", "twice"])
def test_a_change_that_no_longer_fits_says_so(text, tmp_path):
    (tmp_path / "module.py").write_text("twice twice")
    with pytest.raises(LookupError, match=r"update the change in tests/planted/bugs\.py"):
        Edit("module.py", text, "").apply(tmp_path)


def test_no_other_test_knows_what_is_planted():
    others = [file for file in TESTS.rglob("*.py") if file.parent != TESTS / "planted"]
    assert len(others) > 20
    told = ("from bugs", "import bugs", "from planting", "import planting", *(bug.name for bug in BUGS))
    assert not [file for file in others if any(words in file.read_text(encoding="utf-8") for words in told)]


@pytest.mark.parametrize("bug", [bug for bug in BUGS if bug.quick], ids=lambda bug: bug.name)
def test_the_tests_find_a_planted_bug(bug):
    assert outcome(bug).failed is not None
