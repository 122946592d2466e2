"""What is said of a fit, a sketch or a search whose guarantee does not hold; one place for all of them."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from ..privacy.cautions import NOT_PRIVATE

LABELS_WERE_FOUND = "the labels of the target were found in the data, and one row may have decided which they are."


def alarm_of(*, seeded: bool, bounds_origin: str, void: Sequence[str] = ()) -> str | None:
    """Say why a fit, a sketch or a search is not private; None where it is."""
    reasons = []
    if seeded:
        reasons.append("random_state was given, so anyone who knows the seed can remove the noise.")
    if bounds_origin == "data":
        reasons.append(
            "the bounds were read from the data (unsafe_from_data=True), and reveal its smallest and largest values."
        )
    reasons += void
    return f"{NOT_PRIVATE}: {' Also, '.join(reasons)}" if reasons else None


def not_private_in_short(*, seeded: bool, bounds_origin: str, void: Sequence[str] = ()) -> str:
    """Return what a ledger adds to a charge that it cannot vouch for; nothing where the guarantee holds."""
    reasons = ["a seed"] * seeded + ["bounds read from the data"] * (bounds_origin == "data")
    reasons += ["labels found in the data"] * (LABELS_WERE_FOUND in void)
    reasons += ["a step before it that learns from the rows"] * any(reason != LABELS_WERE_FOUND for reason in void)
    return f"; {NOT_PRIVATE}: {' and '.join(reasons)}" if reasons else ""


class Alarmed(ABC):
    """What says of itself whether it is private, by its own fields; its subclasses are frozen dataclasses."""

    seeded: bool
    bounds_origin: str
    void: tuple[str, ...] = ()

    @abstractmethod
    def to_text(self) -> str:
        """Return the report as plain text of at most 100 columns."""

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return self.to_text()  # fields alone, which an interpreter would show, do not say what they mean

    @property
    def private(self) -> bool:
        """Whether the guarantee holds: no seed, no bounds or labels of the data, and no step before it that learns."""
        return self.alarm is None

    @property
    def alarm(self) -> str | None:
        """Why the result is not private, None where it is."""
        return alarm_of(seeded=self.seeded, bounds_origin=self.bounds_origin, void=self.void)
