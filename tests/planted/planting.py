"""Plant a bug in a copy of the project and run there the tests that can see it."""

import json
import re
import shutil
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

from editing import Bug
from forking import Done, run_tests
from records import PROJECT, SELECTED, Records

# A mistake may make a test run for ever.
_OPTIONS = (*SELECTED, "-p", "choosing", "-W", "ignore", "--timeout=120")
# With what is compiled, which Python takes where a file is as old and as long as it was.
_NOT_COPIED = shutil.ignore_patterns(".*", "*.egg-info", "build", "dist", "demo-output")
_NOTHING_SELECTED = 5
# Few tests first, so that not all files need be collected before the first failure.
_BATCHES = (0, 30, 300, 10**9)
_LONGEST = 900.0  # seconds of a batch
_REMEMBERED = Path(__file__).with_name("caught.json")


@dataclass(frozen=True)
class Outcome:
    """The first test that failed, None where all passed; how many could have, and what the last ones printed."""

    failed: str | None
    candidates: int
    seconds: float
    output: str


class Caught:
    """Which test caught each bug last time, in a file that goes with the source: a machine writes it, and no person."""

    def __init__(self, path: Path = _REMEMBERED) -> None:
        self._path, self._writing = path, Lock()
        self._tests: dict[str, str] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}

    def test(self, bug: Bug) -> str | None:
        return self._tests.get(bug.name)

    def counts(self) -> Counter[str]:
        """Return how many bugs each test, without its cases, has caught."""
        with self._writing:
            return Counter(test.partition("[")[0] for test in self._tests.values())

    def remember(self, bug: Bug, test: str) -> None:
        with self._writing:
            self._tests[bug.name] = test
            self._write()

    def keep(self, bugs: Iterable[Bug]) -> None:
        """Forget all but some bugs."""
        names = {bug.name for bug in bugs}
        with self._writing:
            self._tests = {name: test for name, test in self._tests.items() if name in names}
            self._write()

    def _write(self) -> None:
        self._path.write_text(json.dumps(self._tests, indent=0, sort_keys=True) + "\n", encoding="utf-8")


def passing(tests: Iterable[str]) -> set[str]:
    """Return those of some tests that there are, and that pass on the source as it is."""
    with TemporaryDirectory(prefix="dpols-planted-") as folder:
        copy = _copied(Path(folder))
        there = sorted({test for test in tests if (copy / test.partition("::")[0]).is_file()})
        done = _run(copy, there, "-rp") if there else Done(0, "")
    return set(re.findall(r"^PASSED (\S.*)$", done.output, re.MULTILINE))


def outcome_by(records: Records, bug: Bug, caught: Caught) -> Outcome:
    """Run the tests that run what a bug changes, until the first failure."""
    package, catches = PROJECT / "src" / "dpols", caught.counts()
    seen_by = (t for edit in bug.edits for t in records.tests_of(edit.file, edit.lines(package), catches))
    found = outcome(bug, list(dict.fromkeys(seen_by)))
    if found.failed is not None:
        caught.remember(bug, found.failed)
    return found


def outcome(bug: Bug, tests: Sequence[str]) -> Outcome:
    """Run some tests, in their order, on a copy with the bug, until the first failure."""
    started = time.perf_counter()
    failed, output = None, ""
    with TemporaryDirectory(prefix="dpols-planted-") as folder:
        copy = _copied(Path(folder))
        bug.plant(copy / "src" / "dpols")
        for start, stop in pairwise(_BATCHES):
            if failed is None and tests[start:stop]:
                failed, output = _first_failure(copy, tests[start:stop])
    return Outcome(failed, len(tests), time.perf_counter() - started, output)


def _copied(folder: Path) -> Path:
    return Path(shutil.copytree(PROJECT, folder / "project", ignore=_NOT_COPIED))


def _run(copy: Path, tests: Sequence[str], *options: str) -> Done:
    chosen = copy.parent / "tests.json"
    chosen.write_text(json.dumps(tests), encoding="utf-8")
    files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
    return run_tests(copy, (*_OPTIONS, *options, *files), chosen, timeout=_LONGEST)


def _first_failure(copy: Path, tests: Sequence[str]) -> tuple[str | None, str]:
    done = _run(copy, tests, "-x")
    if done.code is None:
        return f"no end within {_LONGEST:.0f} s", done.output
    if done.code in (0, _NOTHING_SELECTED):
        return None, done.output
    found = re.search(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$", done.output, re.MULTILINE)
    if found is None:
        raise RuntimeError(f"pytest ended with {done.code} and named no test:\n{done.output}")
    return found.group(1), done.output
