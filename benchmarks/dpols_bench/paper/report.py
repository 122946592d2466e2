"""One HTML file with everything in it: no script, style, font or picture comes from elsewhere."""

import base64
import math
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from ..datasets import source
from .chart import chart
from .claims import Claim, Finding
from .dataset_table import Measured, TableRow
from .figures import FIGURES
from .methods import method
from .summary import CellSummary, Mean, Results
from .tables import save_text

if TYPE_CHECKING:
    from .evaluation import Evaluation

_LARGEST, _SMALLEST = 0.72, 0.45  # pixels on the screen for one of a figure: letters as large as the text, and legible
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
    save_text(render(evaluation, figures), path)


def render(evaluation: "Evaluation", figures: Path) -> str:
    """Return the report as HTML."""
    assets = files(__package__).joinpath("assets")
    body = "\n".join(
        (
            _header(evaluation),
            _claims(evaluation.claims, evaluation.settings.arithmetic),
            _accountings(evaluation.results, evaluation.settings.arithmetic),
            _figures(evaluation.results.accountings, figures),
            _datasets(evaluation),
            _dataset_table(evaluation),
        )
    )
    style = assets.joinpath("report.css").read_text(encoding="utf-8")
    script = assets.joinpath("report.js").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>Private linear regression: the paper's evaluation</title>\n<style>\n{style}</style>\n</head>\n"
        f"<body>\n{body}\n<script>\n{script}</script>\n</body>\n</html>\n"
    )


def _header(evaluation: "Evaluation") -> str:
    settings, about = evaluation.settings, evaluation.about
    counts = [sum(row.measured is not None for row in evaluation.table), len(evaluation.table)]
    missing = ", ".join(about["not_available"]) or "none"
    facts = (
        ("Arithmetic", f"{settings.arithmetic} (every number below)"),
        ("Trials", f"{settings.trials} for each mean; 95% intervals"),
        ("Epsilon", ", ".join(f"{e:.3g}" for e in settings.epsilons) + "; delta = 1/n\u00b2"),
        ("Accounting", " and ".join(settings.accountings)),
        ("Data sets", f"{counts[0]} of {counts[1]}; not available: {missing}"),
        ("Time", f"{about['seconds_of_batches']:.0f} s of {about['jobs']} processes; dpols {about['dpols']}"),
    )
    terms = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(text)}</dd></div>" for name, text in facts)
    links = "".join(
        f'<a href="#{anchor}">{text}</a>'
        for anchor, text in (
            ("claims", "Claims"),
            ("accounting", "Accounting"),
            ("figures", "Figures"),
            ("datasets", "Data sets"),
            ("table", "Table"),
        )
    )
    return (
        "<header><h1>Private linear regression: the paper's evaluation</h1>"
        "<p>Lev et al., <cite>Near-optimal private linear regression via iterative Hessian mixing</cite>, run again "
        f'with dpols.</p><dl class="facts">{terms}</dl><nav>{links}</nav></header>'
    )


def _claims(claims: Sequence[tuple[Claim, dict[str, Finding]]], arithmetic: str) -> str:
    cards = []
    for claim, findings in claims:
        verdicts = "".join(
            f'<div class="finding"><span class="accounting">{escape(accounting)}</span> '
            f'<span class="verdict {finding.verdict.replace(" ", "-")}">{finding.verdict}</span>'
            f"<p>{escape(finding.numbers)}</p></div>"
            for accounting, finding in findings.items()
        )
        cards.append(
            f'<article class="claim"><h3>{escape(claim.text)}</h3><p class="rule">Rule: {escape(claim.rule)}.</p>'
            f'<div class="findings">{verdicts}</div></article>'
        )
    legend = (
        f"All in {arithmetic} arithmetic. "
        "A method <em>beats</em> another where its mean is lower by more than the 95% interval of the difference, and "
        "<em>matches or beats</em> it where it is at most 5% worse or within that interval. "
        "All rules and their thresholds stand in the code; refuted claims stay."
    )
    return f'<section id="claims"><h2>What the paper claims</h2><p>{legend}</p>{"".join(cards)}</section>'


def _accountings(results: Results, arithmetic: str) -> str:
    """How much exact accounting changes: geometric means over data sets."""
    if set(results.accountings) != {"paper", "exact"}:
        return '<section id="accounting"></section>'
    epsilons = sorted({cell.epsilon for cell in results.cells})
    head = "".join(f"<th>{epsilon:.3g}</th>" for epsilon in epsilons)
    rows = "".join(
        f"<tr><th>{escape(method(name).title)}</th>"
        + "".join(f"<td>{_exact_over_paper(results, name, epsilon)}</td>" for epsilon in epsilons)
        + "</tr>"
        for name in results.methods
    )
    return (
        '<section id="accounting"><h2>What exact accounting changes</h2>'
        "<p>Excess risk with exact accounting over that with the paper's, at the same epsilon: geometric mean over the "
        f"data sets of each method, in {arithmetic} arithmetic. Below 1 is better.</p>"
        '<div class="wide"><table class="numbers">'
        f"<thead><tr><th>epsilon</th>{head}</tr></thead><tbody>{rows}</tbody></table></div></section>"
    )


def _exact_over_paper(results: Results, name: str, epsilon: float) -> str:
    logs = []
    for dataset in results.datasets:
        exact = results.find(dataset, name, "exact", epsilon)
        paper = results.find(dataset, name, "paper", epsilon)
        if exact and paper and min(exact.train.value, paper.train.value) > 0.0:
            logs.append(math.log(exact.train.value / paper.train.value))
    return f"{math.exp(math.fsum(logs) / len(logs)):.2f}" if logs else "&ndash;"


