"""Claims by their rules, tables as files, and a report that opens anywhere."""

import csv
import json
import math
import re

import pytest

from dpols_bench.paper import claims, screenshots
from dpols_bench.paper.cells import Cell
from dpols_bench.paper.claims import CLAIMS
from dpols_bench.paper.rules import Evidence
from dpols_bench.paper.summary import CellSummary, Mean, Results

EPSILONS = (0.1, 1.0, 10.0)


def summary(dataset, method, epsilon, train, *, error=0.001, test=None, clipped=None, accounting="paper"):
    means = Mean(train, error), Mean(train if test is None else test, error), Mean(train, error)
    return CellSummary(Cell(dataset, method, accounting, "float", epsilon), 500, *means, clipped, 1500, 0.1)


def verdict(name, cells, table=()):
    claim = next(claim for claim in CLAIMS if claim.name == name)
    return claim.decide(Evidence(Results(cells), "paper", table))


def curves(dataset, **risks):
    """Cells of several methods, whose names are written with underscores; a number stands for all epsilons."""
    return [
        summary(dataset, method.replace("_", "-"), epsilon, value)
        for method, values in risks.items()
        for epsilon, value in zip(EPSILONS, values if isinstance(values, tuple) else (values,) * 3, strict=True)
    ]


def test_every_claim_has_a_text_a_rule_and_an_answer_to_nothing():
    assert len({claim.name for claim in CLAIMS}) == len(CLAIMS)
    for claim in CLAIMS:
        assert claim.text
        assert claim.rule
        assert claim.decide(Evidence(Results([]), "paper", ())).verdict == "not run"


@pytest.mark.parametrize(
    ("first", "second", "beats", "matches"),
    [
        ((1.0, 0.01), (1.1, 0.01), True, True),
        ((1.0, 0.1), (1.1, 0.1), False, True),
        ((1.04, 0.001), (1.0, 0.001), False, True),
        ((1.06, 0.001), (1.0, 0.001), False, False),
        ((1.06, 0.05), (1.0, 0.05), False, True),
    ],
)
def test_what_beating_and_matching_mean(first, second, beats, matches):
    assert claims.beats(Mean(*first), Mean(*second)) is beats
    assert claims.matches_or_beats(Mean(*first), Mean(*second)) is matches


@pytest.mark.parametrize(("ihm", "expected"), [(0.5, "holds"), ((0.5, 0.5, 2.0), "holds in part"), (2.0, "refuted")])
def test_the_suite_is_judged_by_shares_of_cells(ihm, expected):
    finding = verdict("full-suite", curves("pol", ihm=ihm, adassp=1.0, linmix=0.9))
    assert finding.verdict == expected
    assert "of 3 cells" in finding.numbers
    assert ("pol" in finding.numbers) == (expected != "holds")


def test_exceptions_count_at_large_epsilon_only():
    cells = curves("solar", ihm=(2.0, 2.0, 0.5), adassp=1.0, linmix=1.0)
    assert verdict("full-suite", cells).verdict == "refuted"
    finding = verdict("full-suite-exceptions", cells)
    assert finding.verdict == "holds"
    assert "1 of 1 cells" in finding.numbers


def test_a_small_signal_is_judged_at_small_epsilon_only():
    cells = curves("solar", ihm=(2.0, 2.0, 0.1), adassp=1.0, ihm_t2=(1.05, 1.05, 3.0))
    assert verdict("adassp-small-signal", cells).verdict == "holds"
    assert verdict("two-iterations-gap", cells).verdict == "holds"
    assert verdict("two-iterations-match", cells).verdict == "holds"
    worse = curves("solar", ihm=1.2, adassp=1.0, ihm_t2=1.15)
    assert verdict("two-iterations-gap", worse).verdict == "refuted"
    assert verdict("two-iterations-match", worse).verdict == "refuted"


def test_rising_errors():
    rising, falling = curves("forest", linmix=(1.0, 2.0, 3.0)), curves("forest", linmix=(3.0, 2.0, 1.0))
    assert verdict("linmix-rises", rising).verdict == "holds"
    assert verdict("linmix-rises", falling).verdict == "refuted"
    assert verdict("linmix-larger-sketch", curves("forest", linmix_k12=(3.0, 2.0, 1.0))).verdict == "holds"


def test_clipping_counts_with_its_interval():
    def cells(share):
        return [summary("mlp", "ihm", epsilon, 1.0, clipped=share) for epsilon in EPSILONS]

    assert verdict("mlp-clips", cells(0.5)).verdict == "holds"
    assert verdict("mlp-clips", cells(0.41)).verdict == "refuted"  # 1.96 standard errors are 0.025


