"""Work in several processes, whose results come as soon as they are there."""

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing.connection import wait as wait_for_end
from typing import TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")


def in_processes(work: Callable[[Task], Result], tasks: Iterable[Task], jobs: int) -> Iterator[Result]:
    """Do each task in one of so many worker processes; with one job, in this process."""
    if jobs == 1:
        yield from map(work, tasks)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_end_with_parent) as pool:
        waiting: set[Future[Result]] = set()
        try:
            for task in tasks:
                waiting.add(pool.submit(work, task))
                if len(waiting) > 2 * jobs:  # a short queue, so that an interruption does not have to wait for all
                    yield from _finished(waiting)
            while waiting:
                yield from _finished(waiting)
        finally:
            for future in waiting:
                future.cancel()


def _finished(waiting: set[Future[Result]]) -> Iterator[Result]:
    for future in wait(waiting, return_when=FIRST_COMPLETED).done:
        waiting.remove(future)
        yield future.result()


def _end_with_parent() -> None:
    """End this worker with its parent, also where the parent is killed and cannot say so."""

    def watch() -> None:
        process = multiprocessing.parent_process()
        if process is not None:
            wait_for_end([process.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
