"""Examples in docstrings run, and print what they say."""

import doctest
import importlib
from pathlib import Path

import pytest

pytestmark = pytest.mark.extras

SOURCE = Path(__file__).parents[2] / "src"
WITH_EXAMPLES = sorted(path for path in SOURCE.rglob("*.py") if ">>> " in path.read_text(encoding="utf-8"))


def test_there_are_examples():
    assert len(WITH_EXAMPLES) > 20


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_examples_print_what_they_say(path):
    name = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        pytest.skip(f"needs an optional extra: {error}")
    found = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert found.attempted > 0
    assert found.failed == 0
