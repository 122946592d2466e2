"""What the rows of a ledger say, and what they add up to."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, Literal

from ..errors import LedgerError
from ..privacy import Neighbours, PrivacyBudget, Release
from ..privacy.cautions import NOT_PRIVATE
from ..privacy.filter import Caps, Charge
from ..privacy.plain import number_from, plain_number, release_from_data, release_to_data
from ..storage.plain_data import finite_number, flag, mapping, text, tuple_of, whole
from .about import NOTHING, About
from .store import Content, Row

Groups = tuple[tuple[Release, ...], ...]
Status = Literal["open", "spent", "void"]

_MOST_TIMES = 10**7
_SMALLEST, _LARGEST = 1e-60, 1e60


@dataclass(frozen=True)
class Entry:
    """One charge, as the ledger holds it.

    A row of the data enters one of the ``groups`` of releases only, most often the only one. ``whole`` says that the
    entry took the whole ledger. What is "open" or "spent" counts; what is "void" does not, as nothing was released.
    ``outcome`` says how an entry that was reserved ended, and ``report`` is the hash of the report on what it paid for.
    """

    number: int
    time: str
    what: str
    groups: Groups
    charge: Charge
    whole: bool
    sha256: str
    status: Status = "spent"
    outcome: str = ""
    report: str = ""
    about: About = NOTHING  # which columns, and labels

    @property
    def releases(self) -> tuple[Release, ...]:
        """Every release of the entry."""
        return tuple(release for group in self.groups for release in group)

    @property
    def why_not_private(self) -> str:
        """Why the guarantee does not hold for it, as it was charged; nothing where it does."""
        return self.what.partition(f"{NOT_PRIVATE}: ")[2]

    @property
    def identity(self) -> str:
        """The number and hash of its row, which no other entry has: it was a head of the history."""
        return f"{self.number}:{self.sha256}"


@dataclass(frozen=True)
class Cap:
    """What a ledger promised from a row on: that of its creation, or one that raised it."""

    number: int
    time: str
    budget: PrivacyBudget
    caps: Caps


@dataclass(frozen=True)
class State:
    """What a ledger allows, and what has been charged so far; sums are exact, and of what counts."""

    budget: PrivacyBudget
    neighbours: Neighbours
    failure_share: float
    caps: Caps
    gaussian: Fraction = Fraction(0)
    leak: Fraction = Fraction(0)
    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    entries: tuple[Entry, ...] = ()
    history: tuple[Cap, ...] = ()  # all caps that the ledger has had, the present one last
    data: str | None = None  # what the ledger's data set is called

    @property
    def counted(self) -> tuple[Entry, ...]:
        """The entries that count: all but those that are void."""
        return tuple(entry for entry in self.entries if entry.status != "void")

    @property
    def not_private(self) -> tuple[Entry, ...]:
        """The entries that count and are not private, so that the ledger promises nothing of what they released."""
        return tuple(entry for entry in self.counted if entry.why_not_private)

    @property
    def closed(self) -> bool:
        """Whether one entry took the whole ledger."""
        return any(entry.whole for entry in self.counted)

    @property
    def used(self) -> float:
        """Which share of the ledger is gone: the larger of those of its Gaussian part and of its leak."""
        return 1.0 if self.closed else float(max(self.gaussian, self.leak))

    @property
    def zero_out_budget(self) -> PrivacyBudget:
        """The zero-out budget that implies the ledger's."""
        return self.budget.for_zero_out(self.neighbours)

    def share_of(self, entry: Entry) -> float:
        """Return which share of the present cap an entry takes, also where it was charged under a lower one."""
        if entry.status == "void":
            return 0.0
        if entry.whole:
            return 1.0
        then = next(cap.caps for cap in reversed(self.history) if cap.number < entry.number)
        gaussian, leak = _rescaling(then, self.caps)
        return float(max(Fraction(entry.charge.gaussian) * gaussian, Fraction(entry.charge.leak) * leak))

    def allows(self, charge: Charge) -> bool:
        """Whether a charge fits beside all earlier ones."""
        if self.closed or math.inf in (charge.gaussian, charge.leak):
            return False
        epsilon, delta = map(Fraction, self.caps.black_boxes)
        then = _plus(self, charge)
        return then.gaussian <= 1 and then.leak <= 1 and then.epsilon <= epsilon and then.delta <= delta


def created(
    budget: PrivacyBudget, neighbours: Neighbours, failure_share: float, caps: Caps, data: str | None
) -> Content:
    """Return the first row of a ledger."""
    return {
        "kind": "created",
        "time": _now(),
        "neighbours": str(neighbours),
        "failure_share": failure_share,
        "black_boxes": list(caps.black_boxes),
        **({} if data is None else {"data": data}),
        **_capped(budget, caps),
    }


def raised(budget: PrivacyBudget, caps: Caps) -> Content:
    """Return the row of a higher cap."""
    return {"kind": "cap", "time": _now(), **_capped(budget, caps)}


def charged(what: str, groups: Groups, charge: Charge, whole: bool, about: About, *, final: bool) -> Content:
    """Return the row of a charge, or of a reservation where it is not final."""
    return {
        "kind": "charge" if final else "reservation",
        "time": _now(),
        "what": what,
        "groups": [releases_to_data(group) for group in groups],
        "charge": asdict(charge),
        "whole": whole,
        "about": about.to_data(),
    }


def ended(reservation: Entry, status: Status, outcome: str, report: str = "") -> Content:
    """Return the row of how a reservation ended."""
    kind = {"spent": "settled", "void": "void"}[status]
    return {"kind": kind, "time": _now(), "row": reservation.number, "outcome": outcome, "report": report}


