"""Replay: the same run on two neighbouring data sets, with the same released values.

A method is run on data while a tape records what goes into every release and what comes out. It is run again on the
data with one row zeroed, or gone, and every release releases what is on the tape. What then still differs is due to
that one row: the inputs of the releases, which must not move by more than was declared, and nothing else. In
particular the releases, their order, their public numbers and the words of randomness that they take must be the same,
and so must everything that the run returns.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from ..algorithms import algorithm
from ..data import ArraySource, BoundedRows, Bounds, RowSource
from ..data.rows import Arithmetic
from ..data.unit_ids import unit_codes
from ..data.units import source_of_units
from ..data.weights import checked_exposure, checked_max_weight
from ..linalg import Array
from ..privacy import FailureAllowance, GaussianRelease, MixingRelease, PrivacyBudget, Release
from ..randomness import Bits, streams
from .movement import Movement, movement
from .tape import Call, Program, Tape, run_on_tape

Direction = Literal["remove", "add"]


@dataclass(frozen=True)
class ReplayReport:
    """What a replay saw."""

    calls: tuple[Movement, ...]
    same_path: bool  # the same releases in the same order, with the same public numbers and as many words
    same_output: bool  # given what was released, nothing that is returned depends on the row
    accounted: bool  # the recorded releases are those that were made

    @property
    def worst_ratio(self) -> float:
        """The largest actual change over declared change."""
        return max((call.ratio for call in self.calls), default=0.0)

    @property
    def holds(self) -> bool:
        """Whether every declaration holds on this pair of data sets."""
        within = all(call.within for call in self.calls)
        return within and self.same_path and self.same_output and self.accounted


def replay(
    method: str,
    data: tuple[Any, Any],
    row: int,
    *,
    bounds: Bounds,
    budget: PrivacyBudget,
    fit_intercept: bool = True,
    arithmetic: Arithmetic = "exact",
    options: Mapping[str, Any] | None = None,
    direction: Direction = "remove",
    bits: Sequence[Bits] | None = None,
    ids: Any = None,
    max_rows_per_unit: int = 1,
    weights: Any = None,
    max_weight: float | None = None,
    exposure: Any = None,
    exposure_range: tuple[float, float] | None = None,
    neighbours: Literal["zero-out", "add-remove"] = "zero-out",
) -> ReplayReport:
    """Replay a method on ``data``, a pair of features and targets, and on the same data with one row zeroed, or gone.

    With ``ids`` all rows of that row's unit are, of which at most ``max_rows_per_unit`` are used.

    Parameters
    ----------
    method : str
        Name of an algorithm.
    data : (X, y)
        Features of shape (n, p) and n targets.
    row : int
        Which row to zero, or to leave out.
    bounds, budget, fit_intercept, arithmetic, options
        As the estimator takes them.
    direction : "remove" or "add"
        Whether the tape is recorded on the data with the row or on that without it.
    bits : sequence of Bits, optional
        One stream per trial; by default one seeded stream.
    ids, max_rows_per_unit
        To which unit each row belongs, and how many rows of a unit are used.
    weights, max_weight
        The weight of each row, and the largest that was declared.
    exposure, exposure_range
        The exposure of each row, and its declared range.
    neighbours : "zero-out" or "add-remove"
        Whether the row is zeroed, or left out of data whose number of rows is not public.
    """
    features, target = np.asarray(data[0], dtype=np.float64), np.asarray(data[1], dtype=np.float64)
    row_map = bounds.row_map(n_features=features.shape[1], columns=None, fit_intercept=fit_intercept)
    if weights is not None:
        target = np.column_stack((target, weights))
        row_map = replace(row_map, max_weight=checked_max_weight(weights, max_weight))
    ends = checked_exposure(exposure, weights, exposure_range)
    if ends is not None:
        target = np.column_stack((target, exposure))
        row_map = replace(row_map, exposure=ends)
    chosen = algorithm(method)
    gone = neighbours == "add-remove"
    n_units = None if gone else -(-len(target) // max_rows_per_unit)
    plan = chosen.plan(budget, n_rows=n_units, n_features=row_map.n_coordinates, **(options or {}))
    own = np.arange(len(target)) == row
    if ids is not None:
        codes = unit_codes(ids)
        own = codes == codes[row]
    kept = ~own if gone else np.full(len(own), True)
    other = tuple(values[kept] for values in without_row(features, target, own))
    sources: list[RowSource] = [ArraySource(features, target), ArraySource(*other)]
    if ids is not None:
        all_ids = (ids, [each for each, here in zip(ids, kept, strict=True) if here])
        sources = [
            source_of_units(source, whose, max_rows=max_rows_per_unit, bad_rows="zero")
            for source, whose in zip(sources, all_ids, strict=True)
        ]
    pair = [BoundedRows(source, row_map, "zero", arithmetic, max_rows_per_unit) for source in sources]
    first, second = pair if direction == "remove" else pair[::-1]

    def program(rows: BoundedRows, bits: Sequence[Bits]) -> Any:
        return chosen.run(rows, plan, bits)

    return replay_program(program, first, second, bits=streams(0, 1) if bits is None else bits)


def replay_program(program: Program, first: BoundedRows, second: BoundedRows, *, bits: Sequence[Bits]) -> ReplayReport:
    """Run a program on the first rows, and again on the second with the first run's released values."""
    recorded = run_on_tape(program, first, bits)
    followed = run_on_tape(program, second, bits, following=recorded)
    return ReplayReport(
        calls=tuple(movement(*pair) for pair in zip(recorded.calls, followed.calls, strict=False)),
        same_path=_path(recorded) == _path(followed) and _releases(recorded.result) == _releases(followed.result),
        same_output=_same_arrays(recorded.result, followed.result),
        accounted=all(_is_accounted(tape) for tape in (recorded, followed)),
    )


def without_row(features: Array, target: Array, row: int | Array) -> tuple[Array, Array]:
    """Return the data with rows zeroed, that is of no weight whatever the bounds: bad rows that count as zero."""
    features, target = features.copy(), target.copy()
    features[row], target[row] = np.nan, np.nan
    return features, target


def _path(tape: Tape) -> tuple[Any, ...]:
    return tuple(call.path for call in tape.calls)


def _releases(result: Any) -> tuple[Release, ...]:
    return tuple(result.releases)


def _is_accounted(tape: Tape) -> bool:
    """Whether the releases that a run states are the ones on the tape, and it allows for lower bounds that fail."""
    stated = [release for release in _releases(tape.result) if not isinstance(release, FailureAllowance)]
    allowed = len(stated) < len(_releases(tape.result))
    return stated == [_release(call) for call in tape.calls] and allowed >= any(
        call.certain is not None for call in tape.calls
    )


def _release(call: Call) -> Release:
    if call.is_sketch:
        return MixingRelease(int(call.declared["rows"]), call.declared["floor"])
    return GaussianRelease(call.declared["multiplier"])


def _same_arrays(first: Any, second: Any) -> bool:
    """Whether two fits hold the same bits."""
    if first.transcript.keys() != second.transcript.keys():
        return False
    pairs = [(first.theta, second.theta), *((value, second.transcript[key]) for key, value in first.transcript.items())]
    return all(np.array_equal(a, b, equal_nan=True) for a, b in pairs)
