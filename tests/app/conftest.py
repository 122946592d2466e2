"""The app in this process, for quick tests, and in a real browser."""

import os
import subprocess
import threading
from importlib.util import find_spec

import pytest

# Without the extra, or without file locks, there is no app to test.
if any(find_spec(package) is None for package in ("starlette", "uvicorn", "multipart", "typer", "pyarrow", "fcntl")):
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture
def table(tmp_path):
    """A mixed table with an id, whose pay follows from age, hours and region."""
    from app_visits import CANARY, ROWS

    path = tmp_path / "staff.csv"
    lines = ["age,hours,region,pay,left,visits,person"]
    for i in range(ROWS):
        age, hours, south = 18 + i % 70, i % 61, i % 2
        pay = CANARY if i == 5 else f"{10 + age / 2 + hours / 3 + 5 * south:.2f}"
        lines.append(
            f"{age},{hours},{'south' if south else 'north'},{pay},{'yes' if age > 50 else 'no'},{i % 7},p{i // 2}"
        )
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def site(tmp_path):
    from dpols.app.site import Site

    uploads = tmp_path / "uploads"
    uploads.mkdir()
    site = Site.of(tmp_path / "projects", uploads)
    yield site
    site.runner.wait()


@pytest.fixture
def visitor(site, monkeypatch):
    """A client of the app, whose fits are forks of one process that has imported all they need."""
    import forked_fits
    from app_visits import Visitor

    if hasattr(os, "pidfd_open"):  # on Linux
        monkeypatch.setattr("dpols.app.fits.subprocess", forked_fits)
    return Visitor(site)


@pytest.fixture
def visitor_of_whole_processes(visitor, monkeypatch):
    """A client of the app as it is, whose fits are processes of their own from the start."""
    monkeypatch.setattr("dpols.app.fits.subprocess", subprocess)
    return visitor


@pytest.fixture(scope="session")
def chromium():
    """A real browser."""
    from app_walk import QUIET, chromium

    sync_api = pytest.importorskip("playwright.sync_api")
    path = chromium()
    if path is None:
        pytest.skip("needs a Chromium: apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=list(QUIET))
        yield found
        found.close()


@pytest.fixture(autouse=True)
def _plans_have_ended():
    """Wait for simulated fits: a later test may watch every release of the process."""
    yield
    for thread in threading.enumerate():
        if thread.name == "dpols-plan":
            thread.join(120)
