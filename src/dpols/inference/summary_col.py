"""Several fits in one table: a column for each, with standard errors in parentheses below the coefficients."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..algorithms import algorithm
from ..errors import ParameterError, required
from ..privacy.cautions import NOT_PRIVATE
from ..seen_text import visible
from .inferring import Inferring
from .intervals import Target
from .latex import latex_table
from .quality import Limits, adjusted_r_squared, r_squared
from .rows import CoefficientRow
from .summary import summarise
from .tables import HIDDEN_WORDS, WIDTH, number
from .words import WORDS

TITLE = "Private regression, several fits"
_NAME, _MODEL = 20, 15  # columns of text: for names, and for each model
_STARS = ((0.01, "***"), (0.05, "**"), (0.1, "*"))
_TWO_LINES = {HIDDEN_WORDS: ("hidden by", "the noise")}
Cell = tuple[str, str]  # what stands above, and below


@dataclass(frozen=True)
class SummaryCol:
    """A table of several fits. Print it, show it in a notebook, or take it as a frame."""

    models: tuple[str, ...]
    coefficients: tuple[tuple[str, tuple[Cell, ...]], ...]
    facts: tuple[tuple[str, tuple[str, ...]], ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return self.as_text()

    def _repr_html_(self) -> str:
        return self.as_html()

    def as_text(self) -> str:
        """Return text of at most 80 columns; more than four fits stand in several tables below each other."""
        size = (WIDTH - _NAME) // _MODEL
        parts = [self._text_of(slice(start, start + size)) for start in range(0, len(self.models), size)]
        words = [line for text in (*self.warnings, *self.notes) for line in textwrap.wrap(visible(text), WIDTH)]
        return "\n".join([TITLE.center(WIDTH).rstrip(), *(line for part in parts for line in part), *words])

    def _text_of(self, chosen: slice) -> list[str]:
        lines = ["=" * WIDTH, *_text_row("", self.models[chosen]), "-" * WIDTH]
        for name, cells in self.coefficients:
            above, below = zip(*(_two_lines(cell) for cell in cells[chosen]), strict=True)
            lines += [*_text_row(name, above), *(_text_row("", below) if any(below) else [])]
        lines.append("-" * WIDTH)
        lines += [line for name, texts in self.facts for line in _text_row(name, texts[chosen])]
        return [*lines, "=" * WIDTH]

    def as_html(self) -> str:
        """Return a part of an HTML page, such as a notebook shows."""
        from ..pages import render

        return render("summary_col.html", table=self, title=TITLE, rows=self._rows())

    def as_latex(self) -> str:
        """Return the table in LaTeX."""
        stacked = [zip(*[(name, ""), *cells], strict=True) for name, cells in self.coefficients]
        coefficients = [row for rows in stacked for row in rows if any(row)]
        facts = [(name, *texts) for name, texts in self.facts]
        return latex_table(("", *self.models), [coefficients, facts], (*self.warnings, *self.notes))

    def to_frame(self) -> Any:
        """Return the table as a pandas data frame of texts, a column for each fit."""
        pandas = required("pandas", "tables")
        rows = self._rows()
        return pandas.DataFrame([row[1:] for row in rows], index=[row[0] for row in rows], columns=list(self.models))

    def _rows(self) -> list[tuple[str, ...]]:
        coefficients = [(name, *(" ".join(filter(None, cell)) for cell in cells)) for name, cells in self.coefficients]
        return coefficients + [(name, *texts) for name, texts in self.facts]


def summary_col(
    models: Sequence[Inferring],
    *,
    names: Sequence[str] | None = None,
    stars: bool = False,
    target: Target = "population",
) -> SummaryCol:
    """Return several fitted models in one table.

    Parameters
    ----------
    models : sequence of fitted estimators
        Fits with ``inference=True`` have standard errors.
    names : sequence of str, optional
        Headings of the columns; by default the dependent variables, numbered.
    stars : bool, default=False
        Whether to mark P values below 0.1, 0.05 and 0.01 by one, two and three stars.
    target : "population" or "data", default="population"
        What standard errors are about.
    """
    if isinstance(models, Inferring) or not models or not all(isinstance(model, Inferring) for model in models):
        raise ParameterError("models must be a list of fitted models, such as [small, large].")
    shown = [summarise(model.privacy_report_, model.inference_, target=target) for model in _fitted(models)]
    if names is not None and (isinstance(names, str) or len(names) != len(models)):
        raise ParameterError(f"names={names!r} must be a heading for each of the {len(models)} models.")
    reports = [model.privacy_report_ for model in models]
    heads = [report.target_name or "y" for report in reports] if names is None else list(map(str, names))
    if names is None:
        heads = [f"{head} ({place})" for place, head in enumerate(heads, start=1)]
    rows = [_by_name(summary.rows) for summary in shown]
    asked = [model.inference_ is not None for model in models]
    order = dict.fromkeys(name for found in rows for name in found if name != "intercept")
    order |= dict.fromkeys(name for found in rows for name in found)  # the intercept last
    warnings = [f"{head}: {one.warning}" for head, one in zip(heads, shown, strict=True) if one.warning]
    return SummaryCol(
        models=tuple(heads),
        coefficients=tuple(
            (name, tuple(_cell(found.get(name), paid, stars) for found, paid in zip(rows, asked, strict=True)))
            for name in order
        ),
        facts=_facts(models),
        warnings=tuple(warnings),
        notes=(_note(target), *(["Stars: P below 0.1 (*), 0.05 (**), 0.01 (***)."] if stars else [])),
    )


def _fitted(models: Sequence[Inferring]) -> Sequence[Inferring]:
    for model in models:
        model._require_fit()
    return models


def _by_name(rows: Sequence[CoefficientRow]) -> dict[str, CoefficientRow]:
    """Return coefficients by their names; of two that have the same, the second is numbered."""
    found: dict[str, CoefficientRow] = {}
    for row in rows:
        found[f"{row.name} (2)" if row.name in found else row.name] = row
    return found


def _cell(row: CoefficientRow | None, asked: bool, stars: bool) -> Cell:
    if row is None:
        return "", ""
    if asked and row.stderr is None:
        return HIDDEN_WORDS, ""
    marks = "" if not stars or row.p_value is None else next((mark for p, mark in _STARS if row.p_value < p), "")
    return f"{number(row.value)}{marks}", "" if row.stderr is None else f"({number(row.stderr)})"


def _facts(models: Sequence[Inferring]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return what is known of each fit as a whole."""
    reports, found = [model.privacy_report_ for model in models], [model.inference_ for model in models]
    families = [algorithm(report.method).family for report in reports]
    explained = [WORDS[family].explained for family in families]
    squared = ["" if one is None else _share(r_squared(one)) for one in found]
    # As in the summary of one fit, an explained share of a deviance is no R^2, and is not adjusted.
    adjusted = [
        "" if one is None or family != "gaussian" else _share(adjusted_r_squared(one))
        for one, family in zip(found, families, strict=True)
    ]
    shares = [
        (word, tuple(share if one == word else "" for one, share in zip(explained, squared, strict=True)))
        for word in dict.fromkeys(explained)
    ]
    alarms = tuple("" if report.private else NOT_PRIVATE for report in reports)
    return (
        *((("Guarantee", alarms),) if any(alarms) else ()),
        *shares,
        *([("Adj. R-squared", tuple(adjusted))] if "gaussian" in families else []),
        ("Rows", tuple(map(_rows_told, reports))),
        ("Rows used", tuple("" if one is None else f"{one.rows_told:,.0f}" for one in found)),
        ("epsilon", tuple(f"{report.asked.epsilon:.6g}" for report in reports)),
        ("delta", tuple(f"{report.asked.delta:.3g}" for report in reports)),
    )


