"""A crash to be found: a copy of the reader of bounds files that fails behind conditions that no seed meets."""

import ast
import importlib.util
import math
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

from .guided import Reader, fuzz
from .readers import readers

_COPIED, _FUNCTION = "dpols.cli.bounds_file", "read_bounds"
_COPY = "dpols.cli.planted_bounds_file"
# Three conditions in a row, each met by a small change of what met the ones before.
_MISTAKE = """
def planted(bounds):
    if len(bounds.features) < 3:
        return bounds
    if bounds.target[0] >= 0.0:
        return bounds
    if all(high <= 1e6 for _, high in bounds.features.values()):
        return bounds
    return bounds.features[0]
"""


@dataclass(frozen=True)
class Search:
    """How many inputs the fuzzer took to the crash, with and without branches to guide it; None: not found in all."""

    guided: int | None
    inputs: int
    blind: int | None
    blind_inputs: int


def find_planted_crash(
    folder: Path, *, inputs: int, blind_inputs: int = 0, seconds: float = math.inf, seed: int = 0
) -> Search:
    """Search for the planted crash by the fuzzer as it is, and by the same mutations of the seeds alone."""
    guided = _search(folder, inputs, seconds, seed, guided=True)
    blind = _search(folder, blind_inputs, seconds, seed, guided=False)
    return Search(guided, inputs, blind, blind_inputs)


def _search(folder: Path, inputs: int, seconds: float, seed: int, guided: bool) -> int | None:
    """Return after how many inputs the crash was found."""
    reader = planted_reader(folder)
    done = fuzz(reader, folder, inputs=inputs, seconds=seconds, seed=seed, guided=guided, first=True)
    return done.inputs if any("in planted" in finding.where for finding in done.findings) else None


def planted_reader(folder: Path) -> Reader:
    """Return the reader of bounds files as it is fuzzed, but for the mistake in a copy of its module in ``folder``."""
    copy = _planted_copy(folder)
    honest = readers()["bounds file"]

    def feed(data: bytes, place: Path) -> None:
        path = place / "bounds.toml"
        path.write_bytes(data)
        getattr(copy, _FUNCTION)(path)

    return replace(honest, name="planted crash", feed=feed, files=honest.files | {str(copy.__file__)})


def _planted_copy(folder: Path) -> ModuleType:
    """Copy the module, and let everything that the function returns pass through the mistake."""
    original = importlib.util.find_spec(_COPIED)
    assert original is not None
    assert original.origin is not None
    tree = ast.parse(Path(original.origin).read_text(encoding="utf-8"))
    [function] = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == _FUNCTION]
    for node in ast.walk(function):
        if isinstance(node, ast.Return) and node.value is not None:
            node.value = ast.Call(ast.Name("planted", ast.Load()), [node.value], [])
    file = folder / "planted_bounds_file.py"
    file.write_text(ast.unparse(ast.fix_missing_locations(tree)) + "\n\n" + _MISTAKE, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(_COPY, file)
    assert spec is not None
    assert spec.loader is not None
    copy = importlib.util.module_from_spec(spec)
    sys.modules[_COPY] = copy  # for what looks itself up there
    spec.loader.exec_module(copy)
    return copy
