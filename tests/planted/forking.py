"""Run tests of a copy of the project in a fork of a process that has imported all but the package and its tests.

Imports take longer than most tests that find a mistake.
"""

import importlib.util
import multiprocessing
import os
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import choosing

# None of these has threads of its own before it is used, so a fork of them is whole.
_IMPORTED = ("hypothesis", "jinja2", "mpmath", "numpy", "pandas", "pytest", "scipy.stats", "sklearn.linear_model")
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload([*_IMPORTED, __name__])


@dataclass(frozen=True)
class Done:
    """How pytest ended, None where it did not end in time, and what it printed."""

    code: int | None
    output: str


def run_tests(copy: Path, arguments: Sequence[str], chosen: Path, *, timeout: float) -> Done:
    """Run pytest in a copy of the project, on the tests that a file lists."""
    printed = copy.parent / "printed.txt"
    process = _FORKS.Process(target=_child, args=(copy, tuple(arguments), chosen, printed))
    process.start()
    process.join(timeout)
    code = process.exitcode
    if code is None:
        process.kill()
        process.join()
    process.close()
    return Done(code, printed.read_text(encoding="utf-8", errors="replace") if printed.is_file() else "")


def _child(copy: Path, arguments: tuple[str, ...], chosen: Path, printed: Path) -> None:
    with printed.open("wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    try:
        code = _pytest(copy, arguments, chosen)
    except BaseException:
        traceback.print_exc()
        code = 3
    sys.stdout.flush()
    os._exit(code)


def _pytest(copy: Path, arguments: tuple[str, ...], chosen: Path) -> int:
    import pytest

    os.chdir(copy)
    place = [str(copy / "src"), str(copy / "tests" / "planted")]
    for name in [name for name in os.environ if name.startswith("PYTEST_")]:
        del os.environ[name]
    os.environ |= {"PYTHONPATH": os.pathsep.join(place), choosing.LIST: str(chosen), "PYTHONDONTWRITEBYTECODE": "1"}
    sys.path[:0] = place
    sys.dont_write_bytecode = True
    found = importlib.util.find_spec("dpols")
    if "dpols" in sys.modules or found is None or not Path(found.origin or "").is_relative_to(copy):
        raise RuntimeError(f"the tests would not run on the copy: {found}")
    return int(pytest.main(list(arguments)))
