"""A fit's coefficients with their standard errors and intervals, as text, HTML, LaTeX or a data frame.

Everything shown is a released value, a public number or computed from these.
"""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..algorithms import algorithm
from ..report import PrivacyReport
from ..report.outcome import CUT_AT_FOUND_BOUNDS, in_use
from ..seen_text import visible
from .from_releases import SQUARES, TAIL
from .hypotheses import TINY, WaldTest, overall_test
from .intervals import Inference, Target, checked_alpha
from .latex import latex_table
from .quality import adjusted_r_squared, r_squared, residual_variance, why_hidden
from .rows import RATIO_WIDTHS, WIDTHS, CoefficientRow, RatioRow, coefficient_rows, ratio_rows
from .tables import HIDDEN_WORDS, WIDTH, frame_of
from .words import WORDS, Words

_ERRORS = {
    "HC1": "privacy noise and sampling noise; robust (HC1)",
    "nonrobust": "privacy noise and sampling noise; classical (nonrobust)",
    "cluster": "privacy noise and sampling noise; clustered by unit",
}
_IF = {
    "HC1": "if rows are independent; variances may differ",
    "nonrobust": "if rows are independent and {}",
    "cluster": "if units are independent; rows of one unit need not be",
}
_FOR_DATA = (
    "Intervals of coefficients are for {} on these very rows: they include privacy noise only, no sampling noise."
)
_BOUNDED = (
    "Intervals of {} are for these very rows. All intervals are about rows clipped to the {} bounds: they do not "
    "account for values clipped at the bounds."
)
_ASSUMED = {
    "HC1": "rows are independent",
    "nonrobust": "rows are independent, and {}",
    "cluster": "units are independent",
}
_RARE = "rows with large effects are rare (see below)"
_COLUMNS = (
    "privacy: the part of std err that is privacy noise. P>|t|: the probability of a coef at least as far from 0 if 0 "
    "is true."
)
_RATIOS = "{}: exp(coef), by which one more unit of a feature multiplies {}; its limits are exp of those of coef."
_WORDS_WIDTH = (2 + len(HIDDEN_WORDS),)  # in place of numbers
_NOT_ASKED = (
    "No intervals: the fit released nothing to compute them from. Fit with inference=True (dpols fit --inference)."
)


@dataclass(frozen=True)
class Summary:
    """What a fit says of its coefficients. Print it, show it in a notebook, or take it as a frame."""

    alpha: float
    target: Target
    rows: tuple[CoefficientRow, ...]
    facts: tuple[tuple[str, str], ...]
    alarm: str | None
    cautions: tuple[str, ...]
    notes: tuple[str, ...]
    title: str
    ratio: str | None = None  # what the ratios are
    ratios: tuple[RatioRow, ...] = ()

    def __repr__(self) -> str:
        return self.as_text()

    def _repr_html_(self) -> str:
        return self.as_html()

    @property
    def warning(self) -> str | None:
        """Why the fit is not private, and what weakens its guarantee; None where there is nothing to warn of."""
        return " ".join(filter(None, (self.alarm, *self.cautions))) or None

    @property
    def columns(self) -> tuple[str, ...]:
        """Headings of the numbers."""
        low = 0.5 * self.alpha
        return ("coef", "std err", "privacy", "t", "P>|t|", f"[{low:.4g}", f"{1.0 - low:.4g}]")

    @property
    def ratio_columns(self) -> tuple[str, ...]:
        """Headings of the ratios."""
        return (str(self.ratio), *self.columns[-2:])

    def as_text(self) -> str:
        """Return text of at most 80 columns."""
        lines = [self.title.center(WIDTH).rstrip(), "=" * WIDTH]
        if self.warning is not None:
            lines += textwrap.wrap(visible(self.warning), WIDTH)
        wide = max(len(name) for name, _ in self.facts) + 2
        for name, fact in self.facts:
            lines += textwrap.wrap(visible(fact), WIDTH, initial_indent=f"{name:<{wide}}", subsequent_indent=" " * wide)
        widths = self._widths()
        room = WIDTH - sum(widths)
        lines += ["-" * WIDTH, *_line("", self.columns, room, widths), "-" * WIDTH]
        for row in self.rows:
            lines += _line(row.name, row.cells()[1:], room, _WORDS_WIDTH if row.hidden else widths)
        if self.ratios:
            lines += ["-" * WIDTH, *_line("", self.ratio_columns, room, RATIO_WIDTHS)]
        for ratio in self.ratios:
            lines += _line(ratio.name, ratio.cells()[1:], room, _WORDS_WIDTH if ratio.value is None else RATIO_WIDTHS)
        lines.append("=" * WIDTH)
        for note in self.notes:
            lines += textwrap.wrap(visible(note), WIDTH)
        return "\n".join(lines)

    def _widths(self) -> tuple[int, ...]:
        """Return the widths of the columns of numbers: no wider than the numbers where names need the room."""
        if all(len(visible(row.name)) < WIDTH - sum(WIDTHS) for row in self.rows):
            return WIDTHS
        cells = (self.columns, *(row.cells()[1:] for row in self.rows if not row.hidden))
        needed = (1 + max(map(len, column)) for column in zip(*cells, strict=True))
        return tuple(min(pair) for pair in zip(needed, WIDTHS, strict=True))

    def as_html(self) -> str:
        """Return a part of an HTML page, such as a notebook shows, readable on a phone as well."""
        return self._render("summary_part.html")

    def to_page(self) -> str:
        """Return a whole HTML page."""
        return self._render("summary.html")

    def as_latex(self) -> str:
        """Return the table of coefficients in LaTeX, with what else is known of the fit below it."""
        facts = [f"{name}: {fact}." for name, fact in self.facts]
        notes = [*filter(None, (self.alarm, *self.cautions)), " ".join(facts), *self.notes]
        blocks = [[row.cells() for row in self.rows]]
        if self.ratios:
            padding = ("",) * (len(self.columns) - len(self.ratio_columns))
            heading = ("", *self.ratio_columns, *padding)
            blocks.append([heading, *((*row.cells(), *padding) for row in self.ratios)])
        return latex_table(("", *self.columns), blocks, notes)

    def _render(self, template: str) -> str:
        from ..pages import render

        rows = [row.cells() for row in self.rows]
        ratios = [row.cells() for row in self.ratios]
        return render(
            template,
            summary=self,
            title=self.title,
            headings=("", *self.columns),
            rows=rows,
            ratio_headings=("", *self.ratio_columns),
            ratios=ratios,
        )

    def to_frame(self) -> Any:
        """Return the coefficients as a pandas data frame with a row for each; nan where the releases do not say.

        A warning, such as that a fit is not private, is in its ``attrs``.
        """
        frame = frame_of([row.numbers for row in self.rows], [row.name for row in self.rows], self.columns)
        if self.warning:
            frame.attrs["warning"] = self.warning
        return frame

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "alpha": self.alpha,
            "target": self.target,
            "coefficients": [dict(vars(row)) for row in self.rows],
            **({self.ratio.replace(" ", "_") + "s": [dict(vars(row)) for row in self.ratios]} if self.ratio else {}),
            "facts": dict(self.facts),
            "warning": self.warning,
            "notes": list(self.notes),
        }


