"""The figures of the paper: excess risk against epsilon, one panel for each data set, one colour for each method."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpols.errors import MissingExtraError

from ..datasets import REAL
from .dataset_table import TableRow
from .method_row import Method
from .methods import SMALL_SIGNAL, method
from .rules import MAIN
from .summary import Results

PAPER_WIDTH = 6.75  # inches of the paper's text
_TEXT = 7.0  # points


@dataclass(frozen=True)
class FigureRow:
    """One figure of the paper."""

    name: str
    caption: str
    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    columns: int = 4
    clipping: bool = False


FIGURES: tuple[FigureRow, ...] = (
    FigureRow("main", "The eight data sets of the main text.", MAIN, ("linmix", "adassp", "ihm")),
    FigureRow("suite", "All real data sets.", REAL, ("linmix", "adassp", "ihm"), columns=5),
    FigureRow(
        "two_iterations",
        "Data sets whose signal is small: IHM with T = 2 beside T = 3, and LinMix with a larger sketch.",
        SMALL_SIGNAL,
        ("linmix", "linmix-k12", "adassp", "ihm", "ihm-t2"),
    ),
    FigureRow("dp_gd", "All real data sets, with DP-GD.", REAL, ("dp-gd", "linmix", "adassp", "ihm"), columns=5),
    FigureRow(
        "clipping", "MLP features: risk, and the share of clipped iterations.", ("mlp",), ("linmix", "adassp", "ihm"),
        clipping=True,
    ),
    FigureRow(
        "six_iterations", "Uniform sphere: T = 6 with a larger sketch.", ("sphere",),
        ("linmix", "adassp", "ihm", "ihm-t6"), columns=1,
    ),
)  # fmt: skip


def require_matplotlib() -> None:
    """Raise where there is nothing to draw with."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MissingExtraError("matplotlib", "plots") from None


def save_figures(results: Results, table: Sequence[TableRow], folder: Path) -> list[Path]:
    """Draw every figure in every kind of accounting, as PNG and PDF; those that would be empty are left out."""
    require_matplotlib()
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for row, accounting, figure in _drawn(results, table):
        for suffix in ("png", "pdf"):
            path = folder / f"{row.name}_{accounting}.{suffix}"
            figure.savefig(path, dpi=200, metadata={"CreationDate": None} if suffix == "pdf" else None)
            # The layout is the slowest part, and the same for both.
            figure.set_layout_engine("none")
            written.append(path)
    return written


def _drawn(results: Results, table: Sequence[TableRow]) -> Iterator[tuple[FigureRow, str, Any]]:
    titles = {row.name: row for row in table}
    for accounting in results.accountings:
        for row in FIGURES:
            datasets = [name for name in row.datasets if name in titles]
            if any(results.curve(name, m, accounting) for name in datasets for m in row.methods):
                yield row, accounting, _figure(row, accounting, datasets, results, titles)


def _figure(
    row: FigureRow, accounting: str, datasets: Sequence[str], results: Results, titles: dict[str, TableRow]
) -> Any:
    from matplotlib.figure import Figure

    panels = len(datasets) + row.clipping
    columns = min(row.columns, panels) if panels > 1 else 1
    rows = -(-panels // columns)
    width = PAPER_WIDTH if columns > 2 else 0.5 * PAPER_WIDTH * columns if columns == 2 else 3.6
    figure = Figure(figsize=(width, (1.55 if columns > 2 else 2.5) * rows + 0.75), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, name in zip(grid, datasets, strict=False):
        _draw_panel(axes, titles[name], [results.curve(name, m, accounting) for m in row.methods])
    if row.clipping:
        _draw_clipping(grid[len(datasets)], results.curve(datasets[0], "ihm", accounting))
    for axes in grid[panels:]:
        axes.set_axis_off()
    figure.supxlabel(f"epsilon  (delta = 1/n\u00b2, {accounting} accounting)", fontsize=_TEXT + 1)
    figure.supylabel("excess empirical risk / n", fontsize=_TEXT + 1)
    _draw_legend(figure, [method(name) for name in row.methods if name in results.methods])
    return figure


def _draw_panel(axes: Any, row: TableRow, curves: Sequence[Sequence[Any]]) -> None:
    axes.set_title(row.title, fontsize=_TEXT + (0.5 if len(row.title) < 17 else -0.5), pad=3)
    if row.measured is None or not any(curves):
        text = "not available" if row.measured is None else "not run"
        axes.text(0.5, 0.5, text, ha="center", va="center", transform=axes.transAxes, fontsize=_TEXT, color="#777777")
        axes.set_xticks([])
        axes.set_yticks([])
        return
    for curve in curves:
        if curve:
            _draw_curve(axes, curve)
    axes.set_xscale("log")
    axes.set_yscale("log")
    _style(axes)


def _draw_curve(axes: Any, curve: Sequence[Any]) -> None:
    look = method(curve[0].cell.method)
    epsilons = [s.cell.epsilon for s in curve]
    means = [s.train.value for s in curve]
    low = [max(s.train.value - s.train.half_width, 1e-3 * s.train.value) for s in curve]
    high = [s.train.value + s.train.half_width for s in curve]
    axes.fill_between(epsilons, low, high, color=look.colour, alpha=0.2, lw=0)
    axes.plot(epsilons, means, **_line(look))


def _draw_clipping(axes: Any, curve: Sequence[Any]) -> None:
    look = method("ihm")
    shares = [100.0 * (s.clipped_share or 0.0) for s in curve]
    axes.set_title("Iterations of IHM that clip, %", fontsize=_TEXT + 0.5, pad=3)
    axes.plot([s.cell.epsilon for s in curve], shares, **_line(look))
    axes.axhline(40.0, color="#777777", lw=0.8, ls=":")
    axes.set_xscale("log")
    axes.set_ylim(-3.0, 103.0)
    _style(axes)


def _style(axes: Any) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter, NullLocator

    axes.set_xticks([0.1, 1.0, 10.0], ["0.1", "1", "10"])
    axes.xaxis.set_minor_locator(NullLocator())
    if axes.get_yscale() == "log":
        low, high = axes.get_ylim()
        if high / low < 50.0:
            steps = (1.0, 2.0, 5.0) if high / low > 4.0 else (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0)
            axes.yaxis.set_major_locator(LogLocator(10.0, subs=steps))
            axes.yaxis.set_major_formatter(lambda value, _: f"{value:.3g}")
        axes.yaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(labelsize=_TEXT - 0.5, length=2, pad=1.5)
    axes.grid(alpha=0.3, lw=0.4)
    axes.spines[["top", "right"]].set_visible(False)


def _line(look: Method) -> dict[str, Any]:
    size = 5.0 if look.marker in "*x" else 3.2
    return {
        "color": look.colour,
        "marker": look.marker,
        "ms": size,
        "lw": 1.0,
        "ls": "--" if look.dashed else "-",
        "mew": 1.0 if look.marker == "x" else 0.0,
    }


def _draw_legend(figure: Any, looks: Sequence[Method]) -> None:
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], label=look.title, **_line(look)) for look in looks]
    figure.legend(
        handles=handles,
        loc="outside upper center",
        ncols=len(handles) if figure.get_figwidth() > 4.0 else 2,
        fontsize=_TEXT,
        frameon=False,
        handlelength=2.4,
        columnspacing=1.4,
    )
