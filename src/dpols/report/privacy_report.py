"""What a fit says of its privacy: to be read by a person, parsed by a program, and recomputed by anyone.

A report holds public parameters and released values only.
"""

import json
import re
import textwrap
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..errors import ModelFileError
from ..privacy import FailureAllowance, GaussianRelease, MixingRelease, OpaqueRelease, PrivacyBudget, Release
from ..privacy.cautions import cautions_on
from ..privacy.plain import release_from_data, release_to_data
from ..storage.plain_data import finite_number, flag, mapping, text, tuple_of, whole
from .alarm import alarm_of
from .outcome import NOISE_MEANING, Coefficient, EstimateLine, coefficient_from, estimate_from

_MOST_TIMES = 10**6  # releases are listed one by one
RELATIONS = {
    "zero-out": "one row is replaced by a row of zeros, or back; the number of rows is public",
    "replace-one": "one row is replaced by any other row; the number of rows is public",
}
ROWS_ARE_PROTECTED = (
    "single rows; people with several rows are not fully covered, unless a fit is told by unit whose rows they are"
)
_ORIGINS = {
    "declared": "Declared bounds",
    "reference": "Bounds from a table that was declared to be public",
    "paid": "Bounds that this fit paid for, private quantiles",
    "data": "Bounds READ FROM THE DATA",
}
ARITHMETIC = {
    "exact": "exact: the guarantee holds of the program as executed, rounding included",
    "float": "float: differentially private in the real-number model; floating-point effects are not covered",
}
ACCOUNTING = {
    "exact": "noise is calibrated by the privacy loss of all releases together",
    "paper": "noise is calibrated as the method was published",
}


@dataclass(frozen=True)
class ReleaseLine:
    """One or more equal releases of a run."""

    what: str
    release: Release
    times: int

    def describe(self) -> str:
        match self.release:
            case GaussianRelease(multiplier):
                return f"Gaussian noise, standard deviation {multiplier:.5g} x sensitivity"
            case MixingRelease(rows, floor):
                return f"Gaussian mixing, {rows} sketch rows, floor {floor:.5g}"
            case FailureAllowance(probability):
                return f"fails with probability {probability:.3g}"
            case OpaqueRelease(epsilon, delta):
                return f"black box of ({epsilon:.5g}, {delta:.3g})"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"what": self.what, "times": self.times, **release_to_data(self.release)}


