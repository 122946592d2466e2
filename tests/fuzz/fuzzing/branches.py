"""Which branches of the readers a corpus reaches, measured by coverage.py. Runs in a process of its own, so that the
readers are imported under measurement.

    PYTHONPATH=tests/fuzz python -m fuzzing.branches CORPUS
"""

import importlib.util
import json
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import coverage

_PACKAGE = importlib.util.find_spec("dpols")
assert _PACKAGE is not None
assert _PACKAGE.origin is not None
_SOURCE = Path(_PACKAGE.origin).parents[1]


@dataclass(frozen=True)
class Branches:
    """Branches of one file, or of its functions that read, and those that were not taken."""

    file: str
    total: int
    covered: int
    missing: tuple[str, ...]


def measure(corpus: Path) -> list[Branches]:
    """Replay a folder of inputs, one folder for each reader, and return the branches of each module that reads."""
    from .files import READING

    files = {name: _file_of(name) for name in READING}
    measured = coverage.Coverage(
        branch=True, data_file=None, config_file=False, include=sorted(files.values()), messages=False
    )
    measured.start()
    try:
        for name in READING:
            importlib.import_module(name)
        _replay(corpus)
    finally:
        measured.stop()
    with tempfile.TemporaryDirectory() as folder:
        measured.json_report(sorted(files.values()), outfile=str(Path(folder) / "coverage.json"))
        found = json.loads((Path(folder) / "coverage.json").read_text(encoding="utf-8"))["files"]
    by_path = {str(Path(name).resolve()): content for name, content in found.items()}
    return [_branches(by_path[str(Path(file).resolve())], Path(file), READING[name]) for name, file in files.items()]


def _replay(corpus: Path) -> None:
    from .guided import judged
    from .readers import readers

    with tempfile.TemporaryDirectory() as folder:
        for name, reader in readers().items():
            for file in sorted((corpus / name).glob("*")):
                judged(reader.feed, file.read_bytes(), Path(folder))


def _branches(content: dict[str, Any], file: Path, functions: tuple[str, ...] | None) -> Branches:
    parts = [content] if functions is None else [content["functions"][name] for name in functions]
    missing = sorted((tuple(branch) for part in parts for branch in part["missing_branches"]), key=lambda b: abs(b[0]))
    return Branches(
        file=file.relative_to(_SOURCE).as_posix(),
        total=sum(part["summary"]["num_branches"] for part in parts),
        covered=sum(part["summary"]["covered_branches"] for part in parts),
        missing=tuple(f"{start} -> {'exit' if stop < 0 else stop}" for start, stop in missing),
    )


def _file_of(module: str) -> str:
    """Return where a module of dpols lies, without importing it or its package."""
    return str(_SOURCE.joinpath(*module.split(".")).with_suffix(".py"))


if __name__ == "__main__":
    print(json.dumps([asdict(row) for row in measure(Path(sys.argv[1]))]))