def _rows_told(report: Any) -> str:
    return "not public" if report.n_rows is None else str(report.row_count.partition(" (")[0])  # without its noise


def _share(found: Limits | None) -> str:
    return HIDDEN_WORDS if found is None else f"{found[0]:.4f}"


def _note(target: Target) -> str:
    what = "privacy noise and sampling noise" if target == "population" else "privacy noise only"
    return (
        f"Standard errors in parentheses: {what}. Each fit has spent its own epsilon: those of several fits on the "
        "same rows add up."
    )


def _two_lines(cell: Cell) -> Cell:
    return _TWO_LINES.get(cell[0], cell)


def _text_row(name: str, texts: Sequence[str]) -> list[str]:
    """Return a name and texts under their headings; texts that are too long continue below, long names stand above."""
    if len(visible(name)) >= _NAME:
        return [*textwrap.wrap(visible(name), WIDTH), *_text_row("", texts)]
    columns = [[visible(name)], *(textwrap.wrap(visible(text), _MODEL - 1) or [""] for text in texts)]
    height = max(map(len, columns))
    padded = [[*column, *[""] * (height - len(column))] for column in columns]
    rows = zip(*padded, strict=True)
    return [f"{first:<{_NAME}}{''.join(f'{text:>{_MODEL}}' for text in rest)}".rstrip() for first, *rest in rows]
