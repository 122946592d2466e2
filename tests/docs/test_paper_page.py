"""The page that goes through the paper: every numbered thing has its row, and every row leads somewhere."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "paper.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("| ")
]  # fmt: skip
BODY = [row for row in ROWS if row[0] != "item"]
# What the paper numbers, as counted in its source.
COUNTS = {
    "Algorithm": 7, "Theorem": 2, "Lemma": 14, "Proposition": 4, "Definition": 2, "Remark": 2, "Table": 2, "Figure": 9
}  # fmt: skip


def test_rows_have_three_cells():
    assert len(BODY) > 80
    assert [row for row in BODY if len(row) != 3] == []


@pytest.mark.parametrize("kind", COUNTS)
def test_everything_that_the_paper_numbers_has_a_row(kind):
    found = {int(n) for row in BODY for n in re.findall(rf"^{kind} (\d+)\b", row[0])}
    assert found == set(range(1, COUNTS[kind] + 1))


def test_every_row_has_a_link_or_a_reason():
    reasons = ("](", "Not here: ")
    assert [row[0] for row in BODY if not any(reason in row[2] for reason in reasons)] == []


def test_named_code_is_in_the_files_that_names_link_to():
    named = re.findall(r"\[`([\w.]+)`\]\(([^)#]+)\)", PAGE)
    assert len(named) > 60
    for name, link in named:
        file = DOCS / link
        assert file.is_file(), link
        if file.suffix == ".py":
            text = file.read_text(encoding="utf-8")
            assert re.search(rf"\b(def|class) {name}\b|^{name}\b|\"{name}\"", text, flags=re.MULTILINE), (name, link)


def test_named_figures_claims_and_studies_are_those_of_the_evaluation():
    pytest.importorskip("dpols_bench")
    from dpols_bench.paper.claims import CLAIMS
    from dpols_bench.paper.figures import FIGURES
    from dpols_bench.paper.studies import STUDIES

    figures, claims = {row.name for row in FIGURES}, {row.name for row in CLAIMS}
    assert set(re.findall(r"figure `(\w+)`", PAGE)) == figures
    assert set(re.findall(r"study `([\w-]+)`", PAGE)) == {study.name for study in STUDIES}
    named = [name for row in BODY if row[1].startswith("claim") for name in re.findall(r"`([\w-]+)`", row[1])]
    assert named
    assert set(named) <= claims
