"""The paper's searches, run again: their cells, their rules on made-up results, and a short form from end to end."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from dpols.algorithms import ALGORITHMS
from dpols.errors import ParameterError
from dpols.privacy import GaussianRelease, epsilon_of
from dpols.randomness import streams
from dpols_bench import datasets
from dpols_bench.datasets import networks
from dpols_bench.paper import cells
from dpols_bench.paper.cells import Cell
from dpols_bench.paper.grids import ALLOCATIONS, MULTIPLIERS, RATES, dp_gd_at, ihm_at, linmix_at, weights
from dpols_bench.paper.methods import method
from dpols_bench.paper.rules import Evidence
from dpols_bench.paper.studies import (
    LONG,
    SHORT,
    STUDIES,
    Form,
    clipping,
    grids,
    iterations,
    run_studies,
    stored_claims,
)
from dpols_bench.paper.summary import CellSummary, Mean, Results

TINY = Form(("diabetes",), 3, ("plain", "rich-far"), 1000, 2, (1.0, 10.0))


def summary(dataset, name, risk, *, epsilon=0.5, clipped=None):
    cell, mean = Cell(dataset, name, "paper", "float", epsilon), Mean(risk, 0.0)
    return CellSummary(cell, 10, mean, mean, mean, clipped, 30 if clipped is not None else 0, 0.0)


def evidence(*summaries):
    return Evidence(Results(summaries), "paper", ())


def grid_of(name, values, **risks):
    """Results whose risk at each value is as given for each data set."""
    return evidence(
        *(summary(dataset, name(v), r) for dataset, row in risks.items() for v, r in zip(values, row, strict=True))
    )


def test_the_best_multiplier_is_that_of_the_favourable_data_sets(monkeypatch):
    monkeypatch.setattr(grids, "favours_linmix", lambda dataset: dataset != "other")
    at_2_5 = grid_of(linmix_at, MULTIPLIERS, a=[2, 1, 2, 3, 4], b=[3, 1, 1.5, 2, 2], other=[9, 9, 1, 9, 9])
    assert grids.best_multiplier(at_2_5).verdict == "holds"
    mostly = grid_of(linmix_at, MULTIPLIERS, a=[2, 1, 1.1, 3, 4], b=[2, 1, 1.1, 3, 4], c=[2, 1, 0.1, 3, 4])
    assert grids.best_multiplier(mostly).verdict == "holds in part"
    elsewhere = grid_of(linmix_at, MULTIPLIERS, a=[2, 1, 0.5, 3, 4])
    found = grids.best_multiplier(elsewhere)
    assert (found.verdict, "5: 0.5" in found.numbers) == ("refuted", True)
    assert grids.best_multiplier(grid_of(linmix_at, MULTIPLIERS, other=[1] * 5)).verdict == "not run"


def test_the_best_rate_is_that_of_most_data_sets():
    quarter, half = [4, 3, 1, 2, 5, 6, 7], [4, 3, 2, 1, 5, 6, 7]
    assert grids.best_rate(grid_of(dp_gd_at, RATES, a=quarter, b=quarter, c=half)).verdict == "holds"
    first = [1, 3, 2, 4, 5, 6, 7]
    assert grids.best_rate(grid_of(dp_gd_at, RATES, a=quarter, b=quarter, c=half, d=first)).verdict == "holds in part"
    assert grids.best_rate(grid_of(dp_gd_at, RATES, a=half, b=half, c=quarter)).verdict == "refuted"
    assert grids.best_rate(evidence()).verdict == "not run"


@pytest.mark.parametrize(("risk", "verdict"), [(0.5, "holds"), (0.97, "holds in part"), (1.2, "refuted")])
def test_an_allocation_must_lower_the_risk(risk, verdict):
    rows = [summary("a", ihm_at(ratio), risk) for ratio in ALLOCATIONS]
    assert grids.best_allocation(evidence(summary("a", "ihm", 1.0), *rows)).verdict == verdict


@pytest.mark.parametrize("ratio", [0.25, 0.5, 1.0, 2.0, 4.0])
def test_allocations_share_one_budget_and_are_drawn_so(ratio):
    assert math.fsum(weights(ratio)) == pytest.approx(3.0)
    assert weights(ratio)[1] / weights(ratio)[0] == pytest.approx(ratio)
    if ratio == 1.0:
        return
    row = method(ihm_at(ratio))
    on = cells.problem("diabetes")
    plan = cells.plan_of(Cell("diabetes", ihm_at(ratio), "exact", "float", 1.0), *on.data.features.shape)
    with row.in_force():
        fit = ALGORITHMS["ihm"].run(on.rows("float"), plan, streams(0, 2))
    multipliers = [release.multiplier for release in fit.releases if isinstance(release, GaussianRelease)][-3:]
    np.testing.assert_allclose(np.divide(plan.gradient_multiplier, multipliers) ** 2, weights(ratio))
    equal = ALGORITHMS["ihm"].run(on.rows("float"), plan, streams(0, 2))
    assert equal.releases == plan.releases
    delta = plan.budget.delta
    assert epsilon_of(fit.releases, delta) == pytest.approx(epsilon_of(equal.releases, delta), rel=1e-9)


def test_the_objective_by_which_three_iterations_were_chosen():
    # T = 1: 1024 / 3 + 2 sqrt(128 * 20 log 2) / 0.5, as log(1/delta) = 20 log 2 and d exceeds log(T / failure).
    root = math.sqrt(128.0 * 20.0 * math.log(2.0)) / 0.5
    assert iterations.objective(1) == pytest.approx(1024.0 / 3.0 + 2.0 * root)
    assert iterations.objective(3, squared=True) == pytest.approx(1024.0 / 27.0 + 4.0 * math.sqrt(3.0) * root)
    assert iterations.objective(12, grows=False) == pytest.approx(2.0 * root, abs=0.01)
    assert (iterations.best_number(), iterations.best_number(squared=True)) == (3, 2)
    assert iterations.best_number(grows=False) == 12  # the last that is tried
    assert iterations.minimum_at_three(evidence()).verdict == "holds in part"


def clipped(shares, name="plain"):
    dataset = networks.network_name(name, 1000)
    return [summary(dataset, "ihm", 1.0, epsilon=10.0**i, clipped=share) for i, share in enumerate(shares)]


@pytest.mark.parametrize(
    ("plain", "other", "verdict"),
    [
        ((0.5, 0.6), (0.0, 0.0), "holds"),
        ((0.0, 0.6), (0.45, 0.5), "holds in part"),
        ((0.0, 0.6), (0.3, 0.5), "refuted"),
    ],
)
def test_the_claimed_share_is_sought_in_every_network(plain, other, verdict):
    found = clipping.claimed_share(evidence(*clipped(plain), *clipped(other, "rich-far")))
    assert found.verdict == verdict


def test_clipping_must_grow_with_the_ratio_within_each_network(monkeypatch):
    monkeypatch.setattr(clipping, "ratio_of", lambda cell: cell.epsilon)
    assert clipping.grows_with_ratio(evidence(*clipped([0.0, 0.1, 0.3]))).verdict == "holds"
    falling = evidence(*clipped([0.3, 0.1, 0.0]))
    assert clipping.grows_with_ratio(falling).verdict == "refuted"
    assert clipping.grows_with_ratio(evidence(*clipped([0.0, 0.0]))).verdict == "not run"


def test_networks_are_the_same_each_time_and_as_described():
    one, two = (datasets.load("network-rich-far-1000") for _ in range(2))
    assert one.features.shape == (1250, 128)
    np.testing.assert_array_equal(one.target, two.target)
    assert one.features.min() >= 0.0
    assert one.target.min() > 0.0  # far from zero
    for name in ("network-none-1000", "network-plain-10", "network-plain"):
        with pytest.raises(ParameterError, match="network-NAME-ROWS"):
            datasets.load(name)


@pytest.mark.parametrize("network", networks.NETWORKS.values(), ids=networks.NETWORKS)
def test_every_network_uses_known_activations(network):
    assert {network.inner, network.outer} <= set(networks.ACTIVATIONS)


def test_a_tiny_form_runs_from_end_to_end_goes_on_and_reaches_the_claims(tmp_path):
    verdicts = run_studies(TINY, tmp_path, jobs=1)
    assert [study.name for study, _ in verdicts] == [study.name for study in STUDIES]
    by_name = {study.name: found for study, found in verdicts}
    assert set(by_name["dp-gd-rates"]) == {"paper", "exact"}
    assert "not run" not in {f.verdict for name in ("dp-gd-rates", "clipping") for f in by_name[name].values()}
    lines = (tmp_path / "studies.jsonl").read_text(encoding="utf-8").splitlines()
    assert run_studies(TINY, tmp_path, jobs=1) == verdicts
    assert (tmp_path / "studies.jsonl").read_text(encoding="utf-8").splitlines() == lines
    claims = stored_claims(tmp_path, ["paper", "exact"])
    assert [claim.name for claim, _ in claims] == [study.name for study in STUDIES]
    assert claims[2][1] == by_name["dp-gd-rates"]
    assert stored_claims(tmp_path / "elsewhere", ["paper"]) == []
    rows = json.loads((tmp_path / "studies.json").read_text(encoding="utf-8"))
    assert len(rows) == 2 * (5 + 7 + 2 * 5 + 2 * 2)


def test_forms_name_what_there_is():
    for form in (LONG, SHORT):
        assert set(form.datasets) <= set(datasets.REAL)
        assert set(form.networks) <= set(networks.NETWORKS)
        assert len({cell for study in STUDIES for cell in study.cells(form)}) > 100
    assert set(LONG.networks) == set(networks.NETWORKS)
    assert set(replace(SHORT, accountings=("paper",)).accountings) == {"paper"}


def test_the_command_runs_studies_and_the_next_evaluation_shows_them(bench, tmp_path, monkeypatch):
    pytest.importorskip("typer")
    pytest.importorskip("matplotlib")
    monkeypatch.setattr("dpols_bench.paper.studies.SHORT", TINY)
    done = bench("paper", "--studies", "--quick", "--jobs", "1", "--out", "results")
    assert done.code == 0
    assert "dp-gd-rates: 0.25 is the best of seven rates" in done.out
    arguments = ("--datasets", "diabetes", "--methods", "ihm", "--epsilons", "1", "--trials", "2", "--jobs", "1")
    shown = bench("paper", *arguments, "--out", "results", "--json")
    claims = {row["claim"] for row in json.loads(shown.out)["claims"]}
    assert {study.name for study in STUDIES} <= claims
    assert "seven rates" in (tmp_path / "results" / "report.html").read_text(encoding="utf-8")
