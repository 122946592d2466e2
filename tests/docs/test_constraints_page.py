"""What the page on constraints shows works as it stands there."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "constraints.md").read_text(encoding="utf-8")


def test_the_example_runs(capsys):
    (example,) = re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
    names = {}
    exec(example, names)
    assert (names["model"].coef_ >= 0.0).all()
    assert "every slope at least 0" in capsys.readouterr().out


def test_constraints_of_the_table_can_be_made():
    from dpols import Constraints

    shown = re.findall(r"`(Constraints\([^`]*\))`", PAGE)
    assert len(shown) == 4
    assert all(isinstance(eval(text, {"Constraints": Constraints}), Constraints) for text in shown)


def test_named_tests_are_there():
    assert [name for name in re.findall(r"`(tests/[^`]+)`", PAGE) if not (DOCS.parent / name).exists()] == []
