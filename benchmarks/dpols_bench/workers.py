"""Work in several processes, whose results come as soon as they are there."""

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing.connection import wait as wait_for_end
from typing import TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")


def in_processes(
    work: Callable[[Sequence[Task]], list[Result]], groups: Sequence[Sequence[Task]], jobs: int
) -> Iterator[Result]:
    """Do the work of each group as a whole in one of the worker processes."""
    if not groups:
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_start_worker) as pool:
        # A short queue, so that an interruption does not have to wait for all.
        waiting: set[Future[list[Result]]] = set()
        try:
            for group in groups:
                waiting.add(pool.submit(work, group))
                if len(waiting) > 2 * jobs:
                    done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                    for future in done:
                        yield from future.result()
            while waiting:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    yield from future.result()
        finally:
            for future in waiting:
                future.cancel()


def _start_worker() -> None:
    """End this worker with its parent, also where the parent is killed and cannot say so."""

    def watch() -> None:
        process = multiprocessing.parent_process()
        if process is not None:
            wait_for_end([process.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
