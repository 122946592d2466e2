"""A tape of everything that a program lets out: what went into each mechanism, and what came out.

A program is anything that turns rows and bits into released values by way of a `Channel`. While a tape runs, the
channel's own methods are replaced by ones that write down their arguments and results; a tape that is given an earlier
one to follow lets the earlier results out again, whatever the new rows would have given. One tape runs at a time.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partialmethod
from typing import Any

import numpy as np

from ..data.rows import BoundedRows
from ..mechanisms import Channel, Mixed
from ..randomness import Bits
from ..statistics import Statistic

Array = np.ndarray[Any, np.dtype[Any]]
Program = Callable[[BoundedRows, Sequence[Bits]], Any]

# The methods of a channel that let values out; its others are made of these.
MECHANISMS = ("gaussian", "symmetric_gaussian", "mix_gram")


@dataclass(frozen=True, repr=False)
class Call:
    """One value let out: by which mechanism, from which statistic, with which public numbers."""

    mechanism: str
    statistic: Statistic
    declared: dict[str, float]  # multiplier, or rows and floor
    certain: Array | None  # a lower bound on the smallest eigenvalue, from an earlier release
    released: Array  # a noisy value, or the Gram matrix of a sketch; the trials come first
    shift: Array | None  # of a sketch, as this data would have it, in the units of the released values
    words: int  # of randomness taken

    @property
    def path(self) -> tuple[Any, ...]:
        """What must be the same on neighbouring data, given the same earlier releases."""
        shift = None if self.shift is None else tuple(self.shift.tolist())
        statistic = (self.statistic.value.shape, self.statistic.sensitivity, self.statistic.unit)
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
    """Run a program and write down its releases; with ``following``, let that tape's values out instead.

    Unless told not to ``redraw``, a run that follows a tape draws its own values first, as its path is to be seen.
    """
    counted = {id(stream): CountedBits(stream) for stream in bits}
    calls: list[Call] = []

    def around(channel: Channel, mechanism: str, statistic: Statistic, **arguments: Any) -> Array | Mixed:
        before = sum(stream.taken for stream in counted.values())
        forced = _forced(following, len(calls), mechanism)
        own = forced if forced is not None and not redraw else _call(channel, mechanism, statistic, arguments)
        words = sum(stream.taken for stream in counted.values()) - before
        released, _ = _parts(own if forced is None else forced)
        certain = arguments.pop("certain", None)
        calls.append(Call(mechanism, statistic, arguments, certain, released, _parts(own)[1], words))
        return own if forced is None else forced

    def _call(channel: Channel, mechanism: str, statistic: Statistic, arguments: dict[str, Any]) -> Array | Mixed:
        value: Array | Mixed = methods[mechanism](channel, statistic, **arguments)
        return value

    methods = {mechanism: getattr(Channel, mechanism) for mechanism in MECHANISMS}
    try:
        for mechanism in MECHANISMS:
            setattr(Channel, mechanism, partialmethod(around, mechanism))
        result = program(rows, [counted[id(stream)] for stream in bits])
    finally:
        for mechanism, method in methods.items():
            setattr(Channel, mechanism, method)
    return Tape(tuple(calls), result)


def _forced(tape: Tape | None, place: int, mechanism: str) -> Array | Mixed | None:
    """Return a copy of what a tape let out at a place, if that was by the same mechanism."""
    if tape is None or place >= len(tape.calls) or tape.calls[place].mechanism != mechanism:
        return None
    call = tape.calls[place]
    return call.released.copy() if call.shift is None else Mixed(call.released.copy(), call.shift.copy())


def _parts(let_out: Array | Mixed) -> tuple[Array, Array | None]:
    """Return copies of the released numbers and of the shift, as a program may write into what it gets."""
    if isinstance(let_out, Mixed):
        return let_out.gram.copy(), let_out.shift.copy()
    return let_out.copy(), None
