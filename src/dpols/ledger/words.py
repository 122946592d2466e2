"""What a ledger says of itself to people: on the command line, and in a notebook."""

import math
from pathlib import Path

from ..pages.parts import Section, Table, notebook_part
from ..privacy import PrivacyBudget, gaussian_multiplier
from ..privacy.cautions import NOT_PRIVATE
from .charging import gaussian_left
from .records import Entry, State

_MOST_COLUMNS = 12  # that are named
CHARGES = (">row", "time (UTC)", ">takes", "is", "what")


def alarm_of(state: State) -> str | None:
    """Say which entries are not private and why; None where all are."""
    why = "; ".join(f"row {entry.number}, {entry.why_not_private}" for entry in state.not_private)
    return f"{NOT_PRIVATE}: {why}. The ledger promises nothing of what they released." if why else None


def facts_of(state: State, head: str) -> list[tuple[str, str]]:
    """Return what a ledger promises, what is used of it and what is left."""
    facts = [
        ("promises", _promises(state)),
        ("data", state.data or ""),
        ("columns", _columns(state)),
        ("neighbours", str(state.neighbours)),
        ("used", f"{100.0 * state.used:.4g} %"),
        ("how fits add up", how_fits_add_up(state)),
        ("open", _open(state)),
        ("left", _left(state)),
        ("black boxes", _black_boxes(state)),
        ("head", head),
    ]
    return [fact for fact in facts if fact[1]]


def charges_of(state: State) -> list[tuple[str, ...]]:
    """Return all charges, and all caps but the first, in their order."""
    lines: dict[int, tuple[str, ...]] = {
        entry.number: (entry.time, _charge(state, entry), entry.status, _what(entry)) for entry in state.entries
    }
    lines |= {cap.number: (cap.time, "", "cap", f"raised to {cap.budget}") for cap in state.history[1:]}
    return [(str(row), time[:19].replace("T", " "), *rest) for row, (time, *rest) in sorted(lines.items())]


def in_a_notebook(path: Path, state: State, head: str) -> str:
    """Return a ledger as a part of a page."""
    facts = tuple(fact for fact in facts_of(state, head) if fact[0] != "used")
    charges = tuple(charges_of(state))
    sections = [Section("", (Table(("", ""), facts),))]
    sections += [Section("Charges", (Table(CHARGES, charges),))] if charges else []
    return notebook_part(f"Ledger {path.name}", sections, alarm=alarm_of(state), share=("used", min(state.used, 1.0)))


def to_html(path: Path, state: State, head: str) -> str:
    """Return a ledger as one HTML page that needs no other file."""
    from ..pages import render

    facts = tuple(fact for fact in facts_of(state, head) if fact[0] != "used")
    return render(
        "ledger.html",
        title=f"Ledger {path.name}",
        alarm=alarm_of(state),
        used=min(state.used, 1.0),
        facts=facts,
        columns=CHARGES,
        charges=charges_of(state),
    )


def _promises(state: State) -> str:
    apart = ", ".join(str(entry.number) for entry in state.not_private)
    return (
        f"epsilon = {state.budget.epsilon:.6g}, delta = {state.budget.delta:.4g} for all together"
        f"{apart and f', but {NOT_PRIVATE}: row {apart}'}"
    )


def _black_boxes(state: State) -> str:
    """Say what was used of the part that is set apart for black boxes; nothing where there is none."""
    apart, apart_delta = state.caps.black_boxes
    used = f"{float(state.epsilon):.4g} of {apart:.4g}, {float(state.delta):.3g} of {apart_delta:.3g}"
    return used if apart or apart_delta else ""


def _open(state: State) -> str:
    """Say which reservations have no end yet; nothing where all have."""
    rows = [str(entry.number) for entry in state.entries if entry.status == "open"]
    return f"row {', '.join(rows)}: running or killed, and counted as spent" if rows else ""


def _what(entry: Entry) -> str:
    """Say what was charged, and how it ended where that is not as usual."""
    what = f"{entry.what}; {entry.about.label}" if entry.about.label else entry.what
    return what if entry.outcome in ("", "released") else f"{what} ({entry.outcome})"


def _columns(state: State) -> str:
    """Name the columns of all charges, with the last range that was declared of each."""
    known = {name: found for entry in state.counted for name, found in entry.about.columns}
    shown = [name if found is None else f"{name} [{found[0]:g}, {found[1]:g}]" for name, found in known.items()]
    return ", ".join((*shown[:_MOST_COLUMNS], *([f"{len(shown) - _MOST_COLUMNS} more"] * (len(shown) > _MOST_COLUMNS))))


def how_fits_add_up(state: State) -> str:
    """Say why several fits take less than the sum of their epsilons; nothing where only black boxes can be charged."""
    if state.caps.multiplier == math.inf:
        return ""
    third = PrivacyBudget(state.budget.epsilon / 3.0, state.budget.delta)
    share = (state.caps.multiplier / gaussian_multiplier(third.for_zero_out(state.neighbours))) ** 2
    return (
        f"a fit of epsilon = {third.epsilon:.3g}, delta = {third.delta:.3g} takes about {share:.0%}, and three of them "
        f"about {3.0 * share:.0%}, although their epsilons add up to {state.budget.epsilon:.3g}. The noise of each is "
        "drawn anew, so that what they reveal adds up like squares: half of an epsilon costs about a quarter"
    )


def _left(state: State) -> str:
    """Say what can still be charged."""
    gaussian = f"one Gaussian fit of epsilon = {gaussian_left(state):.4g} at delta = {state.budget.delta:.4g}"
    if state.counted:
        return f"at most {gaussian}"
    return f"all of it for one fit, which is then the last; or, to share it, at most {gaussian}"


def _charge(state: State, entry: Entry) -> str:
    """Say what an entry takes of the present cap."""
    if entry.status == "void":
        return "nothing"
    if entry.whole:
        return "all"
    if entry.charge.epsilon or entry.charge.delta:
        return f"({entry.charge.epsilon:.6g}, {entry.charge.delta:.6g})"
    return f"{100.0 * state.share_of(entry):.4g} %"