def summarise(
    report: PrivacyReport, inference: Inference | None, *, alpha: float = 0.05, target: Target = "population"
) -> Summary:
    """Put together what is known of a fit; where there are no intervals, say why instead."""
    checked_alpha(alpha)
    words = WORDS[algorithm(report.method).family]
    ratios: tuple[RatioRow, ...] = ()
    facts = [*report.described, *_facts_of_the_fit(report, inference)]
    if inference is None or inference.why_not(target):
        rows = tuple(
            CoefficientRow(
                c.name,
                c.value,
                None,
                c.noise_stddev,
                *(None,) * 4,
                hidden=bool(report.hidden_ranges) and c.noise_stddev is None,
            )
            for c in report.coefficients
        )
        notes: tuple[str, ...] = (
            *_no_intervals(report, inference, target),
            f"privacy: {report.noise_meaning[:1].lower()}{report.noise_meaning[1:]}",
        )
    else:
        rows = coefficient_rows(inference, alpha, target)
        ratios = ratio_rows(rows, inference) if words.ratio else ()
        empty = [f"No interval of {reason}." for reason in inference.why_empty(target)]
        count = sum(row.p_value is not None for row in rows)
        paid = report.bounds_origin == "paid"
        notes = (
            *((CUT_AT_FOUND_BOUNDS,) if paid else ()),
            *empty,
            *why_hidden(inference, alpha),
            _COLUMNS,
            *((_RATIOS.format(words.ratio, words.multiplied),) if words.ratio else ()),
            _intervals_are_for(inference, target, words),
            *inference.assumptions,
            _BOUNDED.format(f"{words.explained} and {words.spread}", "found" if paid else "declared"),
            *_looked_at(count, overall_test(inference, target)),
        )
    if inference is not None:
        facts += _statistics(inference, alpha, target, words)
    notes = (*notes, *(f"Advice: {item}" for item in report.advice))
    return Summary(
        alpha, target, rows, tuple(facts), report.alarm, report.cautions, notes, words.title, words.ratio, ratios
    )


def _no_intervals(report: PrivacyReport, inference: Inference | None, target: Target) -> Sequence[str]:
    if inference is None:
        return report.estimate_notes if report.constraints else (_NOT_ASKED,)
    why = inference.why_not(target)
    return (f"No intervals: {'; '.join(why)}.",)


