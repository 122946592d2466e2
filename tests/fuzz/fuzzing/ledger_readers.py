"""Ledgers of spent budgets: as bytes, and as rows whose chain of hashes was forged along with them."""

import json
import sqlite3
from contextlib import suppress
from pathlib import Path

from dpols.errors import DpolsError
from dpols.ledger import BudgetLedger
from dpols.ledger.store import Store
from dpols.privacy import GaussianRelease

from .guided import NeverFed, require

_PROBE = GaussianRelease(50.0)


def feed_ledger(data: bytes, folder: Path) -> None:
    """Open a ledger file, read all that it says, and charge it."""
    path = _cleared(folder)
    path.write_bytes(data)
    with suppress(DpolsError):
        BudgetLedger(path, epsilon=10.0, delta=1e-6)
    require(path.read_bytes() == data, "a file that is there was written to")
    _use(path)


def feed_forged_ledger(data: bytes, folder: Path) -> None:
    """Open a ledger whose rows were changed by someone who knows how to compute their hashes."""
    path = _cleared(folder)
    try:
        first, *others = json.loads(data)
        store = Store(path)
        store.create(first)
        for content in others[:20]:
            _forged(path, content)
    except (ValueError, TypeError, RecursionError, sqlite3.Error):
        raise NeverFed from None  # no rows that could be written
    _use(path)


def _use(path: Path) -> None:
    ledger = BudgetLedger(path)
    state = ledger.state()
    require(len(ledger.entries()) == len(state.entries), "entries are lost")
    before = len(state.entries)
    head = ledger.check()
    require(head == ledger.head(), "another head")
    if ledger.affords(_PROBE):
        entry = ledger.add(_PROBE, what="a probe")
        require(len(ledger.entries()) == before + 1 and ledger.entries()[-1] == entry, "a charge is lost")
        require(ledger.state().used >= state.used, "a charge lowers what is used")
        counted, sums = ledger.state().counted, _sums(ledger)
        if ledger.affords(_PROBE):
            ledger.void(ledger.reserve([[_PROBE]], what="a probe"), why="a probe")
            require(ledger.state().counted == counted and _sums(ledger) == sums, "a void charge counts")
    ledger.gaussian_left()
    require(all(state.share_of(entry) >= 0.0 for entry in state.entries), "a negative share")
    used = ledger.state().used
    with suppress(DpolsError):
        ledger.raise_cap(2.0 * state.budget.epsilon, state.budget.delta)
        require(ledger.state().used <= used, "a raised cap raises what is used")
    repr(ledger)


def _sums(ledger: BudgetLedger) -> tuple[object, ...]:
    state = ledger.state()
    return state.gaussian, state.leak, state.epsilon, state.delta, state.closed


def _forged(path: Path, content: object) -> None:
    """Append a row as the store does, whatever it holds."""
    Store(path).append(lambda rows: content)  # type: ignore[arg-type, return-value]


def _cleared(folder: Path) -> Path:
    for file in folder.glob("ledger*"):
        file.unlink()
    return folder / "ledger.db"
