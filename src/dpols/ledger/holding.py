"""A charge for the time that something runs: reserved before, settled after, void where nothing was released.

Nothing is void once a value may have been drawn, although an error returns none: whether and how a run fails may then
depend on what it drew, and a progress bar, a warning or a traceback may have shown some of it. What has failed before
the first draw has told that it failed, and nothing else.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from ..errors import LedgerError, LedgerWarning
from ..privacy import Neighbours, Release
from .about import NOTHING, About
from .budget_ledger import BudgetLedger
from .records import Entry

_STANDING = {
    "open": "stays open and counts as spent",
    "spent": "is spent",
    "void": "is void, so that nothing counts for this run",
}


@dataclass
class Hold:
    """What a ledger holds for a run, None where there is no ledger, and the hash of the report on the run."""

    entry: Entry | None = None
    report: str = ""


@contextmanager
def held(
    ledger: BudgetLedger | None,
    groups: Iterable[Sequence[Release]],
    *,
    what: str,
    relation: Neighbours | None = None,
    about: About = NOTHING,
    released: Callable[[], bool],
) -> Iterator[Hold]:
    """Hold what some releases cost while the block makes them; ``released`` tells whether it may have begun to.

    Where the block ends by an error, also by an interrupt, the reservation is void if nothing was released, and settled
    otherwise; the error gets a note that says which. Where it ends well, its entry is settled, and the ledger is known
    to hold it when this returns. If the end cannot be written, the reservation stays as it is, mostly open, which
    counts as spent.
    """
    hold = Hold()
    if ledger is None:
        yield hold
        return
    try:
        hold.entry = ledger.reserve(groups, what=what, relation=relation, about=about)
        yield hold
    except BaseException as error:
        if hold.entry is not None:
            error.add_note(_after_failure(ledger, hold.entry, type(error).__name__, released()))
        raise
    hold.entry = _after_success(ledger, hold.entry, hold.report)


def _after_failure(ledger: BudgetLedger, entry: Entry, error: str, released: bool) -> str:
    """End the reservation of a run that failed, and say what became of it."""
    where = f"row {entry.number} of ledger {str(ledger.path)!r}"
    try:
        if released:
            ledger.settle(entry, outcome=f"{error} after the first release")
            return f"Values had been drawn from the data by then, so {where} stays charged."
        ledger.void(entry, why=f"{error} before the first release")
        return f"Nothing was released, and nothing is spent: {where} is void."
    except Exception as problem:
        drawn = "Values had been drawn from the data by then." if released else "Nothing was released."
        return f"{drawn} How it ended could not be written, and {where} {_standing(ledger, entry)}: {problem}"


def _standing(ledger: BudgetLedger, entry: Entry) -> str:
    """Say how a reservation stands whose end could not be written."""
    try:
        found = next((each for each in ledger.entries() if each.sha256 == entry.sha256), None)
    except Exception:  # no ledger that could be read, to which nothing can be charged either
        return "cannot be read"
    if found is None:
        return "is not the reservation that was made, so that nothing counts for this run"
    return _STANDING[found.status]


def _after_success(ledger: BudgetLedger, entry: Entry, report: str) -> Entry:
    """Settle the reservation of a run that may return what it drew, if the ledger holds it."""
    try:
        return ledger.settle(entry, report=report)
    except LedgerError as problem:
        if entry not in ledger.entries():
            raise
        warnings.warn(
            f"row {entry.number} of ledger {str(ledger.path)!r} could not be settled, so it stays open. It counts as "
            f"spent all the same, and must never be voided: {problem}",
            LedgerWarning,
            stacklevel=6,
        )
        return entry
