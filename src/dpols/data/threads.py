"""Blocks on a thread pool, with BLAS held at one thread each: fastest for tall, thin matrices."""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")


def worker_count() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def map_blocks(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Apply ``work`` to every item on all cores and yield the results in order."""
    items = list(items)
    workers = min(worker_count(), len(items))
    with _blas().limit(limits=1, user_api="blas"):
        if workers <= 1:
            yield from map(work, items)
            return
        with ThreadPoolExecutor(workers) as pool:
            yield from pool.map(work, items)


@lru_cache(maxsize=1)
def _blas() -> ThreadpoolController:
    return ThreadpoolController()
