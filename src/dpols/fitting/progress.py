"""Progress of a fit in Python: one line that is written over, with the time that is left."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from ..data.passes import Hook
from ..errors import ParameterError, quoted
from .preparing import Prepared

_PATIENCE = 2.0  # seconds before a fit that nobody asked to be shown shows itself
_EVERY = 0.1  # seconds between two lines


class _Line:
    """One line of text, written over again and again."""

    def __init__(self, to: TextIO, passes: int | None, patience: float) -> None:
        self.to, self.passes = to, passes
        self.start = time.monotonic()
        self.next = self.start + patience
        self.width = 0

    def show(self, number: int, rows: int, n_rows: int) -> None:
        """Say how far a fit is, unless it has just been said."""
        now = time.monotonic()
        if now < self.next:
            return
        self.next = now + _EVERY
        text = f"Fitting, pass {number}"
        total = None if self.passes is None else max(self.passes, number)
        text += "" if total is None else f" of {total}"
        if n_rows == 0:  # their number is not public, and the time that is left would tell it
            self._write(text)
            return
        if total is not None:
            done = (number - 1 + rows / n_rows) / total
            left = (now - self.start) * (1.0 / done - 1.0) if done > 0.0 else None
            text += "" if left is None else f", about {_seconds(left)} left"
        self._write(f"{text}: {rows:,} of {n_rows:,} rows")

    def clear(self) -> None:
        """Leave nothing behind."""
        if self.width:
            self._write("")
            self.to.write("\r")
            self.to.flush()

    def _write(self, text: str) -> None:
        self.to.write(f"\r{text.ljust(self.width)}")
        self.to.flush()
        self.width = len(text)


@contextmanager
def shown(progress: Any, prepared: Prepared) -> Iterator[Hook | None]:
    """Give what shows the passes of a fit: as ``progress`` says, or by default on a terminal or in a notebook."""
    if progress is not None and not isinstance(progress, bool) and not callable(progress):
        raise ParameterError(f"progress={quoted(progress)} must be True, False, None or a function of three numbers.")
    if callable(progress):
        yield progress
    elif progress is False or (progress is None and not _watched_by_people()):
        yield None
    else:
        line = _Line(sys.stderr, _passes(prepared), 0.0 if progress else _PATIENCE)
        try:
            yield line.show
        finally:
            line.clear()


def _passes(prepared: Prepared) -> int | None:
    """Return about how many passes a fit makes; None where the plan does not say."""
    own = getattr(prepared.plan, "passes", None)
    if own is None:
        return None
    beside = prepared.beside
    return int(own) + len(beside.bounds) + (beside.counts is not None)


def _watched_by_people() -> bool:
    """Return whether standard error is a terminal, or this is a notebook."""
    shell = sys.modules.get("IPython")
    notebook = shell is not None and getattr(shell.get_ipython(), "kernel", None) is not None
    return notebook or bool(getattr(sys.stderr, "isatty", lambda: False)())


def _seconds(value: float) -> str:
    return f"{value:.0f} s" if value < 90 else f"{value / 60:.0f} min" if value < 5400 else f"{value / 3600:.1f} h"
