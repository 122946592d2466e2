"""Shared by all tests: the data folder, the count of tests that needed it, and deterministic hypothesis."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("ci", derandomize=True, deadline=None)
settings.load_profile("ci")

NEEDS_DATA = ("needs_data", True)
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
        if item.get_closest_marker("data"):
            item.user_properties.append(NEEDS_DATA)


def pytest_terminal_summary(terminalreporter):
    def data_tests(*outcomes):
        reports = [report for outcome in outcomes for report in terminalreporter.stats.get(outcome, ())]
        return {r.nodeid for r in reports if NEEDS_DATA in map(tuple, getattr(r, "user_properties", ()))}

    ran, skipped = data_tests(*RAN), data_tests("skipped")
    terminalreporter.write_line(f"data tests: {len(ran)} ran, {len(skipped - ran)} skipped")
