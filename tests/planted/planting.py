"""Plant a bug in a copy of the project and run there the tests that can see it."""

import json
import re
import shutil
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import forking
from editing import Bug
from records import CACHE, PROJECT, SELECTED, Records

_OPTIONS = ("-x", *SELECTED, "-p", "choosing", "-W", "ignore")
# With what is compiled, which Python takes where a file is as old and as long as it was.
_NOT_COPIED = shutil.ignore_patterns(".*", "*.egg-info", "build", "dist", "demo-output")
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

    def counts(self) -> Counter[str]:
        """Return how many bugs each test, without its cases, has caught."""
        files = self._folder.iterdir() if self._folder.is_dir() else ()
        return Counter(file.read_text(encoding="utf-8").partition("[")[0] for file in files)

    def remember(self, bug: Bug, test: str) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._path(bug).write_text(test, encoding="utf-8")

    def _path(self, bug: Bug) -> Path:
        return self._folder / re.sub(r"\W+", "-", bug.name)


def outcome_by(records: Records, bug: Bug) -> Outcome:
    """Run the tests that run what a bug changes, until the first failure."""
    caught, package = Caught(), PROJECT / "src" / "dpols"
    catches = caught.counts()
    seen_by = (t for edit in bug.edits for t in records.tests_of(edit.file, edit.lines(package), catches))
    tests = list(dict.fromkeys(seen_by))
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
        for start, stop in pairwise(_BATCHES):
            if failed is None and tests[start:stop]:
                failed, output = _first_failure(copy, tests[start:stop])
    return Outcome(failed, len(tests), time.perf_counter() - started, output)


def _first_failure(copy: Path, tests: Sequence[str]) -> tuple[str | None, str]:
    chosen = copy.parent / "tests.json"
    chosen.write_text(json.dumps(tests), encoding="utf-8")
    files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
    done = forking.run_tests(copy, (*_OPTIONS, *files), chosen, timeout=_LONGEST)
    if done.code is None:
        return f"no end within {_LONGEST:.0f} s", done.output
    if done.code in (0, _NOTHING_SELECTED):
        return None, done.output
    found = re.search(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$", done.output, re.MULTILINE)
    if found is None:
        raise RuntimeError(f"pytest ended with {done.code} and named no test:\n{done.output}")
    return found.group(1), done.output