def _facts_of_the_fit(report: PrivacyReport, inference: Inference | None) -> list[tuple[str, str]]:
    """Return public facts, and how many rows are in use."""
    used = report.used_in_words if inference is None else ""
    if inference is not None and inference.n_rows is not None:  # else the number in use is all that is known
        used = _used(inference)
    rows = "single rows" if report.unit is None else f"all rows of one {report.unit} together, of which at most "
    return [
        ("Method", f"{report.title} ({report.method})"),
        ("Budget", f"epsilon {report.asked.epsilon:.6g}, delta {report.asked.delta:.3g}, {report.relation} neighbours"),
        ("Protects", rows if report.unit is None else f"{rows}{report.rows_per_unit} are used"),
        ("Rows", f"{report.row_count}{used}; {report.n_features} coefficients"),
        *_exposure(report),
    ]


def _exposure(report: PrivacyReport) -> list[tuple[str, str]]:
    """Say by which exposure means are multiplied, where rows have one; what is declared of it follows the target."""
    for name, ends in reversed(report.bounds):
        if name in ("exposure", "target"):
            return [("Exposure", f"within {ends}; coefficients are for the rate at exposure 1")] * (name == "exposure")
    return []


def _used(inference: Inference) -> str:
    """Say how many rows are in use, with the noise of this number."""
    if not inference.rows_noise:
        return ", all of which are used"
    return in_use(inference.rows_told, inference.rows_noise)


def _statistics(inference: Inference, alpha: float, target: Target, words: Words) -> list[tuple[str, str]]:
    """Return what the releases say of the fit as a whole."""
    hidden = np.isnan(inference.standard_errors(target)).all()
    why = inference.why_not(target)
    absent = HIDDEN_WORDS if not why or any("noise" in reason for reason in why) else "none; the reason is below"
    return [
        ("Std errors", absent if hidden else _errors(inference, target)),
        *([] if hidden else [("Assumed", _assumed(inference, target, words))]),
        (words.explained, _fact(r_squared(inference, alpha), alpha)),
        *(
            [("Adj. R-squared", _fact(adjusted_r_squared(inference, alpha), alpha))]
            if inference.family == "gaussian"
            else []
        ),
        ("F-statistic", _overall(overall_test(inference, target), absent)),
        (words.spread, _fact(residual_variance(inference, alpha), alpha)),
    ]


def _overall(test: WaldTest, absent: str) -> str:
    if test.hidden is not None:
        return absent
    free = f"{test.df_num} and {test.df_denom:.4g}" if test.df_denom < 1e9 else f"{test.df_num}"
    chance = f"P = {test.pvalue:.3g}" if test.pvalue >= TINY else f"P < {TINY:g}"
    return f"{test.statistic:.4g} on {free} degrees of freedom, {chance}"


def _looked_at(count: int, overall: WaldTest) -> tuple[str, ...]:
    """Say how many P values are shown, and what looking at several of them means."""
    count += overall.hidden is None
    if count < 2:
        return ()
    return (
        f"{count} P values are shown here. If nothing had an effect, the chance that one of them is below 0.05 would "
        f"be up to {min(0.05 * count, 1.0):.0%}; further tests add to it. conf_int(simultaneous=...) and f_test look "
        "at several coefficients together.",
    )


def _errors(inference: Inference, target: Target) -> str:
    return "privacy noise only" if target == "data" else _ERRORS[inference.cov_type]


def _assumed(inference: Inference, target: Target, words: Words) -> str:
    parts = [_ASSUMED[inference.cov_type].format(words.classical)] if target == "population" else []
    rare = [_RARE] if {TAIL, SQUARES} & set(inference.assumptions) else []
    return "; ".join([*parts, *rare]) or "nothing"


def _intervals_are_for(inference: Inference, target: Target, words: Words) -> str:
    if target == "data":
        return _FOR_DATA.format(words.fit)
    when = _IF[inference.cov_type].format(words.classical)
    return (
        f"Intervals of coefficients are for the population that the rows are a sample of, {when}. They include "
        "privacy noise and sampling noise."
    )


def _fact(found: tuple[float, float, float] | None, alpha: float) -> str:
    if found is None:
        return HIDDEN_WORDS
    value, low, high = found
    return f"{value:.4g}, {100.0 * (1.0 - alpha):.4g}% interval [{low:.4g}, {high:.4g}]"


def _line(name: str, cells: Sequence[str], room: int, widths: Sequence[int]) -> list[str]:
    """Return a name and numbers under their headings, or words; a long name, which may not be cut, above them."""
    name = visible(name)
    above = textwrap.wrap(name, WIDTH) if len(name) >= room else []
    shown = "".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
    return [*above, f"{'' if above else name:<{room}}{shown}".rstrip()]
