"""How far the passes of a fit have come, told to a hook: public numbers, and the time that they take."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar

Hook = Callable[[int, int, int], None]  # number of the pass, rows that it has read, rows in all, 0 if not public


class Passes:
    """Counts passes and their rows, and tells the hook after each block; of passes only where rows are not public."""

    def __init__(self, hook: Hook, n_rows: int | None) -> None:
        self.hook = hook
        self.n_rows = n_rows
        self.number = 0
        self.rows = 0
        self._within = False

    @contextmanager
    def one(self) -> Iterator[Callable[[int], None]]:
        """Begin a pass, and give what counts its rows; a pass within another is a part of it."""
        if self._within:
            yield _nobody
            return
        self._within, self.number, self.rows = True, self.number + 1, 0
        self.hook(self.number, 0, self.n_rows or 0)
        try:
            yield self._count
        finally:
            self._within = False

    def _count(self, count: int) -> None:
        if self.n_rows is None:
            return
        self.rows = min(self.rows + count, self.n_rows)
        self.hook(self.number, self.rows, self.n_rows)


_watched: ContextVar[Passes | None] = ContextVar("passes", default=None)


@contextmanager
def told(hook: Hook | None, n_rows: int | None) -> Iterator[None]:
    """Tell a hook of all passes that begin in this block, in this thread; nobody where there is none."""
    if hook is None:
        yield
        return
    before = _watched.set(Passes(hook, n_rows))
    try:
        yield
    finally:
        _watched.reset(before)


def _nobody(count: int) -> None:
    """Tell nobody of rows."""


_untold = nullcontext(_nobody)


def one_pass() -> AbstractContextManager[Callable[[int], None]]:
    """Begin a pass, and give what counts its rows."""
    passes = _watched.get()
    return _untold if passes is None else passes.one()
