"""Shared by all tests: the data folder, a small disk, counts of tests that need what may be missing, and hypothesis."""

import errno
import os
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("ci", derandomize=True, deadline=None)
settings.load_profile("ci")

COUNTED = ("data", "spark", "browser")  # markers
RAN = ("passed", "failed", "error", "xfailed", "xpassed")


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder with the data sets of the paper."""
    named = os.environ.get("DPOLS_DATA")
    if named and Path(named).is_dir():
        return Path(named)
    found = f"DPOLS_DATA is {named!r}, which is no directory" if named else "DPOLS_DATA is not set"
    pytest.skip(f"{found}: set it to a folder with MANIFEST.json and the Parquet tables that it lists")


class SmallDisk:
    """A disk of its own, of 256 kB."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._filling = path / "filling"

    def __truediv__(self, name: str) -> Path:
        return self.path / name

    def fill(self) -> None:
        """Write until the disk is full."""
        with self._filling.open("ab", buffering=0) as file:
            try:
                while file.write(b"x" * 4096):
                    pass
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise

    def free(self) -> None:
        self._filling.unlink()


@pytest.fixture
def small_disk(tmp_path):
    """A small disk, where the tests may mount one."""
    place = tmp_path / "disk"
    place.mkdir()
    try:
        mounted = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)]
        subprocess.run(mounted, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("needs the right to mount a small disk")
    try:
        yield SmallDisk(place)
    finally:
        for _ in range(20):
            if not subprocess.run(["umount", str(place)], capture_output=True).returncode:
                break
            time.sleep(0.1)


@pytest.hookimpl(tryfirst=True)  # before `-m` selects by marker
def pytest_collection_modifyitems(items):
    for item in items:
        if "data_dir" in getattr(item, "fixturenames", ()):
            item.add_marker("data")
        if "chromium" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")
        # A property, as the keywords of a report hold folder names too: all of tests/data would count.
        item.user_properties += [("needs", marker) for marker in COUNTED if item.get_closest_marker(marker)]


def pytest_terminal_summary(terminalreporter):
    def tests(marker, *outcomes):
        reports = [report for outcome in outcomes for report in terminalreporter.stats.get(outcome, ())]
        return {r.nodeid for r in reports if ("needs", marker) in map(tuple, getattr(r, "user_properties", ()))}

    for marker in COUNTED:
        ran, skipped = tests(marker, *RAN), tests(marker, "skipped")
        terminalreporter.write_line(f"{marker} tests: {len(ran)} ran, {len(skipped - ran)} skipped")
