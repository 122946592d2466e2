"""Some rows of a pass that later sums need one by one, with the numbers beside them, in memory.

They are exact, so like sums they live in a run alone.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .memory import ArraySource
from .row_numbers import beside
from .rows import BoundedRows, NumberedRows
from .source import Array
from .spans_at_hand import NumberedSpans, SpansAtHand

_MOST_CELLS = 1 << 26  # a quarter of a gibibyte
_SMALL_PART = 1 << 14  # of what workers elsewhere may send in any case


def spare_cells(rows: BoundedRows) -> float:
    """Return how many cells may be kept for each row that is looked at, from public numbers.

    Workers elsewhere send what they keep, so that each of them must know its share of what is kept in all.
    """
    return _MOST_CELLS / (1.0 if rows.is_local else max(rows.n_rows, 1))


@dataclass(frozen=True, repr=False)
class KeptRows:
    """Whole-numbered rows in parts, each with its targets and numbers; to add such is to join them.

    Rows that would take too much memory are given up: nothing is kept then.
    """

    parts: tuple[tuple[Array, Array, Array], ...] | None
    cells: int
    spared: float  # cells that the rows which were looked at may take

    @property
    def nbytes(self) -> int:
        """What it takes to send them."""
        return 4 * self.cells

    @classmethod
    def of(cls, span: Any, numbers: Array, which: Array, spare: float) -> "KeptRows":
        """Keep some rows of a span, which may take ``spare`` cells for each of its rows.

        32-bit numbers hold whole ones of at most 2^20.
        """
        chosen = np.flatnonzero(which)
        part = span.rows[chosen].astype(np.float32), span.target[chosen], numbers[chosen]
        return cls((part,), part[0].size + part[2].size, spare * len(which))

    def __add__(self, other: "KeptRows") -> "KeptRows":
        cells, spared = self.cells + other.cells, self.spared + other.spared
        if self.parts is None or other.parts is None or cells > min(_MOST_CELLS, _SMALL_PART + spared):
            return KeptRows(None, cells, spared)
        # Of parts without rows one is enough, to know their shape.
        parts = self.parts + other.parts if self.cells and other.cells else (self if self.cells else other).parts
        return KeptRows(parts, cells, spared)

    def numbered(self, like: BoundedRows) -> NumberedRows | None:
        """Return the rows as ones to sum over, with their numbers at hand; None where they were given up."""
        if self.parts is None or self.cells > _MOST_CELLS:
            return None
        rows, target, numbers = (np.concatenate(part) for part in zip(*self.parts, strict=True))
        source = ArraySource(rows, target)
        if like.spans is None:
            return NumberedRows(replace(like, source=source, is_rounded=True), beside(source, numbers), width=1)
        spans = SpansAtHand.of_rounded(source, None)
        at_hand = replace(like, source=source, is_rounded=True, spans=spans)
        return NumberedRows(at_hand, NumberedSpans(spans, np.asarray, (), spans.cut(numbers)), width=1)
