"""One durable line of JSON for each batch, so that a run that was killed goes on where it stopped."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import IO, Any

from dpols.errors import DataError

from .cells import Batch, BatchResult, Cell


class Journal:
    """The file of results; a batch is in it as a whole or not at all."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> dict[Batch, BatchResult]:
        """Return what is there. A last line that was cut off is dropped; the first of two equal batches counts."""
        found: dict[Batch, BatchResult] = {}
        for result in self._lines():
            found.setdefault(result.batch, result)
        return found

    @contextmanager
    def appending(self) -> Iterator["Writer"]:
        """Cut off what is damaged, and open the file for more."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        _cut_unfinished_line(self.path)
        with self.path.open("ab") as file:
            yield Writer(file)

    def _lines(self) -> Iterator[BatchResult]:
        if not self.path.exists():
            return
        lines = self.path.read_bytes().split(b"\n")
        for number, line in enumerate(lines, start=1):
            try:
                if line:
                    yield _from_json(json.loads(line))
            except (ValueError, TypeError, KeyError):
                if number < len(lines) - 1:
                    raise DataError(
                        f"line {number} of {str(self.path)!r} is damaged; remove that line, or the whole file to start "
                        "over."
                    ) from None


class Writer:
    """Adds lines that survive the end of the process and of the machine."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def add(self, result: BatchResult) -> None:
        self._file.write(json.dumps(_to_json(result)).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())


def _cut_unfinished_line(path: Path) -> None:
    """Remove a last line that does not end or is no JSON."""
    if not path.exists():
        return
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    last = whole[whole.rfind(b"\n", 0, -1) + 1 :]
    try:
        if last.strip():
            _from_json(json.loads(last))
    except (ValueError, TypeError, KeyError):
        whole = whole[: len(whole) - len(last)]
    if len(whole) < len(content):
        with path.open("r+b") as file:
            file.truncate(len(whole))
            os.fsync(file.fileno())


def _to_json(result: BatchResult) -> dict[str, Any]:
    batch = result.batch
    measured = {f.name: getattr(result, f.name) for f in fields(result) if f.name != "batch"}
    return {**asdict(batch.cell), "first": batch.first, "count": batch.count, **measured}


def _from_json(line: dict[str, Any]) -> BatchResult:
    cell = Cell(**{f.name: line[f.name] for f in fields(Cell)})
    measured = {f.name: line[f.name] for f in fields(BatchResult) if f.name != "batch"}
    return BatchResult(Batch(cell, line["first"], line["count"]), **measured)
