"""The simulation of coverage: that it finds what holds, that it can fail, and that it goes on where it stopped."""

import json

import numpy as np
import pytest

from dpols.inference import Inference
from dpols_bench.coverage import cells as cells_module
from dpols_bench.coverage import evaluate, markdown, quick_groups, to_dict
from dpols_bench.coverage.designs import DESIGNS
from dpols_bench.coverage.evaluation import _holds


def simulated(runs=60, journal=None, done=None):
    def progress(what, seconds):
        if done is not None:
            done.append(what)

    return evaluate(quick_groups(runs), journal, jobs=1, progress=progress)


@pytest.fixture(scope="module")
def found():
    return to_dict(simulated(120))


def test_intervals_cover_and_are_as_wide_as_an_oracles(found):
    assert found["holds"]
    printed = [row for row in found["cells"] if row["printed"] > 0.5]
    assert len(printed) == 3
    for row in printed:
        assert 0.88 < row["population"] < 0.995
        assert 0.88 < row["data"] < 0.995
        assert 0.85 < row["variance"] <= 1.0
        assert 0.85 < row["r_squared"] <= 1.0
        assert 0.9 < row["width_over_oracle"] < 1.3
        assert row["width_over_nonprivate"] > 1.0
    assert [row["printed"] for row in found["cells"] if row["epsilon"] == 0.3] == [0.0]
    assert found["cells_without_intervals"] == 1
    json.dumps(found, allow_nan=False)
    assert len(markdown(found).splitlines()) == 2 + len(found["cells"])


@pytest.mark.parametrize("factor", [2.0 / 3.0, 3.0 / 2.0])
def test_intervals_of_the_wrong_width_are_found_out(monkeypatch, factor):
    honest = Inference.conf_int

    def wrong(self, *args, **kwargs):
        limits = honest(self, *args, **kwargs)
        middle = limits.mean(axis=1, keepdims=True)
        return middle + factor * (limits - middle)

    monkeypatch.setattr(Inference, "conf_int", wrong)
    group = quick_groups(200)[2]
    found = to_dict(evaluate([group], None, jobs=1, progress=lambda *_: None))
    assert not found["holds"]


def test_a_run_goes_on_where_it_stopped(tmp_path, monkeypatch):
    journal = tmp_path / "journal.jsonl"
    whole = to_dict(simulated(20, journal))
    lines = journal.read_text().splitlines()
    journal.write_text("\n".join(lines[:2]) + '\n{"key": "cut o')
    run, ran = cells_module.run_batch, []
    monkeypatch.setattr("dpols_bench.coverage.evaluation.run_batch", lambda batch: ran.append(batch) or run(batch))
    done = []
    again = to_dict(simulated(20, journal, done))
    assert again == whole
    assert len(ran) == len(lines) - 2
    assert len(done) == len(lines)


@pytest.mark.parametrize("design", DESIGNS.values(), ids=list(DESIGNS))
def test_populations_are_what_they_say(design):
    rng = np.random.default_rng(0)
    X, y = design.sample(200_000, 4, rng)
    assert np.abs(X).max() <= 1.0
    assert np.abs(y).max() <= 1.0
    joined = np.column_stack((X, np.ones(len(X))))
    gram = joined.T @ joined
    solution = np.linalg.solve(gram, joined.T @ y)
    errors = y - joined @ design.coefficients(4)
    stderr = np.sqrt(errors.var() * np.diag(np.linalg.inv(gram)))
    assert (np.abs(solution - design.coefficients(4)) < 4.5 * stderr).all()
    condition = np.linalg.cond(X.T @ X)
    assert condition > 50.0 if design.ill_conditioned else condition < 2.0
    kurtosis = np.mean(errors**4) / np.mean(errors**2) ** 2
    assert kurtosis > 6.0 if design.errors != "normal" else kurtosis < 3.5


@pytest.mark.parametrize(
    ("covered", "runs", "holds"),
    [(0, 1, True), (0, 3, False), (112, 127, True), (172, 200, False), (100, 100, True), (300, 300, False)],
)
def test_few_runs_are_judged_by_what_chance_would_do(covered, runs, holds):
    assert _holds(covered / runs, runs) == holds


def test_many_runs_are_judged_without_an_allowance():
    assert _holds(0.931, 4000)
    assert not _holds(0.929, 4000)
    assert not _holds(0.981, 4000)
