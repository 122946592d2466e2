"""Where random bits come from. This is the only place that draws them.

`SystemBits` reads the operating system's generator on every call: there is no state to seed, copy, pickle or share, so
forks, threads and clones never repeat noise. `SeededBits` exists for tests and for reproducing a run; whoever knows the
seed can subtract the noise, so a seeded run is marked and is not private.
"""

import math
import os
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from scipy.special import gammaincinv, ndtri

from .errors import ParameterError, quoted
from .linalg import Array

WORD_BITS = 64
_DROPPED = np.uint64(12)  # bits of a word that a uniform does without


class Bits(Protocol):
    """A stream of independent, uniform 64-bit words."""

    @property
    def seeded(self) -> bool:
        """Whether the stream can be repeated, which makes what is drawn from it not private."""

    def words(self, count: int) -> Array:
        """Return ``count`` words as unsigned integers."""

    def spawn(self) -> "Bits":
        """Return a stream independent of this one, without taking words from it.

        What is needed only now and then comes from a spawned stream, so that the next draw starts at a place that
        depends on neither data nor draws.
        """


class SystemBits:
    """Words from the operating system's cryptographic generator."""

    seeded = False

    def words(self, count: int) -> Array:
        return np.frombuffer(os.urandom(count * WORD_BITS // 8), dtype=np.uint64)

    def spawn(self) -> "SystemBits":
        return self


class SeededBits:
    """Words that a seed determines."""

    seeded = True

    def __init__(self, seed: int | np.random.SeedSequence) -> None:
        self._seed = np.random.SeedSequence(seed) if isinstance(seed, int) else seed
        self._stream = np.random.Philox(self._seed)

    def words(self, count: int) -> Array:
        return np.asarray(self._stream.random_raw(count), dtype=np.uint64)

    def spawn(self) -> "SeededBits":
        return SeededBits(self._seed.spawn(1)[0])


class Witness:
    """Knows whether anything may have been released: whether a word was drawn, or a release announced."""

    def __init__(self) -> None:
        self.released = False

    def watch(self, bits: Sequence[Bits]) -> "list[WatchedBits]":
        """Return the same streams, which tell this witness before they give a word."""
        return [WatchedBits(stream, self) for stream in bits]


class WatchedBits:
    """A stream with a witness of its first draw."""

    def __init__(self, bits: Bits, witness: Witness) -> None:
        self._bits, self.witness = bits, witness

    @property
    def seeded(self) -> bool:
        return self._bits.seeded

    def words(self, count: int) -> Array:
        self.witness.released = True  # before the draw: what is interrupted between the two counts as drawn
        return self._bits.words(count)

    def spawn(self) -> "WatchedBits":
        return WatchedBits(self._bits.spawn(), self.witness)


def announce_release(bits: Sequence[Bits]) -> None:
    """Tell the witnesses of some streams that something is about to be released, whether or not it takes a word."""
    for stream in bits:
        if isinstance(stream, WatchedBits):
            stream.witness.released = True


def streams(random_state: Any, count: int) -> Sequence[Bits]:
    """Return ``count`` independent streams: from the system for None, else determined by ``random_state``.

    ``random_state`` may be a whole number, a numpy RandomState or a numpy Generator. Stream j does not depend on
    ``count``.
    """
    if random_state is None:
        return [SystemBits() for _ in range(count)]
    return [SeededBits(child) for child in _seed_sequence(random_state).spawn(count)]


def standard_normal(bits: Bits, shape: tuple[int, ...]) -> Array:
    """Return standard normal draws by inversion of 52-bit uniforms."""
    return np.asarray(ndtri(_uniform(bits, shape)))


def chi_square(bits: Bits, degrees: Array) -> Array:
    """Return one chi-square draw for each number of degrees, by inversion."""
    return np.asarray(2.0 * gammaincinv(0.5 * degrees, _uniform(bits, degrees.shape)))


def _uniform(bits: Bits, shape: tuple[int, ...]) -> Array:
    """Return uniforms in the open unit interval, centred in cells of width 2^-52.

    With one bit more the centre of the last cell would round to 1.
    """
    uniform = (bits.words(math.prod(shape)) >> _DROPPED).astype(np.float64)
    uniform += 0.5
    uniform *= 2.0**-52
    return uniform.reshape(shape)


def _seed_sequence(random_state: Any) -> np.random.SeedSequence:
    if isinstance(random_state, np.random.RandomState):
        return np.random.SeedSequence(random_state.randint(0, 2**32, size=4, dtype=np.uint64).tolist())
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(random_state.integers(0, 2**32, size=4, dtype=np.uint64).tolist())
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool) and random_state >= 0:
        return np.random.SeedSequence(int(random_state))
    raise ParameterError(
        f"random_state={quoted(random_state)} must be None, a whole number >= 0, or a numpy RandomState or Generator."
    )
