"""The picture of ``dpols demo``: coefficients with their noise, and the error against epsilon."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data import Bounds
from ..report import PrivacyReport

if TYPE_CHECKING:
    from .demo_data import Array

PRIVATE, ORDINARY, MUTED = "#1f5fa8", "#d1662b", "#6b6b6b"


@dataclass(frozen=True)
class ErrorCurve:
    """Root mean squared errors on fresh rows: of private fits at each epsilon, of least squares, of a constant."""

    epsilons: Sequence[float]
    private: Sequence[Sequence[float]]
    ordinary: float
    constant: float


def save_plot(path: Path, report: PrivacyReport, bounds: Bounds, ordinary: "Array", curve: ErrorCurve) -> None:
    """Draw the private coefficients beside the non-private ones, and how the error falls with epsilon."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13.0, 5.2), layout="constrained")
    effects, differences, errors = figure.subplots(1, 3, width_ratios=(1.25, 1.0, 1.5))
    _draw_coefficients(effects, differences, report, bounds, ordinary)
    _draw_errors(errors, report, curve)
    figure.legend(*effects.get_legend_handles_labels(), loc="outside lower left", ncols=2, fontsize=10, frameon=False)
    for axes in (effects, differences, errors):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25, linewidth=0.7)
        axes.set_axisbelow(True)
        axes.title.set_fontsize(11)
    figure.suptitle(
        f"Yearly cost of {report.n_rows:,} made-up patients, fitted with epsilon = {report.asked.epsilon:g}, "
        f"delta = {report.asked.delta:g}",
        fontsize=13,
    )
    figure.savefig(path, dpi=150)


def _draw_coefficients(
    effects: Any, differences: Any, report: PrivacyReport, bounds: Bounds, ordinary: "Array"
) -> None:
    """Draw coefficients over the declared range of their feature, which puts them in one unit."""
    assert isinstance(bounds.features, Mapping)
    widths = np.array([high - low for low, high in bounds.features.values()])
    released = report.coefficients[: len(widths)]
    order = np.argsort(np.abs(widths * ordinary))
    private = (widths * [c.value for c in released])[order]
    reach = 2.0 * (widths * [c.noise_stddev or 0.0 for c in released])[order]
    exact = (widths * ordinary)[order]
    position = np.arange(len(order))
    bar = {"fmt": "o", "color": PRIVATE, "ms": 6, "capsize": 4, "elinewidth": 1.8}
    diamond = {"marker": "D", "ls": "none", "ms": 11, "mfc": "none", "mec": ORDINARY, "mew": 1.6}
    effects.axvline(0.0, color=MUTED, linewidth=0.8)
    effects.errorbar(private, position, xerr=reach, label="private \u00b1 2 standard deviations of its noise", **bar)
    effects.plot(exact, position, label="least squares, not private", **diamond)
    effects.set_yticks(position, [released[i].name.replace("_", " ") for i in order])
    effects.set_xlabel("cost added over the feature's declared range")
    effects.set_title("Coefficients")
    differences.axvline(0.0, color=ORDINARY, linewidth=1.6)
    differences.errorbar(private - exact, position, xerr=reach, **bar)
    differences.set_yticks(position, [])
    differences.set_xlabel("private minus least squares")
    differences.set_title("What privacy changed")
    for axes in (effects, differences):
        axes.locator_params(axis="x", nbins=5)
        axes.xaxis.set_major_formatter("{x:,.0f}")


def _draw_errors(axes: Any, report: PrivacyReport, curve: ErrorCurve) -> None:
    private = np.array(curve.private)
    middle, low, high = np.median(private, axis=1), private.min(axis=1), private.max(axis=1)
    axes.fill_between(curve.epsilons, low, high, color=PRIVATE, alpha=0.18, lw=0)
    label = f"private: median and range of {private.shape[1]} fits"
    axes.plot(curve.epsilons, middle, "o-", color=PRIVATE, ms=6, label=label)
    axes.axvline(report.asked.epsilon, color=MUTED, lw=0.9, ls=":")
    note = {"textcoords": "offset points", "ha": "right", "va": "center", "fontsize": 10}
    for value, colour, what, offset in (
        (curve.constant, MUTED, "predicting the mean for everyone", 10),
        (curve.ordinary, ORDINARY, "least squares, not private", -12),
    ):
        axes.axhline(value, color=colour, ls="--", lw=1.4)
        end = (curve.epsilons[-1], value)
        axes.annotate(what, end, xytext=(0, offset), color=colour, **note)
    gap = curve.constant - curve.ordinary
    # Fits far worse than a constant would flatten everything else.
    axes.set_ylim(curve.ordinary - 0.18 * gap, curve.constant + 0.35 * gap)
    axes.annotate("this fit", (report.asked.epsilon, curve.constant - 0.1 * gap), xytext=(-5, 0), color=MUTED, **note)
    axes.legend(loc="upper right", fontsize=9)
    axes.set_xscale("log")
    axes.set_xticks(curve.epsilons, [f"{epsilon:g}" for epsilon in curve.epsilons])
    axes.minorticks_off()
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel("epsilon, more private to the left")
    axes.set_ylabel("root mean squared error on fresh patients")
    axes.set_title("What privacy costs")
