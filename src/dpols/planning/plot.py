"""The picture of a plan: expected R^2 and interval width against epsilon, one curve for each method."""

from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from ..errors import MissingExtraError
from .simulation import INTERVAL_SHARE

if TYPE_CHECKING:
    from .accuracy import AccuracyPlan

MUTED = "#6b6b6b"
# Colour and marker of each method, those that figures of the benchmark have.
LOOKS = {
    "whitened": ("#a8328a", "^"),
    "ihm": ("#188038", "D"),
    "adassp": ("#1f4fd8", "*"),
    "dp-gd": ("#222222", "x"),
    "linmix": ("#e8542a", "o"),
    "ihm-adaptive": ("#00a3a3", "s"),
    "linmix-dynamic": ("#c58a00", "v"),
    "boosted-adassp": ("#0b7fab", "p"),
    "sheffet": ("#7a5c2e", "h"),
}


def save_plot(plan: "AccuracyPlan", path: Path) -> None:
    """Draw a plan."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", "plots") from None
    figure = Figure(figsize=(11.0, 4.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    _draw_accuracy(left, plan)
    _draw_intervals(right, plan)
    for axes in (left, right):
        axes.set_xscale("log")
        axes.set_xticks(plan.epsilons, [f"{epsilon:g}" for epsilon in plan.epsilons])
        axes.minorticks_off()
        axes.set_xlim(plan.epsilons[0] / 1.25, plan.epsilons[-1] * 1.25)
        axes.set_xlabel("epsilon, more private to the left")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25, linewidth=0.7)
        axes.set_axisbelow(True)
        axes.title.set_fontsize(11)
    _level_ticks(right)
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=10, frameon=False)
    title = f"What to expect of {plan.n_rows:,} rows with {plan.n_features} features"
    figure.suptitle(f"{title}\n{plan.assumed}".replace("R^2", "R\u00b2"), fontsize=11)
    figure.savefig(path, dpi=150)


def _draw_accuracy(axes: Any, plan: "AccuracyPlan") -> None:
    _draw(axes, plan, "r_squared")
    axes.axhline(plan.nonprivate_r_squared, color=MUTED, ls="--", lw=1.3)
    note = {"textcoords": "offset points", "fontsize": 9, "color": MUTED}
    at = plan.epsilons[-1], plan.nonprivate_r_squared
    axes.annotate("least squares, not private", at, xytext=(0, 5), ha="right", **note)
    # Fits far worse than a constant would flatten everything else.
    lowest = min(row.r_squared for row in plan.rows)
    top = max(plan.nonprivate_r_squared, 0.02)
    axes.set_ylim(max(lowest - 0.05 * top, -0.35 * top), 1.12 * top)
    for line in axes.get_lines():
        if max(line.get_ydata(), default=0.0) < axes.get_ylim()[0]:
            line.set_label(f"{line.get_label()} (below the picture)")
    if lowest < 0.0:
        axes.axhline(0.0, color=MUTED, lw=0.8)
        # Beside the axes, where no curve can strike it through.
        beside = {"xycoords": ("axes fraction", "data"), "annotation_clip": False}
        axes.annotate("a\nconstant", (1.0, 0.0), xytext=(3, 0), ha="left", va="center", **beside, **note)
    axes.set_ylabel("expected R\u00b2 on fresh rows")
    advised = plan.recommendation.epsilon
    if advised is not None:
        axes.axvline(advised, color=MUTED, lw=0.9, ls=":")
    axes.set_title("Accuracy" if advised is None else f"Accuracy (recommended: epsilon = {advised:g})")


def _draw_intervals(axes: Any, plan: "AccuracyPlan") -> None:
    if any(row.interval_width is not None for row in plan.rows):
        _draw(axes, plan, "interval_width")
        axes.set_yscale("log")
        if any((row.interval_share or 0.0) < INTERVAL_SHARE for row in plan.rows):
            place = {"transform": axes.transAxes, "ha": "left", "va": "bottom"}
            few = f"hollow: below {INTERVAL_SHARE:.0%} of slopes have an interval; no point: none has"
            axes.text(0.02, 0.02, few, fontsize=9, color=MUTED, **place)
    else:
        why = next((row.no_interval_because for row in plan.rows if row.no_interval_because), "")
        said = fill(f"no intervals at these epsilons: {why}", 44)
        axes.text(0.5, 0.5, said, ha="center", va="center", color=MUTED, transform=axes.transAxes)
    axes.set_ylabel("width, in standard deviations of target per standard deviation of feature")
    axes.set_title("95% intervals of slopes, with inference=True")


def _draw(axes: Any, plan: "AccuracyPlan", name: str) -> None:
    for method in plan.methods:
        rows = sorted((row for row in plan.rows if row.method == method), key=lambda row: row.epsilon)
        points = [(row.epsilon, getattr(row, name)) for row in rows if getattr(row, name) is not None]
        colour, marker = LOOKS.get(method, (MUTED, "."))
        axes.plot(*zip(*points, strict=True) if points else ((), ()), color=colour, marker=marker, ms=6, label=method)
        few = [row for row in rows if (row.interval_share or 0.0) < INTERVAL_SHARE]
        if name == "interval_width":
            hollow = [(row.epsilon, row.interval_width) for row in few if row.interval_width is not None]
            style = {"color": colour, "marker": marker, "ms": 6, "ls": "", "mfc": "white"}
            axes.plot(*zip(*hollow, strict=True) if hollow else ((), ()), **style)


def _level_ticks(axes: Any) -> None:
    """Label a logarithmic axis that may span less than a decade with plain numbers."""
    if axes.get_yscale() != "log":
        axes.set_yticks([])
        return
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 3.0, 5.0, 7.0)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
