"""Screenshots of the report in a real browser, on a wide and on a narrow screen, and what the browser measures there.

Run it with: python -m dpols_bench.paper.screenshots paper-results
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from html import unescape
from pathlib import Path

from dpols.errors import DpolsError

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
DESKTOP_WIDTH, PHONE_WIDTH = 1280, 390
_QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)
# A page narrower than the browser's smallest window is shown in a frame of that width.
_FRAME = """<!doctype html><body style="margin:0"><iframe id="page" src="{source}"
 style="border:0;width:{width}px;height:{height}px"></iframe><pre id="measured"></pre><script>
addEventListener("load", () => {{
  const inner = document.getElementById("page").contentDocument, root = inner.documentElement;
  const right = Math.max(...[...inner.querySelectorAll("body *")].filter((e) => !e.closest(".wide, svg"))
    .map((e) => e.getBoundingClientRect().right));
  document.getElementById("measured").textContent = JSON.stringify({{
    width: root.clientWidth, scrollWidth: root.scrollWidth, furthest: right, height: root.scrollHeight,
    requests: inner.defaultView.performance.getEntriesByType("resource").map((e) => e.name)
      .filter((name) => !name.startsWith("data:")),
  }});
}});
</script></body>"""


@dataclass(frozen=True)
class Layout:
    """What the browser says of the page: pixels, and the addresses that it asked for."""

    width: int
    scroll_width: int
    furthest_right: float
    height: int
    requests: tuple[str, ...]


def browser() -> str | None:
    """Return the path of a Chromium, None where there is none."""
    return next((path for path in map(shutil.which, BROWSERS) if path), None)


def measure_layout(report: Path, *, width: int) -> Layout:
    """Lay the report out at a width and return what the browser measures."""
    with tempfile.TemporaryDirectory() as folder:
        frame = _frame(report, Path(folder), width=width, height=900)
        text = _run(folder, "--virtual-time-budget=20000", "--dump-dom", frame.as_uri())
    found = re.search(r'<pre id="measured">(.+?)</pre>', text, re.DOTALL)
    if found is None:
        raise DpolsError("the browser did not lay the report out.")
    m = json.loads(unescape(found[1]))
    return Layout(m["width"], m["scrollWidth"], m["furthest"], m["height"], tuple(m["requests"]))


def screenshot(report: Path, picture: Path, *, width: int, height: int) -> None:
    """Save a picture of the top of the report at a width."""
    with tempfile.TemporaryDirectory() as folder:
        frame = _frame(report, Path(folder), width=width, height=height)
        size = f"--window-size={max(width, 500)},{height}"
        _run(folder, "--virtual-time-budget=20000", size, f"--screenshot={picture.resolve()}", frame.as_uri())


def main(folder: Path) -> list[Path]:
    """Take pictures of the report in a folder of results, from top to bottom."""
    report = folder / "report.html"
    written = []
    for name, width in (("desktop", DESKTOP_WIDTH), ("phone", PHONE_WIDTH)):
        layout = measure_layout(report, width=width)
        picture = folder / f"screenshot_{name}.png"
        # Taller pictures than 16384 pixels are not drawn.
        screenshot(report, picture, width=width, height=min(layout.height, 16000))
        print(f"{picture}: {layout.width} px wide, content {layout.scroll_width} px, {layout.height} px high")
        written.append(picture)
    return written


def _frame(report: Path, folder: Path, *, width: int, height: int) -> Path:
    frame = folder / "frame.html"
    frame.write_text(_FRAME.format(source=report.resolve().as_uri(), width=width, height=height), encoding="utf-8")
    return frame


def _run(folder: str, *arguments: str) -> str:
    path = browser()
    if path is None:
        raise DpolsError(f"no browser was found; install one of {', '.join(BROWSERS)}.")
    # The frame reads the page in it, which browsers allow for files only when asked.
    profile = (f"--user-data-dir={folder}/profile", "--allow-file-access-from-files")
    done = subprocess.run(
        [path, *_QUIET, *profile, *arguments], capture_output=True, text=True, timeout=120, check=True
    )
    return done.stdout


if __name__ == "__main__":
    main(Path(sys.argv[1]))
