"""One HTML file with everything in it: no script, style, font or picture comes from elsewhere."""

import base64
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..datasets import source
from ..pages import render
from .chart import Chart, chart
from .dataset_table import Measured, TableRow
from .figures import FIGURES
from .methods import method
from .summary import CellSummary, Mean, Results
from .tables import save_text

if TYPE_CHECKING:
    from .evaluation import Evaluation

_LARGEST, _SMALLEST = 0.72, 0.45  # pixels on the screen for one of a figure: letters as large as the text, and legible
_NOTHING = "\u2013"
_COLUMNS = (
    ("n", "n"),
    ("d", "d"),
    ("smallest", "\u03bb min of X'X"),
    ("smallest_joint", "\u03bb min of [X,y]'[X,y]"),
    ("loss_ratio", "L / (\u03b3m (1 + C\u00b2))"),
    ("loss_over_n", "L / n"),
    ("target_over_n", "|y|\u00b2 / n"),
    ("clipping_ratio", "\u03c7 \u221a\u03ba / (2 \u2212 \u03c7)"),
)


def save_report(evaluation: "Evaluation", path: Path, figures: Path) -> None:
    """Write the report, with the figures of the folder in it."""
    save_text(page_of(evaluation, figures), path)


@dataclass(frozen=True)
class Figure:
    """A picture as text, and how wide it may be shown: in pixels."""

    caption: str
    picture: str
    smallest: float
    largest: float
    shown: bool


@dataclass(frozen=True)
class Part:
    """One data set with one accounting: a chart, None where nothing was run, and its numbers."""

    accounting: str
    chart: Chart | None
    rows: list[tuple[str, ...]]


def page_of(evaluation: "Evaluation", figures: Path) -> str:
    """Return the report as HTML."""
    results = evaluation.results
    return render(
        "paper.html",
        arithmetic=evaluation.settings.arithmetic,
        facts=_facts(evaluation),
        claims=evaluation.claims,
        both=_both_accountings(results),
        figures=_figures(results.accountings, figures),
        accountings=results.accountings,
        methods=[method(name) for name in results.methods],
        datasets=[(row, _parts(row, results)) for row in evaluation.table],
        source=source,
        columns=[title for _, title in _COLUMNS],
        rows=[(row, _compared(row)) for row in evaluation.table],
        notes=evaluation.about["notes"],
    )


def _facts(evaluation: "Evaluation") -> tuple[tuple[str, str], ...]:
    settings, about = evaluation.settings, evaluation.about
    counts = [sum(row.measured is not None for row in evaluation.table), len(evaluation.table)]
    missing = ", ".join(about["not_available"]) or "none"
    return (
        ("Arithmetic", f"{settings.arithmetic} (every number below)"),
        ("Trials", f"{settings.trials} for each mean; 95% intervals"),
        ("Epsilon", ", ".join(f"{e:.3g}" for e in settings.epsilons) + "; delta = 1/n\u00b2"),
        ("Accounting", " and ".join(settings.accountings)),
        ("Data sets", f"{counts[0]} of {counts[1]}; not available: {missing}"),
        ("Time", f"{about['seconds_of_batches']:.0f} s of {about['jobs']} processes; dpols {about['dpols']}"),
    )


def _both_accountings(results: Results) -> tuple[list[str], list[list[str]]] | None:
    """How much exact accounting changes: geometric means over data sets."""
    if set(results.accountings) != {"paper", "exact"}:
        return None
    epsilons = sorted({cell.epsilon for cell in results.cells})
    rows = [
        [method(name).title, *(_exact_over_paper(results, name, epsilon) for epsilon in epsilons)]
        for name in results.methods
    ]
    return ["epsilon", *(f"{epsilon:.3g}" for epsilon in epsilons)], rows


def _exact_over_paper(results: Results, name: str, epsilon: float) -> str:
    logs = []
    for dataset in results.datasets:
        exact = results.find(dataset, name, "exact", epsilon)
        paper = results.find(dataset, name, "paper", epsilon)
        if exact and paper and min(exact.train.value, paper.train.value) > 0.0:
            logs.append(math.log(exact.train.value / paper.train.value))
    return f"{math.exp(math.fsum(logs) / len(logs)):.2f}" if logs else _NOTHING


def _figures(accountings: Sequence[str], folder: Path) -> list[Figure]:
    return [
        _figure(path, f"{row.caption} {accounting.capitalize()} accounting.", shown=row.name == "main" and not place)
        for place, accounting in enumerate(accountings)
        for row in FIGURES
        if (path := folder / f"{row.name}_{accounting}.png").exists()
    ]


def _figure(path: Path, caption: str, *, shown: bool) -> Figure:
    data = path.read_bytes()
    pixels = int.from_bytes(data[16:20])  # a PNG's width stands there
    return Figure(caption, base64.b64encode(data).decode(), _SMALLEST * pixels, _LARGEST * pixels, shown)


def _parts(row: TableRow, results: Results) -> list[Part]:
    parts = []
    for accounting in results.accountings:
        curves = [results.curve(row.name, name, accounting) for name in results.methods]
        picture = chart(curves, label=f"Excess risk on {row.title} against epsilon, {accounting} accounting")
        parts.append(Part(accounting, picture, [_numbers(s) for curve in curves for s in curve]))
    return parts


def _numbers(found: CellSummary) -> tuple[str, ...]:
    at = f"{found.cell.epsilon:.3g}"
    return method(found.cell.method).title, at, _interval(found.train), _interval(found.test)


def _interval(mean: Mean) -> str:
    return f"{mean.value:.4g} \u00b1 {mean.half_width:.2g}"


def _compared(row: TableRow) -> list[tuple[str | None, str]]:
    """Return what was computed here, None where it is not available, and what the paper printed, column by column."""
    ours, theirs = row.measured, row.published
    return [
        (None if ours is None else _ours(ours, name), _printed(getattr(theirs, name) if theirs else None))
        for name, _ in _COLUMNS
    ]


def _ours(measured: Measured, name: str) -> str:
    value = getattr(measured, name)
    if isinstance(value, int):
        return f"{value:,}"
    if name in ("loss_over_n", "target_over_n", "clipping_ratio"):
        return "<1e-3" if value < 1e-3 else f"{value:.3f}"
    return "<1e-3" if value < 1e-3 else f"{value:,.6g}"


def _printed(value: float | str | None) -> str:
    if value is None:
        return _NOTHING
    return f"{value:,}" if isinstance(value, int) else str(value)
