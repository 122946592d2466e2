"""The app as a person uses it: a process of its own, and a browser that fills in one page after the other."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
QUIET = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")


def chromium() -> str | None:
    """The path of a Chromium, None where there is none."""
    return next((path for path in map(shutil.which, BROWSERS) if path), None)


class App:
    """A running ``dpols app``."""

    def __init__(self, folder: Path, *options: str) -> None:
        start = time.monotonic()
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-m", "dpols", "app", "--no-browser", "--folder", str(folder), *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        line = self.process.stdout.readline()
        self.seconds = time.monotonic() - start
        found = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", line)
        assert found, line + self.process.stdout.read()
        self.link = found[0]
        self.address = self.link.partition("/?")[0]

    def kill(self) -> None:
        """End it as a crash would."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> str:
        """End it by Ctrl-C, and return what it had printed."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        return self.process.communicate(timeout=60)[0]


@contextmanager
def running_app(folder: Path, *options: str) -> Iterator[App]:
    """Start the app, and end it at the end of the block."""
    app = App(folder, *options)
    try:
        yield app
    finally:
        app.stop()


class Walk:
    """One page of a browser, and the steps of the walk on it."""

    def __init__(self, page, app: App) -> None:
        self.page, self.app = page, app

    def enter(self) -> "Walk":
        self.page.goto(self.app.link)
        return self

    def project(self, name: str) -> "Walk":
        self.page.goto(self.app.address)
        self.page.get_by_label("Name of the project").fill(name)
        self.page.get_by_role("button", name="Start").click()
        return self

    def data(self, path: Path, rows: int, epsilon: str = "3", **more: str) -> "Walk":
        self.page.get_by_label("Path of a file on this machine").fill(str(path))
        self.page.get_by_label("About how many rows").fill(str(rows))
        self.page.get_by_label("Epsilon in all").fill(epsilon)
        for field, value in more.items():
            self.page.locator(f"#{field}").fill(value)
        return self.go_on()

    def model(self, target: str, kind: str = "number", numbers=(), categories=None, labels=("no", "yes")) -> "Walk":
        page = self.page
        page.get_by_label("Column to predict").select_option(label=target)
        page.locator(f"#kind-{kind}").check()
        if kind == "yes-no":
            page.get_by_label("Label for no").fill(labels[0])
            page.get_by_label("Label for yes").fill(labels[1])
        for name in numbers:
            self.row(name).get_by_label("Use it").select_option("number")
        for name, levels in (categories or {}).items():
            self.row(name).get_by_label("Use it").select_option("categories")
            self.row(name).get_by_label("Its categories").fill(levels)
        return self.go_on()

    def demo_fit(self, target: str, kind: str, epsilon: str = "0.7") -> "Walk":
        """Fit an outcome of the demonstration, with intervals; the other pages are filled in."""
        self.page.goto(f"{self.app.address}/p/demo/model")
        return self.model(target, kind).go_on().plan(epsilon, intervals=True).fit()

    def row(self, name: str):
        return self.page.get_by_role("group", name=name, exact=True)

    def bounds(self, ranges: dict[str, tuple], missing: dict[str, str] | None = None) -> "Walk":
        for name, (low, high) in ranges.items():
            self.row(name).get_by_label("Low").fill(str(low))
            self.row(name).get_by_label("High").fill(str(high))
        for name, value in (missing or {}).items():
            field = self.row(name).get_by_label("Empty counts as")
            if field.evaluate("e => e.tagName") == "SELECT":
                field.select_option(value)
            else:
                field.fill(value)
        return self.go_on()

    def plan(self, epsilon: str = "1", *, intervals: bool | None = None) -> "Walk":
        self.page.get_by_label("Epsilon of this fit").fill(epsilon)
        if intervals is not None:
            self.page.get_by_label("With standard errors").set_checked(intervals)
        return self.go_on()

    def go_on(self) -> "Walk":
        self.page.locator("p.act button").first.click()
        self.page.wait_for_load_state()
        return self

    def fit(self) -> "Walk":
        self.page.get_by_role("button", name="Fit now, and spend").click()
        return self.until_done()

    def until_done(self) -> "Walk":
        self.page.wait_for_selector("h1:has-text('Result of fit'), h1:has-text('gave no result')", timeout=60_000)
        return self

    @property
    def heading(self) -> str:
        return self.page.locator("h1").inner_text()

    @property
    def problems(self) -> str:
        shown = self.page.locator("#problems")
        return shown.inner_text() if shown.count() else ""
