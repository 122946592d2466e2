"""Which tests run which lines of the package, and how long each takes: measured once, and kept below ``build``.

A pass over the tests writes a folder of its own. Where the package is what it was, only files of tests that have
changed are measured anew.
"""

import ast
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import Lock
from types import MappingProxyType
from typing import Any

import watching
from coverage import CoverageData

PROJECT = Path(__file__).parents[2]
CACHE = PROJECT / "build" / "planted"
# This folder; tests of frozen pages and figures, and of the tree; fuzzing, which measures coverage itself; and commands
# and benchmarks, which are built on what the other tests cover.
LEFT_OUT = ("planted", "docs", "fuzz", "cli", "benchmarks")
# Tests of commands that are those of a package of its own, too.
OF_VERIFYING = ("test_verify.py", "test_verify_pages.py")
OF_THE_TREE = ("test_readme.py", "test_layout.py", "test_import_direction.py", "test_public_names.py")
# Without tests of frozen numbers, which notice any change, right or wrong; and without Spark, which takes long to start
# and sums by the functions that the tests of Dask see.
SELECTED = ("-m", "not slow and not spark", "-k", "not frozen", "-p", "no:cacheprovider", "-q", "--tb=line")


@dataclass(frozen=True)
class Records:
    """The passes over the tests, and by which of them each file of tests was measured last."""

    folder: Path
    passes: dict[str, str]
    _known: dict[str, dict[int, set[str]]] = field(default_factory=dict, repr=False)
    _reading: Any = field(default_factory=Lock, repr=False)

    def tests_of(self, file: str, lines: Iterable[int], catches: Mapping[str, int] = MappingProxyType({})) -> list[str]:
        """Return the tests that run any of some lines of a file below src/dpols, the likeliest to fail soon first.

        ``catches`` says how many bugs each test, without its cases, has caught so far. What runs when a module is
        imported is seen by all tests that run anything in it.
        """
        inside = _within_functions(PROJECT / "src" / "dpols" / file, lines)
        by_line = self._contexts(file)
        wanted = by_line if inside is None else {line: by_line.get(line, set()) for line in inside}
        contexts = set().union(*wanted.values())
        return self._in_order([test for test in self.seconds if {test, test.partition("::")[0]} & contexts], catches)

    @cached_property
    def seconds(self) -> dict[str, float]:
        """The duration of each test."""
        return {
            test: seconds
            for name in set(self.passes.values())
            for test, seconds in _read(self.folder / name / watching.DURATIONS).items()
            if self.passes.get(test.partition("::")[0]) == name
        }

    def _contexts(self, file: str) -> dict[int, set[str]]:
        """Return the tests, and the files of tests, that run each line of a file; of imports nothing is known."""
        with self._reading:  # once for all bugs of a file, which takes seconds
            return self._known.get(file) or self._known.setdefault(file, self._read_contexts(file))

    def _read_contexts(self, file: str) -> dict[int, set[str]]:
        found = defaultdict[int, set[str]](set)
        for name in set(self.passes.values()):
            for path in (self.folder / name).glob("lines.*"):
                data = CoverageData(str(path))
                data.read()
                for measured in data.measured_files():
                    if Path(measured).as_posix().endswith(f"src/dpols/{file}"):
                        for line, contexts in data.contexts_by_lineno(measured).items():
                            found[line] |= {c for c in contexts if self.passes.get(c.partition("::")[0]) == name}
        return found

    def _in_order(self, tests: Iterable[str], catches: Mapping[str, int] = MappingProxyType({})) -> list[str]:
        """Return one case of each test before the second case of any; first what takes little time for each catch."""
        by_function = defaultdict[str, list[str]](list)
        for test in sorted(tests, key=self.seconds.__getitem__):
            by_function[test.partition("[")[0]].append(test)
        ranked = [
            (place, self.seconds[test] / (1 + catches.get(function, 0)), test)
            for function, group in by_function.items()
            for place, test in enumerate(group)
        ]
        return [test for _, _, test in sorted(ranked)]


def measured() -> Records:
    """Return the records of the tests as they are, measured as far as need be."""
    folder = CACHE / _digest(PROJECT / "src", "*.py")
    known = _read(folder / "passes.json") if (folder / "passes.json").is_file() else {}
    digests = {str(path.relative_to(PROJECT)): _digest_of_tests(path) for path in _test_files()}
    current = {file: known[file] for file, digest in digests.items() if known.get(file, [None])[0] == digest}
    changed = sorted(set(digests) - set(current))
    if changed:
        name = _new_pass(folder, changed)
        current |= {file: [digests[file], name] for file in changed}
        (folder / "passes.json").write_text(json.dumps(current), encoding="utf-8")
    return Records(folder, {file: name for file, (_, name) in current.items()})


def _new_pass(folder: Path, files: list[str]) -> str:
    """Run files of tests and write down what they run; they must pass. What Python compiles stays, for the copies."""
    name = str(len(list(folder.glob("*/"))))
    place = folder / name
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | {
        watching.FOLDER: str(place),
        "PYTHONPATH": os.pathsep.join((str(PROJECT / "src"), str(Path(__file__).parent))),
    }
    command = [sys.executable, "-m", "pytest", "-p", "watching", "-n", "2", *SELECTED, *files]
    done = subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True, check=False)
    failed = _read(place / watching.FAILURES) if (place / watching.FAILURES).is_file() else [done.stdout + done.stderr]
    if failed or done.returncode not in (0, 5):
        raise RuntimeError("the tests must pass as they are:\n" + "\n".join(failed or [done.stdout]))
    return name


def _within_functions(path: Path, lines: Iterable[int]) -> set[int] | None:
    """Return the lines of the statements that hold some lines, or None where one of them runs at import."""
    tree, found = ast.parse(path.read_text(encoding="utf-8")), set[int]()
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    bodies = [range(node.body[0].lineno, (node.end_lineno or 0) + 1) for node in functions]
    statements = list(_statements(tree))
    for line in lines:
        if not any(line in body for body in bodies):
            return None
        found |= set(min((extent for extent in statements if line in extent), key=len, default=range(0)))
    return found


def _statements(tree: ast.AST) -> Iterator[range]:
    """Yield the lines of each statement, of compound ones those before their first inner statement."""
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            inner = [part.lineno for part in getattr(node, "body", ()) if isinstance(part, ast.stmt)]
            yield range(node.lineno, max(min(inner), node.lineno + 1) if inner else (node.end_lineno or 0) + 1)


def _test_files() -> list[Path]:
    tests = PROJECT / "tests"
    left_out = {*LEFT_OUT, *OF_THE_TREE}
    return sorted(
        path
        for path in tests.rglob("test_*.py")
        if path.name in OF_VERIFYING or path.relative_to(tests).parts[0] not in left_out
    )


def _digest_of_tests(path: Path) -> str:
    """Return what changes when a file of tests, or what it may import from beside it, does."""
    beside = [file for file in path.parent.glob("*.py") if not file.name.startswith("test_")]
    shared = [PROJECT / "tests" / "conftest.py", PROJECT / "pyproject.toml"]
    return _digest_of([path, *beside, *shared])


def _digest(folder: Path, pattern: str) -> str:
    return _digest_of(folder.rglob(pattern))[:16]


def _digest_of(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(f"{file.relative_to(PROJECT)}\n".encode() + file.read_bytes())
    return digest.hexdigest()


def _read(path: Path):
    return json.loads(path.read_text(encoding="utf-8"))
