"""The audit: run programs many times on neighbouring data and bound from below what they cost.

Every run's releases are on a tape, and a second tape holds what the neighbour would have put into the same releases,
so that the score of a run is the exact log-likelihood ratio. The same tapes say how far the pair really moves each
release, and with it what the pair exactly costs: no correct audit can find more, and a good one finds nearly as much.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.rows import Arithmetic, BoundedRows
from ..data.threads import one_blas_thread
from ..linalg import Array
from ..privacy import GaussianRelease, MixingRelease, Release, epsilon_of
from ..randomness import Bits, SeededBits
from .evidence import Evidence, epsilon_lower_bound, error_rates
from .likelihood import log_likelihood_ratio
from .movement import distances, leverages
from .subjects import Subject
from .tape import Call, Tape, run_on_tape
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
    progress: Callable[[int], None] = lambda _: None,
) -> Audit:
    """Run a subject ``runs`` times on each of its two data sets; ``progress`` is told of every batch how many it had.

    The noise is seeded, so that what was found can be found again.
    """
    started = time.perf_counter()
    with_row, without = subject.neighbours(arithmetic)
    bits = SeededBits(seed)
    moved = _Moved()
    with one_blas_thread():
        present = _scores(subject, with_row, without, runs, bits, moved, progress)
        absent = -_scores(subject, without, with_row, runs, bits, moved, progress)
    # Both directions are looked at, so each has half of the doubt.
    confidence = 1.0 - 0.5 * (1.0 - CONFIDENCE)
    delta = subject.budget.delta
    remove = epsilon_lower_bound(present, absent, delta, confidence=confidence)
    add = epsilon_lower_bound(-absent, -present, delta, confidence=confidence)
    return Audit(
        name=subject.name,
        end_to_end=subject.end_to_end,
        claimed_epsilon=subject.budget.epsilon,
        exact_epsilon=epsilon_of(moved.releases, delta),
        lower_bound=max(remove.lower_bound, add.lower_bound),
        remove=remove,
        add=add,
        delta=delta,
        runs=runs,
        seconds=time.perf_counter() - started,
        pair_releases=moved.releases,
        error_rates={"remove": error_rates(present, absent), "add": error_rates(-absent, -present)},
    )


class _Moved:
    """How far the pair moves each release, in the run that moves it most."""

    def __init__(self) -> None:
        self._calls: list[Call] = []
        self._worst: list[float] = []

    def see(self, first: Tape, second: Tape) -> None:
        pairs = list(zip(first.calls, second.calls, strict=True))
        seen = [float((leverages if call.is_sketch else distances)(call, other).max()) for call, other in pairs]
        if not self._calls:
            self._calls, self._worst = list(first.calls), seen
        self._worst = [max(a, b) for a, b in zip(self._worst, seen, strict=True)]

    @property
    def releases(self) -> tuple[Release, ...]:
        """The releases of the pair at its own leverages and sensitivities."""
        made = zip(self._calls, self._worst, strict=True)
        return tuple(_release(call, worst) for call, worst in made if worst > 0.0)


def _release(call: Call, worst: float) -> Release:
    if call.is_sketch:
        return MixingRelease(int(call.declared["rows"]), 1.0 / worst)
    return GaussianRelease(call.declared["multiplier"] / worst)


def _scores(
    subject: Subject,
    rows: BoundedRows,
    others: BoundedRows,
    runs: int,
    bits: Bits,
    moved: _Moved,
    progress: Callable[[int], None],
) -> Array:
    """Return the log-likelihood ratios of runs on the rows, for the rows against the others."""
    scores = []
    for start in range(0, runs, _BATCH):
        streams: Sequence[Bits] = [bits] * min(_BATCH, runs - start)
        first = run_on_tape(subject.program, rows, streams)
        second = run_on_tape(subject.program, others, streams, following=first, redraw=False)
        moved.see(first, second)
        scores.append(log_likelihood_ratio(first, second))
        progress(len(streams))
    return np.concatenate(scores)
