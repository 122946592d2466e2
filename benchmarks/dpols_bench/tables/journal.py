"""The journal of fits on tables: a flat line for each fit with what it is worth."""

from collections.abc import Callable
from dataclasses import asdict, fields
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar, cast

from ..journal import Journal

Fit = TypeVar("Fit")
Outcome = TypeVar("Outcome")


def fit_journal(path: Path, fit: Callable[..., Fit], outcome: Callable[..., Outcome]) -> Journal[Fit, Outcome]:
    """Return the journal of outcomes, which have a field for their fit; both are made by dataclasses."""
    names = [[field.name for field in fields(kind)] for kind in (cast(Any, fit), cast(Any, outcome))]

    def from_row(row: dict[str, Any]) -> Outcome:
        of = fit(**{name: row[name] for name in names[0] if name in row})
        return outcome(fit=of, **{name: row[name] for name in names[1] if name != "fit"})

    return Journal(path, attrgetter("fit"), as_row, from_row)


def as_row(outcome: Any) -> dict[str, Any]:
    """Return a flat row."""
    row = asdict(outcome)
    return {**row.pop("fit"), **row}
