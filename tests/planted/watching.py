"""A pytest plugin: records which lines of the package every test runs, and how long the test takes.

The folder of the records is named by an environment variable. What a fixture that several tests share runs, and what
a file runs while its tests are collected, counts for all tests of the file. Of a test with many cases some are taken,
by a hash of their names.
"""

import hashlib
import json
import os
import sys
from collections import defaultdict
from functools import _lru_cache_wrapper
from pathlib import Path

import coverage
import pytest

FOLDER = "DPOLS_PLANTED_RECORDS"
DURATIONS, FAILURES = "durations.json", "failures.json"
_CASES = 10  # of one test


def pytest_configure(config):
    folder = Path(os.environ[FOLDER])
    if os.environ.get("PYTEST_XDIST_WORKER"):
        config.pluginmanager.register(Lines(folder, config.rootpath / "src" / "dpols"))
    else:
        config.pluginmanager.register(Durations(folder))


class Durations:
    """Seconds of each test, and which tests failed, in the process that hears of all tests."""

    def __init__(self, folder):
        self.folder, self.seconds, self.failed = folder, defaultdict(float), []

    def pytest_runtest_logreport(self, report):
        self.seconds[report.nodeid] += report.duration
        if report.failed:
            self.failed.append(report.nodeid)

    def pytest_sessionfinish(self):
        for name, content in ((DURATIONS, self.seconds), (FAILURES, self.failed)):
            (self.folder / name).write_text(json.dumps(content), encoding="utf-8")


class Lines:
    """Lines that run, in a process that runs tests."""

    def __init__(self, folder, package):
        self.coverage = coverage.Coverage(
            data_file=str(folder / "lines"), data_suffix=True, source=[str(package)], config_file=False
        )
        self.coverage.start()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        cases = defaultdict(list)
        for item in items:
            cases[item.nodeid.partition("[")[0]].append(item.nodeid)
        taken = {case for group in cases.values() for case in sorted(group, key=_scattered)[:_CASES]}
        items[:] = [item for item in items if item.nodeid in taken]

    def pytest_collectstart(self, collector):
        if isinstance(collector, pytest.Module):
            self.coverage.switch_context(collector.nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef, request):
        if fixturedef.scope != "function":
            self.coverage.switch_context(request.node.nodeid.partition("::")[0])
        return (yield)

    def pytest_runtest_logstart(self, nodeid):
        _forget()
        self.coverage.switch_context(nodeid)

    def pytest_runtest_call(self, item):
        self.coverage.switch_context(item.nodeid)

    def pytest_sessionfinish(self):
        self.coverage.stop()
        self.coverage.save()


def _scattered(name):
    return hashlib.sha256(name.encode()).digest()


def _forget():
    """Empty the caches of the package, so that no test gets its answers from what another test ran."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "dpols":
            for thing in vars(module).values():
                if isinstance(thing, _lru_cache_wrapper):
                    thing.cache_clear()
