"""One small evaluation that several tests look at."""

from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Run:
    """What was run and where its files are."""

    evaluation: object
    folder: Path


@pytest.fixture(scope="session")
def small_run(tmp_path_factory) -> Run:
    """Diabetes, which needs no file, beside a data set whose file is not there."""
    pytest.importorskip("matplotlib")
    from dpols.bench.paper import Settings, evaluate

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
