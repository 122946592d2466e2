"""What the page on inference shows works as it stands there."""

import re
from pathlib import Path

import pytest

pytest.importorskip("pandas")
pytestmark = pytest.mark.extras

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "inference.md").read_text(encoding="utf-8")


def test_the_example_runs_and_looks_like_what_is_shown(capsys):
    (example,) = re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
    (shown,) = re.findall(r"^```text\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
    names = {}
    exec(example, names)
    printed = capsys.readouterr().out.splitlines()
    for one, other in zip(shown.splitlines(), printed, strict=False):
        assert one.split()[0] == other.split()[0]
    low, high = names["model"].conf_int(1e-5).to_numpy().T
    assert (low < [300, 900, 5000]).all()
    assert (high > [300, 900, 5000]).all()


def test_links_and_named_tests_are_there():
    assert [link for link in re.findall(r"\]\(([^)#:]+)\)", PAGE) if not (DOCS / link).exists()] == []
    assert [name for name in re.findall(r"`(tests/[^`]+)`", PAGE) if not (DOCS.parent / name).exists()] == []
