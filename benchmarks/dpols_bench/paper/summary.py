"""Batches put together: mean and 95% interval of each cell, and how two cells compare."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from .cells import Batch, BatchResult, Cell

# The paper's intervals: 1.96 standard errors on either side.
INTERVAL = 1.96


@dataclass(frozen=True)
class Mean:
    """A mean over trials with its standard error."""

    value: float
    error: float

    @property
    def half_width(self) -> float:
        """Half the width of the 95% interval."""
        return INTERVAL * self.error


@dataclass(frozen=True)
class CellSummary:
    """What the trials of a cell say."""

    cell: Cell
    trials: int
    train: Mean
    test: Mean
    in_range: Mean  # excess on the training rows of predictions clipped to the range of the target
    clipped_share: float | None  # of iterations in which some residual was clipped; None where nothing was watched
    watched_iterations: int
    seconds: float

    def as_row(self) -> dict[str, Any]:
        """Return a flat row for tables."""
        return {
            **asdict(self.cell),
            "trials": self.trials,
            "train_excess": self.train.value,
            "train_half_width": self.train.half_width,
            "test_excess": self.test.value,
            "test_half_width": self.test.half_width,
            "in_range_excess": self.in_range.value,
            "in_range_half_width": self.in_range.half_width,
            "clipped_share": self.clipped_share,
            "seconds": self.seconds,
        }


class Results:
    """All cells of an evaluation, by what they are."""

    def __init__(self, summaries: Iterable[CellSummary]) -> None:
        self.cells: dict[Cell, CellSummary] = {summary.cell: summary for summary in summaries}
        self._curves: dict[tuple[str, str, str], list[CellSummary]] = {}
        for cell, summary in self.cells.items():
            self._curves.setdefault((cell.dataset, cell.method, cell.accounting), []).append(summary)
        for curve in self._curves.values():
            curve.sort(key=lambda summary: summary.cell.epsilon)

    def find(self, dataset: str, method: str, accounting: str, epsilon: float) -> CellSummary | None:
        """Return one cell, None where it was not run."""
        return next((s for s in self.curve(dataset, method, accounting) if s.cell.epsilon == epsilon), None)

    def curve(self, dataset: str, method: str, accounting: str) -> list[CellSummary]:
        """Return the cells of a method on a data set by epsilon."""
        return self._curves.get((dataset, method, accounting), [])

    @property
    def datasets(self) -> list[str]:
        """Data sets that were run, in order."""
        return list(dict.fromkeys(cell.dataset for cell in self.cells))

    @property
    def methods(self) -> list[str]:
        """Methods that were run, in order."""
        return list(dict.fromkeys(cell.method for cell in self.cells))

    @property
    def accountings(self) -> list[str]:
        """Kinds of accounting that were run, in order."""
        return list(dict.fromkeys(cell.accounting for cell in self.cells))


def summarise(results: Mapping[Batch, BatchResult]) -> Results:
    """Put the batches of each cell together, in the order of their trials."""
    cells: dict[Cell, list[BatchResult]] = {}
    for result in results.values():
        cells.setdefault(result.batch.cell, []).append(result)
    return Results(_joined(cell, sorted(parts, key=lambda r: r.batch.first)) for cell, parts in cells.items())


def _joined(cell: Cell, parts: list[BatchResult]) -> CellSummary:
    watched = sum(part.watched_iterations for part in parts)
    return CellSummary(
        cell=cell,
        trials=sum(part.batch.count for part in parts),
        train=_pooled([(p.batch.count, p.train_mean, p.train_deviation) for p in parts]),
        test=_pooled([(p.batch.count, p.test_mean, p.test_deviation) for p in parts]),
        in_range=_pooled(
            [(p.in_range_count, p.in_range_mean, p.in_range_deviation) for p in parts if p.in_range_count]
        ),
        clipped_share=sum(part.clipped_iterations for part in parts) / watched if watched else None,
        watched_iterations=watched,
        seconds=sum(part.seconds for part in parts),
    )


def _pooled(parts: list[tuple[int, float, float]]) -> Mean:
    """Combine counts, means and sums of squared deviations."""
    count, mean, deviation = 0, 0.0, 0.0
    for n, m, s in parts:
        total = count + n
        deviation += s + (m - mean) ** 2 * count * n / total
        mean += (m - mean) * n / total
        count = total
    # As in the paper the standard deviation has divisor n.
    return Mean(mean, math.sqrt(deviation) / count)
