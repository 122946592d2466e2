"""All batches of an evaluation on all cores, with every finished one written down at once."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from ..journal import Journal
from ..workers import in_processes
from .cells import Batch, BatchResult, Cell, problem, run_batch

BATCH_TRIALS = 125
# Above this many values the features are held once, by this process, whose passes use all cores.
_SHARED_VALUES = 1 << 24
Progress = Callable[[BatchResult], None]


def batches_of(cells: Iterable[Cell], trials: int) -> list[Batch]:
    """Divide the trials of every cell into batches; the last one may be short."""
    return [
        Batch(cell, first, min(BATCH_TRIALS, trials - first))
        for cell in cells
        for first in range(0, trials, BATCH_TRIALS)
    ]


def run(
    batches: Sequence[Batch],
    journal: Journal[Batch, BatchResult],
    *,
    sizes: dict[str, int],
    jobs: int,
    progress: Progress = lambda _: None,
) -> dict[Batch, BatchResult]:
    """Run the batches that the journal does not hold yet; return the results of all of them.

    ``sizes`` are numbers of values of the data sets: the largest run last, one batch at a time on all cores.
    """
    found = journal.read()
    missing = [batch for batch in batches if batch not in found]
    ordered = sorted(missing, key=lambda batch: -sizes[batch.cell.dataset])  # long ones first; stable
    shared = [batch for batch in ordered if sizes[batch.cell.dataset] > _SHARED_VALUES]
    apart = [batch for batch in ordered if sizes[batch.cell.dataset] <= _SHARED_VALUES]
    with journal.appending() as add:
        for result in _all_results(apart, shared, jobs):
            add(result)
            found[result.batch] = result
            progress(result)
    return {batch: found[batch] for batch in batches}


def _all_results(apart: Sequence[Batch], shared: Sequence[Batch], jobs: int) -> Iterator[BatchResult]:
    yield from map(run_batch, apart) if jobs == 1 else _in_processes(apart, jobs)
    yield from map(run_batch, shared)
    problem.cache_clear()


def _in_processes(batches: Sequence[Batch], jobs: int) -> Iterator[BatchResult]:
    """Run batches in worker processes; those of one cell go to one worker, whose plan and data set they share."""
    for results in in_processes(_run_group, _by_cell(batches), jobs):
        yield from results


def _by_cell(batches: Sequence[Batch]) -> list[list[Batch]]:
    groups: dict[Cell, list[Batch]] = {}
    for batch in batches:
        groups.setdefault(batch.cell, []).append(batch)
    return list(groups.values())


def _run_group(batches: Sequence[Batch]) -> list[BatchResult]:
    return [run_batch(batch) for batch in batches]
