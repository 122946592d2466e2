"""The scoreboard as one HTML file that needs no network, and the heat map beside it."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..pages import render
from ..paper.methods import method
from ..paper.tables import save_text
from .board import Board, Place, Ratio, name_of
from .contenders import DEFAULT, YARDSTICK, Contender
from .heat import colour_of, save_heat_map

if TYPE_CHECKING:
    from .evaluation import Scores

REFERENCES = {"ridge_oracle": "ridge oracle", "shaped_oracle": "shaped oracle", "stored": "stored adaptive"}


def save_page(scores: "Scores", out: Path) -> None:
    """Write heat-map.png and scores.html."""
    if scores.board.mean_ratio(DEFAULT, YARDSTICK, scores.board.references).value > 0.0:
        save_heat_map(scores.board, out / "heat-map.png")
    save_text(page_of(scores), out / "scores.html")


@dataclass(frozen=True)
class HeatCell:
    """A ratio with the colours of its background and of its text."""

    ratio: Ratio
    back: str
    front: str


def page_of(scores: "Scores") -> str:
    """Return the page."""
    board = scores.board
    return render(
        "score.html",
        board=board,
        trials=scores.settings.trials,
        missing=scores.missing,
        goals=scores.goals,
        means=(mean_headings(board), mean_rows(board)),
        worst=_worst_cells(board),
        harmed=_harmed_cells(board),
        epsilons=[f"{epsilon:.3g}" for epsilon in board.epsilons],
        over_yardstick=_heat_rows(board, YARDSTICK),
        over_stored=_heat_rows(board, "stored"),
    )


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


def _worst_cells(board: Board) -> list[list[str]]:
    ratios = board.ratios(DEFAULT, YARDSTICK, board.references)
    worst = sorted(ratios.items(), key=lambda item: -item[1].value)[:10]
    return [[name_of(place), str(ratio), *_harms(board, place)] for place, ratio in worst]


def _harmed_cells(board: Board) -> list[list[str]]:
    harms = {place: board.harm(DEFAULT, place) or 0.0 for place in board.references}
    worst = sorted(harms, key=lambda place: -harms[place])[:10]
    return [[name_of(place), *_harms(board, place)] for place in worst]


def _harms(board: Board, place: Place) -> list[str]:
    found = (board.harm(DEFAULT, place, in_range=in_range) for in_range in (False, True))
    return ["" if harm is None else f"{harm:.4f}" for harm in found]


def _heat_rows(board: Board, other: Contender | str) -> list[tuple[str, list[HeatCell | None]]]:
    return [
        (dataset, [_heat_cell(board.ratio(DEFAULT, other, (dataset, epsilon))) for epsilon in board.epsilons])
        for dataset in board.datasets
    ]


def _heat_cell(ratio: Ratio | None) -> HeatCell | None:
    return None if ratio is None else HeatCell(ratio, *colour_of(ratio.value))
