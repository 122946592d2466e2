"""One durable line of JSON for each result, so that a run that was stopped goes on where it was."""

import json
import os
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from dpols.errors import DataError

Key = TypeVar("Key", bound=Hashable)
Result = TypeVar("Result")
_DAMAGED = (ValueError, TypeError, KeyError)


@dataclass(frozen=True)
class Journal(Generic[Key, Result]):
    """The file of results; each is in it as a whole or not at all."""

    path: Path
    key: Callable[[Result], Key]
    to_row: Callable[[Result], dict[str, Any]]
    from_row: Callable[[dict[str, Any]], Result]

    def read(self) -> dict[Key, Result]:
        """Return what is there. A last line that was cut off is dropped; the first of two with the same key counts."""
        found: dict[Key, Result] = {}
        for result in self._results():
            found.setdefault(self.key(result), result)
        return found

    @contextmanager
    def appending(self) -> Iterator[Callable[..., None]]:
        """Cut off what is damaged, and yield what adds results, which survive the end of process and machine."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._cut_unfinished_line()
        with self.path.open("ab") as file:

            def add(*results: Result) -> None:
                file.write(b"".join(json.dumps(self.to_row(result)).encode() + b"\n" for result in results))
                file.flush()
                os.fsync(file.fileno())

            yield add

    def _results(self) -> Iterator[Result]:
        if not self.path.exists():
            return
        lines = self.path.read_bytes().split(b"\n")
        for number, line in enumerate(lines, start=1):
            try:
                if line:
                    yield self.from_row(json.loads(line))
            except _DAMAGED:
                if number < len(lines) - 1:
                    raise DataError(
                        f"line {number} of {str(self.path)!r} is damaged; remove that line, or the whole file to start "
                        "over."
                    ) from None

    def _cut_unfinished_line(self) -> None:
        """Remove a last line that does not end or is no result."""
        if not self.path.exists():
            return
        content = self.path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        last = whole[whole.rfind(b"\n", 0, -1) + 1 :]
        try:
            if last.strip():
                self.from_row(json.loads(last))
        except _DAMAGED:
            whole = whole[: len(whole) - len(last)]
        if len(whole) < len(content):
            with self.path.open("r+b") as file:
                file.truncate(len(whole))
                os.fsync(file.fileno())
