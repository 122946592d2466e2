"""Pages of the benchmarks extend the base page of dpols: escaped, complete, of its style."""

from importlib.resources import files
from types import SimpleNamespace

import pytest
from jinja2 import UndefinedError

from dpols.pages import environment
from dpols_bench.pages import Goal, render

HOSTILE = "<script>alert('x')</script>"
GOALS = (Goal(HOSTILE, 0.1, 0.2, False, HOSTILE), Goal("reached", 0.1, 0.0, True, "0.0"))
TABLE = (["table", "what"], [[HOSTILE, HOSTILE]])


def page(**changes):
    settings = SimpleNamespace(splits=2, diffprivlib=None)
    values = {"n_tables": 1, "settings": settings, "goals": GOALS, "losses": TABLE, "widths": TABLE, "tables": TABLE}
    return render("tables.html", **(values | changes))


def test_names_are_never_markup():
    found = page()
    assert "<script" not in found
    assert found.count("&lt;script&gt;") == 8


def test_goals_say_whether_they_are_reached():
    assert '<td class="no">missed</td>' in page()
    assert '<td class="yes">reached</td>' in page()


def test_the_style_is_that_of_dpols():
    sheet = (files("dpols.pages") / "templates" / "style.css").read_text("utf-8").strip()
    assert page().count("<style>") == 1
    assert sheet in page()


@pytest.mark.parametrize("name", ["paper.html", "score.html", "tables.html"])
def test_a_missing_value_is_an_error(name):
    with pytest.raises(UndefinedError):
        render(name)


def test_templates_of_the_benchmarks_are_not_those_of_dpols():
    assert "score.html" in environment("dpols_bench").list_templates()
    assert "score.html" not in environment().list_templates()
