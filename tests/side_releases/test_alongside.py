"""Planning a method next to side releases: all of it together meets the budget, and hardly falls short of it."""

import math

import numpy as np
import pytest

from dpols.algorithms import ALGORITHMS, StagedPlan
from dpols.data import ArraySource, BoundedRows, Bounds
from dpols.errors import BudgetExceeded, CalibrationError, ParameterError
from dpols.privacy import GaussianRelease, Neighbours, PrivacyBudget, epsilon_of
from dpols.privacy.calibration import gaussian_multiplier
from dpols.randomness import streams
from dpols.side_releases.alongside import (
    budget_of_sides,
    joint_certified_delta,
    joint_planned_epsilon,
    joint_spent_epsilon,
    plan_alongside,
    release_worth,
)

SIZE = {"n_rows": 10_000, "n_features": 5}
STAGED = ("ihm-adaptive", "linmix-dynamic")
every_method = pytest.mark.parametrize("name", sorted(ALGORITHMS))
every_accounting = pytest.mark.parametrize("accounting", ["exact", "paper"])


def sides_of(budget: PrivacyBudget, *shares: float) -> tuple[GaussianRelease, ...]:
    return tuple(release_worth(budget, share) for share in shares)


@every_method
@every_accounting
@pytest.mark.parametrize(
    "budget", [PrivacyBudget(0.1, 1e-9), PrivacyBudget(1.0, 1e-6), PrivacyBudget(20.0, 1e-3)], ids=str
)
@pytest.mark.parametrize("shares", [(0.01,), (0.1, 0.1), (0.6,)], ids=str)
def test_the_joint_cost_meets_the_budget_and_exactly_accounted_hardly_falls_short(name, accounting, budget, shares):
    sides = sides_of(budget, *shares)
    plan = plan_alongside(ALGORITHMS[name], budget, sides, accounting=accounting, **SIZE)
    joint = joint_planned_epsilon(plan, sides, budget, relation=Neighbours.ZERO_OUT)
    assert isinstance(plan, StagedPlan) == (name in STAGED)
    if name in STAGED:
        apart = epsilon_of(sides, 0.5 * budget.delta) + sum(part.epsilon for part in plan.stage_budgets)
        np.testing.assert_allclose(joint, apart, rtol=1e-8)
        assert 0.5 * budget.delta + sum(part.delta for part in plan.stage_budgets) <= budget.delta
    else:
        assert joint == epsilon_of((*sides, *plan.releases), budget.delta)
    assert joint <= budget.epsilon
    if accounting == "exact":
        assert joint >= (1.0 - 1e-6) * budget.epsilon


@every_method
def test_without_side_releases_the_plan_is_the_methods_own(name):
    budget = PrivacyBudget(1.0, 1e-6)
    plan = plan_alongside(ALGORITHMS[name], budget, (), **SIZE)
    assert plan == ALGORITHMS[name].plan(budget, **SIZE)


@pytest.mark.parametrize("name", ["whitened", "adassp", "boosted-adassp", "dp-gd"])
def test_gaussian_methods_get_exactly_the_rest_of_the_squared_budget(name):
    budget = PrivacyBudget(1.0, 1e-6)
    plan = plan_alongside(ALGORITHMS[name], budget, sides_of(budget, 0.2, 0.1), **SIZE)
    squared = math.fsum(release.multiplier**-2 for release in plan.releases)
    np.testing.assert_allclose(squared * gaussian_multiplier(budget) ** 2, 0.7, rtol=1e-6)


@every_method
def test_more_beside_leaves_less_for_the_method(name):
    budget = PrivacyBudget(1.0, 1e-6)
    left = [plan_alongside(ALGORITHMS[name], budget, sides_of(budget, s), **SIZE).budget for s in (0.05, 0.2, 0.5)]
    assert budget.epsilon > left[0].epsilon > left[1].epsilon > left[2].epsilon


def test_a_share_is_a_share_of_the_squared_mu():
    budget = PrivacyBudget(2.0, 1e-7)
    shares = (0.3, 0.5, 0.2)
    assert epsilon_of(sides_of(budget, *shares), budget.delta) == pytest.approx(2.0, rel=1e-8)
    with pytest.raises(ParameterError, match="share"):
        release_worth(budget, 1.0)


@every_method
def test_side_releases_that_take_everything_are_refused(name):
    budget = PrivacyBudget(1.0, 1e-6)
    with pytest.raises(CalibrationError, match="smaller share"):
        plan_alongside(ALGORITHMS[name], budget, sides_of(budget, 0.7, 0.7), **SIZE)


def test_parts_that_are_added_up_are_refused_where_the_side_one_leaves_nothing():
    budget = PrivacyBudget(1.0, 1e-6)
    sides = sides_of(budget, 0.95)
    assert epsilon_of(sides, budget.delta) < 1.0 < epsilon_of(sides, 0.5 * budget.delta)
    with pytest.raises(CalibrationError, match="joint accounting"):
        plan_alongside(ALGORITHMS["linmix-dynamic"], budget, sides, **SIZE)
    with pytest.raises(CalibrationError, match="joint accounting"):
        budget_of_sides(budget, sides)


def fitted(name: str, plan):
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.4, 0.4, (SIZE["n_rows"], SIZE["n_features"]))
    row_map = Bounds(x_norm=1.0, y_abs=1.0).row_map(n_features=SIZE["n_features"], columns=None, fit_intercept=False)
    rows = BoundedRows(ArraySource(X, X.sum(axis=1)), row_map, "raise", "float")
    return ALGORITHMS[name].run(rows, plan, streams(0, 1))


@every_method
@pytest.mark.parametrize("relation", list(Neighbours))
def test_what_was_recorded_costs_what_was_planned_and_is_certified(name, relation):
    budget = PrivacyBudget(2.0, 1e-5)
    steps = budget.for_zero_out(relation)
    sides = sides_of(steps, 0.1, 0.1)
    plan = plan_alongside(ALGORITHMS[name], steps, sides, **SIZE)
    fit = fitted(name, plan)
    spent = joint_spent_epsilon(plan, fit, sides, budget, relation=relation)
    assert spent == joint_planned_epsilon(plan, sides, budget, relation=relation)
    assert 0.99 * budget.epsilon <= spent <= budget.epsilon
    assert joint_certified_delta(plan, fit, sides, budget, relation=relation) <= budget.delta


@every_method
def test_a_release_that_was_not_planned_is_found(name):
    budget = PrivacyBudget(2.0, 1e-5)
    sides = sides_of(budget, 0.1)
    plan = plan_alongside(ALGORITHMS[name], budget, sides, **SIZE)
    fit = fitted(name, plan)
    twice = sides * 2
    assert joint_spent_epsilon(plan, fit, twice, budget, relation=Neighbours.ZERO_OUT) > budget.epsilon
    with pytest.raises(BudgetExceeded):
        joint_certified_delta(plan, fit, twice, budget, relation=Neighbours.ZERO_OUT)
