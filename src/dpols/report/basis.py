"""What the reports of fits and of sketches have in common: a budget, releases, bounds and the words for them."""

import hashlib
import json
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import asdict, fields, is_dataclass
from typing import Any

from ..privacy import PrivacyBudget, Release
from ..privacy.cautions import NOT_PRIVATE
from .alarm import Alarmed
from .release_line import ReleaseLine
from .text import Fact, TextSection, aligned, as_text, bullets

RELATIONS = {
    "zero-out": "one row is replaced by a row of zeros, or back; the number of rows is public",
    "replace-one": "one row is replaced by any other row; the number of rows is public",
    "add-remove": "one row is added or removed; the number of rows is not public",
}
UNIT_RELATIONS = {
    "zero-out": "replaced by rows of zeros, or back; the number of rows is public",
    "replace-one": "replaced by any other rows; the number of rows is public",
    "add-remove": "added or removed; the number of rows is not public",
}
ORIGINS = {
    "declared": "Declared bounds",
    "reference": "Bounds from a table that was declared to be public",
    "paid": "Bounds that this fit paid for, private quantiles",
    "data": "Bounds READ FROM THE DATA",
}
BAD_ROWS = {
    "raise": "a row with an empty cell stops the fit",
    "zero": "rows with an empty cell are left out",
}
ARITHMETIC = {
    "exact": "exact: the guarantee holds for the program as executed, rounding included",
    "float": "float: differentially private in the real-number model; floating-point effects are not covered",
}
ACCOUNTING = {
    "exact": "noise is calibrated by the privacy loss of all releases together",
    "paper": "noise is calibrated as the method was published",
}


def digest_of(data: dict[str, Any]) -> str:
    """Return the hash of a report, or of another part of a model file, as plain data."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


class Report(Alarmed):
    """Asked, spent, released and assumed, in fields that each kind of report has."""

    arithmetic: str
    relation: str
    asked: PrivacyBudget
    spent_epsilon: float
    lines: tuple[ReleaseLine, ...]
    bounds: tuple[tuple[str, str], ...]
    assumed_public: tuple[str, ...]
    unit: str | None = None
    rows_per_unit: int = 1

    @property
    def releases(self) -> tuple[Release, ...]:
        """Every release, as recorded while it was made; `dpols.privacy.epsilon_of` recomputes the cost."""
        return tuple(line.release for line in self.lines for _ in range(line.times))

    @property
    def asked_in_words(self) -> str:
        """The budget."""
        return f"epsilon = {self.asked.epsilon:.6g}, delta = {self.asked.delta:.4g}"

    @property
    def spent_in_words(self) -> str:
        """The cost, and how it was found."""
        return f"epsilon = {self.spent_epsilon:.6g} at the same delta, from the recorded releases"

    @property
    def bounds_in_words(self) -> str:
        """Where the bounds come from."""
        return f"{ORIGINS[self.bounds_origin]}; values outside are clipped"

    @property
    def arithmetic_in_words(self) -> str:
        """The arithmetic of the run and what it means for the guarantee."""
        return ARITHMETIC[self.arithmetic]

    @property
    def relation_in_words(self) -> str:
        """The neighbouring relation and which data sets it speaks of."""
        if self.unit is None:
            return f"{self.relation}: {RELATIONS[self.relation]}"
        return (
            f"{self.relation} of whole units: all rows of one {self.unit} are {UNIT_RELATIONS[self.relation]}, and at "
            f"most {self.rows_per_unit} rows of a unit are used"
        )

    @property
    def guarantee(self) -> str:
        """Whether the result is private, how strongly, and what is protected."""
        whom = "single rows" if self.unit is None else f"all rows of one {self.unit} together"
        return guarantee_of(self.asked, whom, private=self.private)

    @property
    def protects(self) -> str:
        """What the guarantee is about: rows, or all rows of a unit."""
        if self.unit is None:
            return "single rows; people with several rows are not fully covered, unless unit says whose rows they are"
        return f"all rows of one {self.unit} together, of which at most {self.rows_per_unit} are used"

    @abstractmethod
    def _repr_html_(self) -> str:
        """Return what a notebook shows."""

    def _as_text(
        self, title: str, facts: Iterable[Fact], sections: Iterable[TextSection], cautions: Iterable[str] = ()
    ) -> str:
        alarms = () if self.alarm is None else (self.alarm,)
        releases = aligned([(f"{line.times:>4} x {line.what}", line.describe()) for line in self.lines])
        listed = (
            ("Releases", releases),
            (self.bounds_in_words, aligned(self.bounds)),
            ("Assumed public", bullets(self.assumed_public)),
        )
        return as_text((*alarms, title, "=" * len(title), *cautions), facts, (*listed, *sections))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        data = {field.name: _plain(getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type]
        return {**data, "private": self.private}

    @property
    def digest(self) -> str:
        """The hash of everything that the report says, by which a ledger knows it."""
        return digest_of(self.to_dict())

    def to_json(self) -> str:
        """Return the report as JSON."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)


def guarantee_of(asked: PrivacyBudget, whom: str, *, private: bool) -> str:
    """Return whether a result is private, how strongly, and who is protected."""
    strength = f"epsilon {asked.epsilon:.6g}, delta {asked.delta:.4g}, protects {whom}"
    return f"private: {strength}" if private else f"{NOT_PRIVATE}, though planned as {strength}"


def _plain(value: Any) -> Any:
    """Return what JSON can hold of a field."""
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, ReleaseLine):
        return value.to_dict()
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
