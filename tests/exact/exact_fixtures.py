"""Sources of bits for the tests: counted, scripted, and with a continuation that an oracle can know."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpols.randomness import SeededBits

TAIL_WORD = 0x9E3779B97F4A7C15


class ConstantBits:
    """Every word is TAIL_WORD: the infinite continuation of every uniform is known in advance."""

    def words(self, count: int) -> NDArray[np.uint64]:
        return np.full(count, TAIL_WORD, dtype=np.uint64)

    def spawn(self) -> ConstantBits:
        return self


class ScriptedBits:
    """Hands out the given words in order, then continues every uniform with TAIL_WORD."""

    def __init__(self, script: NDArray[np.uint64]) -> None:
        self.script = script
        self.taken = 0

    def words(self, count: int) -> NDArray[np.uint64]:
        self.taken += count
        assert self.taken <= len(self.script)
        return self.script[self.taken - count : self.taken]

    def spawn(self) -> ConstantBits:
        return ConstantBits()


class CountedBits(SeededBits):
    """Counts the words taken from the source itself."""

    taken = 0

    def words(self, count: int) -> NDArray[np.uint64]:
        self.taken += count
        return super().words(count)


def continued(word: int, words: int) -> int:
    """The leading bits of the uniform that starts with `word` and goes on with TAIL_WORD, as an integer."""
    prefix = int(word)
    for _ in range(words - 1):
        prefix = prefix << 64 | TAIL_WORD
    return prefix
