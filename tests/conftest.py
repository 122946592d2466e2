"""Shared by all tests: the data folder, counts of tests that need what may be missing, and deterministic hypothesis."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("ci", derandomize=True, deadline=None)
settings.load_profile("ci")

COUNTED = ("data", "spark")  # markers
RAN = ("passed", "failed", "error", "xfailed", "xpassed")


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder with the data sets of the paper."""
    named = os.environ.get("DPOLS_DATA")
    if named and Path(named).is_dir():
        return Path(named)
    found = f"DPOLS_DATA is {named!r}, which is no directory" if named else "DPOLS_DATA is not set"
    pytest.skip(f"{found}: set it to a folder with MANIFEST.json and the Parquet tables that it lists")


@pytest.hookimpl(tryfirst=True)  # before `-m` selects by marker
def pytest_collection_modifyitems(items):
    for item in items:
        if "data_dir" in getattr(item, "fixturenames", ()):
            item.add_marker("data")
        # A property, as the keywords of a report hold folder names too: all of tests/data would count.
        item.user_properties += [("needs", marker) for marker in COUNTED if item.get_closest_marker(marker)]


def pytest_terminal_summary(terminalreporter):
    def tests(marker, *outcomes):
        reports = [report for outcome in outcomes for report in terminalreporter.stats.get(outcome, ())]
        return {r.nodeid for r in reports if ("needs", marker) in map(tuple, getattr(r, "user_properties", ()))}

    for marker in COUNTED:
        ran, skipped = tests(marker, *RAN), tests(marker, "skipped")
        terminalreporter.write_line(f"{marker} tests: {len(ran)} ran, {len(skipped - ran)} skipped")
