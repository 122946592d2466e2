"""What the source may import: siblings one way, extras only when used, randomness through one door."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "dpols"

# What stands for `import dpols` and for the names that its __init__ exports.
PUBLIC = "dpols"

# Top-level module -> siblings that it imports. Those further up know nothing of those below them.
ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "seen_text": set(),
    "linalg": set(),
    "families": {"errors", "linalg"},
    "pages": set(),
    "versions": set(),
    "constraints": {"errors", "linalg"},
    "data": {"errors", "families"},
    "randomness": {"errors", "linalg"},
    "storage": {"errors"},
    "exact": {"randomness"},
    "statistics": {"data", "families"},
    "privacy": {"errors", "storage"},
    "feature_map": {"data", "errors", "pages", "storage"},
    "theory": {"errors", "privacy"},
    "ledger": {"errors", "pages", "privacy", "storage"},
    "report": {"errors", "pages", "privacy", "seen_text", "storage"},
    "mechanisms": {"errors", "exact", "linalg", "privacy", "randomness", "statistics"},
    "algorithms": {
        "constraints",
        "data",
        "errors",
        "families",
        "linalg",
        "mechanisms",
        "privacy",
        "randomness",
        "statistics",
        "theory",
    },
    "sketching": {"data", "errors", "ledger", "linalg", "mechanisms", "privacy", "randomness", "report", "statistics"},
    "side_releases": {"algorithms", "data", "errors", "mechanisms", "privacy", "randomness", "statistics"},
    "audit": {"algorithms", "data", "errors", "exact", "linalg", "mechanisms", "privacy", "randomness", "statistics"},
    "inference": {
        "algorithms",
        "data",
        "errors",
        "families",
        "linalg",
        "pages",
        "privacy",
        "randomness",
        "report",
        "seen_text",
        "storage",
    },
    "planning": {
        "algorithms",
        "data",
        "errors",
        "feature_map",
        "inference",
        "families",
        "linalg",
        "pages",
        "privacy",
        "randomness",
    },
    "fitting": {
        "algorithms",
        "constraints",
        "data",
        "errors",
        "families",
        "feature_map",
        "inference",
        "ledger",
        "privacy",
        "randomness",
        "report",
        "side_releases",
        "versions",
    },
    "verification": {
        "algorithms",
        "data",
        "errors",
        "feature_map",
        "fitting",
        "inference",
        "ledger",
        "privacy",
        "report",
        "storage",
        "versions",
    },
    "estimators": {
        "constraints",
        "data",
        "errors",
        "families",
        "feature_map",
        "fitting",
        "inference",
        "ledger",
        "linalg",
        "randomness",
        "report",
        "side_releases",
        "storage",
    },
    "formula": {
        "data",
        "errors",
        "estimators",
        "feature_map",
        "side_releases",
    },
    "private_search": {
        "data",
        "errors",
        "estimators",
        "families",
        "fitting",
        "ledger",
        "mechanisms",
        "privacy",
        "randomness",
        "report",
        "statistics",
    },
    "__init__": {
        "constraints",
        "data",
        "errors",
        "estimators",
        "feature_map",
        "formula",
        "inference",
        "ledger",
        "planning",
        "privacy",
        "private_search",
        "report",
        "side_releases",
        "sketching",
        "theory",
        "versions",
    },
    "app": {
        "algorithms",
        "data",
        "errors",
        "estimators",
        "feature_map",
        "ledger",
        "pages",
        "planning",
        "privacy",
        "report",
        "seen_text",
        "side_releases",
        "storage",
    },
    "cli": {
        "algorithms",
        "app",
        "audit",
        "constraints",
        "data",
        PUBLIC,
        "errors",
        "estimators",
        "feature_map",
        "formula",
        "inference",
        "ledger",
        "planning",
        "privacy",
        "randomness",
        "report",
        "seen_text",
        "side_releases",
        "storage",
        "theory",
        "verification",
    },
    "__main__": {"cli"},
}

OPTIONAL = {
    "pandas",
    "polars",
    "pyarrow",
    "dask",
    "distributed",
    "pyspark",
    "matplotlib",
    "typer",
    "rich",
    "python_calamine",
    "starlette",
    "uvicorn",
}

# What users see from outside, and so must not reach for private names.
OUTSIDE = {"app", "audit", "cli"}

RANDOM_SOURCES = {"os.urandom", "numpy.random", "random", "secrets"}
DRAWS_FOR_ITSELF = {"randomness", "audit", "app"}  # the app draws the token by which it knows its browser


def source_files() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def top_level_module(file: Path) -> str:
    return file.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports(file: Path, tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and absolute dotted name of everything that is imported, wherever in the file it is."""
    package = ("dpols", *file.relative_to(SOURCE).parts[:-1])
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join((*start, *filter(None, [node.module])))
            yield from ((node.lineno, f"{base}.{alias.name}".removesuffix(".*")) for alias in node.names)


