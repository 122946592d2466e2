"""Fits in groups, of which only those are done that a journal does not hold yet."""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from ..journal import Journal
from ..paper.tables import save_table
from ..steps import Progress, Step, processes
from ..workers import in_processes
from .journal import as_row, fit_journal
from .other_library import check_python

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
    settings: Any,
    run: Callable[..., list[Outcome]],
    out: Path,
    fit: Callable[..., Fit],
    outcome: Callable[..., Outcome],
    load: Callable[[str], object],
    progress: Progress,
) -> list[Outcome]:
    """Return the outcomes of all fits of some settings, with a journal of them in a folder, and then a table of them.

    Before anything is written, it is seen that the tables and diffprivlib are there.
    """
    check_python(settings.diffprivlib)
    load(settings.tables[0])
    journal = fit_journal(out / "fits.jsonl", fit, outcome)
    here = partial(run, python=settings.diffprivlib)
    found = all_outcomes(settings.groups(), here, journal, jobs=processes(settings.jobs), progress=progress)
    save_table([as_row(one) for one in found], out, "fits")
    return found
