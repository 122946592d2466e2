"""Calibration that a fit released, in the units of outcomes: post-processing of noisy counts and sums."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import ParameterError, required
from ..families import FAMILIES, FamilyName
from ..linalg import Array
from ..report.calibration import NO_CALIBRATION, CalibrationBin
from .plot import axes_of, with_title
from .tables import HIDDEN_WORDS

_QUANTILE = 1.959963984540054
_SEEN = 3.0  # standard deviations of the noise by which the rows of a bin exceed 0, else their means are hidden


def calibration_bins(
    transcript: Mapping[str, Array], family: FamilyName, *, rows_per_unit: int
) -> tuple[CalibrationBin, ...]:
    """Return mean predictions and outcomes by prediction; nothing where they were not released.

    Sums are counted in units where units have several rows; so is their noise, and a mean is a ratio of such sums.
    """
    if "calibration_ends" not in transcript:
        return ()
    ends, counts, *sums = (transcript[f"calibration_{name}"][0] for name in ("ends", "counts", "outcomes", "places"))
    noise, dispersion = (float(transcript[f"calibration_{name}"][0]) for name in ("noise", "dispersion"))
    most, last, bins = float(ends[-1]), len(counts) - 1, []
    for place, (count, outcome, share) in enumerate(zip(counts, *sums, strict=True)):
        low, high = float(ends[place]), float(ends[place + 1])
        edges, rows = (None if place == 0 else low, None if place == last else high), float(count) * rows_per_unit
        if not count > _SEEN * noise:
            bins.append(CalibrationBin(*edges, rows, None, None, None, None))
            continue
        predicted = low + (high - low) * float(np.clip(share / count, 0.0, 1.0))
        observed = float(np.clip(outcome / count, 0.0, most))
        variance = dispersion * float(FAMILIES[family].variance(np.array(predicted))) / rows
        room = _QUANTILE * math.sqrt((noise / count) ** 2 * (most**2 + observed**2) + variance)
        limits = max(observed - room, 0.0), min(observed + room, most)
        bins.append(CalibrationBin(*edges, rows, predicted, observed, *limits))
    return tuple(bins)


def calibration_frame(bins: Sequence[CalibrationBin]) -> Any:
    """Return the bins as a pandas data frame; nan where noise hides a number, and at the open ends."""
    if not bins:
        raise ParameterError(NO_CALIBRATION)
    names = ("low", "high", "rows", "predicted", "observed", "lower", "upper")
    columns = {name: np.array([getattr(each, name) for each in bins], dtype=np.float64) for name in names}
    return required("pandas", "tables").DataFrame(columns)


def plot_calibration(bins: Sequence[CalibrationBin], *, ax: Any = None, warning: str | None = None) -> Any:
    """Draw mean outcomes with 95% limits against mean predictions; on the dotted line they agree."""
    if not bins:
        raise ParameterError(NO_CALIBRATION)
    return with_title(_drawn([each for each in bins if each.predicted is not None], axes_of(ax)), warning)


def _drawn(known: Sequence[Any], ax: Any) -> Any:
    from .plot import MUTED, PRIVACY, ZERO

    if not known:
        ax.text(0.5, 0.5, HIDDEN_WORDS, ha="center", color=MUTED, style="italic", transform=ax.transAxes)
    for each in known:
        limits = [[each.observed - each.lower], [each.upper - each.observed]]
        ax.errorbar(each.predicted, each.observed, yerr=limits, fmt="o", color=PRIVACY, capsize=3)
    ends = [value for each in known for value in (each.predicted, each.lower, each.upper)] or [0.0, 1.0]
    ax.plot([min(ends), max(ends)], [min(ends), max(ends)], color=ZERO, lw=1.2, ls=":")
    ax.set_xlabel("mean prediction")
    ax.set_ylabel("mean outcome, 95% interval")
    return ax
