"""A ledger's file: what it allows, what it remembers, and what it notices."""

import copy
import hashlib
import math
import pickle
import sqlite3
from contextlib import closing

import pytest

from dpols import BudgetLedger
from dpols.errors import BudgetExceeded, LedgerError, ParameterError
from dpols.ledger import as_ledger
from dpols.privacy import (
    FailureAllowance,
    GaussianRelease,
    MixingRelease,
    OpaqueRelease,
    PrivacyBudget,
    delta_of,
    epsilon_of,
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "some budget.ledger"


@pytest.fixture
def ledger(path):
    return BudgetLedger(path, epsilon=2.0, delta=1e-6)


def quarter(ledger):
    """A Gaussian release that takes exactly a quarter of a ledger."""
    return GaussianRelease(2.0 * ledger.state().caps.multiplier)


def change(path, statement, *values):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement, values)


def test_a_quarter_fits_four_times_and_not_once_more(ledger):
    for number in range(4):
        assert ledger.add(quarter(ledger), what="mean").number == number + 2
    assert ledger.state().used == 1.0
    before = ledger.head()
    with pytest.raises(BudgetExceeded, match=r"0\.0001 % of the ledger .* of which 0 % is left"):
        ledger.add(GaussianRelease(1e3 * ledger.state().caps.multiplier), what="mean")
    assert ledger.head() == before
    assert ledger.gaussian_left() == 0.0


def test_charges_of_all_kinds_stay_within_the_budget_by_joint_accounting(ledger):
    kinds = [GaussianRelease(9.0)], [MixingRelease(80, 60.0), FailureAllowance(1e-9)], [OpaqueRelease(0.05, 1e-9)]
    turn = 0
    while ledger.affords(*kinds[turn % 3]):
        ledger.add(*kinds[turn % 3], what="turn")
        turn += 1
    with pytest.raises(BudgetExceeded):
        ledger.add(*kinds[turn % 3], what="turn")
    assert len(ledger.entries()) == turn > 10
    releases = [release for entry in ledger.entries() for release in entry.releases]
    assert 0.5e-6 * 1e-3 < delta_of(releases, 2.0) <= 1e-6
    assert epsilon_of(releases, 1e-6) > 1.5  # far beyond the sum rule, and not wasteful


def test_it_is_found_again_by_its_path_with_the_same_numbers_only(ledger, path):
    ledger.add(quarter(ledger), what="mean")
    again = BudgetLedger(path)
    assert again == ledger
    assert again.state() == ledger.state()
    assert again.state().budget == PrivacyBudget(2.0, 1e-6)
    assert BudgetLedger(path, epsilon=2.0, delta=1e-6).entries() == ledger.entries()
    for wrong in ({"epsilon": 3.0}, {"delta": 1e-5}, {"neighbours": "replace-one"}, {"failure_share": 0.1}):
        with pytest.raises(ParameterError, match=f"{next(iter(wrong))}=.* is not that of ledger"):
            BudgetLedger(path, **{"epsilon": 2.0, "delta": 1e-6} | wrong)
    with pytest.raises(ParameterError, match="belong together"):
        BudgetLedger(path, epsilon=1.0)


def test_copies_share_the_file(ledger):
    entry = pickle.loads(pickle.dumps(ledger)).add(quarter(ledger), what="mean")
    assert copy.deepcopy(ledger).entries() == (entry,)
    assert copy.copy(ledger) is ledger
    assert as_ledger(str(ledger.path)) == ledger
    assert as_ledger(None) is None
    with pytest.raises(ParameterError, match="ledger=3"):
        as_ledger(3)


def test_a_ledger_that_is_gone_is_not_made_anew(ledger):
    sent = pickle.dumps(ledger)
    ledger.path.unlink()
    with pytest.raises(LedgerError, match="there is no ledger"):
        ledger.add(GaussianRelease(100.0), what="mean")
    with pytest.raises(LedgerError, match="there is no ledger"):
        pickle.loads(sent)
    assert not ledger.path.exists()


