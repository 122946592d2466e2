"""The audit: run programs many times on neighbouring data and bound from below what they cost.

Every run's releases are on a tape, and a second tape holds what the neighbour would have put into the same releases,
so that the score of a run is the exact log-likelihood ratio. The same tapes say how far the pair really moves each
release, and with it what the pair exactly costs: no correct audit can find more, and a good one finds nearly as much.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from ..data.rows import Arithmetic, BoundedRows
from ..data.threads import one_blas_thread
from ..linalg import Array
from ..privacy import GaussianRelease, MixingRelease, Release, epsilon_of
from ..randomness import Bits, SeededBits
from .evidence import Evidence, epsilon_lower_bound, error_rates
from .likelihood import log_likelihood_ratio
from .movement import distances, leverages
from .subjects import Subject
from .tape import Call, Program, run_on_tape
from .trade_off import Curve

CONFIDENCE = 0.95
_BATCH = 2000


@dataclass(frozen=True)
class Audit:
    """What an audit of one subject found; ``runs`` is how many there were on each of the two data sets."""

    name: str
    end_to_end: bool
    claimed_epsilon: float
    exact_epsilon: float  # of this pair of data sets, from how far it moves each release
    lower_bound: float
    remove: Evidence
    add: Evidence
    delta: float
    runs: int
    seconds: float
    pair_releases: tuple[Release, ...]
    error_rates: dict[str, Curve]  # by direction

    @property
    def holds(self) -> bool:
        """Whether the claim survives."""
        return self.lower_bound <= self.claimed_epsilon

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "name": self.name,
            "claimed_epsilon": self.claimed_epsilon,
            "exact_epsilon": self.exact_epsilon,
            "lower_bound": self.lower_bound,
            "lower_bound_remove": self.remove.lower_bound,
            "lower_bound_add": self.add.lower_bound,
            "delta": self.delta,
            "confidence": CONFIDENCE,
            "runs": self.runs,
            "seconds": round(self.seconds, 2),
        }


def audit(
    subject: Subject,
    *,
    runs: int,
    arithmetic: Arithmetic = "float",
    seed: int = 0,
    processes: int = 1,
    progress: Callable[[int], None] = lambda _: None,
) -> Audit:
    """Run a subject ``runs`` times on each of its two data sets; ``progress`` is told of every batch how many it had.

    The noise is seeded, so that what was found can be found again, with any number of processes.
    """
    started = time.perf_counter()
    with_row, without = subject.neighbours(arithmetic)
    bits = SeededBits(seed)
    present, moved = _scores(subject.program, with_row, without, runs, bits, processes, progress)
    absent, moved_back = _scores(subject.program, without, with_row, runs, bits, processes, progress)
    absent, pair_releases = -absent, tuple(_releases([*moved, *moved_back]))
    # Both directions are looked at, so each has half of the doubt.
    confidence = 1.0 - 0.5 * (1.0 - CONFIDENCE)
    delta = subject.budget.delta
    remove = epsilon_lower_bound(present, absent, delta, confidence=confidence)
    add = epsilon_lower_bound(-absent, -present, delta, confidence=confidence)
    return Audit(
        name=subject.name,
        end_to_end=subject.end_to_end,
        claimed_epsilon=subject.budget.epsilon,
        exact_epsilon=epsilon_of(pair_releases, delta),
        lower_bound=max(remove.lower_bound, add.lower_bound),
        remove=remove,
        add=add,
        delta=delta,
        runs=runs,
        seconds=time.perf_counter() - started,
        pair_releases=pair_releases,
        error_rates={"remove": error_rates(present, absent), "add": error_rates(-absent, -present)},
    )


@dataclass(frozen=True)
class _Moved:
    """How far the pair moves a release, in the run that moves it most."""

    is_sketch: bool
    declared: dict[str, float]
    worst: float

    @property
    def release(self) -> Release:
        """The release at the pair's own leverage or sensitivity."""
        if self.is_sketch:
            return MixingRelease(int(self.declared["rows"]), 1.0 / self.worst)
        return GaussianRelease(self.declared["multiplier"] / self.worst)


def _releases(moved: Sequence[Sequence[_Moved]]) -> Iterator[Release]:
    """Yield what the pair really costs, from how far it moves each release in every batch."""
    for same in zip(*moved, strict=True):
        farthest = max(same, key=lambda release: release.worst)
        if farthest.worst > 0.0:
            yield farthest.release


def _scores(
    program: Program,
    rows: BoundedRows,
    others: BoundedRows,
    runs: int,
    bits: SeededBits,
    processes: int,
    progress: Callable[[int], None],
) -> tuple[Array, list[list[_Moved]]]:
    """Return the log-likelihood ratios of runs on the rows, for the rows against the others."""
    counts = [min(_BATCH, runs - start) for start in range(0, runs, _BATCH)]
    # Each batch has a stream of its own, so that it does not matter which process runs it.
    batches = (delayed(_batch)(program, rows, others, count, bits.spawn()) for count in counts)
    scores, moved = [], []
    for found, movements in Parallel(min(processes, len(counts)), return_as="generator")(batches):
        scores.append(found)
        moved.append(movements)
        progress(len(found))
    return np.concatenate(scores), moved


def _batch(
    program: Program, rows: BoundedRows, others: BoundedRows, runs: int, bits: Bits
) -> tuple[Array, list[_Moved]]:
    """Run a program on the rows, and replay what it released on the others."""
    with one_blas_thread():
        first = run_on_tape(program, rows, [bits] * runs)
        second = run_on_tape(program, others, [bits] * runs, following=first, redraw=False)
        pairs = list(zip(first.calls, second.calls, strict=True))
        moved = [_Moved(call.is_sketch, call.declared, _farthest(call, other)) for call, other in pairs]
        return log_likelihood_ratio(first, second), moved


def _farthest(call: Call, other: Call) -> float:
    return float((leverages if call.is_sketch else distances)(call, other).max())
