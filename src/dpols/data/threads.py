"""Blocks on a thread pool, with BLAS held at one thread each: fastest for tall, thin and for small matrices."""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")


def worker_count() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def one_blas_thread() -> AbstractContextManager[Any]:
    """Hold BLAS at one thread; the former number is restored on leaving."""
    limit: AbstractContextManager[Any] = _blas().limit(limits=1, user_api="blas")
    return limit


def map_blocks(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Apply ``work`` to every item on all cores and yield the results in order."""
    items = list(items)
    workers = worker_count()
    with one_blas_thread():
        if workers == 1 or len(items) == 1:
            yield from map(work, items)
        else:
            yield from _pool(os.getpid(), workers).map(work, items)


@lru_cache(maxsize=1)
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


@lru_cache(maxsize=1)
def _pool(process: int, workers: int) -> ThreadPoolExecutor:
    """Return this process's pool; threads do not survive a fork, so a child makes its own."""
    return ThreadPoolExecutor(workers, thread_name_prefix=f"dpols-{process}")
