"""The journal of an evaluation: a line for each batch of trials."""

from dataclasses import asdict, fields
from operator import attrgetter
from pathlib import Path
from typing import Any

from ..journal import Journal
from .cells import Batch, BatchResult, Cell


def batch_journal(path: Path) -> Journal[Batch, BatchResult]:
    """Return the journal at this path."""
    return Journal(path, attrgetter("batch"), _to_row, _from_row)


def _to_row(result: BatchResult) -> dict[str, Any]:
    batch = result.batch
    measured = {f.name: getattr(result, f.name) for f in fields(result) if f.name != "batch"}
    return {**asdict(batch.cell), "first": batch.first, "count": batch.count, **measured}


def _from_row(row: dict[str, Any]) -> BatchResult:
    cell = Cell(**{f.name: row[f.name] for f in fields(Cell)})
    measured = {f.name: row[f.name] for f in fields(BatchResult) if f.name != "batch"}
    return BatchResult(Batch(cell, row["first"], row["count"]), **measured)
