"""A fit's coefficients with their standard errors and intervals, as text, HTML or a data frame.

Everything shown is a released value, a public number or computed from these.
"""

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import MissingExtraError
from ..report import PrivacyReport
from .intervals import Inference, Target, checked_alpha, on_powers

TITLE = "Private least squares"
_WIDTH = 80
_NAME = 20
_NUMBER = 10
_ERRORS = {
    "population": "privacy noise and sampling noise; classical, not robust",
    "data": "privacy noise only",
}
_FOR = {
    "population": (
        "Intervals of coefficients are for the population that the rows are a sample of, if rows are independent and "
        "errors have the same variance everywhere: they hold privacy noise and sampling noise."
    ),
    "data": (
        "Intervals of coefficients are for least squares on these very rows: they hold privacy noise only, and no "
        "sampling noise."
    ),
}
_BOUNDED = (
    "Those of R-squared and of the residual variance are for these very rows. All are about rows clipped to the "
    "declared bounds: intervals do not account for values clipped at the bounds."
)
_COLUMNS = (
    "privacy: the part of std err that is privacy noise. P>|t|: how probable a coef as far from 0 is if 0 is true."
)
_STEP = (
    "coef is one noisy Newton step from the fitted coefficients, which undoes the regularisation that coef_ and "
    "predict keep, and is what predict_interval uses; see docs/inference.md."
)
_NOT_ASKED = (
    "No intervals: the fit released nothing to make them of. Fit with inference=True (dpols fit --inference), which "
    "pays for them."
)


@dataclass(frozen=True)
class CoefficientRow:
    """One line of a summary; None where the releases do not say."""

    name: str
    value: float
    stderr: float | None
    privacy_stderr: float | None
    p_value: float | None
    lower: float | None
    upper: float | None


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

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return self.to_html()

    @property
    def warning(self) -> str | None:
        """Why the fit is not private, and what weakens its guarantee; None where there is nothing to warn of."""
        return " ".join(filter(None, (self.alarm, *self.cautions))) or None

    @property
    def columns(self) -> tuple[str, ...]:
        """Headings of the numbers."""
        low = 0.5 * self.alpha
        return ("coef", "std err", "privacy", "P>|t|", f"[{low:.4g}", f"{1.0 - low:.4g}]")

    def to_text(self) -> str:
        """Return text of at most 80 columns."""
        lines = [TITLE.center(_WIDTH).rstrip(), "=" * _WIDTH]
        if self.warning is not None:
            lines += textwrap.wrap(self.warning, _WIDTH)
        wide = max(len(name) for name, _ in self.facts) + 2
        for name, fact in self.facts:
            lines += textwrap.wrap(fact, _WIDTH, initial_indent=f"{name:<{wide}}", subsequent_indent=" " * wide)
        lines += ["-" * _WIDTH, " " * _NAME + "".join(f"{name:>{_NUMBER}}" for name in self.columns), "-" * _WIDTH]
        for row in self.rows:
            name = row.name
            if len(name) >= _NAME:  # on lines of its own: cut names could not be told apart
                lines += textwrap.wrap(name, _WIDTH)
                name = ""
            lines.append((f"{name:<{_NAME}}" + "".join(f"{text:>{_NUMBER}}" for text in _cells(row))).rstrip())
        lines.append("=" * _WIDTH)
        for note in self.notes:
            lines += textwrap.wrap(note, _WIDTH)
        return "\n".join(lines)

    def to_html(self) -> str:
        """Return a part of an HTML page, such as a notebook shows, readable on a phone as well."""
        return self._render("summary_part.html")

    def to_page(self) -> str:
        """Return a whole HTML page."""
        return self._render("summary.html")

    def _render(self, template: str) -> str:
        from ..pages import render

        rows = [(row.name, *_cells(row)) for row in self.rows]
        return render(template, summary=self, title=TITLE, headings=("", *self.columns), rows=rows)

    def to_frame(self) -> Any:
        """Return the coefficients as a pandas data frame with a row for each; nan where the releases do not say."""
        try:
            import pandas
        except ImportError:
            raise MissingExtraError("pandas", "tables") from None
        numbers = [(r.value, r.stderr, r.privacy_stderr, r.p_value, r.lower, r.upper) for r in self.rows]
        names = [row.name for row in self.rows]
        return pandas.DataFrame(np.array(numbers, dtype=np.float64), index=names, columns=list(self.columns))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "alpha": self.alpha,
            "target": self.target,
            "coefficients": [dict(vars(row)) for row in self.rows],
            "facts": dict(self.facts),
            "warning": self.warning,
            "notes": list(self.notes),
        }


