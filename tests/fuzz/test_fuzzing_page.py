"""``docs/fuzzing.md`` names tests that exist."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)(?:::([\w:]+))?`", (ROOT / "docs/fuzzing.md").read_text("utf-8"))))


def names_in(file):
    """Return every test of a file, those of a class behind its name."""
    found = set()
    for node in ast.parse(file.read_text("utf-8")).body:
        found.add(getattr(node, "name", None))
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}::{inner.name}" for inner in node.body if isinstance(inner, ast.FunctionDef)}
    return found


def test_there_are_many():
    assert len(NAMED) > 30


@pytest.mark.parametrize(("file", "name"), NAMED, ids=str)
def test_a_named_test_exists(file, name):
    assert (ROOT / file).is_file()
    assert not name or name in names_in(ROOT / file)
