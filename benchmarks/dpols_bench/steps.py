"""What runs share: how far they are, and in how many processes they work."""

from collections.abc import Callable
from typing import NamedTuple

from dpols.data.threads import worker_count
from dpols.errors import ParameterError


class Step(NamedTuple):
    """How far a run is, in units of estimated cost."""

    what: str
    done: float
    total: float


Progress = Callable[[Step], None]


def processes(jobs: int) -> int:
    """Return so many processes, or as many as there are cores for 0."""
    if jobs < 0:
        raise ParameterError(f"jobs={jobs!r} must be 0, for all cores, or a number of processes.")
    return jobs or worker_count()
