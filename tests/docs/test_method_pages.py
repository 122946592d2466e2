"""The pages on methods say what is so: every method is there, examples run, and shown code is the code."""

import re
from pathlib import Path

import pytest

from dpols.algorithms import ALGORITHMS

ROOT = Path(__file__).parents[2]
METHODS_PAGE = ROOT / "docs" / "methods.md"
ADDING_PAGE = ROOT / "docs" / "add_an_algorithm.md"
METHODS = [name for name in ALGORITHMS if name != "whitened"]  # which has a page of its own
SHOWN = [ROOT / "src" / "dpols" / "algorithms" / name for name in ("dp_gd.py", "__init__.py")]


def blocks(page):
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_has_its_section(method):
    text = METHODS_PAGE.read_text(encoding="utf-8")
    (section,) = re.findall(rf"^## [^\n]*`{method}`\n(.*?)(?=^## |\Z)", text, flags=re.MULTILINE | re.DOTALL)
    for word in ("*Releases*", "*Costs*", "*Reference*"):
        assert word in section
    assert f"| `{method}` | " in text


def test_the_example_runs(tmp_path, monkeypatch, capsys):
    (example,) = blocks(METHODS_PAGE)
    monkeypatch.chdir(tmp_path)
    exec(example, {})
    printed = capsys.readouterr().out
    assert [method for method in METHODS if method not in printed] == []


def test_shown_code_is_the_code():
    shown, source = blocks(ADDING_PAGE), [path.read_text(encoding="utf-8") for path in SHOWN]
    assert len(shown) == 4
    assert all(any(block in text for text in source) for block in shown)
