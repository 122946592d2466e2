"""Where rows are bounded, and nowhere else.

Each span of a block is mapped, clipped and described by a `Span`, whose rows have norm at most 1 and whose targets lie
in [-1, 1]. The block is read, never written.
"""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from .fixed_point import FixedPointSpan
from .rounding import bounded_targets, for_all, is_by_column, is_within, labels_alone, rounded_rows
from .row_map import Beside, Interval, RowMap
from .scratch import scratch
from .source import Array, Block
from .span import Span

Arithmetic = Literal["exact", "float"]


def spans(
    features: Array, target: Array, row_map: RowMap | Beside | None, arithmetic: Arithmetic, span_rows: int
) -> Iterator[tuple[slice, Span | FixedPointSpan, int]]:
    """Yield a block's spans, each with its place and its number of bad rows; the next one takes its memory.

    Rows that are bounded already have no map, but a name of what stands beside their targets.
    """
    if not isinstance(row_map, RowMap):
        yield from _rounded_spans(features, target, row_map, span_rows)
        return
    if arithmetic == "exact" and not row_map.norm_is_implied:
        # The order in which a row's squares are added, and with it the last bit, must not depend on the layout.
        features = np.ascontiguousarray(features)
    order = order_of(features)
    longest = min(span_rows, len(features))
    buffer = scratch("mapped", (longest, row_map.n_features), order)
    rounded = scratch("rounded", (longest if arithmetic == "exact" else 0, row_map.n_coordinates), order)
    within = arithmetic == "exact" and is_within(row_map)
    at_once = within and is_by_column(row_map)
    for start in range(0, max(len(features), 1), span_rows):
        rows = slice(start, start + span_rows)
        if at_once and (found := rounded_rows(features[rows], target[rows], row_map, rounded)) is not None:
            yield rows, FixedPointSpan(*found), 0
            continue
        span, bad = bounded_span(features[rows], target[rows], row_map, buffer)
        yield rows, FixedPointSpan.of(span, rounded, within=within) if arithmetic == "exact" else span, bad


def _rounded_spans(
    features: Array, target: Array, beside: Beside | None, span_rows: int
) -> Iterator[tuple[slice, FixedPointSpan, int]]:
    """Yield the spans of a block of whole-numbered rows."""
    are_double = features.dtype == np.float64
    shape = (0 if are_double else min(span_rows, len(features)), features.shape[1])
    buffer = scratch("rounded", shape, order_of(features))
    for start in range(0, max(len(features), 1), span_rows):
        rows = slice(start, start + span_rows)
        doubles = features[rows]
        if not are_double:
            doubles = buffer[: len(doubles)]
            doubles[:] = features[rows]
        yield rows, FixedPointSpan.stored(doubles, target[rows].astype(np.float64, copy=False), beside), 0


def order_of(features: Array) -> Literal["F", "C"]:
    """Return the layout for what is computed from the features: loops are long where values lie side by side."""
    return "F" if features.strides[0] == features.itemsize else "C"


def bounded_span(features: Array, target: Array, row_map: RowMap, buffer: Array) -> tuple[Span, int]:
    """Map and clip some rows; return them with the number of rows that were not finite (made zero rows)."""
    beside = None
    if row_map.beside is not None:
        target, beside = target.reshape(-1, 2).T
    target = labels_alone(target, row_map)
    mapped, squares = _mapped(features, row_map, buffer)
    # Clipping hides infinities, so the squared norms of mapped rows prove nothing.
    own = features if squares is None or row_map.scale is not None else squares
    bad = _bad_rows(features, target, beside, own, positive=row_map.exposure is not None)
    if bad is not None:
        features, target = features.copy(), target.copy()
        features[bad], target[bad] = 0.0, 0.0
        mapped, squares = _mapped(features, row_map, buffer)
    weight = np.full((1, 1), 1.0 / row_map.row_norm)
    if squares is not None:
        mapped, shrink = _shrink_to(row_map.feature_norm, mapped, squares)
        weight = weight if shrink is None else weight * shrink[:, None]
    constant = None if row_map.constant is None else np.full((1, 1), row_map.constant)
    bounded_target = bounded_targets(target, row_map)
    if bad is not None:
        # A zero row is zero in every coordinate, also where the map would move zero elsewhere.
        good = ~bad
        weight, bounded_target = weight * good[:, None], bounded_target * good
        constant = None if constant is None else constant * good[:, None]
    n_bad = 0 if bad is None else int(bad.sum())
    if beside is not None and row_map.exposure is not None:
        return Span(mapped, weight, constant, bounded_target, exposure=_shares(beside, row_map.exposure, bad)), n_bad
    if beside is None or row_map.max_weight is None:
        return Span(mapped, weight, constant, bounded_target), n_bad
    root = _roots(beside, row_map.max_weight, bad)
    constant = None if constant is None else constant * root[:, None]
    return Span(mapped, weight * root[:, None], constant, bounded_target * root, root), n_bad


