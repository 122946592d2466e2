"""How far a pass has come: a hook for whoever wants to show it."""

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Any

from ..source import Array, Kernel, RowSource, Total

Progress = Callable[[int, int, int], None]  # number of the pass, rows that it has read, rows in all, 0 if not public


class Watch:
    """Counts passes and rows, and tells the hook after each block; the threads of a pass take turns.

    Where the number of rows is None, as it is not public, the hook hears of passes only.
    """

    def __init__(self, hook: Progress, n_rows: int | None) -> None:
        self.hook = hook
        self.n_rows = n_rows
        self.passes = 0
        self.rows = 0
        self._turn = Lock()

    def start(self) -> None:
        """Begin a pass."""
        self.passes += 1
        self.rows = 0
        self.hook(self.passes, 0, self.n_rows or 0)

    def advance(self, n_rows: int) -> None:
        """Count some rows."""
        if self.n_rows is None:
            return
        with self._turn:
            self.rows += n_rows
            self.hook(self.passes, self.rows, self.n_rows)

    def counting(self, kernel: Kernel) -> Kernel:
        """Return a kernel that also counts the rows of its blocks."""

        def counted(features: Array, target: Array, *args: Any) -> tuple[Array, ...]:
            values = kernel(features, target, *args)
            self.advance(len(target))
            return values

        return counted


@dataclass(frozen=True, repr=False)
class Watched:
    """Rows that workers keep; a watch hears of their passes."""

    source: RowSource
    watch: Watch

    @property
    def columns(self) -> tuple[str, ...] | None:
        return self.source.columns

    @property
    def n_features(self) -> int:
        return self.source.n_features

    @property
    def n_rows(self) -> int:
        return self.source.n_rows

    def total(self, kernel: Kernel, *args: Any) -> Total:
        self.watch.start()
        return self.source.total(kernel, *args)
