"""The scoreboard as one HTML file that needs no network, and the heat map beside it."""

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from ..pages import goal_table, page, table
from ..paper.methods import method
from ..paper.tables import save_text
from .board import Board, Place, name_of
from .contenders import DEFAULT, YARDSTICK, Contender
from .heat import colour_of, save_heat_map

if TYPE_CHECKING:
    from .evaluation import Scores

REFERENCES = {"ridge_oracle": "ridge oracle", "shaped_oracle": "shaped oracle", "stored": "stored adaptive"}


def save_page(scores: "Scores", out: Path) -> None:
    """Write heat-map.png and scores.html."""
    if scores.board.mean_ratio(DEFAULT, YARDSTICK, scores.board.references).value > 0.0:
        save_heat_map(scores.board, out / "heat-map.png")
    save_text(render(scores), out / "scores.html")


def render(scores: "Scores") -> str:
    """Return the page."""
    board = scores.board
    missing = f" Not available: {', '.join(scores.missing)}." if scores.missing else ""
    parts = [
        "<h1>How accurate private regressions are</h1>",
        f"<p>Mean excess empirical risk over up to {scores.settings.trials} trials in float arithmetic, delta = 1/n². "
        f"{len(board.datasets)} data sets, {len(board.epsilons)} epsilons. "
        "Predictions are raw unless they are said to be in the range of the target. "
        f"Ratios below 1 favour the first.{missing}</p>",
        "<h2>Goals of the default</h2>",
        goal_table(scores.goals),
        "<h2>Geometric means</h2>",
        _means(board),
        "<h2>Worst cells of the default against the paper's IHM</h2>",
        _worst_cells(board),
        "<h2>Cells with the most harm against zero</h2>",
        _harmed_cells(board),
        "<h2>Every cell: default over the paper's IHM</h2>",
        _heat_table(board, YARDSTICK),
        "<h2>Every cell: default over the stored adaptive</h2>",
        _heat_table(board, "stored"),
    ]
    return page("Scoreboard of private regressions", parts)


def mean_rows(board: Board) -> list[list[str]]:
    """Return one row of geometric means for each contender: over all real cells, by epsilon, and by group."""
    alike = board.groups
    groups = [board.places(alike.real)]
    groups += [board.places(alike.real, lambda epsilon, e=at: epsilon == e) for at in board.epsilons]  # type: ignore[misc]
    names = (alike.tuned_on, alike.held_out, alike.small, alike.families, alike.leverage)
    groups += [board.places(datasets) for datasets in names]
    rows = []
    for contender in board.contenders:
        values = [board.mean_ratio(contender, YARDSTICK, places).value for places in groups]
        values += [board.mean_ratio(contender, known, groups[0]).value for known in REFERENCES]
        shares = [board.mean_share(contender, groups[0], in_range=in_range) for in_range in (False, True)]
        rows.append([str(contender), title_of(contender), *(f"{value:.3f}" for value in (*values, *shares))])
    return rows


def mean_headings(board: Board) -> list[str]:
    """Return the headings of the rows."""
    at = [f"{epsilon:.3g}" for epsilon in board.epsilons]
    groups = ["tuned on", "held out", "small", "made up", "leverage"]
    over = [f"all, over {text}" for text in REFERENCES.values()]
    return ["contender", "what", "all", *at, *groups, *over, "mean share, raw", "mean share, in range"]


def title_of(contender: Contender) -> str:
    """Return the contender's method in words."""
    return method(contender.method).title


def _means(board: Board) -> str:
    intro = (
        "<p>Over the paper's IHM on all real data sets, at each epsilon, on both halves, below 1,000 rows, and on "
        "made-up data; then over references on all real data sets. The mean share is the arithmetic mean over all real "
        "cells of the excess in units of the mean squared target, for raw predictions and for those in range.</p>"
    )
    return intro + table(mean_headings(board), [[escape(cell) for cell in row] for row in mean_rows(board)])


def _worst_cells(board: Board) -> str:
    ratios = board.ratios(DEFAULT, YARDSTICK, board.references)
    worst = sorted(ratios.items(), key=lambda item: -item[1].value)[:10]
    rows = [[escape(name_of(place)), str(ratio), *_harms(board, place)] for place, ratio in worst]
    return table(["cell", "ratio (95% interval)", "harm, raw", "harm, in range"], rows)


def _harmed_cells(board: Board) -> str:
    harms = {place: board.harm(DEFAULT, place) or 0.0 for place in board.references}
    worst = sorted(harms, key=lambda place: -harms[place])[:10]
    rows = [[escape(name_of(place)), *_harms(board, place)] for place in worst]
    return table(["cell", "harm, raw", "harm, in range"], rows)


def _harms(board: Board, place: Place) -> list[str]:
    found = (board.harm(DEFAULT, place, in_range=in_range) for in_range in (False, True))
    return ["" if harm is None else f"{harm:.4f}" for harm in found]


def _heat_table(board: Board, other: Contender | str) -> str:
    rows = []
    for dataset in board.datasets:
        cells = [f"<td>{escape(dataset)}</td>"]
        for epsilon in board.epsilons:
            ratio = board.ratio(DEFAULT, other, (dataset, epsilon))
            if ratio is None:
                cells.append("<td></td>")
                continue
            back, front = colour_of(ratio.value)
            cells.append(f'<td style="background:{back};color:{front}" title="{ratio}">{ratio.value:.2f}</td>')
        rows.append(f"<tr>{''.join(cells)}</tr>")
    heads = "".join(f"<th>{epsilon:.3g}</th>" for epsilon in board.epsilons)
    head = f"<thead><tr><th>data set</th>{heads}</tr></thead>"
    return f'<div class="wide"><table>{head}<tbody>{"".join(rows)}</tbody></table></div>'