def test_the_first_fit_may_take_it_all_and_is_then_the_last(path):
    ledger = BudgetLedger(path, epsilon=1.0, delta=1e-6)
    everything = OpaqueRelease(1.0, 1e-6)
    assert not ledger.affords(OpaqueRelease(1.0, 1.1e-6))
    entry = ledger.add(everything, what="one big fit")
    assert entry.whole
    assert ledger.state().used == 1.0
    with pytest.raises(BudgetExceeded):
        ledger.add(GaussianRelease(1e9), what="anything")
    with pytest.raises(LedgerError, match="took the whole ledger"):
        ledger.raise_cap(3.0, 1e-5)


def test_only_the_first_fit_may_take_it_all(ledger):
    ledger.add(GaussianRelease(1e6), what="next to nothing")
    with pytest.raises(BudgetExceeded):
        ledger.add(OpaqueRelease(2.0, 1e-6), what="one big fit")


def test_black_boxes_are_added_up_in_the_part_that_is_theirs(path):
    ledger = BudgetLedger(path, epsilon=2.0, delta=1e-6, black_boxes=(1.0, 4e-7))
    for _ in range(4):
        entry = ledger.add(OpaqueRelease(0.25, 1e-7), what="stage")
        assert (entry.charge.epsilon, entry.charge.delta, entry.charge.gaussian) == (0.25, 1e-7, 0.0)
    assert ledger.state().used == 0.0
    with pytest.raises(BudgetExceeded):
        ledger.add(OpaqueRelease(1.0, 1e-9), what="stage")
    small = ledger.add(OpaqueRelease(0.01, 1e-9), what="a small one pays with a share of the rest")
    assert small.charge.epsilon == 0.0
    assert 0.0 < small.charge.gaussian < 0.05


def test_a_ledger_for_replace_one_has_caps_that_two_zero_out_steps_allow(path):
    ledger = BudgetLedger(path, epsilon=2.0, delta=1e-6, neighbours="replace-one")
    caps = ledger.state().caps
    everything = [GaussianRelease(caps.multiplier), FailureAllowance(caps.leak)]
    assert delta_of(everything, 2.0, relation="replace-one") <= 1e-6
    assert delta_of(everything, 1.9, relation="replace-one") > 1e-6


def test_a_raised_cap_counts_what_was_spent_before(ledger):
    for _ in range(4):
        ledger.add(quarter(ledger), what="mean")
    spent = 1.0 / ledger.state().caps.multiplier ** 2
    ledger.raise_cap(4.0, 2e-6)
    state = ledger.state()
    assert state.budget == PrivacyBudget(4.0, 2e-6)
    assert float(state.gaussian) == pytest.approx(spent * state.caps.multiplier**2, rel=1e-12)
    left = 1.0 - float(state.gaussian)
    ledger.add(GaussianRelease(1.000001 * state.caps.multiplier / math.sqrt(left)), what="the rest")
    assert epsilon_of([r for e in ledger.entries() for r in e.releases], 1e-6) == pytest.approx(4.0, rel=1e-4)
    for lower in ((3.0, 2e-6), (4.0, 1e-6)):
        with pytest.raises(ParameterError, match="can only be raised"):
            ledger.raise_cap(*lower)


@pytest.mark.parametrize(
    ("statement", "values"),
    [
        ("UPDATE history SET content = replace(content, 'mean', 'mode') WHERE number = 3", ()),
        ("UPDATE history SET content = replace(content, '\"gaussian\": 0.25', '\"gaussian\": 0.05')", ()),
        ("UPDATE history SET content = replace(content, '\"epsilon\": 2.0', '\"epsilon\": 9.0') WHERE number = 1", ()),
        ("UPDATE history SET sha256 = ? WHERE number = 3", ("0" * 64,)),
        ("DELETE FROM history WHERE number = 3", ()),
        ("DELETE FROM history WHERE number = 1", ()),
        ("DELETE FROM history WHERE number = 4", ()),
        ("DELETE FROM history", ()),
        ("DELETE FROM head", ()),
        ("INSERT INTO history SELECT 5, content, sha256 FROM history WHERE number = 4", ()),
        ("UPDATE history SET number = 30 WHERE number = 3", ()),
    ],
)
def test_tampering_is_found_and_stops_all_releases(ledger, statement, values):
    for _ in range(3):
        ledger.add(quarter(ledger), what="mean")
    ledger.check()
    change(ledger.path, statement, *values)
    for look in (ledger.check, ledger.state, ledger.head, lambda: ledger.add(GaussianRelease(1e6), what="more")):
        with pytest.raises(LedgerError, match="has been changed"):
            look()