def test_test_risk_may_disagree():
    agree = curves("pol", ihm=0.5, adassp=1.0, linmix=1.0)
    other = [summary("pol", s.cell.method, s.cell.epsilon, s.train.value, test=2.0 - s.train.value) for s in agree]
    assert verdict("test-risk", agree).verdict == "holds"
    assert verdict("test-risk", other).verdict == "refuted"


def test_both_accountings_are_judged(small_run):
    judged = {claim.name: findings for claim, findings in small_run.evaluation.claims}
    assert all(set(findings) == {"paper", "exact"} for findings in judged.values())


def test_numbers_are_written_as_tables(small_run):
    rows = json.loads((small_run.folder / "results.json").read_text())
    assert len(rows) == 2 * 4 * 2
    assert {row["arithmetic"] for row in rows} == {"float"}
    with (small_run.folder / "results.csv").open(newline="") as file:
        read = list(csv.DictReader(file))
    assert [float(row["train_excess"]) for row in read] == [row["train_excess"] for row in rows]
    assert all(math.isfinite(row["train_half_width"]) for row in rows)
    parquet = pytest.importorskip("pyarrow.parquet")
    assert parquet.read_table(small_run.folder / "results.parquet").num_rows == len(rows)


def test_the_run_is_described(small_run):
    about = json.loads((small_run.folder / "about.json").read_text())
    assert about["jobs"] == 1
    assert about["trials"] == 4
    assert about["not_available"] == ["slice"]
    assert about["seconds_of_batches"] > 0.0


def test_a_data_set_without_a_file_has_a_row_that_says_so(small_run):
    rows = {row["dataset"]: row for row in json.loads((small_run.folder / "datasets.json").read_text())}
    assert rows["slice"]["available"] is False
    assert rows["slice"]["paper_n"] == "48150"
    assert rows["diabetes"]["available"] is True
    page = (small_run.folder / "report.html").read_text()
    assert page.count("not available") >= 9  # its card and each column of the table
    assert "https://archive.ics.uci.edu/dataset/206" in page


def test_figures_are_written(small_run):
    # None of the paper's figures shows diabetes; those with no curve are left out.
    assert list((small_run.folder / "figures").iterdir()) == []


def test_a_figure_is_drawn_for_the_data_sets_at_hand(tmp_path):
    pytest.importorskip("matplotlib")
    from dpols_bench.paper.dataset_table import Measured, TableRow
    from dpols_bench.paper.figures import save_figures

    size = Measured(100, 3, 1.0, 1.0, 1.0, 0.1, 0.2, 0.3)
    table = [TableRow("pol", "Pol", size, None), TableRow("servo", "Servo", None, None)]
    cells = curves("pol", ihm=(0.3, 0.2, 0.1), adassp=0.4, linmix=0.5)
    names = {path.name for path in save_figures(Results(cells), table, tmp_path)}
    assert names == {f"{name}_paper.{kind}" for name in ("main", "suite", "dp_gd") for kind in ("png", "pdf")}
    assert all((tmp_path / name).stat().st_size > 5000 for name in names)


def test_the_report_asks_for_nothing_from_elsewhere(small_run):
    page = (small_run.folder / "report.html").read_text()
    sources = re.findall(r"""(?:src|href|action)\s*=\s*["']?([^"'\s>]+)""", page)
    assert all(found.startswith(("data:", "#")) for found in sources)
    assert not re.search(r"@import|url\(|<link[^>]+stylesheet|fetch\(|XMLHttpRequest|import\(", page)


@pytest.mark.skipif(screenshots.browser() is None, reason="no Chromium was found")
@pytest.mark.parametrize("width", [screenshots.PHONE_WIDTH, screenshots.DESKTOP_WIDTH])
def test_the_report_fits_the_screen_in_a_browser(small_run, width):
    layout = screenshots.measure_layout(small_run.folder / "report.html", width=width)
    assert layout.width == width
    assert layout.scroll_width <= width
    assert layout.furthest_right <= width + 0.5
    assert layout.requests == ()


@pytest.mark.skipif(screenshots.browser() is None, reason="no Chromium was found")
def test_screenshots_are_taken(small_run, tmp_path):
    screenshots.screenshot(small_run.folder / "report.html", tmp_path / "page.png", width=390, height=800)
    assert (tmp_path / "page.png").read_bytes().startswith(b"\x89PNG")
