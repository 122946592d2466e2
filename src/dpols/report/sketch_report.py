"""What a sketch says of its privacy. It holds public parameters and released values only."""

import json
from dataclasses import asdict, dataclass
from typing import Any

from ..privacy import PrivacyBudget, Release
from .privacy_report import ARITHMETIC, RELATIONS, ReleaseLine, bounds_as_text, releases_as_text


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

    @property
    def releases(self) -> tuple[Release, ...]:
        """Every release, as recorded while it was made; `dpols.privacy.epsilon_of` recomputes the cost."""
        return tuple(line.release for line in self.lines for _ in range(line.times))

    @property
    def private(self) -> bool:
        """Whether the guarantee holds; it does not for a seeded sketch, whose noise can be computed again."""
        return not self.seeded

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self) -> str:
        """Return the report as plain text of at most 100 columns."""
        lines = ["Privacy report of a sketch", "=========================="]
        if self.seeded:
            lines.append("NOT PRIVATE: random_state was given, so anyone who knows the seed can remove the noise.")
        lines += [
            f"Arithmetic     {ARITHMETIC[self.arithmetic]}",
            f"Asked          epsilon = {self.asked.epsilon:.6g}, delta = {self.asked.delta:.4g}",
            f"Spent          epsilon = {self.spent_epsilon:.6g} at the same delta, from the recorded releases",
            f"Certified      delta <= {self.certified_delta:.10g} at the epsilon asked for, in ball arithmetic",
            f"Neighbours     {self.relation}: {RELATIONS[self.relation]}",
            f"Data           {self.n_rows} rows, {len(self.columns)} columns",
            f"Sketch         {self.sketch_rows} rows, in multiples of {self.grid:.6g} of the largest row norm",
            f"Shift          {self.shift:.6g} squared row norms were added to the diagonal of X'X",
            "",
            "Releases",
        ]
        lines += releases_as_text(self.lines)
        lines += ["", "Declared bounds (values outside are clipped)", *bounds_as_text(self.bounds)]
        return "\n".join([*lines, "", "Assumed public", *(f"  - {item}" for item in self.assumed_public)])

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
