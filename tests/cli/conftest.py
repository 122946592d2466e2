"""Runs commands in this process, and makes small files for them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from dpols.cli import main

COLUMNS = "age,hours,city,pay"
BOUNDS = """
[target]
low = 0
high = 100

[features.age]
low = 18
high = 90

[features.hours]
low = 0
high = 60
"""


@dataclass(frozen=True)
class Result:
    """What a command left: exit code, and what it printed where."""

    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DPOLS_DEBUG", raising=False)
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def dpols(capsys) -> Callable[..., Result]:
    """Run ``dpols`` with some arguments."""

    def run(*arguments: object) -> Result:
        capsys.readouterr()
        with pytest.raises(SystemExit) as exited:
            main([str(argument) for argument in arguments])
        return Result(int(exited.value.code or 0), *capsys.readouterr())

    return run


@pytest.fixture
def csv(tmp_path) -> Path:
    """A table of 2,000 rows whose pay is 10 + age / 2 + hours / 3, with a column of text."""
    rows = (f"{18 + i % 70},{i % 61},town,{10 + (18 + i % 70) / 2 + (i % 61) / 3}" for i in range(2000))
    path = tmp_path / "data.csv"
    path.write_text("\n".join((COLUMNS, *rows)) + "\n")
    return path


@pytest.fixture
def bounds(tmp_path) -> Path:
    path = tmp_path / "bounds.toml"
    path.write_text(BOUNDS)
    return path


@pytest.fixture
def parquet(csv, tmp_path) -> Path:
    """The same table as Parquet."""
    from pyarrow import csv as arrow_csv
    from pyarrow import parquet

    path = tmp_path / "data.parquet"
    parquet.write_table(arrow_csv.read_csv(csv), path)
    return path


@pytest.fixture
def budget() -> tuple[str, ...]:
    return ("--epsilon", "1", "--delta", "1e-6")


@pytest.fixture
def charged_fit(csv, bounds, budget, ledger) -> list[str]:
    """The arguments of a fit that works and is charged to the test's ledger."""
    given = ("--target", "pay", "--bounds", bounds, *budget, "--out", "model.json", "--ledger", ledger.path)
    return [str(argument) for argument in ("fit", csv, *given)]


@pytest.fixture
def fit(dpols, charged_fit) -> Callable[..., Result]:
    """Run that fit; later arguments change earlier ones."""
    return lambda *arguments: dpols(*charged_fit, *arguments)
