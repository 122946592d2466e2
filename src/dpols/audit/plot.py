"""The picture of an audit: error rates of the best tests that were found, against what exact accounting allows."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .lower_bound import Audit
from .trade_off import curve_of_guarantee, curve_of_releases

_COLOURS = {"remove": "#1f5fa8", "add": "#d1662b"}


def save_plot(path: Path, audits: Sequence[Audit]) -> None:
    """Draw the power of the best test against its type I error, for each audit, on logarithmic scales."""
    from matplotlib.figure import Figure

    columns = min(3, len(audits))
    rows = -(-len(audits) // columns)
    figure = Figure(figsize=(4.6 * columns, 4.3 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, audit in zip(panels, audits, strict=False):
        _draw(axes, audit)
    for axes in panels[len(audits) :]:
        axes.set_visible(False)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    figure.suptitle(
        f"Telling neighbours apart: tests found, and the best that (epsilon = {audits[0].claimed_epsilon:g}, "
        f"delta = {audits[0].delta:g}) allows"
    )
    figure.savefig(path, dpi=130)


def _draw(axes: Any, audit: Audit) -> None:
    smallest = 0.5 / audit.runs
    type_one = np.geomspace(smallest, 1.0, 300).tolist()
    claimed = curve_of_guarantee(audit.claimed_epsilon, audit.delta, type_one)
    exact = curve_of_releases(audit.pair_releases, type_one)
    for direction, colour in _COLOURS.items():
        errors = np.array(audit.error_rates[direction])
        axes.plot(errors[:, 0], 1.0 - errors[:, 1], ".", ms=4.0, color=colour, label=f"found, row {_PAST[direction]}")
    for curve, colour, style, label in (
        (exact, "black", "-", "exact, for these data sets"),
        (claimed, "#8a8a8a", "--", "claimed: none above"),
    ):
        type_two = np.array([b for _, b in curve])
        axes.plot(type_one, 1.0 - type_two, color=colour, ls=style, lw=1.2, label=label)
    axes.set(xscale="log", yscale="log", xlim=(smallest, 1.0), ylim=(0.2 * audit.delta, 1.3))
    axes.set(xlabel="type I error", ylabel="power, 1 - type II error")
    axes.set_title(
        f"{audit.name}\nepsilon: {audit.lower_bound:.2f} found, {audit.exact_epsilon:.2f} exact", fontsize=10.5
    )
    axes.grid(alpha=0.25, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


_PAST = {"remove": "removed", "add": "added"}