def state_of(rows: Sequence[Row]) -> State:
    """Add up all rows of a ledger."""
    try:
        state = _opened(rows[0])
        ends, entries = _ends(rows), []
        for row in rows[1:]:
            match row.content["kind"]:
                case "cap":
                    state = _recapped(state, row)
                case "charge" | "reservation":
                    entry = entry_of(row, ends.get(row.number))
                    entries.append(entry)
                    state = state if entry.status == "void" else _plus(state, entry.charge)
                case "settled" | "void":
                    pass  # they say of which reservation they are the end
                case _:
                    raise ValueError("a row of no known kind")
    except (KeyError, TypeError, ValueError, IndexError, ArithmeticError) as error:
        raise LedgerError(f"the ledger has a row that this dpols cannot read ({type(error).__name__}).") from None
    return replace(state, entries=tuple(entries))


def releases_to_data(releases: Iterable[Release]) -> list[dict[str, Any]]:
    """Return releases as plain data, equal ones together."""
    return [{"times": times, **release_to_data(release)} for release, times in Counter(releases).items()]


def _releases_from_data(data: Iterable[dict[str, Any]]) -> tuple[Release, ...]:
    releases: list[Release] = []
    for line in data:
        release = {name: value for name, value in mapping(line).items() if name != "times"}
        if whole(line["times"]) > _MOST_TIMES:
            raise ValueError("more equal releases than a fit makes")
        releases += [release_from_data(release)] * line["times"]
    return tuple(releases)


def _opened(row: Row) -> State:
    content = row.content
    if content["kind"] != "created":
        raise ValueError("a ledger starts with its creation")
    cap = _cap(row, _pair(content["black_boxes"]))
    return State(
        budget=cap.budget,
        neighbours=Neighbours.of(content["neighbours"]),
        failure_share=_not_negative(content["failure_share"]),
        caps=cap.caps,
        history=(cap,),
        data=text(content["data"]) if "data" in content else None,
    )


def _recapped(state: State, row: Row) -> State:
    """Express what has been charged in shares of the new caps."""
    cap = _cap(row, state.caps.black_boxes)
    gaussian, leak = _rescaling(state.caps, cap.caps)
    return replace(
        state,
        budget=cap.budget,
        caps=cap.caps,
        gaussian=state.gaussian * gaussian,
        leak=state.leak * leak,
        history=(*state.history, cap),
    )


def _rescaling(before: Caps, now: Caps) -> tuple[Fraction, Fraction]:
    """Return by what shares of earlier caps, Gaussian and leak, become shares of the present ones."""
    if before == now:
        return Fraction(1), Fraction(1)
    ratio = Fraction(now.multiplier) / Fraction(before.multiplier)
    return ratio * ratio, Fraction(before.leak) / Fraction(now.leak) if now.leak else Fraction(1)


def _plus(state: State, charge: Charge) -> State:
    sums: dict[str, Any] = {part: getattr(state, part) + Fraction(value) for part, value in asdict(charge).items()}
    return replace(state, **sums)


def _ends(rows: Sequence[Row]) -> dict[int, Content]:
    """Return the ends of reservations, by their numbers; each is the end of one that was open until then."""
    still_open: set[int] = set()
    ends: dict[int, Content] = {}
    for row in rows:
        match row.content["kind"]:
            case "reservation":
                still_open.add(row.number)
            case "settled" | "void":
                number = whole(row.content["row"])
                still_open.remove(number)
                ends[number] = row.content
    return ends


def entry_of(row: Row, end: Content | None = None) -> Entry:
    """Read the row of a charge or of a reservation, which is open where it has no end."""
    content = row.content
    status: Status = "spent" if content["kind"] == "charge" else "open"
    if end is not None:
        status = "void" if end["kind"] == "void" else "spent"
    return Entry(
        number=row.number,
        time=text(content["time"]),
        what=text(content["what"]),
        groups=tuple_of(_releases_from_data)(content["groups"]),
        charge=_charge(content["charge"]),
        whole=flag(content["whole"]),
        sha256=row.sha256,
        status=status,
        outcome="" if end is None else text(end["outcome"]),
        report="" if end is None else text(end["report"]),
        about=About.from_data(content["about"]),
    )


def _capped(budget: PrivacyBudget, caps: Caps) -> Content:
    return {
        "epsilon": budget.epsilon,
        "delta": budget.delta,
        "multiplier": plain_number(caps.multiplier),
        "leak": caps.leak,
    }


def _cap(row: Row, black_boxes: tuple[float, float]) -> Cap:
    content = row.content
    budget = PrivacyBudget(content["epsilon"], content["delta"])
    return Cap(row.number, text(content["time"]), budget, _caps(content, black_boxes))


def _caps(content: Content, black_boxes: tuple[float, float]) -> Caps:
    multiplier = number_from(content["multiplier"])
    leak = _not_negative(content["leak"])
    if not (_SMALLEST <= multiplier <= _LARGEST or multiplier == math.inf) or leak > 1.0:
        raise ValueError("caps that no budget has")
    return Caps(multiplier, leak, black_boxes)


def _charge(data: Any) -> Charge:
    """Read a charge; none is negative, and none lies so far beyond the caps that sums could not be told."""
    charge = Charge(**{name: _not_negative(value) for name, value in mapping(data).items()})
    if max(charge.gaussian, charge.leak) > _LARGEST:
        raise ValueError("a charge beyond all caps")
    return charge


def _pair(data: Any) -> tuple[float, float]:
    epsilon, delta = tuple_of(_not_negative)(data)
    return epsilon, delta


def _not_negative(value: Any) -> float:
    number = finite_number(value)
    if number < 0.0:
        raise ValueError("a negative number")
    return number


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
