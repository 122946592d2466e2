"""Residuals that a fit released, in the units of the target: post-processing of noisy counts and sums."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..data import RowMap
from ..report.residuals import ResidualBin, SizeBin
from .intervals import Array, Inference

_QUANTILE = 1.959963984540054
_SEEN = 3.0  # standard deviations of the noise by which the rows of a bin exceed 0, else their mean is hidden


def residual_bins(transcript: Mapping[str, Array], row_map: RowMap, found: Inference) -> tuple[ResidualBin, ...]:
    """Return mean residuals by fitted value; nothing where they were not released.

    Sums are counted in units where units have several rows; so is their noise, and a mean is a ratio of such sums.
    """
    if "bin_edges" not in transcript:
        return ()
    edges, counts, sums = (transcript[name][0] for name in ("bin_edges", "bin_counts", "bin_sums"))
    noise, bound = float(transcript["bin_noise"][0]), float(transcript["residual_bound"][0])
    fitted = [row_map.target_centre + row_map.target_scale * float(edge) for edge in edges]
    per_unit = found.rows_used / float(transcript["used"][0])
    variance = max(found.residual_variance.value or 0.0, 0.0)
    scale = bound * row_map.target_scale
    bins = []
    for low, high, count, total in zip([None, *fitted], [*fitted, None], counts, sums, strict=True):
        rows = float(count) * per_unit
        if not count > _SEEN * noise:
            bins.append(ResidualBin(low, high, rows, None, None, None))
            continue
        mean = float(np.clip(total / count, -1.0, 1.0))
        room = _QUANTILE * math.sqrt((scale * noise / count) ** 2 * (1.0 + mean**2) + variance / rows)
        bins.append(ResidualBin(low, high, rows, scale * mean, scale * mean - room, scale * mean + room))
    return tuple(bins)


def residual_sizes(
    transcript: Mapping[str, Array], row_map: RowMap, found: Inference, plan: Any
) -> tuple[SizeBin, ...]:
    """Return how many rows have a residual of about which size, from counts that chose the limit of gradients.

    They are of the length of a row times its residual, over the typical length; for most rows about the residual.
    """
    if "size_edges" not in transcript:
        return ()
    edges = row_map.target_scale * transcript["size_edges"][0]
    per_unit = found.rows_used / float(transcript["used"][0])
    noise = float(plan.late_count_multiplier) * per_unit
    uppers = [*(float(edge) if edge > 0.0 else None for edge in edges[1:]), None]
    return tuple(
        SizeBin(float(low), high, float(count) * per_unit, noise)
        for low, high, count in zip(edges, uppers, transcript["size_counts"][0], strict=True)
        if low >= 0.0
    )