def sibling(dotted: str) -> str | None:
    """The top-level module of dpols that a name belongs to, PUBLIC for an exported name, None if not ours."""
    root, *rest = dotted.split(".")
    if root != "dpols":
        return None
    return rest[0] if rest and (rest[0] in ALLOWED or is_module(rest[0])) else PUBLIC


def is_module(name: str) -> bool:
    return (SOURCE / name).is_dir() or (SOURCE / f"{name}.py").is_file()


def is_private(dotted: str) -> bool:
    return any(part.startswith("_") and not part.startswith("__") for part in dotted.split("."))


def siblings(file: Path, text: str) -> set[str]:
    """Return the siblings that a file imports."""
    return {name for _, dotted in imports(file, ast.parse(text)) if (name := sibling(dotted))} - {
        top_level_module(file)
    }


def wrong_imports(file: Path, text: str) -> list[str]:
    importer = top_level_module(file)
    wrong = []
    for line, dotted in imports(file, ast.parse(text)):
        imported = sibling(dotted)
        where = f"{file.relative_to(SOURCE)}:{line}"
        if imported in (None, importer):
            continue
        if imported not in ALLOWED[importer]:
            what = "the public names of dpols" if imported == PUBLIC else imported
            may = ", ".join(sorted(ALLOWED[importer])) or "no sibling"
            wrong.append(f"{where}: {importer} imports {what} ({dotted}); it may import {may}")
        elif importer in OUTSIDE and is_private(dotted):
            wrong.append(f"{where}: {importer} imports {dotted}, which is private")
    return wrong