def test_rows_cut_off_or_an_old_copy_are_found_by_a_head_that_was_noted(ledger):
    old = ledger.path.read_bytes()
    ledger.add(quarter(ledger), what="mean")
    noted = ledger.head()
    ledger.add(quarter(ledger), what="mean")
    assert ledger.check(noted) == ledger.head() != noted
    ledger.path.write_bytes(old)
    assert ledger.check() != noted
    with pytest.raises(LedgerError, match="that was noted down"):
        ledger.check(noted)


def test_what_is_no_ledger_is_refused(tmp_path):
    text = tmp_path / "text"
    text.write_text("no database at all, but long enough to be taken for one" * 20)
    with pytest.raises(LedgerError, match="cannot be used"):
        BudgetLedger(text)
    other = tmp_path / "other"
    change(other, "CREATE TABLE history (number)")
    with pytest.raises(LedgerError, match="is not a dpols ledger"):
        BudgetLedger(other)
    with pytest.raises(LedgerError, match="is not a dpols ledger"):
        BudgetLedger(other, epsilon=1.0, delta=1e-6)
    with pytest.raises(LedgerError, match="does not exist"):
        BudgetLedger(tmp_path / "no" / "folder", epsilon=1.0, delta=1e-6)
    newer = BudgetLedger(tmp_path / "newer", epsilon=1.0, delta=1e-6)
    change(newer.path, "PRAGMA user_version = 99")
    with pytest.raises(LedgerError, match="version 99"):
        newer.state()


def test_nothing_and_nonsense_are_not_charged(ledger):
    with pytest.raises(ParameterError, match="nothing to charge"):
        ledger.add(what="nothing")
    with pytest.raises(ParameterError, match="what=3"):
        ledger.add(GaussianRelease(100.0), what=3)
    assert ledger.entries() == ()


def test_a_row_that_was_changed_together_with_its_own_hash_is_found(ledger):
    for _ in range(3):
        ledger.add(quarter(ledger), what="mean")
    with closing(sqlite3.connect(ledger.path)) as connection, connection:
        rows = connection.execute("SELECT content, sha256 FROM history ORDER BY number").fetchall()
        content = rows[1][0].replace('"gaussian": 0.25', '"gaussian": 0.01')
        forged = hashlib.sha256(f"2\n{rows[0][1]}\n{content}".encode()).hexdigest()
        connection.execute("UPDATE history SET content = ?, sha256 = ? WHERE number = 2", (content, forged))
    with pytest.raises(LedgerError, match="row 3 is not what was written"):
        ledger.check()


def test_a_leak_that_is_used_up_stays_so_when_only_epsilon_is_raised(ledger):
    ledger.add(FailureAllowance(0.9 * ledger.state().caps.leak), what="a test that may fail")
    assert ledger.state().used == pytest.approx(0.9, rel=1e-2)
    ledger.raise_cap(20.0, 1e-6)
    state = ledger.state()
    assert state.gaussian < 0.2 < 0.89 < state.leak
    with pytest.raises(BudgetExceeded):
        ledger.add(FailureAllowance(0.2 * state.caps.leak), what="another")
    ledger.add(GaussianRelease(3.0 * state.caps.multiplier), what="mean")


@pytest.mark.parametrize(
    "name", ["a\0b", "x" * 300, "\udcff", "file/inner"], ids=["null", "long", "no text", "in a file"]
)
@pytest.mark.parametrize("budget", [{}, {"epsilon": 1.0, "delta": 1e-6}], ids=["open", "create"])
def test_a_name_that_no_file_can_have_is_refused(name, budget, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(LedgerError, match="cannot be there"):
        BudgetLedger(tmp_path / name, **budget)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
