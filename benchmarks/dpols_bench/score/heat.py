"""The heat map of data sets and epsilons, as a picture and as the colours of a table."""

import math
from pathlib import Path

from ..paper.figures import require_matplotlib
from .board import Board
from .contenders import DEFAULT, YARDSTICK

_BLUE, _WHITE, _RED = (33, 102, 172), (247, 247, 247), (178, 24, 43)
_FULL_COLOUR = math.log(20.0)  # of a ratio or its inverse


def colour_of(ratio: float) -> tuple[str, str]:
    """Return background and text colour of a ratio: blue below 1, red above."""
    strength = max(-1.0, min(1.0, math.log(ratio) / _FULL_COLOUR))
    end = _RED if strength > 0.0 else _BLUE
    parts = [round(w + (e - w) * abs(strength)) for w, e in zip(_WHITE, end, strict=True)]
    return "#{:02x}{:02x}{:02x}".format(*parts), "#ffffff" if abs(strength) > 0.55 else "#222222"


def save_heat_map(board: Board, path: Path) -> None:
    """Draw the default's excess risk over that of the paper's IHM in every cell."""
    require_matplotlib()
    from matplotlib.figure import Figure

    datasets, epsilons = board.datasets, board.epsilons
    figure = Figure(figsize=(6.0, 0.24 * len(datasets) + 1.3), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    for row, dataset in enumerate(datasets):
        for column, epsilon in enumerate(epsilons):
            ratio = board.ratio(DEFAULT, YARDSTICK, (dataset, epsilon))
            if ratio is None:
                continue
            back, front = colour_of(ratio.value)
            axes.add_patch(_square(column, row, back))
            axes.text(column, row, f"{ratio.value:.2f}", ha="center", va="center", fontsize=7, color=front)
    axes.set_xlim(-0.5, len(epsilons) - 0.5)
    axes.set_ylim(len(datasets) - 0.5, -0.5)
    axes.set_xticks(range(len(epsilons)), [f"{epsilon:.3g}" for epsilon in epsilons], fontsize=8)
    axes.set_yticks(range(len(datasets)), datasets, fontsize=8)
    axes.set_xlabel("epsilon", fontsize=9)
    axes.set_title("Excess risk of the default over that of the paper's IHM", fontsize=10)
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    figure.savefig(path)


def _square(column: int, row: int, colour: str):  # type: ignore[no-untyped-def]
    from matplotlib.patches import Rectangle

    return Rectangle((column - 0.5, row - 0.5), 1.0, 1.0, facecolor=colour, edgecolor="white", linewidth=1.0)
