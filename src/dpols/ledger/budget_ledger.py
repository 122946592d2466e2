"""A privacy budget that many fits share, also from several processes, each planned after seeing the earlier ones.

What a fit may release is reserved before it touches the data, and counts from then on. The reservation is settled when
the fit ends, and void where it failed before its first release (`held`); one that is left open counts as spent. What
may be spent in all is a proved privacy filter (`dpols.privacy.filter`, `docs/ledger.md`).
"""

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from ..errors import BudgetExceeded, LedgerError, ParameterError, quoted
from ..privacy import (
    GaussianRelease,
    Neighbours,
    PrivacyBudget,
    Release,
)
from ..privacy.filter import Caps
from .about import NOTHING, About, why_another
from .charging import charge_under, gaussian_left, worst_of
from .records import Entry, Groups, State, Status, charged, created, ended, entry_of, raised, state_of
from .refusals import no_reservation, of_another_relation, of_another_table, over_the_cap
from .store import Row, Store


class BudgetLedger:
    """A budget in a file, for all releases about one data set.

    However the releases are chosen, each after seeing the results of the earlier ones, together they are
    (epsilon, delta)-private. Fits with "zero-out" and with "replace-one" neighbours can share a ledger. Those with
    "add-remove", which keep the number of rows private, need one of their own.

    Parameters
    ----------
    path : str or path
        The ledger's file (SQLite). It is created where there is none and ``epsilon`` and ``delta`` are given.
    epsilon, delta : float, optional
        What all releases together may cost. For an existing ledger they may be left out, and must agree if given.
    neighbours : "zero-out", "replace-one" or "add-remove", default="zero-out"
        Which two data sets the ledger's guarantee makes hard to distinguish.
    failure_share : float, default=0.5
        Share of delta for what is not Gaussian: tails of sketches, eigenvalue bounds that fail, deltas of black
        boxes. With 0 only Gaussian releases can be charged, and they get all of delta.
    black_boxes : (epsilon, delta), optional
        Part of the budget that is set apart for black boxes, which are all that is known of methods that plan in
        stages and of other tools. Their epsilons and deltas are added up; without such a part they are charged like
        Gaussian releases that reveal as much, which is cheap for many small ones and expensive for a few large ones.
    data : str, optional
        What the data set is called. A ledger that is opened under another name is refused.

    Examples
    --------
    >>> import os, tempfile
    >>> from dpols import BudgetLedger
    >>> from dpols.privacy import GaussianRelease
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = BudgetLedger(os.path.join(folder.name, "patients.ledger"), epsilon=1.0, delta=1e-6)
    >>> entry = ledger.add(GaussianRelease(20.0), what="mean age")
    >>> round(ledger.state().used, 3)
    0.048
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        neighbours: str | None = None,
        failure_share: float | None = None,
        black_boxes: tuple[float, float] | None = None,
        data: str | None = None,
    ) -> None:
        self._store = Store(_file_at(path))
        self._note: str | None = None
        self._same_data = False
        if not isinstance(data, str | None):
            raise ParameterError(f"data={quoted(data)} must be a text, the name of the data set.")
        if (epsilon is None) != (delta is None):
            raise ParameterError("epsilon and delta of a ledger belong together: give both, or neither to open one.")
        if epsilon is not None and delta is not None:
            budget = PrivacyBudget(epsilon, delta)
            relation = Neighbours.of(neighbours or Neighbours.ZERO_OUT)
            share = 0.5 if failure_share is None else failure_share
            caps = Caps.of(
                budget.for_zero_out(relation), failure_share=share, black_boxes=_pair(black_boxes or (0.0, 0.0))
            )
            if self._store.is_empty():
                self._store.create(created(budget, relation, float(share), caps, data))
        given: dict[str, Any] = {"neighbours": neighbours, "failure_share": failure_share, "data": data}
        given |= {"epsilon": epsilon, "delta": delta}
        if black_boxes is not None:
            given["black_boxes"] = _pair(black_boxes)
        self._check_agreement(given)

    @property
    def path(self) -> Path:
        """The ledger's file."""
        return self._store.path

    def noted(self, note: str | None = None, *, same_data: bool = False) -> "BudgetLedger":
        """Return the same ledger, whose charges carry a note.

        ``same_data`` says that they are about the ledger's data set, although their columns or ranges look otherwise.
        """
        if not isinstance(note, str | None):
            raise ParameterError(f"note={quoted(note)} must be a text.")
        made = BudgetLedger(self.path)
        made._note, made._same_data = note, bool(same_data)
        return made

    def state(self) -> State:
        """Return what the ledger allows and what has been charged."""
        return state_of(self._store.rows())

    def entries(self) -> tuple[Entry, ...]:
        """Return all charges, oldest first, those that are void included."""
        return self.state().entries

    def head(self) -> str:
        """Return number and hash of the last row: noted down elsewhere, it proves later that no row is missing."""
        return self._store.rows()[-1].head

    def add(self, *releases: Release, what: str) -> Entry:
        """Charge releases that are about to be made, also elsewhere, or raise BudgetExceeded and charge nothing.

        Their description must hold when one row is replaced by nothing: the multiplier of a `GaussianRelease` is the
        noise's standard deviation over how far that moves the value, and an `OpaqueRelease` is (epsilon, delta)-private
        in this sense.
        """
        if not releases:
            raise ParameterError("there is nothing to charge; pass the releases, such as GaussianRelease(20.0).")
        return self._charge([releases], what, About(note=self._note), final=True)

    def reserve(
        self,
        groups: Iterable[Sequence[Release]],
        *,
        what: str,
        relation: Neighbours | None = None,
        about: About = NOTHING,
    ) -> Entry:
        """Charge releases of which each row of the data enters one group only, whichever that is.

        When this returns, the charge is on disk and the releases may be made. It counts as spent until it is void,
        which it can become only before it is settled. ``relation`` says which neighbours the releases are for; None
        stands for those of the ledger. ``about`` says which columns they are of, and is refused where it seems to be
        another table than before.
        """
        kept = self.state().neighbours
        if relation is not None and relation.rows_are_public != kept.rows_are_public:
            raise LedgerError(of_another_relation(self.path, kept, relation))
        return self._charge(groups, what, replace(about, note=self._note or about.note), final=False)

    def settle(self, reservation: Entry, *, outcome: str = "released", report: str = "") -> Entry:
        """Say that the releases of a reservation were made, or may have been: from then on it cannot be void.

        ``report`` is the hash of the report on them, by which `dpols verify` finds a report that was changed.
        BudgetExceeded is raised where it is void already, or not in the ledger, so that nothing pays for the releases.
        """
        return self._end(reservation.number, "spent", outcome, sha256=reservation.sha256, report=report)

    def void(self, reservation: Entry | int, *, why: str) -> Entry:
        """Give back what an open reservation, or that of a row's number, takes, as nothing of it was ever released.

        A fit that fails before its first release does so by itself. One that was killed cannot: its reservation stays
        open until whoever owns the ledger knows that nobody has seen anything of it, and says so here. A fit that is
        still running then returns nothing.
        """
        if isinstance(reservation, Entry):
            return self._end(reservation.number, "void", why, sha256=reservation.sha256)
        return self._end(reservation, "void", why)

    def _charge(self, groups: Iterable[Sequence[Release]], what: str, about: About, *, final: bool) -> Entry:
        fixed: Groups = tuple(tuple(group) for group in groups)
        if not isinstance(what, str):
            raise ParameterError(f"what={quoted(what)} must be a text that says what is released.")
        charge_under(self.state(), fixed)  # the slow part, remembered, so that others wait for the file but shortly

        def content(rows: list[Row]) -> Any:
            state = state_of(rows)
            why = None if self._same_data else why_another(about, (entry.about for entry in state.counted))
            if why is not None:
                raise LedgerError(of_another_table(self.path, why))
            charge, whole = charge_under(state, fixed)
            if not (whole or state.allows(charge)):
                by_noise = final and all(isinstance(release, GaussianRelease) for release in chain(*fixed))
                raise BudgetExceeded(over_the_cap(self.path, state, charge, what, by_noise=by_noise))
            return charged(what, fixed, charge, whole, about, final=final)

        return entry_of(self._store.append(content))

    def _end(self, number: int, status: Status, outcome: str, *, sha256: str | None = None, report: str = "") -> Entry:
        if not isinstance(outcome, str):
            raise ParameterError(f"{quoted(outcome)} must be a text that says how a reservation ended.")
        found: list[Entry] = []

        def content(rows: list[Row]) -> Any:
            found[:] = (entry for entry in state_of(rows).entries if entry.number == number)
            error = BudgetExceeded if status == "spent" else LedgerError
            if not found and sha256 is None:
                raise error(no_reservation(self.path, number, state_of(rows)))
            if not found or sha256 not in (None, found[0].sha256):
                raise error(f"row {number} of ledger {str(self.path)!r} is not the reservation that was made.")
            if found[0].status != "open":
                raise error(f"row {number} of ledger {str(self.path)!r} is {found[0].status} and not open any more.")
            return ended(found[0], status, outcome, report)

        self._store.append(content)
        return replace(found[0], status=status, outcome=outcome, report=report)

    def affords(self, *releases: Release) -> bool:
        """Return whether releases could be charged now."""
        state = self.state()
        charge, whole = charge_under(state, (releases,))
        return whole or state.allows(charge)

    def gaussian_left(self, delta: float | None = None) -> float:
        """Return the epsilon, at ``delta``, of the largest Gaussian release that can still be charged."""
        return gaussian_left(self.state(), delta)

    def raise_cap(self, epsilon: float, delta: float) -> None:
        """Raise what all releases, the past ones included, may cost; it can never be lowered again.

        From then on the ledger's guarantee is that of the higher cap.
        """
        budget = PrivacyBudget(epsilon, delta)

        def content(rows: list[Row]) -> Any:
            state = state_of(rows)
            if state.closed:
                raise LedgerError(
                    f"one entry took the whole ledger {str(self.path)!r}, so its cap cannot be raised. Create another "
                    "ledger; the epsilons and deltas of the two add up."
                )
            caps = Caps.of(
                budget.for_zero_out(state.neighbours),
                failure_share=state.failure_share,
                black_boxes=state.caps.black_boxes,
            )
            if budget.epsilon < state.budget.epsilon or budget.delta < state.budget.delta:
                raise ParameterError(f"{budget} is below the present cap {state.budget}; a cap can only be raised.")
            if not (caps.multiplier <= state.caps.multiplier < math.inf and caps.leak >= state.caps.leak):
                raise ParameterError(f"{budget} does not raise every part of the present cap {state.budget}.")
            return raised(budget, caps)

        self._store.append(content)

    def check(self, head: str | None = None) -> str:
        """Return the head if the history is whole, and raise LedgerError if it is not.

        With a ``head`` that was noted down, also a history that was cut, forged or put back as a whole is found.
        """
        rows = self._store.rows()
        state_of(rows)
        if head is not None and head not in (row.head for row in rows):
            raise LedgerError(
                f"ledger {str(self.path)!r} does not contain the head {head!r} that was noted down: rows were cut off "
                "or forged, or an old copy was put back."
            )
        return rows[-1].head

    def to_dp_accounting(self, *, recorded: bool = False, interval: float = 1e-4) -> Any:
        """Return a privacy loss distribution of Google's dp-accounting, to compose with an organisation's others.

        By default that of everything the ledger may ever release, which holds however releases are planned. With
        ``recorded`` that of the releases so far, which holds only if all of them had been fixed in advance.
        """
        from ..privacy.loss_distribution import loss_distribution

        state = self.state()
        if recorded:
            if any(len(entry.groups) > 1 for entry in state.counted):
                raise LedgerError("a row entered one of several groups of releases; export the cap instead.")
            return loss_distribution([r for entry in state.counted for r in entry.releases], interval=interval)
        return loss_distribution(worst_of(state), interval=interval)

    def __repr__(self) -> str:
        return f"BudgetLedger({str(self.path)!r})"

    def _repr_html_(self) -> str:
        from .words import in_a_notebook

        return in_a_notebook(self.path, self.state(), self.head())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BudgetLedger) and self.path == other.path

    def __hash__(self) -> int:
        return hash(self.path)

    def __copy__(self) -> "BudgetLedger":
        return self

    def __deepcopy__(self, memo: Any) -> "BudgetLedger":
        return self  # copies of an estimator share its ledger

    def __reduce__(self) -> Any:
        return _reopened, (str(self.path), self._note, self._same_data)

    def _check_agreement(self, given: dict[str, Any]) -> None:
        state = self.state()
        found = {
            "neighbours": str(state.neighbours),
            "failure_share": state.failure_share,
            "epsilon": state.budget.epsilon,
            "delta": state.budget.delta,
            "black_boxes": state.caps.black_boxes,
            "data": state.data,
        }
        for name, value in given.items():
            if value is not None and value != found[name]:
                raise ParameterError(
                    f"{name}={value!r} is not that of ledger {str(self.path)!r}, which is {found[name]!r}. Leave it "
                    "out, or raise the cap with raise_cap."
                )


