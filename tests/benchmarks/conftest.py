"""Runs ``dpols-bench`` in this process, and one small evaluation that several tests look at."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Result:
    """What a command left: exit code, and what it printed where."""

    code: int
    out: str
    err: str


@pytest.fixture
def bench(capsys, tmp_path, monkeypatch) -> Callable[..., Result]:
    """Run ``dpols-bench`` in a folder of its own."""
    pytest.importorskip("typer")
    from dpols_bench.cli import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DPOLS_DEBUG", raising=False)
    monkeypatch.setenv("COLUMNS", "80")

    def run(*arguments: object) -> Result:
        capsys.readouterr()
        with pytest.raises(SystemExit) as exited:
            main([str(argument) for argument in arguments])
        return Result(int(exited.value.code or 0), *capsys.readouterr())

    return run


@dataclass(frozen=True)
class Run:
    """What was run and where its files are."""

    evaluation: object
    folder: Path


@pytest.fixture(scope="session")
def small_run(tmp_path_factory) -> Run:
    """Diabetes, which needs no file, beside a data set whose file is not there."""
    pytest.importorskip("matplotlib")
    from dpols_bench.paper import Settings, evaluate

    folder = tmp_path_factory.mktemp("paper")
    settings = Settings(
        datasets=("diabetes", "slice"),
        methods=("adassp", "linmix", "dp-gd", "ihm"),
        epsilons=(0.5, 5.0),
        trials=4,
        jobs=1,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DPOLS_DATA", str(folder / "no data"))
        patch.setenv("XDG_CACHE_HOME", str(folder / "no cache"))
        return Run(evaluate(settings, folder), folder)