def summarise(
    report: PrivacyReport, inference: Inference | None, *, alpha: float = 0.05, target: Target = "population"
) -> Summary:
    """Put together what is known of a fit; where there are no intervals, say why instead."""
    checked_alpha(alpha)
    reasons: Sequence[str] = report.estimate_notes if report.constraints else (_NOT_ASKED,)
    if inference is not None:
        why = inference.why_not(target)
        reasons = (f"No intervals: {'; '.join(why)}.", *on_powers(inference.names, why)) if why else ()
    facts = [
        ("Method", f"{report.title} ({report.method})"),
        ("Budget", f"epsilon {report.asked.epsilon:.6g}, delta {report.asked.delta:.3g}, {report.relation} neighbours"),
        ("Data", f"{report.n_rows:,} rows, {report.n_features} coefficients"),
    ]
    if inference is not None:
        facts += [
            ("Std errors", "none" if np.isnan(inference.standard_errors(target)).all() else _ERRORS[target]),
            ("R-squared", _fact(inference.r_squared(alpha), alpha)),
            ("Residual variance", _fact(inference.residual_variance.with_limits(alpha), alpha)),
        ]
    if inference is None or reasons:
        rows = tuple(
            CoefficientRow(c.name, c.value, None, c.noise_stddev, None, None, None) for c in report.coefficients
        )
        meaning = report.noise_meaning
        notes = (*reasons, f"privacy: {meaning[:1].lower()}{meaning[1:]}")
    else:
        rows = _rows(inference, alpha, target)
        empty = [f"No interval of {reason}." for reason in inference.why_empty(target)]
        empty += on_powers(inference.names, inference.why_empty(target))
        notes = (*empty, _COLUMNS, _FOR[target], _BOUNDED, _STEP, *_difference(report, inference))
    return Summary(alpha, target, rows, tuple(facts), report.alarm, report.cautions, notes)


def _difference(report: PrivacyReport, inference: Inference) -> tuple[str, ...]:
    """Say how far the coefficients that predictions use are from the estimates, where that can be said."""
    noise = inference.standard_errors("data")
    fitted = np.array([c.value for c in report.coefficients])
    if fitted.shape != noise.shape or np.isnan(noise).all():
        return ()
    far = np.abs(fitted - inference.estimate) / noise
    most = int(np.nanargmax(far))
    return (
        "Predictions, and the coefficients in the model and in its report, are those of the fit, with regularisation. "
        f"They are within {far[most]:.2g} privacy std errors of coef; furthest is {inference.names[most]}, "
        f"{fitted[most]:.5g} for {inference.estimate[most]:.5g} here.",
    )


def _rows(inference: Inference, alpha: float, target: Target) -> tuple[CoefficientRow, ...]:
    columns = (
        inference.estimate,
        inference.standard_errors(target),
        inference.standard_errors("data"),
        inference.p_values(target),
        *inference.conf_int(alpha, target=target).T,
    )
    return tuple(
        CoefficientRow(name, float(value), *(None if math.isnan(n) else float(n) for n in numbers))
        for name, value, *numbers in zip(inference.names, *columns, strict=True)
    )


def _fact(found: tuple[float, float, float] | None, alpha: float) -> str:
    if found is None:
        return "hidden by the noise"
    value, low, high = found
    return f"{value:.4g}, {100.0 * (1.0 - alpha):.4g}% interval [{low:.4g}, {high:.4g}]"


def _cells(row: CoefficientRow) -> list[str]:
    numbers = [_number(value) for value in (row.value, row.stderr, row.privacy_stderr, row.lower, row.upper)]
    return [*numbers[:3], "" if row.p_value is None else f"{row.p_value:.3f}", *numbers[3:]]


def _number(value: float | None) -> str:
    """Return a number in at most nine characters, empty where there is none."""
    if value is None:
        return ""
    return f"{value:.5g}" if len(f"{value:.5g}") < _NUMBER else f"{value:.3g}"
