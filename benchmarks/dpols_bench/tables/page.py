"""The results as rows of text, and as one HTML file that needs no network."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..pages import render
from ..paper.methods import method
from ..paper.tables import save_text
from .board import DEFAULT, Board
from .other_library import DIFFPRIVLIB
from .rows import table as definition

if TYPE_CHECKING:
    from .evaluation import Evaluation


def save_page(evaluation: "Evaluation", out: Path) -> None:
    """Write tables.html."""
    save_text(page_of(evaluation), out / "tables.html")


def page_of(evaluation: "Evaluation") -> str:
    """Return the page."""
    board = evaluation.board
    return render(
        "tables.html",
        n_tables=len(board.tables),
        settings=evaluation.settings,
        goals=evaluation.goals,
        losses=(loss_headings(board), loss_rows(board)),
        widths=(width_headings(board), width_rows(board)),
        tables=(table_headings(board), table_rows(board)),
    )


def loss_headings(board: Board) -> list[str]:
    """Return the headings of the losses by method."""
    return ["method", "what", "tables", *(f"epsilon {epsilon:g}" for epsilon in board.epsilons)]


def loss_rows(board: Board) -> list[list[str]]:
    """Return the mean loss of each method by epsilon, on all tables and on those held out."""
    halves = {"all": board.tables, "held out": board.held_out}
    return [
        [name, title_of(name), half, *(_losses(board, name, epsilon, tables) for epsilon in board.epsilons)]
        for half, tables in halves.items()
        for name in board.methods
        if tables
    ]


def width_headings(board: Board) -> list[str]:
    """Return the headings of what too wide ranges cost."""
    return ["method", "times as wide", *(f"epsilon {epsilon:g}" for epsilon in board.epsilons), "error, times"]


def width_rows(board: Board) -> list[list[str]]:
    """Return the mean losses of each method with wider ranges, and the cost of width."""
    return [
        [
            name,
            f"{widening:g}",
            *(_short(board.loss(name, epsilon, widening).value) for epsilon in board.epsilons),
            _short(board.cost_of_width(name, widening).value, digits=2),
        ]
        for name in board.methods
        for widening in board.widenings
    ]


def table_headings(board: Board) -> list[str]:
    """Return the headings of the results by table."""
    others = [f"{name} at {board.epsilons[-1]:g}" for name in board.methods if name != DEFAULT]
    return ["table", "least squares", *(f"default at {epsilon:g}" for epsilon in board.epsilons), *others]


def table_rows(board: Board) -> list[list[str]]:
    """Return the R^2 of least squares on each table, the default's losses, and the others' at the largest epsilon."""
    others = [name for name in board.methods if name != DEFAULT]
    return [
        [
            definition(item).name,
            f"{board.least_squares(item):.3f}",
            *(_short(board.loss(DEFAULT, epsilon, tables=[item]).value) for epsilon in board.epsilons),
            *(_short(board.loss(name, board.epsilons[-1], tables=[item]).value) for name in others),
        ]
        for item in board.tables
    ]


def title_of(name: str) -> str:
    """Return a method in words."""
    return "diffprivlib, pure epsilon" if name == DIFFPRIVLIB else method(name).title


def _losses(board: Board, name: str, epsilon: float, tables: Sequence[str]) -> str:
    raw, in_range = (board.loss(name, epsilon, tables=tables, in_range=clipped).value for clipped in (False, True))
    training = board.excess(name, epsilon, tables=tables)
    return f"{_short(raw)} ({_short(in_range)}; {_short(training)})"


def _short(value: float, digits: int = 4) -> str:
    """Return a number of a few characters: diffprivlib's losses can have any size."""
    return f"{value:.{digits}f}" if abs(value) < 100.0 else f"{value:.0e}"
