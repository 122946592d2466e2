"""Pictures of a fit, on axes of matplotlib."""

from collections.abc import Sequence
from typing import Any

from ..errors import ParameterError, required
from ..privacy.cautions import NOT_PRIVATE
from ..report.bars import Bar, HiddenBar, bar_of
from ..report.outcome import EstimateLine
from ..report.residuals import (
    NO_RESIDUALS,
    ResidualBin,
    SizeBin,
    residual_picture,
    shares_of_sizes,
)
from .rows import CoefficientRow
from .tables import HIDDEN_WORDS

WHOLE, PRIVACY, INK, MUTED, ZERO = "#a9c4e4", "#2f6db3", "#1c2430", "#6b6b6b", "#b3151b"
_HIGH, _LOW = 0.5, 0.22  # of the bars


def plot_coefficients(
    rows: Sequence[CoefficientRow],
    level: str,
    *,
    names: Sequence[str] | None = None,
    ax: Any = None,
    warning: str | None = None,
) -> Any:
    """Draw intervals of coefficients, each on a scale of its own, and the part of them that is privacy noise."""
    chosen = _chosen(rows, names)
    bars = [bar_of(EstimateLine(r.name, r.value, r.stderr, r.lower, r.upper, r.privacy_stderr)) for r in chosen]
    if ax is None:
        pyplot = required("matplotlib.pyplot", "plots")
        height = 1.3 + 0.42 * len(bars)
        _, ax = pyplot.subplots(figsize=(8.0, height), layout="constrained")
    for place, bar in enumerate(bars):
        _draw(ax, place, bar)
    ax.set_yticks(range(len(bars)), [bar.name for bar in bars])
    ax.set_ylim(len(bars) - 0.4, -0.6)
    ax.set_xlim(0.0, 1.0)
    ax.set_xticks([])
    ax.spines[["top", "right", "bottom"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    _explain(ax, level, any(isinstance(bar, Bar) for bar in bars))
    return with_title(ax, warning)


def plot_residuals(bins: Sequence[ResidualBin], *, ax: Any = None, warning: str | None = None) -> Any:
    """Draw mean residuals with 95% limits against fitted values."""
    if not bins:
        raise ParameterError(NO_RESIDUALS)
    ax = axes_of(ax)
    picture = residual_picture(bins)
    if picture is None:
        ax.text(0.5, 0.5, HIDDEN_WORDS, ha="center", color=MUTED, style="italic", transform=ax.transAxes)
    else:
        (left, right), (bottom, top) = picture.fitted, picture.residuals
        for mark in picture.marks:
            x = left + 0.5 * (mark.left + mark.right) * (right - left)
            mean, low, high = (bottom + y * (top - bottom) for y in (mark.mean, mark.lower, mark.upper))
            ax.errorbar(x, mean, yerr=[[mean - low], [high - mean]], fmt="o", color=PRIVACY, capsize=3)
        ax.set_xlim(left, right)
    ax.axhline(0.0, color=ZERO, lw=1.2, ls=":")
    ax.set_xlabel("fitted value")
    ax.set_ylabel("mean residual, 95% interval")
    return with_title(ax, warning)


def plot_residual_sizes(bins: Sequence[SizeBin], *, ax: Any = None, warning: str | None = None) -> Any:
    """Draw which share of the rows has a residual of about which size."""
    if not bins:
        raise ParameterError(NO_RESIDUALS)
    ax = axes_of(ax)
    shares = shares_of_sizes(bins)
    ax.barh(range(len(shares)), [share for _, share in shares], color=PRIVACY)
    ax.set_yticks(range(len(shares)), [name for name, _ in shares])
    ax.invert_yaxis()
    ax.set_xlabel("share of the rows")
    ax.set_ylabel("size of the residual")
    return with_title(ax, warning)


def axes_of(ax: Any) -> Any:
    """Return axes to draw on."""
    if ax is not None:
        return ax
    return required("matplotlib.pyplot", "plots").subplots(figsize=(8.0, 4.5), layout="constrained")[1]


def _chosen(rows: Sequence[CoefficientRow], names: Sequence[str] | None) -> list[CoefficientRow]:
    found = {row.name: row for row in rows}
    for name in names or ():
        if name not in found:
            raise ParameterError(f"names has {name!r}, which is no coefficient; the coefficients are {list(found)}.")
    return list(rows) if names is None else [found[name] for name in names]


def _draw(ax: Any, place: int, bar: Bar | HiddenBar) -> None:
    if isinstance(bar, HiddenBar):
        ax.text(0.02, place, HIDDEN_WORDS, va="center", color=MUTED, style="italic", fontsize=9)
        return
    for (low, high), height, colour in ((bar.whole, _HIGH, WHOLE), (bar.privacy, _LOW, PRIVACY)):
        ax.barh(place, high - low, left=low, height=height, color=colour, linewidth=0)
    ax.plot([bar.centre] * 2, [place - 0.3, place + 0.3], color=INK, lw=1.6)
    if bar.zero is not None:
        ax.plot([bar.zero] * 2, [place - 0.42, place + 0.42], color=ZERO, lw=1.4, ls=":")
        ax.annotate("0", (bar.zero, place + 0.42), ha="center", va="top", fontsize=7, color=ZERO)
    beside = {"xycoords": ("axes fraction", "data"), "annotation_clip": False}
    ax.annotate(bar.text, (1.0, place), xytext=(8, 0), textcoords="offset points", va="center", fontsize=9, **beside)


def with_title(ax: Any, warning: str | None) -> Any:
    """Say on the picture itself that the fit is not private."""
    if warning is not None:
        ax.set_title(NOT_PRIVATE, color=ZERO, fontweight="bold", loc="right", fontsize=10)
    return ax


def _explain(ax: Any, level: str, drawn: bool) -> None:
    if not drawn:
        return
    from matplotlib.patches import Patch

    handles = [
        Patch(color=PRIVACY, label="privacy noise alone"),
        Patch(color=WHOLE, label=f"{level} interval"),
    ]
    ax.legend(handles=handles, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, fontsize=9, frameon=False)
    ax.set_xlabel("each row has a scale of its own", fontsize=9, color=MUTED)
