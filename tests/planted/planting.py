"""Plant a bug in a copy of the project and run its tests there."""

import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from bugs import Bug

PROJECT = Path(__file__).parents[2]
# Fast laws come first; folders that are not named follow in alphabetical order.
FIRST = ("laws", "audit", "privacy", "side_releases", "fitting", "algorithms", "exact")
# This folder; and commands, which are built on what the other tests cover.
LEFT_OUT = ("planted", "cli")
# Without tests of frozen numbers: they notice any change, right or wrong.
_OPTIONS = ("-x", "-q", "-m", "not slow", "-k", "not frozen", "-p", "no:cacheprovider", "-W", "ignore", "--tb=line")
_NOT_COPIED = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "dist", "demo-output")
_NOTHING_SELECTED = 5


@dataclass(frozen=True)
class Outcome:
    """The first test that failed, None where all passed, and what the tests printed."""

    failed: str | None
    seconds: float
    output: str


def outcome(bug: Bug | None, *, timeout: float = 1800.0) -> Outcome:
    """Run the tests on a copy with the bug, or with none, until the first failure."""
    started = time.perf_counter()
    with TemporaryDirectory(prefix="dpols-planted-") as folder:
        copy = Path(folder) / "project"
        shutil.copytree(PROJECT, copy, ignore=_NOT_COPIED)
        if bug is not None:
            bug.plant(copy / "src" / "dpols")
        _check_that_the_copy_is_tested(copy)
        output = ""
        for file in _test_files(copy):
            done = _python(copy, "-m", "pytest", *_OPTIONS, file, timeout=timeout)
            output += done.stdout
            if done.returncode not in (0, _NOTHING_SELECTED):
                return Outcome(_first_failure(done), time.perf_counter() - started, output)
    return Outcome(None, time.perf_counter() - started, output)


def _check_that_the_copy_is_tested(copy: Path) -> None:
    imported = _python(copy, "-c", "import dpols; print(dpols.__file__)", timeout=60.0)
    if imported.returncode != 0 or not Path(imported.stdout.strip()).is_relative_to(copy):
        raise RuntimeError(f"the tests would not run on the copy: {imported.stdout}{imported.stderr}")


def _python(copy: Path, *arguments: str, timeout: float) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment |= {"PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=copy,
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def _test_files(copy: Path) -> list[str]:
    """Return the test files, fast folders first; one by one they need not all be collected before the first failure."""
    files = [path.relative_to(copy) for path in (copy / "tests").rglob("test_*.py")]
    files = [path for path in files if path.parts[1] not in LEFT_OUT]
    return [str(path) for path in sorted(files, key=lambda path: (_rank(path.parts[1]), path))]


def _rank(folder: str) -> int:
    return FIRST.index(folder) if folder in FIRST else len(FIRST)


def _first_failure(done: subprocess.CompletedProcess[str]) -> str:
    found = re.search(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$", done.stdout, re.MULTILINE)
    if found is None:
        raise RuntimeError(f"pytest ended with {done.returncode} and named no test:\n{done.stdout}\n{done.stderr}")
    return found.group(1)
