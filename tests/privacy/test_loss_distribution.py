"""Export to Google's dp-accounting: on the private side of exact accounting, and close to it."""

import pytest

from dpols import BudgetLedger
from dpols.errors import BudgetExceeded, LedgerError, ParameterError
from dpols.privacy import (
    FailureAllowance,
    GaussianRelease,
    MixingRelease,
    OpaqueRelease,
    delta_of,
    epsilon_of,
    log_delta_by_direction,
)
from dpols.privacy.loss_distribution import loss_distribution

pytestmark = pytest.mark.extras
pytest.importorskip("dp_accounting")

PLANS = {
    "gaussian": [GaussianRelease(2.0)] * 3,
    "sketch": [MixingRelease(60, 40.0)],
    "few rows": [MixingRelease(1, 5.0)],
    "two floors": [MixingRelease(60, 40.0), MixingRelease(10, 25.0), MixingRelease(30, 40.0)],
    "all kinds": [GaussianRelease(3.0), MixingRelease(60, 40.0), FailureAllowance(1e-7), OpaqueRelease(0.2, 1e-7)],
}


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 2.5])
def test_delta_is_never_below_exact_and_close_to_it(plan, epsilon):
    exact, found = delta_of(plan, epsilon), loss_distribution(plan, interval=1e-3).get_delta_for_epsilon(epsilon)
    assert exact <= found * (1.0 + 1e-9)
    assert found == pytest.approx(exact, rel=0.03, abs=1e-14)


def test_epsilon_agrees_to_a_few_cells():
    plan = PLANS["all kinds"]
    found = loss_distribution(plan, interval=1e-4).get_epsilon_for_delta(1e-5)
    assert epsilon_of(plan, 1e-5) <= found + 1e-9
    assert found == pytest.approx(epsilon_of(plan, 1e-5), abs=1e-3)


def test_the_wrong_sketch_is_told_apart():
    epsilon, found = 0.5, loss_distribution([MixingRelease(60, 40.0)], interval=1e-3)
    for wrong in (MixingRelease(90, 40.0), MixingRelease(60, 30.0)):
        assert delta_of([wrong], epsilon) > 1.2 * found.get_delta_for_epsilon(epsilon)
    remove, add = log_delta_by_direction([MixingRelease(60, 40.0)], epsilon)
    assert remove > add


def test_a_ledger_exports_the_worst_that_it_allows(tmp_path):
    ledger = BudgetLedger(tmp_path / "ledger", epsilon=1.0, delta=1e-5, black_boxes=(0.2, 1e-6))
    ledger.add(GaussianRelease(30.0), what="mean")
    ledger.add(MixingRelease(60, 400.0), what="sketch")
    cap = ledger.to_dp_accounting(interval=1e-3)
    assert cap.get_delta_for_epsilon(1.0) <= 1.01e-5
    recorded = ledger.to_dp_accounting(recorded=True, interval=1e-3)
    exact = delta_of([GaussianRelease(30.0), MixingRelease(60, 400.0)], 0.1)
    assert exact <= recorded.get_delta_for_epsilon(0.1) == pytest.approx(exact, rel=0.1)
    # A release made elsewhere, in the organisation's own books.
    assert cap.compose(loss_distribution([GaussianRelease(5.0)], interval=1e-3)).get_epsilon_for_delta(1e-5) > 1.0


def test_a_ledger_that_one_fit_took_exports_its_budget(tmp_path):
    ledger = BudgetLedger(tmp_path / "ledger", epsilon=1.0, delta=1e-5)
    ledger.add(OpaqueRelease(1.0, 1e-5), what="all")
    assert ledger.to_dp_accounting(interval=1e-3).get_delta_for_epsilon(1.0) == pytest.approx(1e-5, rel=1e-6)
    with pytest.raises(BudgetExceeded):
        ledger.reserve([[GaussianRelease(50.0)], [MixingRelease(2, 90.0)]], what="either")


def test_groups_of_which_a_row_enters_one_have_no_joint_distribution(tmp_path):
    ledger = BudgetLedger(tmp_path / "ledger", epsilon=1.0, delta=1e-5)
    ledger.reserve([[GaussianRelease(50.0)], [MixingRelease(2, 90.0)]], what="either")
    with pytest.raises(LedgerError, match="export the cap"):
        ledger.to_dp_accounting(recorded=True)


def test_a_grid_that_is_too_fine_or_no_grid_is_refused():
    with pytest.raises(ParameterError, match="interval=0"):
        loss_distribution([GaussianRelease(1.0)], interval=0.0)
    with pytest.raises(ParameterError, match="too many cells"):
        loss_distribution([MixingRelease(100, 1.01)], interval=1e-6)
