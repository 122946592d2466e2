"""Every page is reached from the README, and every link within the project leads somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MADE = {"_build", "gallery"}  # what `make docs` writes
DOCS = [
    page for page in sorted((ROOT / "docs").rglob("*.md")) if not MADE & set(page.parts) and page.name != "_commands.md"
]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", ROOT / "CODE_OF_CONDUCT.md", *DOCS]


def links(page):
    """Return the file and the heading that each link of a page within the project leads to."""
    found = re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", page.read_text(encoding="utf-8"))
    return [((page.parent / file).resolve() if file else page, heading) for file, heading in found]


def anchors(page):
    """Return the names that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_to_files_and_headings(page):
    for file, heading in links(page):
        assert file.exists(), file
        assert not heading or heading in anchors(file), (file, heading)


def test_every_page_is_reached_from_the_readme():
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page not in reached:
            reached.add(page)
            waiting += [file for file, _ in links(page) if file.suffix == ".md" and file.exists()]
    assert set(PAGES) - reached == set()


def test_every_how_to_has_an_example():
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    names = re.findall(r"\]\((\w+\.md)\)", index.partition("## How to")[2].partition("## Reference")[0])
    assert len(names) > 12
    assert [
        name for name in names if not any("examples" in file.parts for file, _ in links(ROOT / "docs" / name))
    ] == []
