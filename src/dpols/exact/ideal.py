"""Ideal random variables as balls that shrink on demand.

An ideal uniform is an infinite string of fair bits. Its first `depth` bits, read as an integer p, place it in [p, p +
1] / 2**depth, and every function evaluated on that ball in ball arithmetic (Arb, through python-flint) encloses the
value at the ideal uniform. Two rules turn this into exact sampling:

* a decision is taken only when it is the same for every point of the enclosing ball;
* while it is open, further bits are appended to the same strings; bits once drawn are never replaced.

The decision is then a function of the infinite strings, however far they have been read, so its law is the ideal law.
Not-a-number, Arb's answer where a ball leaves a function's domain (the logarithm of a ball that touches 0), encloses
everything and leaves the decision open, so neither tail is truncated.

The working precision is a setting of the whole process. If another thread changes it in the middle of an evaluation the
balls may grow, and more bits are read, but they remain enclosures and the decisions remain the same.
"""

from collections.abc import Iterable, Sequence

from flint import arb

from ..randomness import WORD_BITS, Bits

_HALF = arb(0.5)
_UNIT_INTERVAL = arb(0.5, 0.5)


class IdealUniforms:
    """Independent uniforms on [0, 1] of which `depth` leading bits are known."""

    def __init__(self, prefixes: Iterable[int], more: Bits, *, depth: int = WORD_BITS) -> None:
        self._prefixes = list(prefixes)
        self._more = more
        self.depth = depth

    def extend(self) -> None:
        """Double the number of known bits of every uniform."""
        for _ in range(self.depth // WORD_BITS):
            words = self._more.words(len(self._prefixes)).tolist()
            self._prefixes = [prefix << WORD_BITS | word for prefix, word in zip(self._prefixes, words, strict=True)]
        self.depth *= 2

    def balls(self) -> list[arb]:
        """Enclosures at the current working precision, which should exceed `depth`."""
        step = arb((1, -self.depth))
        return [(_UNIT_INTERVAL + prefix) * step for prefix in self._prefixes]


def normals(uniforms: Sequence[arb]) -> list[arb]:
    """As many independent standard normals as there are uniforms, in pairs from pairs (Box and Muller, 1958)."""
    values = []
    for radial, angular in zip(uniforms[::2], uniforms[1::2], strict=True):
        radius = (-2 * radial.log()).sqrt()
        sine, cosine = (2 * angular).sin_cos_pi()
        values += [radius * cosine, radius * sine]
    return values


def nearest_integer(value: arb) -> int | None:
    """The integer nearest to every point of the ball, or None if there is no such integer."""
    nearest = (value + _HALF).floor().unique_fmpz()
    return None if nearest is None else int(nearest)
