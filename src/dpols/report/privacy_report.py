"""What a fit says of its privacy: to be read by a person, parsed by a program, and recomputed by anyone.

A report holds public parameters and released values only.
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import ModelFileError
from ..privacy import PrivacyBudget
from ..privacy.cautions import cautions_on
from ..storage.plain_data import finite_number, mapping, read_fields, text, tuple_of
from .basis import ACCOUNTING, ARITHMETIC, BAD_ROWS, ORIGINS, RELATIONS, Report
from .calibration import CalibrationBin
from .markdown import to_markdown
from .outcome import ASK_FOR_INTERVALS, CONSTRAINED_NOISE, NOISE_MEANING, Coefficient, EstimateLine, in_use, no_range_of
from .release_line import ReleaseLine, line_from_dict
from .residuals import ResidualBin, SizeBin
from .text import aligned, bullets


@dataclass(frozen=True, repr=False)
class PrivacyReport(Report):
    """Asked, spent, released and assumed."""

    method: str
    title: str
    reference: str
    arithmetic: str
    seeded: bool
    accounting: str
    relation: str
    asked: PrivacyBudget
    spent_epsilon: float
    certified_delta: float | None  # proved in interval arithmetic, in exact arithmetic only
    n_rows: int | None  # public, or as it was released with noise, or None where it was not released
    n_features: int
    lines: tuple[ReleaseLine, ...]
    bounds: tuple[tuple[str, str], ...]
    assumed_public: tuple[str, ...]
    coefficients: tuple[Coefficient, ...]
    verdict: str
    verdict_reason: str
    staged: bool  # later releases were chosen by what earlier ones released, so that the cost is that of the stages
    versions: tuple[tuple[str, str], ...]  # of dpols and of what its results depend on
    target_name: str | None = None  # the dependent variable, where it has a name
    labels: tuple[str, ...] = ()  # of a yes/no outcome: that of a no, and that of a yes
    table_name: str | None = None  # of the file or folder that the rows are from, where they are from one
    formula: str | None = None
    reference_levels: tuple[tuple[str, str], ...] = ()  # columns of categories, with the one others are compared with
    date: str | None = None  # of the fit, in UTC
    unit: str | None = None  # what the rows belong to; None where each row is a unit of its own
    rows_per_unit: int = 1  # how many rows of a unit are used at most
    n_rows_noise: float | None = None  # standard deviation of the noise in the number of rows; None where it is public
    rows_used: int | None = None  # rows in use: all where that is public, or as released; None where it was not
    rows_used_noise: float | None = None  # likewise, in the number of rows in use
    bad_rows: str = "raise"  # what became of rows with an empty cell that nothing was declared for
    bounds_origin: str = "declared"
    hidden_ranges: tuple[str, ...] = ()  # columns of which bounds were paid for and the noise hid the range
    void: tuple[str, ...] = ()  # what around the fit voids the guarantee, as far as it was seen
    advice: tuple[str, ...] = ()  # on the bounds, from public and released numbers
    estimates: tuple[EstimateLine, ...] = ()  # where intervals were paid for and can be given
    estimate_notes: tuple[str, ...] = ()  # what the intervals are for, or why there are none
    inference_hash: str | None = None  # of what a model file holds of its intervals, and its summary is computed from
    residual_bins: tuple[ResidualBin, ...] = ()  # where they were paid for
    residual_sizes: tuple[SizeBin, ...] = ()  # from counts that intervals need in any case
    calibration: tuple[CalibrationBin, ...] = ()  # where it was paid for
    constraints: tuple[str, ...] = ()  # within which the coefficients are kept
    chosen: str | None = None  # by which search the fit was chosen among others, and what that cost
    ledger_entry: str | None = None  # number and hash of the row that the fit was charged as; None without a ledger

    @property
    def spent_in_words(self) -> str:
        """The cost, and how it was found."""
        if self.staged:
            how = "the sum of what was reserved for each stage (basic composition)"
            return f"epsilon = {self.spent_epsilon:.6g} at the same delta, {how}"
        return super().spent_in_words

    @property
    def certificate_in_words(self) -> str:
        """What was proved of the recorded releases, rounding included."""
        if self.certified_delta is None:
            return "not certified"
        return (
            f"at epsilon = {self.asked.epsilon:.6g}, delta <= {self.certified_delta:.6g}, proved in interval arithmetic"
        )

    @property
    def described(self) -> tuple[tuple[str, str], ...]:
        """What was fitted, as far as it has names: dependent variable, formula, reference levels and date.

        That no bounds were found for some columns stands before it, since the fit says next to nothing then.
        """
        levels = ", ".join(f"{level} (of {column})" for column, level in self.reference_levels)
        facts = (
            ("Bounds", no_range_of(self.hidden_ranges) if self.hidden_ranges else None),
            ("Dep. variable", self._dependent),
            ("Table", self.table_name),
            ("Formula", self.formula),
            ("Reference", levels or None),
            ("Date", self.date),
        )
        return tuple((name, fact) for name, fact in facts if fact is not None)

    @property
    def _dependent(self) -> str | None:
        """The dependent variable; of a yes/no outcome with its labels, on which the signs of coefficients depend."""
        if not self.labels:
            return self.target_name
        no, yes = self.labels
        named = f"yes: {yes}, no: {no}"
        return named if self.target_name is None else f"{self.target_name} ({named})"

    @property
    def noise_meaning(self) -> str:
        """What the standard deviations of the coefficients' privacy noise are of, and what they are not."""
        if self.constraints:
            return CONSTRAINED_NOISE
        return NOISE_MEANING if self.estimate_notes else f"{NOISE_MEANING}{ASK_FOR_INTERVALS}"

    @property
    def rows_in_words(self) -> str:
        """What was fitted on."""
        if self.n_rows is None:
            return "rows whose number is not public"
        number, _, noise = self.row_count.partition(" (")
        return f"{number} rows{noise and f' ({noise}'}{self.used_in_words}"

    @property
    def used_in_words(self) -> str:
        """How many of a public number of rows are in use, as far as it was released; nothing where all are."""
        if self.n_rows is None or self.n_rows_noise is not None or (self.rows_used, self.bad_rows) == (None, "raise"):
            return ""
        if self.rows_used is None:
            return ", of which those with an empty cell are left out (how many was not released)"
        return "" if self.rows_used_noise is None else in_use(self.rows_used, self.rows_used_noise)

    @property
    def row_count(self) -> str:
        """The number of rows, as far as it may be stated."""
        if self.n_rows is None:
            return "not public, and not released"
        if self.n_rows_noise is None:
            return f"{self.n_rows:,}"
        return f"about {self.n_rows:,} (counted with noise of standard deviation {self.n_rows_noise:.3g})"

    @property
    def empty_cells(self) -> str:
        """What became of rows with an empty cell."""
        declared = any("; empty cells count as" in words for _, words in self.bounds)
        return f"{BAD_ROWS[self.bad_rows]}{', unless the bounds say what it counts as' * declared}"

    @property
    def cautions(self) -> tuple[str, ...]:
        """What the guarantee leaves out: the choice among fits. Where it promises little: a large epsilon or delta."""
        return (*(() if self.chosen is None else (self.chosen,)), *cautions_on(self.asked, self.n_rows))

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """What was asked, spent and protected, as pairs of a name and its words."""
        charged = () if self.ledger_entry is None else (("Charged as", f"ledger row {self.ledger_entry}"),)
        return (
            ("Guarantee", self.guarantee),
            *self.described,
            ("Arithmetic", self.arithmetic_in_words),
            ("Method", f"{self.title} ({self.method}), {self.accounting} accounting"),
            ("Asked", self.asked_in_words),
            ("Spent", self.spent_in_words),
            ("Certified", self.certificate_in_words),
            *charged,
            ("Protects", self.protects),
            ("Neighbours", self.relation_in_words),
            ("Data", f"{self.rows_in_words}, {self.n_features} coefficients"),
            ("Empty cells", self.empty_cells),
            *((("Constraints", "; ".join(self.constraints)),) if self.constraints else ()),
        )

    def to_text(self) -> str:
        """Return the report as plain text of at most 100 columns."""
        estimates = aligned([(line.name, *line.describe()) for line in self.estimates], right=(1, 2))
        sections = (
            (
                "Coefficients with standard errors and 95% intervals" if self.estimates else "Intervals",
                [*estimates, *self.estimate_notes],
            ),
            (
                "Coefficients",
                []
                if self.estimates
                else [*aligned([(c.name, _value(c)) for c in self.coefficients]), self.noise_meaning],
            ),
            ("Mean residuals by fitted value", aligned([each.describe() for each in self.residual_bins], right=(1, 2))),
            (
                "Predicted and observed outcomes, by prediction",
                aligned([each.describe() for each in self.calibration], right=(1, 2, 3)),
            ),
            (f"Verdict        {self.verdict}", [f"{'':13}{self.verdict_reason}"]),
            ("Advice", bullets(self.advice)),
        )
        return self._as_text("Privacy report", self.facts, sections, self.cautions)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that ``from_dict`` reads back."""
        return {**super().to_dict(), "cautions": list(self.cautions)}

    def to_markdown(self) -> str:
        """Return the report as Markdown, with what the guarantee means in plain words."""
        return to_markdown(self)

    def to_html(self) -> str:
        """Return the report as one HTML page that needs no other file and holds the report as JSON, too."""
        from .html import to_html

        return to_html(self)

    def to_registry_yaml(self, answers: Mapping[str, str], *, ledger: Any = None) -> str:
        """Return an entry for the public registry of deployments, in YAML.

        ``answers`` has what only you know, such as ``intended_use`` and ``justification``; an error names all that is
        asked for. ``ledger`` is the one that the fit was charged to: where it has several charges, the entry states
        what all of them cost together.
        """
        from .registry import to_registry_yaml

        return to_registry_yaml(self, answers, ledger)

    def _repr_html_(self) -> str:
        from .content import in_a_notebook

        return in_a_notebook(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "PrivacyReport":
        """Rebuild a report from plain data."""
        try:
            return read_fields(cls, data, _CHECKED)
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileError(f"the privacy report is incomplete or malformed: {error}.") from None


def _value(coefficient: Coefficient) -> str:
    return f"{coefficient.value: .6g}  (privacy noise standard deviation {coefficient.spread})"


def _ledger_entry(value: Any) -> str | None:
    if value is not None and not re.fullmatch("[0-9]+:[0-9a-f]{64}", text(value)):
        raise ValueError("an entry of a ledger is given by its number and its hash")
    return None if value is None else str(value)


def _labels(value: Any) -> tuple[str, ...]:
    labels = tuple_of(text)(value)
    if len(labels) not in (0, 2):
        raise ValueError("labels are those of a no and of a yes")
    return labels


def _one_of(known: Collection[str], what: str) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if text(value) not in known:
            raise ValueError(f"{value!r} is not {what}")
        return str(value)

    return read


# Fields of which more is checked than their types, as the text and the JSON of a report need it.
_CHECKED: dict[str, Callable[[Any], Any]] = {
    "arithmetic": _one_of(ARITHMETIC, "an arithmetic"),
    "accounting": _one_of(ACCOUNTING, "a way of accounting"),
    "relation": _one_of(RELATIONS, "a neighbouring relation"),
    "bad_rows": _one_of(BAD_ROWS, "what becomes of rows with an empty cell"),
    "bounds_origin": _one_of(ORIGINS, "where bounds come from"),
    "asked": lambda value: PrivacyBudget(**{name: finite_number(number) for name, number in mapping(value).items()}),
    "lines": tuple_of(line_from_dict),
    "ledger_entry": _ledger_entry,
    "labels": _labels,
}
