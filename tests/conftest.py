"""Shared by all tests: the data folder, a small disk, counts of tests that need what may be missing, and hypothesis."""

import errno
import gc
import os
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("ci", derandomize=True, deadline=None)
settings.load_profile("ci")

COUNTED = ("data", "spark", "browser")  # markers
# Files whose tests take longest, which come first, so that no process is left with one of them in the end.
LONGEST = (
    "data/test_spark.py",
    "data/test_dask.py",
    "app/test_in_a_browser.py",
    "audit/test_whole_fits.py",
    "audit/test_lower_bound.py",
    "audit/test_rows_not_public.py",
    "audit/test_replay.py",
    "benchmarks/test_coverage.py",
    "fitting/test_user_units.py",
    "fuzz/test_fuzzing.py",
    "laws/test_law_reproducibility.py",
    "ledger/test_failed_fits.py",
    "planning/test_plan_accuracy.py",
    "ledger/test_kills.py",
    "cli/test_fit_output.py",
)
# Files that start a Spark session or a cluster of Dask, which takes longer than most of their tests.
ENGINES = ("data/test_spark.py", "data/test_dask.py", "data/test_sources_together.py", "data/test_large_data_page.py")
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


def pytest_collection_finish():
    """Leave what was collected out of garbage collections: it is large, and stays to the end."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist, which is not always there
def pytest_xdist_make_scheduler(config, log):
    """Give a file to one process as a whole, and all files with engines to the same process."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class ByFile(LoadFileScheduling):
        def _split_scope(self, nodeid):
            file = super()._split_scope(nodeid)
            return "engines" if file.endswith(ENGINES) else file

    return ByFile(config, log)


@pytest.hookimpl(tryfirst=True)  # before `-m` selects by marker
def pytest_collection_modifyitems(items):
    for item in items:
        if "data_dir" in getattr(item, "fixturenames", ()):
            item.add_marker("data")
        if "chromium" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")
        if item.get_closest_marker("posix") and not hasattr(os, "fork"):
            item.add_marker(pytest.mark.skip(reason="needs a POSIX system"))
        # A property, as the keywords of a report hold folder names too: all of tests/data would count.
        item.user_properties += [("needs", marker) for marker in COUNTED if item.get_closest_marker(marker)]
    first = {Path(__file__).parent / file: place for place, file in enumerate(LONGEST)}
    named = (*first, *(Path(__file__).parent / file for file in ENGINES))
    if gone := [file.name for file in named if not file.is_file()]:
        raise pytest.UsageError(f"LONGEST or ENGINES in tests/conftest.py names {', '.join(gone)}, which is not there.")
    items.sort(key=lambda item: first.get(item.path, len(first)))


def pytest_terminal_summary(terminalreporter):
    def tests(marker, *outcomes):
        reports = [report for outcome in outcomes for report in terminalreporter.stats.get(outcome, ())]
        return {r.nodeid for r in reports if ("needs", marker) in map(tuple, getattr(r, "user_properties", ()))}

    for marker in COUNTED:
        ran, skipped = tests(marker, *RAN), tests(marker, "skipped")
        terminalreporter.write_line(f"{marker} tests: {len(ran)} ran, {len(skipped - ran)} skipped")
