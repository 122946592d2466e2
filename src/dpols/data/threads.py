"""Blocks on a thread pool, with BLAS held at one thread each: fastest for tall, thin and for small matrices."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import lru_cache
from itertools import pairwise
from threading import Lock
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")

_BLOCK_ROWS = 16384
_BLOCKS_TOGETHER = 4


def worker_count() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _OneBlasThread(AbstractContextManager[None]):
    """Holds BLAS at one thread while any thread is within it."""

    def __enter__(self) -> None:
        with _held.lock:
            if _held.by == 0:
                _held.limit = _blas().limit(limits=1, user_api="blas")
            _held.by += 1

    def __exit__(self, *_error: object) -> None:
        with _held.lock:
            _held.by -= 1
            if _held.by == 0:
                _take_control()
                _held.limit.restore_original_limits()
                _take_control()


_one_blas_thread = _OneBlasThread()


def one_blas_thread() -> AbstractContextManager[None]:
    """Hold BLAS at one thread; the former number is restored when the last of all threads that asked has left."""
    return _one_blas_thread


_alone: ContextVar[bool] = ContextVar("alone", default=False)


@contextmanager
def this_thread_alone() -> Iterator[None]:
    """Work on all blocks in this thread: fastest where processes share the cores, each with fits of its own."""
    before = _alone.set(True)
    try:
        yield
    finally:
        _alone.reset(before)


def _take_control() -> None:
    """Let any thread set limits next: threadpoolctl ignores all but the one that did so first, who may not be last."""
    for library in _blas().lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


class _Held:
    """The limit that is in force in this process, and how many hold it."""

    def __init__(self) -> None:
        self.by = 0
        self.limit: Any = None
        self.unlock()

    def unlock(self) -> None:
        """Start with a free lock; the child of a fork may have got one that nobody will release."""
        self.lock = Lock()


_held = _Held()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_held.unlock)


def even_blocks(n_rows: int) -> list[slice]:
    """Cut rows into blocks of about the same size, so that all cores end at about the same time.

    How is the same on every machine, so that the number of cores never changes a sum.
    """
    count = -(-max(n_rows, 1) // _BLOCK_ROWS)
    if count > 1:
        count = -(-count // _BLOCKS_TOGETHER) * _BLOCKS_TOGETHER
    edges = [n_rows * i // count for i in range(count + 1)]
    return [slice(*pair) for pair in pairwise(edges)]


def map_blocks(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Apply ``work`` to every item on all cores and yield the results in order."""
    items = list(items)
    workers = 1 if _alone.get() else worker_count()
    with one_blas_thread():
        if workers == 1 or len(items) == 1:
            yield from map(work, items)
        else:
            yield from _pool(os.getpid(), workers).map(work, items)


def map_stream(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Apply ``work`` to items as they come and yield the results in order; only a few items are held at a time."""
    workers = 1 if _alone.get() else worker_count()
    waiting: deque[Future[Result]] = deque()
    with one_blas_thread():
        if workers == 1:
            yield from map(work, items)
            return
        try:
            for item in items:
                waiting.append(_pool(os.getpid(), workers).submit(work, item))
                if len(waiting) > 2 * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for left in waiting:
                left.cancel()


@lru_cache(maxsize=1)
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


@lru_cache(maxsize=1)
def _pool(process: int, workers: int) -> ThreadPoolExecutor:
    """Return this process's pool; threads do not survive a fork, so a child makes its own."""
    return ThreadPoolExecutor(workers, thread_name_prefix=f"dpols-{process}")
