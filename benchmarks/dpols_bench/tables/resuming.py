"""Fits in groups, of which only those are done that a journal does not hold yet."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from ..journal import Journal
from ..steps import Progress, Step
from ..workers import in_processes

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
