"""The results as rows of text, and as one HTML file that needs no network."""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from ..pages import goal_table, page, table
from ..paper.methods import method
from ..paper.tables import save_text
from .board import DEFAULT, Board
from .other_library import DIFFPRIVLIB
from .rows import table as definition

if TYPE_CHECKING:
    from .evaluation import Evaluation


def save_page(evaluation: "Evaluation", out: Path) -> None:
    """Write tables.html."""
    save_text(render(evaluation), out / "tables.html")


def render(evaluation: "Evaluation") -> str:
    """Return the page."""
    board, settings = evaluation.board, evaluation.settings
    without = "" if settings.diffprivlib else " diffprivlib was not run."
    parts = [
        "<h1>Private regressions on tables as people have them</h1>",
        f"<p>{len(board.tables)} public tables with ranges as a codebook states them, an intercept, delta = 1/n². "
        f"Means over {settings.splits} random splits: 75% of the rows are fitted in float arithmetic, the others test. "
        f"Losses of R² are against least squares, which is not private. diffprivlib has no delta.{without}</p>",
        "<h2>Goals of the default</h2>",
        goal_table(evaluation.goals),
        "<h2>Mean loss of test R²</h2>",
        "<p>Of raw predictions; in brackets of those clipped to the range of the target, and the excess error on the "
        "training rows over the variance of the target, which is never negative. A loss of test R² is, where least "
        "squares overfits. On all tables, and on those that the default's constants were not chosen on.</p>",
        _html(loss_headings(board), loss_rows(board)),
        "<h2>Ranges that are too wide</h2>",
        "<p>Mean loss of test R², and how many times as large the error on the training rows is: the geometric mean "
        "over tables at epsilons 1 and 3.</p>",
        _html(width_headings(board), width_rows(board)),
        "<h2>Every table</h2>",
        "<p>Test R² of least squares, and the loss of each method by epsilon.</p>",
        _html(table_headings(board), table_rows(board)),
    ]
    return page("Private regressions on tables", parts)


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


def _html(headings: list[str], rows: list[list[str]]) -> str:
    return table(headings, [[escape(cell) for cell in row] for row in rows])
