"""A tape of everything that a program releases: what went into each mechanism, and what came out.

A program is anything that turns rows and bits into released values by way of a `Channel`. While a tape runs, the
channel's own methods are replaced by ones that write down their arguments and results; a tape that is given an earlier
one to follow releases the earlier results again, whatever the new rows would have given. One tape runs at a time.
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partialmethod
from typing import Any

import numpy as np

from ..data.rows import BoundedRows
from ..data.threads import one_blas_thread
from ..linalg import Array
from ..mechanisms import Channel, Mixed, MixedRows
from ..randomness import Bits
from ..statistics import Statistic

Program = Callable[[BoundedRows, Sequence[Bits]], Any]
Returned = Array | Mixed | MixedRows

# The methods of a channel that release values; its others call these.
MECHANISMS = ("gaussian", "symmetric_gaussian", "mix_gram", "mix_rows")


@dataclass(frozen=True, repr=False)
class Call:
    """One released value: by which mechanism, from which statistic, with which public numbers."""

    mechanism: str
    statistic: Statistic
    declared: dict[str, float]  # multiplier, or rows and floor
    certain: Array | None  # a lower bound on the smallest eigenvalue, from an earlier release
    returned: Returned
    shift: Array | None  # of a sketch, as this data would have it, in the units of the released values
    words: int  # of randomness taken

    @property
    def is_sketch(self) -> bool:
        """Whether rows or the Gram matrix of a sketch were released, rather than a statistic with noise added."""
        return self.shift is not None

    @property
    def released(self) -> Array:
        """The noisy values, or the Gram matrix of the sketch, which is all that its likelihood depends on."""
        match self.returned:
            case Mixed(gram, _):
                return gram
            case MixedRows(rows, _, _):
                return np.asarray(rows.swapaxes(-1, -2) @ rows)
            case noisy:
                return noisy

    @property
    def path(self) -> tuple[Any, ...]:
        """What must be the same on neighbouring data, given the same earlier releases."""
        shift = None if self.shift is None else tuple(self.shift.tolist())
        step = tuple(np.ravel(self.statistic.step).tolist())
        statistic = (self.statistic.value.shape, self.statistic.sensitivity, step)
        return self.mechanism, statistic, tuple(sorted(self.declared.items())), shift, self.words


@dataclass(frozen=True, repr=False)
class Tape:
    """The calls of one run of a program, and what the program returned."""

    calls: tuple[Call, ...]
    result: Any


class CountedBits:
    """A stream that counts the words taken from it."""

    def __init__(self, bits: Bits) -> None:
        self._bits = bits
        self.taken = 0

    @property
    def seeded(self) -> bool:
        return self._bits.seeded

    def words(self, count: int) -> Array:
        self.taken += count
        return self._bits.words(count)

    def spawn(self) -> Bits:
        return self._bits.spawn()


def run_on_tape(
    program: Program,
    rows: BoundedRows,
    bits: Sequence[Bits],
    *,
    following: Tape | None = None,
    redraw: bool = True,
) -> Tape:
    """Run a program and write down its releases; with ``following``, release that tape's values instead.

    Unless told not to ``redraw``, a run that follows a tape draws its own values first, as its path is to be seen.
    """
    counted = {id(stream): CountedBits(stream) for stream in bits}
    calls: list[Call] = []

    def around(channel: Channel, mechanism: str, statistic: Statistic, **arguments: Any) -> Returned:
        before = sum(stream.taken for stream in counted.values())
        forced = _at(following, len(calls), mechanism)
        own = forced if forced is not None and not redraw else methods[mechanism](channel, statistic, **arguments)
        words = sum(stream.taken for stream in counted.values()) - before
        returned: Returned = own if forced is None else forced
        shift = getattr(own, "shift", None)
        certain = arguments.pop("certain", None)
        # Copies, as a program may write into what it gets.
        calls.append(Call(mechanism, statistic, arguments, certain, deepcopy(returned), deepcopy(shift), words))
        return returned

    methods = {mechanism: getattr(Channel, mechanism) for mechanism in MECHANISMS}
    try:
        for mechanism in MECHANISMS:
            setattr(Channel, mechanism, partialmethod(around, mechanism))
        with one_blas_thread():  # as in a fit
            result = program(rows, [counted[id(stream)] for stream in bits])
    finally:
        for mechanism, method in methods.items():
            setattr(Channel, mechanism, method)
    return Tape(tuple(calls), result)


def _at(tape: Tape | None, place: int, mechanism: str) -> Returned | None:
    """Return a copy of what a tape released at a place, if that was by the same mechanism."""
    if tape is None or place >= len(tape.calls) or tape.calls[place].mechanism != mechanism:
        return None
    return deepcopy(tape.calls[place].returned)
