"""What a sketch says of its privacy. It holds public parameters and released values only."""

from dataclasses import dataclass, field

from ..pages.parts import Bullets, Section, Table, notebook_part
from ..privacy import PrivacyBudget
from .basis import Report
from .release_line import ReleaseLine

_TITLE = "Privacy report of a sketch"
_ARGUMENTS = "the bounds and every argument of release_sketch"
PUBLIC = {  # by whether the number of rows is
    True: ("the number of rows and the column names", _ARGUMENTS),
    False: ("the column names", _ARGUMENTS),
}


@dataclass(frozen=True, repr=False)
class SketchReport(Report):
    """Asked, spent, released and assumed."""

    arithmetic: str = field(default="exact", kw_only=True)
    seeded: bool
    relation: str
    asked: PrivacyBudget
    spent_epsilon: float
    certified_delta: float
    n_rows: int | None  # None where it is not public
    columns: tuple[str, ...]
    sketch_rows: int
    grid: float
    shift: float
    lines: tuple[ReleaseLine, ...]
    bounds: tuple[tuple[str, str], ...]
    assumed_public: tuple[str, ...] = field(default=PUBLIC[True], kw_only=True)
    bounds_origin: str = "declared"

    @property
    def rows_in_words(self) -> str:
        """What was sketched."""
        return "rows whose number is not public" if self.n_rows is None else f"{self.n_rows} rows"

    def to_text(self) -> str:
        """Return the report as plain text of at most 100 columns."""
        return self._as_text(_TITLE, self._facts(), ())

    def _repr_html_(self) -> str:
        lines = tuple((str(line.times), line.what, line.describe()) for line in self.lines)
        facts = tuple((name.lower(), fact) for name, fact in self._facts())
        more = (
            Section("What was released", (Table((">times", "what", "noise"), lines),)),
            Section(self.bounds_in_words, (Table(("", ""), self.bounds),)),
            Section("Assumed public", (Bullets(self.assumed_public),)),
        )
        return notebook_part(_TITLE, [Section("", (Table(("", ""), facts),))], more=more, alarm=self.alarm)

    def _facts(self) -> tuple[tuple[str, str], ...]:
        certified = f"delta <= {self.certified_delta:.10g} at the epsilon asked for, in interval arithmetic"
        return (
            ("Arithmetic", self.arithmetic_in_words),
            ("Asked", self.asked_in_words),
            ("Spent", self.spent_in_words),
            ("Certified", certified),
            ("Protects", self.protects),
            ("Neighbours", self.relation_in_words),
            ("Data", f"{self.rows_in_words}, {len(self.columns)} columns"),
            ("Sketch", f"{self.sketch_rows} rows, in multiples of {self.grid:.6g} of the largest row norm"),
            ("Shift", f"{self.shift:.6g} squared row norms were added to the diagonal of X'X"),
        )
