"""Pictures of every page of the app in a real browser: wide and narrow, light and dark, and of the printed report.

Run it as ``python tests/app/screenshots.py FOLDER`` (all of them), or with ``--docs`` for those of the documentation.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from app_walk import QUIET, App, Walk, chromium, running_app

DOCS = Path(__file__).parents[2] / "docs" / "images"
OUTCOMES = (("pay", "number"), ("left_within_a_year", "yes-no"), ("sick_days", "count"))  # fits 1, 2 and 3
FITS = [f"fits/{number}" for number in range(1, len(OUTCOMES) + 1)]
STEPS = ("data", "model", "bounds", "plan", "confirm", *FITS, "fits/1/registry", "history")
SIZES = {"wide": (1280, 900), "narrow": (390, 844)}
IN_DOCS = {
    "data": "app-data",
    "bounds": "app-bounds",
    "plan": "app-plan",
    "confirm": "app-confirm",
    "fits/1": "app-result",
}


# Paths of this machine are shown as another's.
ELSEWHERE = """([here, there]) => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) walker.currentNode.data = walker.currentNode.data.replaceAll(here, there);
  for (const field of document.querySelectorAll("input")) {
    if (field.type === "text") field.value = field.value.replaceAll(here, there);
  }
}"""


def main() -> None:
    """Make the pictures."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=DOCS)
    parser.add_argument("--docs", action="store_true", help="only the pictures of the documentation")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as work,
        running_app(Path(work) / "projects", "--demo") as app,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(QUIET))
        page = opened(browser, app, 1280, 900, "light")
        for target, kind in OUTCOMES[: 1 if given.docs else None]:
            Walk(page, app).demo_fit(target, kind)
        (for_docs if given.docs else everything)(browser, app, given.folder)
        browser.close()


def everything(browser, app: App, folder: Path) -> None:
    """Save every page at both widths, light and dark, and the printed reports."""
    for size, (width, height) in SIZES.items():
        for scheme in ("light", "dark"):
            page = opened(browser, app, width, height, scheme)
            for path in ("", *(f"p/demo/{step}" for step in STEPS)):
                look(page, f"{app.address}/{path}")
                name = path.replace("p/demo/", "").replace("/", "-") or "home"
                page.screenshot(path=folder / f"{name}-{size}-{scheme}.png", full_page=True)
            for (_, kind), fit in zip(OUTCOMES, FITS, strict=True):
                page.goto(f"{app.address}/p/demo/{fit}/files/report.html?look=yes")
                page.screenshot(path=folder / f"report-{kind}-{size}-{scheme}.png", full_page=True)
                if (size, scheme) == ("wide", "light"):
                    printed(page, folder, kind)
            mistakes(page, app, folder, f"{size}-{scheme}")


def printed(page, folder: Path, kind: str) -> None:
    """Print a report, and save pictures of its pages."""
    file = folder / f"report-{kind}.pdf"
    page.pdf(path=file, format="A4", margin=dict.fromkeys(("top", "bottom", "left", "right"), "15mm"))
    subprocess.run(["pdftoppm", "-r", "70", "-png", str(file), str(folder / f"printed-{kind}")], check=True)


def mistakes(page, app: App, folder: Path, name: str) -> None:
    """Save a page with mistakes, and that of a fit that the ledger refuses."""
    page.goto(f"{app.address}/p/demo/bounds")
    Walk(page, app).bounds({"age": ("", "old")})
    page.screenshot(path=folder / f"mistakes-{name}.png", full_page=True)
    page.goto(f"{app.address}/p/demo/plan")
    Walk(page, app).plan("9", intervals=False)
    page.screenshot(path=folder / f"too-much-{name}.png", full_page=True)
    Walk(page, app).fit()
    page.screenshot(path=folder / f"failed-{name}.png", full_page=True)
    page.goto(f"{app.address}/p/demo/plan")
    Walk(page, app).plan("0.7", intervals=True)


def for_docs(browser, app: App, folder: Path) -> None:
    """Save the pictures of the documentation."""
    page = opened(browser, app, 1000, 820, "light")
    page.goto(f"{app.address}/p/demo/plan")
    Walk(page, app).plan("0.5", intervals=True)
    for step, name in IN_DOCS.items():
        look(page, f"{app.address}/p/demo/{step}")
        page.evaluate(ELSEWHERE, [str(app.folder.parent), "/home/anna"])
        page.screenshot(path=folder / f"{name}.png")
        shrunk(folder / f"{name}.png")


def shrunk(path: Path) -> None:
    """Write a picture with 128 colours, which takes less than half of the place."""
    from PIL import Image

    Image.open(path).convert("RGB").quantize(128).save(path, optimize=True)


def opened(browser, app: App, width: int, height: int, scheme: str):
    """Return a page that has been let in."""
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    page.goto(app.link)
    return page


def look(page, address: str) -> None:
    """Go to a page, and wait until its picture is complete."""
    page.goto(address)
    if page.locator("#picture").count():
        page.wait_for_selector("#picture [data-done=yes]", timeout=60_000)


if __name__ == "__main__":
    main()
