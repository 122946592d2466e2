"""What a sketch says of its privacy. It holds public parameters and released values only."""

import json
from dataclasses import asdict, dataclass
from typing import Any

from ..privacy import PrivacyBudget, Release
from .alarm import alarm_of
from .privacy_report import (
    ARITHMETIC,
    RELATIONS,
    ROWS_ARE_PROTECTED,
    ReleaseLine,
    bounds_as_text,
    folded,
    origin_in_words,
    releases_as_text,
)


@dataclass(frozen=True)
class SketchReport:
    """Asked, spent, released and assumed."""

    arithmetic: str
    seeded: bool
    relation: str
    asked: PrivacyBudget
    spent_epsilon: float
    certified_delta: float
    n_rows: int
    columns: tuple[str, ...]
    sketch_rows: int
    grid: float
    shift: float
    lines: tuple[ReleaseLine, ...]
    bounds: tuple[tuple[str, str], ...]
    assumed_public: tuple[str, ...]
    bounds_origin: str = "declared"

    @property
    def releases(self) -> tuple[Release, ...]:
        """Every release, as recorded while it was made; `dpols.privacy.epsilon_of` recomputes the cost."""
        return tuple(line.release for line in self.lines for _ in range(line.times))

    @property
    def private(self) -> bool:
        """Whether the guarantee holds; it does not with a seed, or with bounds that were read from the data."""
        return self.alarm is None

    @property
    def alarm(self) -> str | None:
        """Why the sketch is not private, None where it is."""
        return alarm_of(seeded=self.seeded, bounds_origin=self.bounds_origin)

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self) -> str:
        """Return the report as plain text of at most 100 columns."""
        lines = ["Privacy report of a sketch", "=========================="]
        if self.alarm is not None:
            lines.insert(0, self.alarm)
        lines += [
            f"Arithmetic     {ARITHMETIC[self.arithmetic]}",
            f"Asked          epsilon = {self.asked.epsilon:.6g}, delta = {self.asked.delta:.4g}",
            f"Spent          epsilon = {self.spent_epsilon:.6g} at the same delta, from the recorded releases",
            f"Certified      delta <= {self.certified_delta:.10g} at the epsilon asked for, in ball arithmetic",
            f"Protects       {ROWS_ARE_PROTECTED}",
            f"Neighbours     {self.relation}: {RELATIONS[self.relation]}",
            f"Data           {self.n_rows} rows, {len(self.columns)} columns",
            f"Sketch         {self.sketch_rows} rows, in multiples of {self.grid:.6g} of the largest row norm",
            f"Shift          {self.shift:.6g} squared row norms were added to the diagonal of X'X",
            "",
            "Releases",
        ]
        lines += releases_as_text(self.lines)
        lines += ["", origin_in_words(self.bounds_origin), *bounds_as_text(self.bounds)]
        lines += ["", "Assumed public", *(f"  - {item}" for item in self.assumed_public)]
        return "\n".join(part for line in lines for part in folded(line))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        data = {name: getattr(self, name) for name in self.__dataclass_fields__}
        data["asked"] = asdict(self.asked)
        data["columns"] = list(self.columns)
        data["lines"] = [line.to_dict() for line in self.lines]
        data["bounds"] = [list(pair) for pair in self.bounds]
        data["assumed_public"] = list(self.assumed_public)
        data["private"] = self.private
        return data

    def to_json(self) -> str:
        """Return the report as JSON."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)
