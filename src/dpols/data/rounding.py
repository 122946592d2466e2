"""Rows within bounds of each feature as whole numbers, without a copy in between.

Where such bounds are all that makes a row short, a cell is rounded on its own. The results have the bits of those in
`bounding`, which sees to all other rows.
"""

from typing import Any

import numpy as np

from .fixed_point import FixedPointSpan
from .row_map import RowMap
from .scratch import scratch
from .source import Array, Block, Columns
from .span import Span
from .whole_numbers import row_scale, whole_targets

_CELLS = 1 << 17  # that are mapped together: they stay in the cache of a core, and threads seldom wait for each other


def is_within(row_map: RowMap) -> bool:
    """Whether clipping each feature keeps every row short enough after it is rounded, too: of public numbers."""
    if not row_map.norm_is_implied or row_map.low is None or row_map.high is None:
        return False
    return FixedPointSpan.longest_is_within(_longest(row_map))


def largest_cell(row_map: RowMap) -> float:
    """Return the largest whole number in a row of a map that `is_by_column`."""
    longest = FixedPointSpan.of(_longest(row_map), np.empty((1, row_map.n_coordinates)), within=True)
    return float(np.abs(longest.rows).max())


def _longest(row_map: RowMap) -> Span:
    """Return a row whose cells are, in size, the largest that bounds of each feature allow."""
    low, high = map(np.asarray, (row_map.low, row_map.high))
    longest = np.broadcast_to(np.maximum(np.abs(low), np.abs(high)), (1, row_map.n_features))
    constant = None if row_map.constant is None else np.full((1, 1), row_map.constant)
    return Span(longest, np.full((1, 1), 1.0 / row_map.row_norm), constant, np.zeros(1))


def is_by_column(row_map: RowMap) -> bool:
    """Whether bounds of each feature are all that makes a row short, also after it is rounded: of public numbers."""
    return row_map.beside is None and row_map.scale is not None and row_map.centre is not None and is_within(row_map)


def rounded_rows(features: Array, target: Array, row_map: RowMap, buffer: Array) -> Block | None:
    """Return whole-numbered rows in a buffer, and targets; None where a row may be bad.

    The map must be one that `is_by_column`. To multiply by a number above zero and to round keep the order of numbers,
    so clipping after that to the ends, multiplied and rounded too, gives what clipping before gives.
    """
    n_rows, p = features.shape
    rows, factor = buffer[:n_rows], 1.0 / row_map.row_norm * row_scale(buffer.shape[1])
    centre, scale, low, high = map(np.asarray, (row_map.centre, row_map.scale, row_map.low, row_map.high))
    numbers = [for_all(each) for each in (centre, 1.0 / scale, np.rint(low * factor), np.rint(high * factor))]
    step = max(_CELLS // max(p, 1), 1)
    # Loops are several times as fast where all cells lie side by side, as in rows without the intercept.
    part = np.empty_like(rows[:step, :p])
    target = labels_alone(target, row_map)
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.isfinite(target.sum()):
            return None
        for start in range(0, n_rows, step):
            own = features[start : start + step]
            found = part[: len(own)]
            if not _round_within(own, found, factor, numbers):
                return None
            rows[start : start + step, :p] = found
    if row_map.constant is not None:
        rows[:, p] = np.rint(row_map.constant * row_scale(buffer.shape[1]))
    return rows, whole_targets(bounded_targets(target, row_map))


def _round_within(features: Array, out: Array, factor: float, numbers: list[Any]) -> bool:
    """Write whole numbers of some cells; return whether all are finite."""
    centre, scale, low, high = numbers
    mapped = features
    if np.any(centre != 0.0):
        mapped = np.subtract(mapped, centre, out=out, dtype=np.float64)
    if np.any(scale != 1.0):
        mapped = np.multiply(mapped, scale, out=out, dtype=np.float64)
    np.rint(np.multiply(mapped, factor, out=out, dtype=np.float64), out=out)
    if not out.size:
        return True
    axis = 0 if np.ndim(low) or np.ndim(high) else None
    if np.all(out.min(axis=axis) >= low) and np.all(out.max(axis=axis) <= high):
        return True
    if not np.isfinite(out).all():
        return False
    np.clip(out, low, high, out=out)
    return True


def rounded_columns(columns: Columns, row_map: RowMap, outside: set[int], *, is_known: bool) -> Block | None:
    """Return whole-numbered rows and targets straight from columns; None where a row is bad.

    Each column is written once, and what lies within its bounds is not clipped: the result has the bits of
    `rounded_block`. The map must be one that `is_by_column`. ``outside`` gets the places of columns that do not lie
    within their bounds; where it ``is_known``, others are not looked at.
    """
    n_rows, width = len(columns.target), row_map.n_coordinates
    rows = scratch("rounded", (n_rows, width), "F")
    factor = 1.0 / row_map.row_norm * row_scale(width)
    centre, scale, low, high = map(np.asarray, (row_map.centre, row_map.scale, row_map.low, row_map.high))
    numbers = np.broadcast_arrays(centre, 1.0 / scale, low, high)
    target = labels_alone(columns.target, row_map)
    with np.errstate(over="ignore", invalid="ignore"):
        if not n_rows or not np.isfinite(target.sum()):
            return None
        mapping = zip(*(each.tolist() for each in numbers), strict=True)
        for place, (column, out, (*affine, low, high)) in enumerate(
            zip(columns.features, rows.T, mapping, strict=False)
        ):
            mapped = _mapped_column(column, out, *affine)
            if not (is_known and place not in outside) and not _lies_within(mapped, low, high):
                outside.add(place)
                if not np.isfinite(column).all():
                    return None
                mapped = np.clip(mapped, low, high, out=out, dtype=np.float64)
            np.rint(np.multiply(mapped, factor, out=out, dtype=np.float64), out=out)
    if row_map.constant is not None:
        rows[:, -1] = np.rint(row_map.constant * row_scale(width))
    return rows, whole_targets(bounded_targets(target, row_map))


def _mapped_column(column: Array, out: Array, centre: float, scale: float) -> Array:
    """Return a column less its centre, times the scale; itself, or in the memory of ``out``."""
    mapped = column
    if centre != 0.0:
        mapped = np.subtract(mapped, centre, out=out, dtype=np.float64)
    if scale != 1.0:
        mapped = np.multiply(mapped, scale, out=out, dtype=np.float64)
    return mapped


def _lies_within(values: Array, low: float, high: float) -> bool:
    """Whether all values are numbers between two others, as doubles."""
    return float(values.min()) >= low and float(values.max()) <= high


def labels_alone(target: Array, row_map: RowMap) -> Array:
    """Return targets with nan for what is no label, where they are labels; as they are otherwise."""
    if not row_map.labelled:
        return target
    no, yes = row_map.target
    return np.where((target == no) | (target == yes), target, np.nan)


def bounded_targets(target: Array, row_map: RowMap) -> Array:
    """Return targets within [-1, 1]."""
    target = target.astype(np.float64, copy=False)
    bounded_target = (np.clip(target, *row_map.target) - row_map.target_centre) / row_map.target_scale
    np.clip(bounded_target, -1.0, 1.0, out=bounded_target)  # the centre is rounded
    return np.asarray(bounded_target)


def for_all(numbers: Array) -> Any:
    """Return one number for all columns, which takes a fraction of the time, where that is what they are."""
    return numbers.flat[0] if (numbers == numbers.flat[0]).all() else numbers
