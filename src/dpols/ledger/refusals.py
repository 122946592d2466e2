"""What a ledger says where it refuses."""

import math
from pathlib import Path

from ..privacy import Neighbours
from ..privacy.filter import Charge
from .records import State


def over_the_cap(path: Path, state: State, charge: Charge, what: str, *, by_noise: bool) -> str:
    """Say that a charge does not fit; ``by_noise`` where it was described by its noise and not by its epsilon."""
    needed = max(charge.gaussian, charge.leak)
    share = "more than all" if needed == math.inf else f"{100.0 * needed:.4g} %"
    less = "Give it more noise, that is a larger multiplier" if by_noise else "Ask for a smaller epsilon"
    return (
        f"{what} would take {share} of the ledger {str(path)!r}, of which {100.0 * (1.0 - state.used):.4g} % is left; "
        f"nothing was released or charged. {less}, or raise the ledger's cap."
    )


def of_another_relation(path: Path, kept: Neighbours, asked: Neighbours) -> str:
    """Say that a number of rows is public on one side and not on the other."""
    return (
        f"ledger {str(path)!r} is for {kept} neighbours, and this is for {asked}: the number of rows is public in one "
        f"of them and private in the other. Pass neighbours={str(kept)!r}, or charge a ledger created for {asked}."
    )


def of_another_table(path: Path, why: str) -> str:
    """Say that a charge seems to be about another table."""
    return (
        f"this fit seems to be on another table than the earlier ones of ledger {str(path)!r}: {why}. A ledger is for "
        "one data set; charge another ledger. If it is the same data, say so: ledger.noted(same_data=True), or "
        "--same-data. Nothing was released or charged."
    )


def no_reservation(path: Path, number: int, state: State) -> str:
    """Say that a row cannot be void, and which rows can."""
    still_open = ", ".join(str(entry.number) for entry in state.entries if entry.status == "open")
    can = f"open ones are in row {still_open}" if still_open else "none is open"
    return f"row {number} of ledger {str(path)!r} is no reservation, so it cannot be void; {can}."
