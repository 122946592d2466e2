"""A reservation counts until it is void, can be void only while it is open, and ends by a row of its own."""

import json
import math
import sqlite3
from contextlib import closing
from fractions import Fraction

import pytest

from dpols import BudgetLedger
from dpols.errors import BudgetExceeded, DataError, LedgerError, ParameterError
from dpols.ledger.holding import held
from dpols.ledger.store import Store
from dpols.privacy import GaussianRelease, OpaqueRelease

RELEASE = GaussianRelease(20.0)


@pytest.fixture
def ledger(tmp_path):
    return BudgetLedger(tmp_path / "ledger", epsilon=2.0, delta=1e-6)


def kinds(ledger):
    return [row.content["kind"] for row in Store(ledger.path).rows()]


def statuses(ledger):
    return [entry.status for entry in ledger.entries()]


def test_a_reservation_counts_while_it_is_open(ledger):
    entry = ledger.reserve([[RELEASE]], what="a fit")
    assert entry.status == "open"
    assert ledger.entries() == (entry,)
    assert ledger.state().used == entry.charge.gaussian > 0.0


def test_it_counts_when_it_is_settled_and_not_when_it_is_void(ledger):
    kept, dropped = (ledger.reserve([[RELEASE]], what=what) for what in ("kept", "dropped"))
    settled = ledger.settle(kept, outcome="returned")
    voided = ledger.void(dropped, why="DataError")
    assert ledger.entries() == (settled, voided)
    assert (settled.status, settled.outcome) == ("spent", "returned")
    assert (voided.status, voided.outcome) == ("void", "DataError")
    assert ledger.state().gaussian == Fraction(kept.charge.gaussian)
    assert ledger.state().counted == (settled,)


def test_the_history_only_grows(ledger):
    heads = [ledger.head()]
    entry = ledger.reserve([[RELEASE]], what="a fit")
    heads.append(ledger.head())
    ledger.void(entry, why="nothing was released")
    heads.append(ledger.head())
    assert kinds(ledger) == ["created", "reservation", "void"]
    assert all(ledger.check(head) == heads[-1] for head in heads)
    with closing(sqlite3.connect(ledger.path)) as connection, connection:
        connection.execute("UPDATE history SET content = replace(content, '\"row\": 2', '\"row\": 1') WHERE number = 3")
    with pytest.raises(LedgerError, match="row 3 is not what was written"):
        ledger.state()


@pytest.mark.parametrize("first", ["settle", "void"])
def test_a_reservation_ends_once(ledger, first):
    entry = ledger.reserve([[RELEASE]], what="a fit")
    (ledger.settle if first == "settle" else lambda e: ledger.void(e, why="no"))(entry)
    before = ledger.head()
    with pytest.raises(BudgetExceeded, match="not open any more"):
        ledger.settle(entry)
    with pytest.raises(LedgerError, match="not open any more"):
        ledger.void(entry, why="again")
    assert ledger.head() == before


def test_what_was_charged_for_good_cannot_be_void(ledger):
    entry = ledger.add(RELEASE, what="made elsewhere")
    assert entry.status == "spent"
    for row in (entry, entry.number):
        with pytest.raises(LedgerError, match=r"row 2 .* is spent"):
            ledger.void(row, why="I would like it back")
    for row in (1, 99, 0, -1):
        with pytest.raises(LedgerError, match="no reservation"):
            ledger.void(row, why="no such row")
    with pytest.raises(ParameterError, match="text"):
        ledger.void(2, why=None)
    assert ledger.state().counted == (entry,)


def test_a_reservation_of_another_ledger_is_not_taken_for_this_ones(ledger, tmp_path):
    other = BudgetLedger(tmp_path / "other", epsilon=2.0, delta=1e-6)
    entry = ledger.reserve([[RELEASE]], what="a fit")
    other.reserve([[RELEASE]], what="another fit, in the same row")
    with pytest.raises(LedgerError, match="not the reservation"):
        other.void(entry, why="mistaken")
    with pytest.raises(BudgetExceeded, match="not the reservation"):
        other.settle(entry)


def test_a_void_reservation_leaves_room_for_another(ledger):
    multiplier = ledger.state().caps.multiplier * 1.1
    entry = ledger.reserve([[GaussianRelease(multiplier)]], what="nearly all")
    with pytest.raises(BudgetExceeded):
        ledger.reserve([[GaussianRelease(multiplier)]], what="nearly all again")
    ledger.void(entry, why="nothing was released")
    assert ledger.state().used == 0.0
    ledger.reserve([[GaussianRelease(multiplier)]], what="nearly all again")