def bounded_block(features: Array, target: Array, row_map: RowMap) -> tuple[Span, int]:
    """Return a block as one span in floating point, in memory of its own, and the number of bad rows."""
    return bounded_span(
        features, target, row_map, np.empty((len(features), row_map.n_features), order=order_of(features))
    )


def rounded_block(features: Array, target: Array, row_map: RowMap) -> tuple[Block, int]:
    """Return the whole-numbered rows and targets of a block, in memory of its span, and the number of bad rows."""
    ((_, span, bad),) = spans(features, target, row_map, "exact", max(len(features), 1))
    assert isinstance(span, FixedPointSpan)
    return (span.rows, span.stored_target), bad


def _roots(weights: Array, largest: float, bad: Array | None) -> Array:
    """Return the root of each weight over the largest, to which it is clipped; zero for bad rows.

    A division and a root are rounded in one way only, so that each depends on its own weight, bit for bit.
    """
    if bad is not None:
        weights = np.where(bad, 0.0, weights)
    return np.asarray(np.sqrt(np.minimum(weights, largest) / largest))


def _shares(exposures: Array, ends: Interval, bad: Array | None) -> Array:
    """Return each exposure, clipped to its range, over the largest; zero for bad rows.

    A division is rounded in one way only, so that each depends on its own exposure, bit for bit.
    """
    shares = np.clip(exposures, *ends) / ends[1]
    return np.asarray(shares if bad is None else np.where(bad, 0.0, shares))


def _mapped(features: Array, row_map: RowMap, buffer: Array) -> tuple[Array, Array | None]:
    """Return the features mapped and clipped one by one, and the squared norms of rows that may need shrinking.

    Where there is nothing to map, the features are a view of the user's own.
    """
    if row_map.scale is None or row_map.centre is None or row_map.low is None or row_map.high is None:
        mapped = features if features.dtype == np.float64 else features.astype(np.float64)
    else:
        mapped = buffer[: len(features)]
        with np.errstate(over="ignore"):  # a value too large is clipped, and a warning would tell of it
            if row_map.centre.any():
                features = np.subtract(features, for_all(row_map.centre), out=mapped)
            scale = for_all(1.0 / row_map.scale)
            if not np.array_equal(scale, 1.0):
                features = np.multiply(features, scale, out=mapped)
        np.clip(features, for_all(row_map.low), for_all(row_map.high), out=mapped)
    if row_map.norm_is_implied:
        return mapped, None
    with np.errstate(over="ignore", invalid="ignore"):
        return mapped, np.einsum("ij,ij->i", mapped, mapped)


def _bad_rows(features: Array, target: Array, beside: Array | None, values: Array, *, positive: bool) -> Array | None:
    """Return which rows hold a nan, an infinity or a weight below zero, or None where none does.

    ``values`` are finite only if the features are: themselves, or the rows' squared norms where they are at hand. What
    stands ``beside`` targets is a weight, or an exposure, which must be ``positive``.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        # A finite sum proves that all terms are finite; only otherwise look at each value.
        fine = beside is None or (np.isfinite(beside.sum()) and bool(_allowed(beside.min(initial=1.0), positive)))
        if fine and np.isfinite(values.sum()) and np.isfinite(target.sum()):
            return None
    bad: Array = ~finite_rows(features, target, beside, positive=positive)
    return bad if bad.any() else None


def finite_rows(features: Array, target: Array, beside: Array | None, *, positive: bool = False) -> Array:
    """Return which rows are finite and have no weight below zero, or where that must be ``positive``, none of zero."""
    good = np.isfinite(features).all(axis=1) & np.isfinite(target)
    return np.asarray(good if beside is None else good & np.isfinite(beside) & _allowed(beside, positive))


def _allowed(values: Any, positive: bool) -> Any:
    return values > 0.0 if positive else values >= 0.0


def _shrink_to(bound: float, rows: Array, squares: Array) -> tuple[Array, Array | None]:
    """Return rows and weights such that weight * row has norm at most ``bound``; None stands for ones."""
    if squares.max(initial=0.0) <= bound * bound:
        return rows, None
    extreme = ~np.isfinite(squares)
    if extreme.any():
        # The square of the norm overflows; divide such rows by their largest entry first.
        rows = rows.copy()
        rows[extreme] /= np.abs(rows[extreme]).max(axis=1, keepdims=True)
        squares = np.where(extreme, np.einsum("ij,ij->i", rows, rows), squares)
    weight = bound / np.sqrt(np.maximum(squares, np.where(extreme, 0.0, bound * bound)))
    return rows, weight