@dataclass(frozen=True)
class PrivacyReport:
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
    certified_delta: float | None  # proved in ball arithmetic, in exact mode
    n_rows: int
    n_features: int
    lines: tuple[ReleaseLine, ...]
    bounds: tuple[tuple[str, str], ...]
    assumed_public: tuple[str, ...]
    coefficients: tuple[Coefficient, ...]
    verdict: str
    verdict_reason: str
    staged: bool  # later releases were chosen by what earlier ones released, so that the cost is that of the stages
    versions: tuple[tuple[str, str], ...]  # of dpols and of what its results depend on
    unit: str | None = None  # what the rows belong to; None where each row is a unit of its own
    rows_per_unit: int = 1  # how many rows of a unit are used at most
    bounds_origin: str = "declared"
    void: tuple[str, ...] = ()  # what around the fit voids the guarantee, as far as it was seen
    advice: tuple[str, ...] = ()  # on the bounds, from public and released numbers
    estimates: tuple[EstimateLine, ...] = ()  # where intervals were paid for and can be given
    estimate_notes: tuple[str, ...] = ()  # what the intervals are for, or why there are none
    ledger_entry: str | None = None  # number and hash of the row that the fit was charged as; None without a ledger

    @property
    def releases(self) -> tuple[Release, ...]:
        """Every release, as recorded while it was made; `dpols.privacy.epsilon_of` recomputes the cost."""
        return tuple(line.release for line in self.lines for _ in range(line.times))

    @property
    def spent_in_words(self) -> str:
        """How the cost was found."""
        if self.staged:
            return "the sum of what was reserved for each stage (basic composition)"
        return "from the recorded releases"

    @property
    def certificate_in_words(self) -> str:
        """What was proved of the recorded releases, rounding included."""
        if self.certified_delta is None:
            return "not certified"
        return f"at epsilon = {self.asked.epsilon:.6g}, delta <= {self.certified_delta:.6g}, proved in ball arithmetic"

    @property
    def private(self) -> bool:
        """Whether the guarantee holds: without a seed, bounds read from the data, or a step that learns before it."""
        return self.alarm is None

    @property
    def alarm(self) -> str | None:
        """Why the fit is not private, None where it is."""
        return alarm_of(seeded=self.seeded, bounds_origin=self.bounds_origin, void=self.void)

    @property
    def noise_meaning(self) -> str:
        """What the standard deviations of the coefficients' privacy noise are of, and what they are not."""
        return NOISE_MEANING

    @property
    def cautions(self) -> tuple[str, ...]:
        """Where the guarantee holds and yet promises little: a large epsilon or delta."""
        return cautions_on(self.asked, self.n_rows)

    @property
    def bounds_in_words(self) -> str:
        """Where the bounds come from."""
        return origin_in_words(self.bounds_origin)

    @property
    def arithmetic_in_words(self) -> str:
        """The arithmetic of the run and what it means for the guarantee."""
        return ARITHMETIC[self.arithmetic]

    @property
    def relation_in_words(self) -> str:
        """The neighbouring relation and which data sets it speaks of."""
        if self.unit is None:
            return f"{self.relation}: {RELATIONS[self.relation]}"
        instead = "rows of zeros, or back" if self.relation == "zero-out" else "any other rows"
        return (
            f"{self.relation} of whole units: all rows of one {self.unit} are replaced by {instead}; the number of "
            f"rows is public, and at most {self.rows_per_unit} rows of a unit are used"
        )

    @property
    def protects(self) -> str:
        """What the guarantee is about: rows, or all rows of a unit."""
        if self.unit is None:
            return ROWS_ARE_PROTECTED
        return f"all rows of one {self.unit} together, of which at most {self.rows_per_unit} are used"

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self) -> str:
        """Return the report as plain text of at most 100 columns."""
        lines = ["Privacy report", "=============="]
        if self.alarm is not None:
            lines.insert(0, self.alarm)
        lines += [
            *self.cautions,
            f"Arithmetic     {self.arithmetic_in_words}",
            f"Method         {self.title} ({self.method}), {self.accounting} accounting",
            f"Asked          epsilon = {self.asked.epsilon:.6g}, delta = {self.asked.delta:.4g}",
            f"Spent          epsilon = {self.spent_epsilon:.6g} at the same delta, {self.spent_in_words}",
            *([] if self.certified_delta is None else [f"Certified      {self.certificate_in_words}"]),
            *([] if self.ledger_entry is None else [f"Charged as     ledger row {self.ledger_entry}"]),
            f"Protects       {self.protects}",
            f"Neighbours     {self.relation_in_words}",
            f"Data           {self.n_rows} rows, {self.n_features} coefficients",
            "",
            "Releases",
        ]
        lines += releases_as_text(self.lines)
        lines += ["", self.bounds_in_words, *bounds_as_text(self.bounds)]
        lines += ["", "Assumed public", *(f"  - {item}" for item in self.assumed_public)]
        if self.estimates:
            lines += ["", "Coefficients with standard errors and 95% intervals"]
            cells = [(line.name, *line.describe()) for line in self.estimates]
            wide = [max(len(row[i]) for row in cells) for i in range(4)]
            lines += [f"  {a:<{wide[0]}}  {b:>{wide[1]}}  {c:>{wide[2]}}  {d}" for a, b, c, d in cells]
        elif self.estimate_notes:
            lines += ["", "Intervals"]
        for note in self.estimate_notes:
            lines.append(f"  {note}")
        lines += ["", "Coefficients that predictions use" if self.estimates else "Coefficients"]
        width = max((len(c.name) for c in self.coefficients), default=0)
        for c in self.coefficients:
            spread = "unknown" if c.noise_stddev is None else f"{c.noise_stddev:.4g}"
            lines.append(f"  {c.name:<{width}}  {c.value: .6g}  (privacy noise standard deviation {spread})")
        lines.append(f"  {NOISE_MEANING}")
        lines += ["", f"Verdict        {self.verdict}", f"               {self.verdict_reason}"]
        lines += ["", "Advice", *(f"  - {item}" for item in self.advice)] if self.advice else []
        return "\n".join(part for line in lines for part in folded(line))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that ``from_dict`` reads back."""
        data = {name: getattr(self, name) for name in self.__dataclass_fields__}
        data["asked"] = asdict(self.asked)
        data["lines"] = [line.to_dict() for line in self.lines]
        data["bounds"] = [list(pair) for pair in self.bounds]
        data["versions"] = [list(pair) for pair in self.versions]
        data["assumed_public"] = list(self.assumed_public)
        data["advice"] = list(self.advice)
        data["void"] = list(self.void)
        data["coefficients"] = [asdict(c) for c in self.coefficients]
        data["estimates"] = [asdict(line) for line in self.estimates]
        data["estimate_notes"] = list(self.estimate_notes)
        data["private"] = self.private
        data["cautions"] = list(self.cautions)
        return data

    def to_json(self) -> str:
        """Return the report as JSON."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    def to_markdown(self) -> str:
        """Return the report as Markdown, with what the guarantee means in plain words."""
        from .markdown import to_markdown

        return to_markdown(self)

    def to_html(self) -> str:
        """Return the report as one HTML page that needs no other file and holds the report as JSON, too."""
        from .html import to_html

        return to_html(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "PrivacyReport":
        """Rebuild a report from plain data."""
        try:
            return cls(**{name: _READ[name](data[name]) for name in cls.__dataclass_fields__})
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileError(f"the privacy report is incomplete or malformed: {error}.") from None


def origin_in_words(bounds_origin: str) -> str:
    """Say where bounds come from."""
    return f"{_ORIGINS[bounds_origin]}; values outside are clipped"


def releases_as_text(lines: Sequence[ReleaseLine]) -> list[str]:
    """Return releases line by line, one column under another."""
    width = max((len(line.what) for line in lines), default=0)
    return [f"  {line.times:>4} x {line.what:<{width}}  {line.describe()}" for line in lines]


def bounds_as_text(bounds: Sequence[tuple[str, str]]) -> list[str]:
    """Return bounds line by line, one column under another."""
    width = max((len(name) for name, _ in bounds), default=0)
    return [f"  {name:<{width}}  {text}" for name, text in bounds]


def release_lines(names: Sequence[str], releases: Sequence[Release]) -> tuple[ReleaseLine, ...]:
    """Group equal releases under their names, in the order in which they first occur."""
    counted: dict[tuple[str, Release], int] = {}
    for key in zip(names, releases, strict=True):
        counted[key] = counted.get(key, 0) + 1
    return tuple(ReleaseLine(what, release, times) for (what, release), times in counted.items())


def folded(line: str) -> list[str]:
    """Return a line of text in parts of at most 100 columns, under where its text begins."""
    label = re.match(r"[A-Z][A-Za-z ]+? {2,}| +", line)
    return (
        textwrap.wrap(line, 100, subsequent_indent=" " * (label.end() if label else 0)) if len(line) > 100 else [line]
    )


def _line_from_dict(data: Any) -> ReleaseLine:
    release = {name: value for name, value in mapping(data).items() if name not in ("what", "times")}
    times = whole(data["times"])
    if times > _MOST_TIMES:
        raise ValueError(f"a release is listed more than {_MOST_TIMES} times")
    return ReleaseLine(text(data["what"]), release_from_data(release), times)


def _pair(value: Any) -> tuple[str, str]:
    first, second = tuple_of(text)(value)
    return first, second


def _ledger_entry(value: Any) -> str | None:
    if value is not None and not re.fullmatch("[0-9]+:[0-9a-f]{64}", text(value)):
        raise ValueError("an entry of a ledger is given by its number and its hash")
    return None if value is None else str(value)


def _one_of(known: Collection[str], what: str) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if text(value) not in known:
            raise ValueError(f"{value!r} is not {what}")
        return str(value)

    return read


# How each field of a report is read, and checked to be what its text and its JSON need.
_READ: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("method", "title", "reference", "verdict", "verdict_reason"), text),
    "arithmetic": _one_of(ARITHMETIC, "an arithmetic"),
    "accounting": _one_of(ACCOUNTING, "a way of accounting"),
    "relation": _one_of(RELATIONS, "a neighbouring relation"),
    "seeded": flag,
    "staged": flag,
    "versions": tuple_of(_pair),
    "asked": lambda value: PrivacyBudget(**{name: finite_number(number) for name, number in mapping(value).items()}),
    "spent_epsilon": finite_number,
    "certified_delta": lambda value: None if value is None else finite_number(value),
    "n_rows": whole,
    "n_features": whole,
    "lines": tuple_of(_line_from_dict),
    "bounds": tuple_of(_pair),
    "assumed_public": tuple_of(text),
    "unit": lambda value: None if value is None else text(value),
    "rows_per_unit": whole,
    "bounds_origin": _one_of(_ORIGINS, "where bounds come from"),
    "advice": tuple_of(text),
    "void": tuple_of(text),
    "estimates": tuple_of(estimate_from),
    "estimate_notes": tuple_of(text),
    "ledger_entry": _ledger_entry,
    "coefficients": tuple_of(coefficient_from),
}
