"""Plant a bug in a copy of the project and run there the tests that can see it."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import choosing
from editing import Bug
from records import CACHE, PROJECT, SELECTED, Records

_OPTIONS = ("-x", *SELECTED, "-p", "choosing", "-W", "ignore")
_NOT_COPIED = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "dist", "demo-output")
_NOTHING_SELECTED = 5
# Few tests first, so that not all files need be collected before the first failure.
_BATCHES = (0, 30, 300, 10**9)
_LONGEST = 900.0  # seconds of a batch


@dataclass(frozen=True)
class Outcome:
    """The first test that failed, None where all passed; how many could have, and what the last ones printed."""

    failed: str | None
    candidates: int
    seconds: float
    output: str


class Caught:
    """Which test caught a bug last time, to try it first: one file for each, as several are planted at a time."""

    def __init__(self, folder: Path = CACHE / "caught") -> None:
        self._folder = folder

    def test(self, bug: Bug) -> str | None:
        path = self._path(bug)
        return path.read_text(encoding="utf-8") if path.is_file() else None

    def remember(self, bug: Bug, test: str) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._path(bug).write_text(test, encoding="utf-8")

    def _path(self, bug: Bug) -> Path:
        return self._folder / re.sub(r"\W+", "-", bug.name)


def outcome_by(records: Records, bug: Bug) -> Outcome:
    """Run the tests that run what a bug changes, until the first failure."""
    caught, package = Caught(), PROJECT / "src" / "dpols"
    tests = list(dict.fromkeys(t for edit in bug.edits for t in records.tests_of(edit.file, edit.lines(package))))
    if (before := caught.test(bug)) in tests:
        tests.remove(before)
        tests.insert(0, before)
    found = outcome(bug, tests)
    if found.failed is not None:
        caught.remember(bug, found.failed)
    return found


def outcome(bug: Bug, tests: Sequence[str]) -> Outcome:
    """Run some tests, in their order, on a copy with the bug, until the first failure."""
    started = time.perf_counter()
    failed, output = None, ""
    with TemporaryDirectory(prefix="dpols-planted-") as folder:
        copy = Path(shutil.copytree(PROJECT, Path(folder) / "project", ignore=_NOT_COPIED))
        bug.plant(copy / "src" / "dpols")
        _check_that_the_copy_is_tested(copy)
        for start, stop in pairwise(_BATCHES):
            if failed is None and tests[start:stop]:
                failed, output = _first_failure(copy, tests[start:stop])
    return Outcome(failed, len(tests), time.perf_counter() - started, output)


def _first_failure(copy: Path, tests: Sequence[str]) -> tuple[str | None, str]:
    chosen = copy.parent / "tests.json"
    chosen.write_text(json.dumps(tests), encoding="utf-8")
    files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
    try:
        done = _python(copy, "-m", "pytest", *_OPTIONS, *files, **{choosing.LIST: str(chosen)})
    except subprocess.TimeoutExpired:
        return f"no end within {_LONGEST:.0f} s", ""
    if done.returncode in (0, _NOTHING_SELECTED):
        return None, done.stdout
    found = re.search(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$", done.stdout, re.MULTILINE)
    if found is None:
        raise RuntimeError(f"pytest ended with {done.returncode} and named no test:\n{done.stdout}\n{done.stderr}")
    return found.group(1), done.stdout


def _check_that_the_copy_is_tested(copy: Path) -> None:
    imported = _python(copy, "-c", "import importlib.util as u; print(u.find_spec('dpols').origin)")
    if imported.returncode != 0 or not Path(imported.stdout.strip()).is_relative_to(copy):
        raise RuntimeError(f"the tests would not run on the copy: {imported.stdout}{imported.stderr}")


def _python(copy: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    path = os.pathsep.join((str(copy / "src"), str(copy / "tests" / "planted")))
    environment |= {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", **variables}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=copy,
        env=environment,
        capture_output=True,
        text=True,
        timeout=_LONGEST,
        check=False,
    )
