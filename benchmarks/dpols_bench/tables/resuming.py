"""Fits in groups, of which only those are done that a journal does not hold yet."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from ..journal import Journal
from ..paper.tables import save_table
from ..steps import Progress, Step, processes
from ..workers import in_processes
from .journal import as_row, fit_journal

Fit = TypeVar("Fit", bound=Any)
Outcome = TypeVar("Outcome", bound=Any)


def all_outcomes(
    groups: Iterable[list[Fit]],
    run: Callable[[list[Fit]], list[Outcome]],
    journal: Journal[Fit, Outcome],
    *,
    jobs: int,
    progress: Progress,
) -> list[Outcome]:
    """Return the outcomes of all fits, in their order; each group is run as a whole, and then kept."""
    known, wanted = journal.read(), list(groups)
    missing = [[fit for fit in group if fit not in known] for group in wanted]
    total = sum(map(len, wanted))
    done = total - sum(map(len, missing))
    with journal.appending() as add:
        for outcomes in in_processes(run, filter(None, missing), jobs):
            add(*outcomes)
            known |= {outcome.fit: outcome for outcome in outcomes}
            done += len(outcomes)
            progress(Step(f"{outcomes[0].fit.table}, {outcomes[0].fit.method}", done, total))
    return [known[fit] for group in wanted for fit in group]


def outcomes_in_folder(
    groups: Iterable[list[Fit]],
    run: Callable[[list[Fit]], list[Outcome]],
    out: Path,
    fit: Callable[..., Fit],
    outcome: Callable[..., Outcome],
    *,
    jobs: int,
    progress: Progress,
) -> list[Outcome]:
    """Return the outcomes of all fits, with a journal of them in a folder, and then a table of them."""
    journal = fit_journal(out / "fits.jsonl", fit, outcome)
    found = all_outcomes(groups, run, journal, jobs=processes(jobs), progress=progress)
    save_table([as_row(one) for one in found], out, "fits")
    return found