def test_the_whole_ledger_can_be_given_back(ledger):
    everything = [[OpaqueRelease(2.0, 1e-6)]]
    entry = ledger.reserve(everything, what="all")
    assert entry.whole
    assert ledger.state().closed
    with pytest.raises(LedgerError, match="took the whole ledger"):
        ledger.raise_cap(3.0, 1e-6)
    ledger.void(entry, why="nothing was released")
    assert not ledger.state().closed
    assert ledger.reserve(everything, what="all").whole
    with pytest.raises(BudgetExceeded):
        ledger.add(RELEASE, what="one more")


def test_black_boxes_are_given_back(tmp_path):
    ledger = BudgetLedger(tmp_path / "boxes", epsilon=2.0, delta=1e-6, black_boxes=(0.5, 1e-7))
    entry = ledger.reserve([[OpaqueRelease(0.5)]], what="box")
    assert ledger.state().epsilon == Fraction(1, 2)
    ledger.void(entry, why="nothing was released")
    assert ledger.state().epsilon == 0


def test_a_cap_that_was_raised_in_between_makes_no_difference(ledger):
    dropped = ledger.reserve([[RELEASE]], what="dropped")
    kept = ledger.reserve([[RELEASE]], what="kept")
    ledger.raise_cap(3.0, 2e-6)
    ledger.void(dropped, why="nothing was released")
    before, after = kept.charge.gaussian, float(ledger.state().gaussian)
    ratio = ledger.state().caps.multiplier / GaussianRelease(20.0).multiplier
    assert 0.0 < after < before
    assert after == pytest.approx(ratio**2)


@pytest.mark.parametrize(
    "forged",
    [
        {"kind": "void", "row": 2, "outcome": "x"},  # a charge that is final
        {"kind": "void", "row": 1, "outcome": "x"},
        {"kind": "void", "row": 9, "outcome": "x"},  # comes later, if at all
        {"kind": "settled", "row": 4, "outcome": "x"},  # ended already
        {"kind": "void", "row": True, "outcome": "x"},
        {"kind": "void", "row": 3.0, "outcome": "x"},
        {"kind": "void", "row": 3, "outcome": 7},
        {"kind": "void", "row": 3},
        {"kind": "void", "outcome": "x"},
    ],
    ids=repr,
)
def test_an_end_that_is_none_makes_the_ledger_unusable(ledger, forged):
    ledger.add(RELEASE, what="final")
    ledger.reserve([[RELEASE]], what="open")
    ledger.void(ledger.reserve([[RELEASE]], what="void"), why="x")
    Store(ledger.path).append(lambda rows: forged)
    with pytest.raises(LedgerError, match="cannot read"):
        ledger.state()


def test_an_export_of_what_was_recorded_leaves_out_what_is_void(ledger):
    pytest.importorskip("dp_accounting")
    ledger.reserve([[GaussianRelease(9.0)]], what="kept")
    alone = ledger.to_dp_accounting(recorded=True).get_epsilon_for_delta(1e-6)
    split = ledger.reserve([[GaussianRelease(9.0)], [GaussianRelease(8.0)]], what="void")
    with pytest.raises(LedgerError, match="several groups"):
        ledger.to_dp_accounting(recorded=True)
    ledger.void(split, why="nothing was released")
    assert ledger.to_dp_accounting(recorded=True).get_epsilon_for_delta(1e-6) == alone


@pytest.mark.parametrize("error", [DataError, KeyboardInterrupt, SystemExit, MemoryError])
@pytest.mark.parametrize("released", [False, True])
def test_a_run_that_fails_is_charged_only_if_it_released_something(ledger, error, released):
    def run():
        with held(ledger, [[RELEASE]], what="a run", released=lambda: released) as hold:
            assert hold.entry.status == "open"
            assert ledger.state().used > 0.0
            raise error

    with pytest.raises(error) as caught:
        run()
    assert statuses(ledger) == ["spent" if released else "void"]
    assert ledger.entries()[0].outcome == f"{error.__name__} {'after' if released else 'before'} the first release"
    (note,) = caught.value.__notes__
    assert ("stays charged" if released else "nothing is spent: row 2") in note


def test_a_run_that_ends_well_is_charged_also_if_it_drew_nothing(ledger):
    with held(ledger, [[RELEASE]], what="a run", released=lambda: False) as hold:
        pass
    assert ledger.entries() == (hold.entry,)
    assert (hold.entry.status, hold.entry.outcome) == ("spent", "released")


