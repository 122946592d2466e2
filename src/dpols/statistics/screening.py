"""Gradients along a path, most of them without a pass over all rows.

A row whose gradient is far below its limit at one point is not shortened at points nearby: its residual moves by at
most |M'x| times the length of the step in whitened coordinates. Such rows contribute x (y - x'theta), whose sum follows
from their X'X and X'y. Only the other rows, few and kept in memory, are looked at again. All of it is in whole numbers,
so the sum has the bits that a pass over all rows gives. `docs/proofs/screening.md` has the proof.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpz_mat

from ..data.kept_rows import KeptRows, spare_cells
from ..data.passes import one_pass
from ..data.rows import NumberedRows
from ..data.source import Array
from ..data.span import count_between
from ..data.whole_numbers import BITS
from ..data.whole_numbers import on_grid as grid_point
from .products import Products
from .statistic import Statistic, call, counted, per_unit
from .whitened import (
    WhitenedRows,
    in_whitened_metric,
    whitened_gradient,
    whitened_gradient_and_counts,
    whole_sums,
)

# By how much a residual may be off, in units of the largest target: rounding of the distance, and a step of its grid.
_SLACK = 2.0**-BITS
_UP = 1.0 + 2.0**-40  # more than the operations below can err by
# Columns beyond which a Gram matrix of the kept rows takes longer than the passes over rows in memory that it saves.
_WIDE = 128


@dataclass(frozen=True, repr=False)
class _Reference:
    """A point, as it is evaluated, and what is known of the rows near it."""

    point: tuple[Array, Array]
    limit: Array
    reach: Array  # so far away, in whitened coordinates, rows that are not kept are not shortened
    kept: NumberedRows  # the rows that may be shortened
    others: Products

    def holds_at(self, point: tuple[Array, Array], limit: Array, metric: Array) -> bool:
        """Whether the point is so near, and the limit so high, that no other row is shortened; of public numbers."""
        theta, own = _evaluated(point), _evaluated(self.point)
        step = theta - own
        inside = np.linalg.solve(metric, step[:, :, None])
        left = step - (metric @ inside)[:, :, 0]
        sizes = np.linalg.norm(np.abs(metric) @ np.abs(inside), axis=1)[:, 0] + np.linalg.norm(theta, axis=1)
        rounding = np.linalg.norm(left, axis=1) + (theta.shape[1] + 8.0) * 2.0**-51 * (
            sizes + np.linalg.norm(own, axis=1)
        )
        near = np.linalg.norm(inside, axis=1)[:, 0] * _UP <= self.reach
        return bool((near & (rounding <= _SLACK) & (limit >= self.limit)).all())

    def whole_sums(self, point: tuple[Array, Array], limit: Array) -> Array:
        """Return the sum of x times its residual over all rows, as whole numbers."""
        kept = whole_sums(self.kept.total(_shortened, *point, limit, width=6 * len(limit)))
        gram = fmpz_mat(self.others.gram.tolist())
        numbers = fmpz_mat(point[0].T.astype(np.int64).tolist())
        fitted = np.array([[int(value) for value in row] for row in (gram * numbers).tolist()], dtype=object).T
        powers = np.array([1 << int(exponent) for exponent in point[1]], dtype=object)
        return np.asarray(kept + powers[:, None] * self.others.moment.astype(object) - fitted)


class Gradients:
    """Shortened gradients at points of a path; which passes over all rows they take follows from public numbers."""

    def __init__(self, rows: WhitenedRows) -> None:
        self._rows = rows
        self._reference: _Reference | None = None
        at_hand_and_wide = rows.bounded.at_hand and rows.metric.shape[-1] > _WIDE
        self._plain = rows.products is None or at_hand_and_wide  # whether every point takes a pass

    def at(self, theta: Array, *, limit: Array, reach: Array | None = None) -> Statistic:
        """Return `whitened_gradient`.

        One row moves it as that says: every bit is the same. ``reach`` is how far the next points are expected to be
        away, in whitened coordinates; None where it is so far that every point takes a pass.
        """
        rows = self._rows
        if rows.bounded.arithmetic == "float":
            return whitened_gradient(rows, theta, limit=limit)
        point = grid_point(theta)
        if self._reference is not None and self._reference.holds_at(point, limit, rows.metric):
            with one_pass() as tell:
                sums = self._reference.whole_sums(point, limit)
                tell(rows.bounded.n_rows)
            return per_unit(in_whitened_metric(rows, sums, point, limit), rows.rows_per_unit)
        if reach is None or self._plain:
            return whitened_gradient(rows, theta, limit=limit, point=point)
        return self._with_reference(theta, limit, reach, None)[0]

    def with_counts(
        self, theta: Array, *, limit: Array, edges: Array, reach: Array | None = None
    ) -> tuple[Statistic, Statistic]:
        """Return `whitened_gradient_and_counts`, always by a pass over all rows.

        One row moves them as that says.
        """
        if reach is None or self._plain:
            return whitened_gradient_and_counts(self._rows, theta, limit=limit, edges=edges)
        gradient, *counts = self._with_reference(theta, limit, reach, edges)
        return gradient, counts[0]

    def _with_reference(self, theta: Array, limit: Array, reach: Array, edges: Array | None) -> list[Statistic]:
        """Return the gradient by a pass, with counts where there are edges, and keep the point as the reference."""
        rows, point = self._rows, grid_point(theta)
        assert rows.products is not None
        width = (8 + (0 if edges is None else len(edges))) * len(theta)
        with one_pass() as tell:
            spare = spare_cells(rows.bounded)
            high, low, *counts, kept = rows.numbered.total(_near, *point, limit, reach, edges, spare, width=width)
            near = kept.numbered(rows.bounded)
            self._reference = (
                None if near is None else _Reference(point, limit, reach, near, rows.products.without(near))
            )
            tell(rows.bounded.n_rows)
        found = [in_whitened_metric(rows, whole_sums((high, low)), point, limit)]
        found += [counted(each, rows.bounded.arithmetic) for each in counts]
        return [per_unit(each, rows.rows_per_unit) for each in found]


def _evaluated(point: tuple[Array, Array]) -> Array:
    """Return where residuals are computed, exactly; rounding to the grid again may give another point."""
    numbers, exponent = point
    return np.asarray(numbers * 2.0 ** -exponent[:, None])


def _shortened(span: Any, lengths: Array, *args: Any) -> tuple[Array, ...]:
    return call(span, "shortened_gradient", lengths, *args)


def _near(
    span: Any,
    lengths: Array,
    theta: Array,
    exponent: Array,
    limit: Array,
    reach: Array,
    edges: Array | None,
    spare: float,
) -> tuple[Any, ...]:
    """Return a span's gradient, counts where there are edges, and the rows that may be shortened within reach."""
    # The level of a row is its limit over its length; both sides are kept apart by more than rounding.
    whole, size = span.whole_residuals(theta, exponent), span.at_most(lengths)
    residuals = np.abs(whole) * 2.0 ** -(exponent + BITS)
    with np.errstate(divide="ignore", invalid="ignore"):
        far = (residuals + size * reach + 2.0 * _SLACK) * _UP <= limit / (size * _UP)
    kept = KeptRows.of(span, lengths, ~far.T.all(axis=0), spare)
    counts = () if edges is None else (count_between(lengths * residuals, edges).astype(np.int64),)
    return *span.gradient_of(lengths, whole, exponent, limit), *counts, kept
