"""What a ledger adds up, against fractions: through charges of all kinds, ends of reservations and raised caps."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpols import BudgetLedger
from dpols.errors import BudgetExceeded
from dpols.ledger.about import NOTHING
from dpols.ledger.records import charged, created, ended, entry_of, raised, state_of
from dpols.ledger.store import Row
from dpols.privacy import FailureAllowance, GaussianRelease, Neighbours, PrivacyBudget
from dpols.privacy.filter import Caps, Charge

RELEASES = ((GaussianRelease(3.0),),)
shares = st.floats(0.0, 1.0, allow_subnormal=False) | st.sampled_from([0.1, 0.2, 1 / 3, 2.0**-60, 1e-18])
charges = st.builds(Charge, gaussian=shares, leak=shares, epsilon=shares, delta=shares)
caps = st.builds(Caps, multiplier=st.floats(1e-3, 1e3), leak=st.floats(1e-12, 0.5))
steps = st.lists(
    st.tuples(st.just("charge"), charges)
    | st.tuples(st.just("reserve"), charges)
    | st.tuples(st.just("settle"), st.integers(0, 9))
    | st.tuples(st.just("void"), st.integers(0, 9))
    | st.tuples(st.just("raise"), caps),
    max_size=14,
)


class Sums:
    """What has been spent in units that no cap changes: one over squared multipliers, probabilities, epsilons."""

    def __init__(self, first):
        self.caps, self.spent = first, {}

    def charge(self, number, charge):
        ratio = Fraction(1) / Fraction(self.caps.multiplier)
        self.spent[number] = (
            Fraction(charge.gaussian) * ratio**2,
            Fraction(charge.leak) * Fraction(self.caps.leak),
            Fraction(charge.epsilon),
            Fraction(charge.delta),
        )

    def shares(self, number=None):
        """The sums, or one entry, in shares of the present caps."""
        parts = list(self.spent.values()) if number is None else [self.spent.get(number, (Fraction(0),) * 4)]
        gaussian, leak, epsilon, delta = (sum((part[i] for part in parts), Fraction(0)) for i in range(4))
        return gaussian * Fraction(self.caps.multiplier) ** 2, leak / Fraction(self.caps.leak), epsilon, delta


def history(first, steps):
    """The rows that some steps leave, and what they come to by fractions."""
    budget = PrivacyBudget(1.0, 1e-6)
    rows = [Row(1, created(budget, Neighbours.ZERO_OUT, 0.5, first, None), "")]
    sums, still_open = Sums(first), []
    for kind, value in steps:
        number = len(rows) + 1
        if kind in ("charge", "reserve"):
            rows.append(Row(number, charged("x", RELEASES, value, False, NOTHING, final=kind == "charge"), ""))
            sums.charge(number, value)
            still_open += [number] if kind == "reserve" else []
        elif kind == "raise":
            rows.append(Row(number, raised(budget, value), ""))
            sums.caps = value
        elif still_open:
            ending = still_open.pop(value % len(still_open))
            status = "spent" if kind == "settle" else "void"
            rows.append(Row(number, ended(entry_of(rows[ending - 1]), status, "x"), ""))
            if kind == "void":
                del sums.spent[ending]
    return rows, sums


@settings(max_examples=300)
@given(first=caps, steps=steps)
def test_a_state_is_the_sum_of_what_counts_in_shares_of_the_present_caps(first, steps):
    rows, sums = history(first, steps)
    state = state_of(rows)
    assert (state.gaussian, state.leak, state.epsilon, state.delta) == sums.shares()
    assert state.used == float(max(sums.shares()[:2]))
    for entry in state.entries:
        assert state.share_of(entry) == float(max(sums.shares(entry.number)[:2]))


@settings(max_examples=300)
@given(first=caps, steps=steps, charge=charges)
def test_a_charge_is_allowed_if_and_only_if_no_sum_exceeds_its_cap(first, steps, charge):
    boxes = (0.5, 0.25)
    rows, sums = history(Caps(first.multiplier, first.leak, boxes), steps)
    gaussian, leak, epsilon, delta = sums.shares()
    fits = (
        gaussian + Fraction(charge.gaussian) <= 1
        and leak + Fraction(charge.leak) <= 1
        and epsilon + Fraction(charge.epsilon) <= Fraction(boxes[0])
        and delta + Fraction(charge.delta) <= Fraction(boxes[1])
    )
    assert state_of(rows).allows(charge) == fits


@given(parts=st.integers(2, 40))
def test_parts_of_a_whole_fit_as_often_as_fractions_say_and_never_once_more(parts):
    first = Caps(1.0, 1e-6)
    charge = Charge(gaussian=1.0 / parts)
    rows = [Row(1, created(PrivacyBudget(1.0, 1e-6), Neighbours.ZERO_OUT, 0.5, first, None), "")]
    while state_of(rows).allows(charge):
        rows.append(Row(len(rows) + 1, charged("x", RELEASES, charge, False, NOTHING, final=True), ""))
    assert len(rows) - 1 == Fraction(1) // Fraction(1.0 / parts)


raises = st.lists(st.tuples(st.floats(1.0, 3.0), st.floats(1.0, 8.0)), max_size=3)


@settings(max_examples=25)
@given(raises=raises, multipliers=st.lists(st.floats(8.0, 200.0), min_size=1, max_size=4))
def test_a_file_charges_gaussian_releases_their_exact_share_whatever_the_cap_was_then(
    raises, multipliers, tmp_path_factory
):
    ledger = BudgetLedger(tmp_path_factory.mktemp("sums") / "ledger", epsilon=1.0, delta=1e-6)
    budget, spent = [1.0, 1e-6], Fraction(0)
    for place, multiplier in enumerate(multipliers):
        try:
            ledger.add(GaussianRelease(multiplier), what="mean")
            spent += Fraction(1) / Fraction(multiplier) ** 2
        except BudgetExceeded:
            state = ledger.state()
            assert spent + Fraction(1) / Fraction(multiplier) ** 2 > Fraction(state.caps.multiplier) ** -2 * (
                1 - Fraction(1, 2**40)
            )
        if place < len(raises):
            budget = [part * factor for part, factor in zip(budget, raises[place], strict=True)]
            ledger.raise_cap(*budget)
        state = ledger.state()
        exact = spent * Fraction(state.caps.multiplier) ** 2
        assert exact <= state.gaussian <= exact * (1 + Fraction(1, 2**40))


@pytest.mark.parametrize("factor", [1.5, 2.0, 10.0])
def test_probabilities_that_were_spent_are_the_same_after_a_cap_was_raised(tmp_path, factor):
    ledger = BudgetLedger(tmp_path / "ledger", epsilon=1.0, delta=1e-6)
    ledger.add(FailureAllowance(0.3 * ledger.state().caps.leak), what="a test that may fail")
    before = ledger.state()
    ledger.raise_cap(2.0, factor * 1e-6)
    after = ledger.state()
    assert math.isclose(after.caps.leak, factor * before.caps.leak, rel_tol=1e-6)
    assert after.leak * Fraction(after.caps.leak) == before.leak * Fraction(before.caps.leak)
    assert (
        after.gaussian / Fraction(after.caps.multiplier) ** 2 == before.gaussian / Fraction(before.caps.multiplier) ** 2
    )