def random_sources(file: Path, text: str) -> list[str]:
    """Where a file names a source of random bits, under whatever alias the module was imported."""
    tree = ast.parse(text)
    aliases = {
        alias.asname: alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.asname
    }
    named = list(imports(file, tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            named.append((node.lineno, f"{aliases.get(node.value.id, node.value.id)}.{node.attr}"))
    return [
        f"{file.relative_to(SOURCE)}:{line}: {dotted}"
        for line, dotted in sorted(named)
        if any(f"{dotted}.".startswith(f"{source}.") for source in RANDOM_SOURCES)
    ]


def test_every_top_level_module_has_a_row():
    unknown = {top_level_module(file) for file in source_files()} - set(ALLOWED)
    assert not unknown, f"add a row to the table in {Path(__file__).name} for: {', '.join(sorted(unknown))}"


def test_the_table_itself_has_no_cycle():
    rest = {module: allowed - {PUBLIC} for module, allowed in ALLOWED.items()}
    while free := {module for module, allowed in rest.items() if not allowed & set(rest)}:
        rest = {module: allowed for module, allowed in rest.items() if module not in free}
    assert not rest, f"these import each other in a circle: {rest}"


def test_imports_follow_the_table():
    files = [file for file in source_files() if top_level_module(file) in ALLOWED]
    wrong = [line for file in files for line in wrong_imports(file, file.read_text(encoding="utf-8"))]
    assert not wrong, "\n".join(wrong)


def test_every_edge_of_the_table_is_used():
    used: dict[str, set[str]] = {module: set() for module in ALLOWED}
    for file in source_files():
        used[top_level_module(file)] |= siblings(file, file.read_text(encoding="utf-8"))
    unused = {module: ", ".join(sorted(rest)) for module, names in ALLOWED.items() if (rest := names - used[module])}
    assert not unused, f"take these out of the table, as nothing uses them: {unused}"


@pytest.mark.parametrize(
    ("module", "statement"),
    [
        ("linalg.py", "import dpols.privacy.budget"),
        ("linalg.py", "from dpols import privacy"),
        ("linalg.py", "from . import privacy"),
        ("linalg.py", "from .privacy.budget import Budget"),
        ("linalg.py", "from dpols import Budget"),
        ("linalg.py", "import dpols"),
        ("linalg.py", "def later():\n    from dpols.privacy import *"),
        ("privacy/calibration.py", "from ..linalg import solve"),
        ("privacy/__init__.py", "from .. import linalg"),
        ("privacy/deep/inside.py", "from ...statistics import gram"),
        ("algorithms/hessian_mixing.py", "from ..estimators import PrivateRegression"),
        ("estimators/linear.py", "from ..audit import replay"),
        ("__init__.py", "from .cli import main"),
        ("audit/score.py", "from dpols import cli"),
        ("audit/score.py", "from dpols.privacy import _private_helper"),
    ],
)
def test_a_wrong_import_is_found(module, statement):
    assert wrong_imports(SOURCE / module, statement)


@pytest.mark.parametrize(
    ("module", "statement"),
    [
        ("privacy/calibration.py", "import numpy, scipy.stats\nfrom .budget import Budget"),
        ("privacy/__init__.py", "from . import budget\nfrom ..errors import DpolsError"),
        ("privacy/deep/inside.py", "from ..budget import Budget\nfrom dpols.privacy import releases"),
        (
            "algorithms/hessian_mixing.py",
            "from .. import linalg, mechanisms\nfrom ..privacy._search import f",
        ),
        ("__init__.py", "from .estimators import PrivateRegression"),
        (
            "cli/score.py",
            "import dpols\nfrom dpols import Budget, __version__\nfrom dpols.privacy import budget",
        ),
        ("cli/audit.py", "from dpols.audit import replay\nfrom . import app"),
    ],
)
def test_a_right_import_is_accepted(module, statement):
    assert wrong_imports(SOURCE / module, statement) == []


def test_importing_the_package_needs_no_optional_extra():
    code = f"import sys, dpols; print(*sorted({OPTIONAL} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_what_fits_nothing_does_without_what_takes_longest_to_import():
    modules = "dpols.planning, dpols.verification.files, dpols.ledger, dpols.sketching, dpols.inference"
    code = f"import sys, {modules}; print(*sorted({{'sklearn', 'scipy.stats', 'pandas'}} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_random_bits_come_through_one_door():
    files = [file for file in source_files() if top_level_module(file) not in DRAWS_FOR_ITSELF]
    found = [line for file in files for line in random_sources(file, file.read_text(encoding="utf-8"))]
    assert not found, "only randomness.py may name a source of random bits:\n" + "\n".join(found)


@pytest.mark.parametrize(
    "text",
    [
        "import os\nos.urandom(8)",
        "import os as system\nsystem.urandom(8)",
        "from os import urandom",
        "import numpy as np\nrng = np.random.default_rng()",
        "import numpy\ndef f(rng: numpy.random.Generator): ...",
        "import numpy.random",
        "import numpy.random as npr",
        "from numpy import random",
        "from numpy.random import Generator",
        "import random",
        "from secrets import token_bytes",
    ],
)
def test_a_source_of_random_bits_is_found(text):
    assert random_sources(SOURCE / "mechanisms.py", text)


def test_words_and_our_own_randomness_are_no_source_of_random_bits():
    text = '"""No np.random here."""\nfrom .randomness import Generator\nself.random = 1'
    assert random_sources(SOURCE / "mechanisms.py", text) == []