def test_what_is_refused_leaves_no_row(ledger):
    before = ledger.head()
    with (
        pytest.raises(BudgetExceeded) as caught,
        held(ledger, [[GaussianRelease(0.1)]], what="too much", released=lambda: False),
    ):
        raise AssertionError("entered")
    assert ledger.head() == before
    assert not hasattr(caught.value, "__notes__")


def test_without_a_ledger_errors_pass_unchanged():
    with pytest.raises(DataError) as caught, held(None, [], what="", released=lambda: False):
        raise DataError("bad")
    assert not hasattr(caught.value, "__notes__")


def test_a_run_whose_reservation_was_voided_meanwhile_returns_nothing(ledger):
    returned = False
    with pytest.raises(BudgetExceeded, match="void and not open"):  # noqa: PT012
        with held(ledger, [[RELEASE]], what="a run", released=lambda: True) as hold:
            ledger.void(hold.entry.number, why="its owner took it for dead")
        returned = True
    assert not returned
    assert statuses(ledger) == ["void"]


def test_a_run_whose_ledger_was_put_back_meanwhile_returns_nothing(ledger):
    old = ledger.path.read_bytes()
    with (
        pytest.raises(BudgetExceeded, match="not the reservation"),
        held(ledger, [[RELEASE]], what="a run", released=lambda: True),
    ):
        ledger.path.write_bytes(old)


def test_a_run_whose_ledger_vanished_meanwhile_returns_nothing(ledger):
    with (
        pytest.raises(LedgerError, match="there is no ledger"),
        held(ledger, [[RELEASE]], what="a run", released=lambda: True),
    ):
        ledger.path.unlink()


def test_an_error_is_raised_as_it_is_where_the_ledger_vanished(ledger):
    def run():
        with held(ledger, [[RELEASE]], what="a run", released=lambda: False):
            ledger.path.unlink()
            raise DataError("bad")

    with pytest.raises(DataError, match="bad") as caught:
        run()
    (note,) = caught.value.__notes__
    assert "cannot be read: there is no ledger" in note
    assert "counts as spent" not in note


@pytest.mark.parametrize("released", [True, False])
@pytest.mark.parametrize(
    ("change", "standing"),
    [
        (lambda ledger, old, row: ledger.void(row, why="by hand"), "is void, so that nothing counts for this run"),
        (lambda ledger, old, row: ledger.path.write_bytes(old), "is not the reservation that was made, so that"),
        (lambda ledger, old, row: ledger.path.write_bytes(b""), "cannot be read"),
    ],
    ids=["void by hand", "put back", "emptied"],
)
def test_a_note_says_how_a_row_stands_that_changed_under_a_run_that_fails(ledger, change, standing, released):
    old = ledger.path.read_bytes()

    def run():
        with held(ledger, [[RELEASE]], what="a run", released=lambda: released) as hold:
            change(ledger, old, hold.entry.number)
            raise DataError("bad")

    with pytest.raises(DataError, match="bad") as caught:
        run()
    (note,) = caught.value.__notes__
    assert f"and row 2 of ledger {str(ledger.path)!r} {standing}" in note
    assert note.startswith("Values had been drawn" if released else "Nothing was released")
    assert "counts as spent" not in note


def test_a_note_says_that_a_row_stays_open_where_its_end_could_not_be_written(ledger, monkeypatch):
    def full(*args, **kwargs):
        raise LedgerError("the disk is full")

    def run():
        with held(ledger, [[RELEASE]], what="a run", released=lambda: True):
            monkeypatch.setattr(BudgetLedger, "settle", full)
            raise DataError("bad")

    with pytest.raises(DataError, match="bad") as caught:
        run()
    assert "stays open and counts as spent: the disk is full" in caught.value.__notes__[-1]
    assert statuses(ledger) == ["open"]


def test_rows_hold_what_they_need_and_nothing_else(ledger):
    entry = ledger.reserve([[RELEASE]], what="a fit")
    ledger.void(entry, why="DataError before the first release")
    content = Store(ledger.path).rows()[-1].content
    assert content | {"time": ""} == {
        "kind": "void",
        "time": "",
        "row": 2,
        "outcome": "DataError before the first release",
        "report": "",
    }
    json.dumps(content, allow_nan=False)
    assert math.isfinite(ledger.gaussian_left())
