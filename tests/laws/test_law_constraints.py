"""Law 11: constraints cost nothing. Releases, bits drawn and the reported cost are those of the fit without them."""

import numpy as np
import pytest
from law_cases import CASES, bounded, every_arithmetic, problem

from dpols import Bounds, BudgetLedger, Constraints, PrivateLinearRegression
from dpols.algorithms import ALGORITHMS
from dpols.algorithms.base import MOVED, spent_epsilon
from dpols.randomness import standard_normal, streams

TAKING = [case for case in CASES if case.algorithm.takes_constraints]
NAMES = [f"x{i}" for i in range(4)]
TIGHT = [Constraints(lower=0.1, upper=0.2), Constraints(norm=0.05)]


def ids(constraints):
    return "box" if constraints.norm is None else "ball"


@every_arithmetic
@pytest.mark.parametrize("constraints", TIGHT, ids=ids)
@pytest.mark.parametrize("case", TAKING, ids=str)
def test_releases_and_bits_are_those_without_constraints(case, constraints, arithmetic):
    X, y = problem(case.n_rows, case.n_features)
    region = constraints.limits(NAMES).region(np.ones(4), intercept=False)
    plan, fits, following = case.plan(), [], []
    for within in (None, region):
        bits = streams(7, 2)
        fits.append(case.algorithm.run_within(bounded(X, y, arithmetic=arithmetic), plan, bits, within))
        following.append([standard_normal(stream, (8,)) for stream in bits])  # what a stream gives next
    free, kept = fits
    assert (kept.releases, kept.stages) == (free.releases, free.stages)
    np.testing.assert_array_equal(*following)
    assert spent_epsilon(plan, kept, case.delta) == spent_epsilon(plan, free, case.delta)
    if not case.algorithm.steps_within:  # what was released is the same to the last bit
        assert kept.transcript.keys() == {*free.transcript, MOVED}
        for name, values in free.transcript.items():
            np.testing.assert_array_equal(kept.transcript[name], values)
    else:  # the first sketch and gradient come before the first step
        for name in ("sketches", "gradients"):
            np.testing.assert_array_equal(kept.transcript[name][:, 0], free.transcript[name][:, 0])
    settled = np.array([constraints.limits(NAMES).settled(theta) for theta in kept.theta])
    np.testing.assert_allclose(settled, kept.theta, rtol=1e-12)
    assert np.abs(kept.theta - free.theta).max() > 1e-3  # so that the law was put to a test


@every_arithmetic
@pytest.mark.parametrize("constraints", TIGHT, ids=ids)
@pytest.mark.parametrize("case", [case for case in TAKING if case.method == "ihm"], ids=str)
def test_constrained_steps_follow_from_what_was_released_alone(case, constraints, arithmetic):
    """Sketches and gradients of the transcript give the coefficients again; nothing else of the rows entered."""
    X, y = problem(case.n_rows, case.n_features)
    region = constraints.limits(NAMES).region(np.ones(4), intercept=False)
    plan = case.plan()
    fit = case.algorithm.run_within(bounded(X, y, arithmetic=arithmetic), plan, streams(7, 2), region)
    sketches, gradients = fit.transcript["sketches"], fit.transcript["gradients"]
    theta = np.zeros((2, 4))
    for step in range(plan.n_iterations):
        pull = gradients[:, step] - plan.ridge * fit.transcript["shift"][:, None] * theta
        free = theta + np.array([np.linalg.solve(h, g) for h, g in zip(sketches[:, step], pull, strict=True)])
        theta = region.nearest(sketches[:, step], free)
    np.testing.assert_allclose(fit.theta, theta, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("constraints", TIGHT, ids=ids)
@pytest.mark.parametrize("method", [name for name, row in ALGORITHMS.items() if row.takes_constraints])
def test_reports_and_ledgers_show_the_same_cost(method, constraints, tmp_path):
    X, y = problem()
    reports, spent = [], []
    for limits in (None, constraints):
        ledger = BudgetLedger(tmp_path / f"{limits is None}.db", epsilon=10.0, delta=1e-5)
        model = PrivateLinearRegression(
            1.0, 1e-6, Bounds(x_norm=1.0, y_abs=1.0), method=method, constraints=limits, random_state=3, ledger=ledger
        ).fit(X, y)
        reports.append(model.privacy_report_)
        spent.append([(entry.what, entry.releases) for entry in ledger.entries()])
    free, kept = reports
    for name in ("lines", "asked", "spent_epsilon", "certified_delta", "staged", "relation", "bounds"):
        assert getattr(kept, name) == getattr(free, name), name
    assert spent[0] == spent[1]
    assert (free.constraints, kept.constraints) == ((), constraints.limits(NAMES).describe())


def test_methods_that_release_curvature_take_constraints():
    sketches = {"ihm", "ihm-adaptive", "linmix", "linmix-dynamic", "sheffet"}
    taking = {name for name, row in ALGORITHMS.items() if row.takes_constraints}
    assert {"whitened", "adassp", "boosted-adassp", *sketches} <= taking
    assert "dp-gd" not in taking
