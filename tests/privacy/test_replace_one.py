"""Replaced rows: the accountant finds the least epsilon although the group pays for failures exp(epsilon) times."""

import pytest

from dpols.algorithms import algorithm
from dpols.privacy import Neighbours, PrivacyBudget, delta_of, epsilon_of


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 10.0, 20.0])
def test_a_plan_with_a_failure_allowance_costs_what_was_asked_for_replaced_rows(epsilon):
    asked = PrivacyBudget(epsilon, 1e-6)
    plan = algorithm("ihm").plan(
        asked.for_zero_out(Neighbours.REPLACE_ONE), n_rows=10_000, n_features=4, eigenvalue="on"
    )
    spent = epsilon_of(plan.releases, asked.delta, relation=Neighbours.REPLACE_ONE)
    assert 0.9 * epsilon < spent <= epsilon * (1.0 + 1e-9)
    assert delta_of(plan.releases, spent, relation=Neighbours.REPLACE_ONE) <= asked.delta