def _file_at(path: str | os.PathLike[str]) -> Path:
    """Return the whole path of a file; LedgerError is raised where no file can have it."""
    file = Path(path).absolute()
    try:
        str(file).encode()  # as SQLite is given it
        file.lstat()
    except FileNotFoundError:
        return file
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is no text that can be a name"
        raise LedgerError(f"ledger {str(file)!r} cannot be there ({why}).") from None
    return file


def _reopened(path: str, note: str | None, same_data: bool) -> BudgetLedger:
    return BudgetLedger(path).noted(note, same_data=same_data)


def as_ledger(ledger: Any) -> BudgetLedger | None:
    """Return a ledger from what an estimator was given: a ledger, the path of one, or None."""
    if ledger is None or isinstance(ledger, BudgetLedger):
        return ledger
    if isinstance(ledger, str | os.PathLike):
        return BudgetLedger(ledger)
    raise ParameterError(f"ledger={quoted(ledger)} must be a dpols.BudgetLedger, or the path of one.")


def _pair(black_boxes: Any) -> tuple[float, float]:
    try:
        epsilon, delta = black_boxes
        return float(epsilon), float(delta)
    except (TypeError, ValueError):
        raise ParameterError(f"black_boxes={quoted(black_boxes)} must be a pair (epsilon, delta).") from None
