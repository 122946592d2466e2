"""What the pages on bounds and on units show works as it stands there."""

import re
from pathlib import Path

import pytest

from dpols import Bounds

pytest.importorskip("pandas")
pytestmark = pytest.mark.extras

ROOT = Path(__file__).parents[2]
PAGES = {name: (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8") for name in ("bounds", "units")}


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGES[page], flags=re.MULTILINE | re.DOTALL)


def test_the_ways_to_bounds_all_find_the_coefficients(capsys):
    (example,) = blocks("bounds", "python")
    exec(example, {})
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 3
    for line, origin in zip(printed, ("Declared", "declared to be public", "paid for"), strict=True):
        assert origin in line
        found = [float(number) for number in re.findall(r"[-\d.]+", line.partition("]")[0])]
        assert abs(found[0] - 20.0) < 3.0
        assert abs(found[1] - 0.05) < 0.02


def test_the_table_of_bounds_is_read(tmp_path):
    (text,) = blocks("bounds", "csv")
    (tmp_path / "bounds.csv").write_text(text, encoding="utf-8")
    assert Bounds.from_file(tmp_path / "bounds.csv", target="cost").target == (0.0, 8000.0)


def test_the_unit_of_the_example_is_in_its_report(capsys):
    (example,) = blocks("units", "python")
    names = {}
    exec(example, names)
    assert "all rows of one patient" in capsys.readouterr().out
    assert abs(names["model"].coef_[0] - 20.0) < 2.0


@pytest.mark.parametrize("page", PAGES)
def test_links_and_named_tests_are_there(page):
    for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", PAGES[page]):
        assert (ROOT / "docs" / link).exists(), link
    for name in re.findall(r"`(tests/[\w/.]+)`", PAGES[page]):
        assert (ROOT / name).exists(), name
