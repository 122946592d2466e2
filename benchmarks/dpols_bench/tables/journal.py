"""One line of JSON for each fit, so that a run that was stopped goes on where it was."""

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from .fits import Fit, Outcome


def read_journal(path: Path) -> dict[Fit, Outcome]:
    """Return the fits that are there; a last line that was cut off is removed from the file."""
    if not path.exists():
        return {}
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        os.truncate(path, len(whole))
    outcomes = (_from_json(json.loads(line)) for line in whole.splitlines())
    return {outcome.fit: outcome for outcome in outcomes}


def append_to_journal(path: Path, outcomes: Iterable[Outcome]) -> None:
    """Add lines that survive the end of the process and of the machine."""
    lines = b"".join(json.dumps(as_row(outcome)).encode() + b"\n" for outcome in outcomes)
    with path.open("ab") as file:
        file.write(lines)
        file.flush()
        os.fsync(file.fileno())


def as_row(outcome: Outcome) -> dict[str, Any]:
    """Return a flat row."""
    row = asdict(outcome)
    return {**row.pop("fit"), **row}


def _from_json(row: dict[str, Any]) -> Outcome:
    fit = Fit(**{field.name: row[field.name] for field in fields(Fit) if field.name in row})
    return Outcome(fit, **{field.name: row[field.name] for field in fields(Outcome) if field.name != "fit"})
