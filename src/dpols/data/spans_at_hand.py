"""The bounded rows of a small table, at hand for all passes of a fit: they are mapped and clipped once.

They are exact, so like sums they live in a run alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import fields
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from .fixed_point import FixedPointSpan
from .memory import ArraySource
from .passes import one_pass
from .row_map import Beside
from .row_numbers import PerRow
from .source import Array, add_up
from .span import Span
from .threads import even_blocks, map_blocks, one_blas_thread

AnySpan = TypeVar("AnySpan", Span, FixedPointSpan)


class SpansAtHand:
    """The blocks of a table as one span each, and sums over them, cut as those of any source are."""

    def __init__(self, blocks: Sequence[Span] | Sequence[FixedPointSpan], n_rows: int) -> None:
        self.blocks, self.n_rows = blocks, n_rows
        self.counts = [rows.stop - rows.start for rows in even_blocks(n_rows)]
        self._cut: dict[int, list[list[tuple[slice, Any]]]] = {}

    @classmethod
    def of_rounded(cls, source: ArraySource, beside: Beside | None) -> "SpansAtHand":
        """Return the spans of whole-numbered rows."""
        parts = [source.block(rows) for rows in even_blocks(source.n_rows)]
        blocks = [FixedPointSpan.stored(rows.astype(np.float64, copy=False), y, beside) for rows, y in parts]
        return cls(blocks, source.n_rows)

    def cut(self, numbers: Array) -> list[Array]:
        """Return lines of all rows block by block."""
        return [numbers[rows] for rows in even_blocks(self.n_rows)]

    def total(self, span_rows: int, kernel: Callable[..., Any], *args: Any) -> tuple[Any, ...]:
        """Return the sum of ``kernel(span, *args)`` over spans of at most so many rows."""
        return self._sum(span_rows, lambda _block, _rows, span: kernel(span, *args))

    def _sum(self, span_rows: int, kernel: Callable[[int, slice, Any], Any]) -> tuple[Any, ...]:
        cut = self._cut.get(span_rows)
        if cut is None:
            cut = self._cut[span_rows] = [_parts(block, span_rows) for block in self.blocks]

        def work(block: int) -> tuple[tuple[Any, ...], int]:
            (rows, span), *others = cut[block]
            sums: tuple[Any, ...] = kernel(block, rows, span)
            for rows, span in others:
                sums = tuple(a + b for a, b in zip(sums, kernel(block, rows, span), strict=True))
            return sums, self.counts[block]

        if len(cut) > 1:
            return add_up(map_blocks(work, range(len(cut)))).values
        with one_pass() as tell, one_blas_thread():
            sums, count = work(0)
            tell(count)
            return sums


class NumberedSpans:
    """Spans at hand with a line of numbers beside each row; the first pass computes these."""

    def __init__(
        self, spans: SpansAtHand, per_row: PerRow, args: tuple[Any, ...], known: list[Array] | None = None
    ) -> None:
        self.spans, self.per_row, self.args = spans, per_row, args
        self.blocks = known

    @property
    def at_hand(self) -> bool:
        """Whether the next pass finds the numbers, and need not compute them."""
        return self.blocks is not None

    def total(self, span_rows: int, kernel: Callable[..., Any], *args: Any) -> tuple[Any, ...]:
        """Return the sum of ``kernel(span, numbers, *args)`` over spans of at most so many rows."""
        known = self.blocks
        if known is not None:
            return self.spans._sum(span_rows, lambda block, rows, span: kernel(span, known[block][rows], *args))
        found: list[list[Array]] = [[] for _ in self.spans.blocks]

        def first(block: int, _rows: slice, span: Any) -> Any:
            found[block].append(self.per_row(span, *self.args))
            return kernel(span, found[block][-1], *args)

        sums = self.spans._sum(span_rows, first)
        self.blocks = [np.concatenate(parts) if len(parts) > 1 else parts[0] for parts in found]
        return sums


def _parts(block: Any, span_rows: int) -> list[tuple[slice, Any]]:
    """Cut the span of a block into shorter ones, each with its place."""
    n_rows = len(block.target)
    if n_rows <= span_rows:
        return [(slice(0, n_rows), block)]
    places = [slice(*pair) for pair in pairwise([*range(0, n_rows, span_rows), n_rows])]
    return [(rows, _part(block, rows, n_rows)) for rows in places]


def _part(block: AnySpan, rows: slice, n_rows: int) -> AnySpan:
    """Return some rows of a span; a column that is the same for all of them has one entry."""
    parts = {}
    for field in fields(block):
        values = getattr(block, field.name)
        if values is not None and len(values) == n_rows:
            values = values[rows]
            if field.name in ("weight", "constant") and (values == values[0]).all():
                values = values[:1]
        parts[field.name] = values
    return type(block)(**parts)
