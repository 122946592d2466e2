"""``dpols report`` and ``dpols fit --report``: the same report in each format."""

import json

import pytest

from dpols import PrivacyReport, PrivateLinearRegression

pytest.importorskip("typer")
pytest.importorskip("pyarrow")
pytestmark = pytest.mark.extras


@pytest.fixture
def fit(dpols, csv, bounds, budget):
    def run(*arguments):
        return dpols("fit", csv, "--target", "pay", "--bounds", bounds, *budget, "--out", "model.json", *arguments)

    return run


def test_every_format_holds_the_report_of_the_model(fit, dpols, tmp_path):
    done = fit("--report", "first.html")
    assert (done.code, done.err) == (0, "")
    assert "first.html" in done.out
    saved = PrivateLinearRegression.load("model.json").privacy_report_
    for name in ("report.html", "report.md", "report.txt", "report.JSON"):
        assert dpols("report", "model.json", "--out", name).code == 0
    assert (tmp_path / "first.html").read_text() == (tmp_path / "report.html").read_text() == saved.to_html()
    assert (tmp_path / "report.md").read_text() == saved.to_markdown()
    assert (tmp_path / "report.txt").read_text() == f"{saved}\n"
    assert PrivacyReport.from_dict(json.loads((tmp_path / "report.JSON").read_text())) == saved


@pytest.mark.parametrize("name", ["report.pdf", "report", "nowhere/report.html", "model.json", "data.csv", "."])
def test_a_report_that_cannot_be_written_costs_nothing(fit, tmp_path, name):
    done = fit("--report", name)
    assert (done.code, done.out) == (2, "")
    assert not (tmp_path / "model.json").exists()


@pytest.mark.parametrize("name", ["report.pdf", "model.json"])
def test_a_model_is_not_overwritten_by_its_report(fit, dpols, tmp_path, name):
    fit()
    before = (tmp_path / "model.json").read_bytes()
    assert dpols("report", "model.json", "--out", name).code == 2
    assert (tmp_path / "model.json").read_bytes() == before


def test_a_damaged_model_has_no_report(fit, dpols, tmp_path):
    fit()
    whole = (tmp_path / "model.json").read_bytes()
    (tmp_path / "model.json").write_bytes(whole.replace(b"private", b"Private", 1))
    done = dpols("report", "model.json", "--out", "report.html")
    assert done.code == 2
    assert "checksum" in done.err
    assert not (tmp_path / "report.html").exists()