def _figures(accountings: Sequence[str], folder: Path) -> str:
    parts = []
    for accounting in accountings:
        for row in FIGURES:
            path = folder / f"{row.name}_{accounting}.png"
            if not path.exists():
                continue
            data = path.read_bytes()
            picture, pixels = base64.b64encode(data).decode(), int.from_bytes(data[16:20])  # a PNG's width stands there
            caption = f"{row.caption} {accounting.capitalize()} accounting."
            opened = " open" if row.name == "main" and accounting == accountings[0] else ""
            parts.append(
                f"<details{opened}><summary>{escape(caption)}</summary>"
                f'<div class="wide"><img alt="{escape(caption)}" style="max-width:{_LARGEST * pixels:.0f}px;'
                f'min-width:{_SMALLEST * pixels:.0f}px" src="data:image/png;base64,{picture}"></div></details>'
            )
    return f'<section id="figures"><h2>Figures</h2>{"".join(parts)}</section>'


def _datasets(evaluation: "Evaluation") -> str:
    results = evaluation.results
    buttons = "".join(
        f'<label><input type="radio" name="accounting" value="{a}"{" checked" if i == 0 else ""}> {a}</label>'
        for i, a in enumerate(results.accountings)
    )
    legend = "".join(
        f'<span><i{" class=dashed" if method(name).dashed else ""} style="color:{method(name).colour}"></i>'
        f"{escape(method(name).title)}</span>"
        for name in results.methods
    )
    cards = "".join(_card(row, results) for row in evaluation.table)
    return (
        '<section id="datasets"><h2>Data set by data set</h2>'
        '<div class="controls"><input id="search" type="search" placeholder="Search data sets" '
        f'aria-label="Search data sets"> <span class="choice">Accounting: {buttons}</span>'
        '<span id="count"></span></div>'
        f'<p class="legend">{legend}</p><p>Excess empirical risk / n on training rows in '
        f"{evaluation.settings.arithmetic} arithmetic; bands are 95% intervals.</p>"
        f'<div class="cards">{cards}</div></section>'
    )


def _card(row: TableRow, results: Results) -> str:
    title = f"<h3>{escape(row.title)} <code>{escape(row.name)}</code></h3>"
    key = escape(f"{row.name} {row.title}".lower())
    if row.measured is None:
        return (
            f'<article class="card missing" data-key="{key}">{title}<p><strong>not available</strong></p>'
            f"<p>{escape(_public_origin(row))}</p></article>"
        )
    parts = []
    for accounting in results.accountings:
        curves = [results.curve(row.name, name, accounting) for name in results.methods]
        picture = chart(curves, label=f"Excess risk on {row.title} against epsilon, {accounting} accounting")
        parts.append(
            f'<div class="of" data-accounting="{accounting}">{picture or "<p>not run</p>"}'
            f"<details><summary>Numbers, {accounting} accounting</summary>{_numbers(curves)}</details></div>"
        )
    size = f'<p class="size">n = {row.measured.n:,}, d = {row.measured.d}</p>'
    return f'<article class="card" data-key="{key}">{title}{size}{"".join(parts)}</article>'


def _public_origin(row: TableRow) -> str:
    return f"Public origin: {source(row.name).public_origin}."


def _numbers(curves: Iterable[Sequence[CellSummary]]) -> str:
    rows = "".join(
        f"<tr><th>{escape(method(s.cell.method).title)}</th><td>{s.cell.epsilon:.3g}</td>"
        f"<td>{_interval(s.train)}</td><td>{_interval(s.test)}</td></tr>"
        for curve in curves
        for s in curve
    )
    return (
        '<div class="wide"><table class="numbers"><thead><tr><th>method</th><th>epsilon</th><th>train</th><th>test</th>'
        f"</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _interval(mean: Mean) -> str:
    return f"{mean.value:.4g} &plusmn; {mean.half_width:.2g}"


def _dataset_table(evaluation: "Evaluation") -> str:
    head = "".join(f'<th colspan="2">{escape(title)}</th>' for _, title in _COLUMNS)
    second = "<th>ours</th><th>paper</th>" * len(_COLUMNS)
    rows = "".join(_table_row(row) for row in evaluation.table)
    notes = "".join(f"<li>{escape(note)}</li>" for note in evaluation.about["notes"])
    arithmetic = evaluation.settings.arithmetic
    return (
        '<section id="table"><h2>The data sets beside the paper\'s table</h2>'
        f'<p>Fits of this report are in {arithmetic} arithmetic; this table needs none.</p><div class="wide tall">'
        f'<table class="numbers compare"><thead><tr><th rowspan="2">data set</th>{head}</tr><tr>{second}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div><ul>{notes}</ul></section>"
    )


def _table_row(row: TableRow) -> str:
    key = escape(f"{row.name} {row.title}".lower())
    cells = []
    for name, _ in _COLUMNS:
        theirs = getattr(row.published, name) if row.published else None
        printed = "&ndash;" if theirs is None else escape(_printed(theirs))
        if row.measured is None:
            cells.append(f'<td class="gone">not available</td><td class="paper">{printed}</td>')
        else:
            cells.append(f'<td>{_ours(row.measured, name)}</td><td class="paper">{printed}</td>')
    return f'<tr data-key="{key}"><th>{escape(row.title)}</th>{"".join(cells)}</tr>'


def _ours(measured: Measured, name: str) -> str:
    value = getattr(measured, name)
    if isinstance(value, int):
        return f"{value:,}"
    if name in ("loss_over_n", "target_over_n", "clipping_ratio"):
        return "&lt;1e-3" if value < 1e-3 else f"{value:.3f}"
    return "&lt;1e-3" if value < 1e-3 else f"{value:,.6g}"


def _printed(value: float | str) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
