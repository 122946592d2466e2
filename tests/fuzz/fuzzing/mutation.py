"""Mutations of bytes: blind ones, and some that know what words, numbers and lines are."""

import re
from collections.abc import Callable, Sequence
from random import Random

LONGEST = 1 << 15
# The last are depths and lengths at which parsers written in Python, and its conversion of digits, give up.
_REPEATS = (2, 2, 3, 3, 10, 10, 300, 5000)
_WORD = re.compile(rb'"[^"\n]*"|[\w.+-]+|[^\w\s]')
_NUMBER = re.compile(rb"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_ODD_BYTES = b"\x00\x01\t\n\r \"',;=[]{}\\\x7f\x80\xbf\xc3\xed\xef\xff"
_ODD_NUMBERS = (
    *(b"0", b"-1", b"1e999", b"-1e999", b"nan", b"inf", b"1e-320", b"1e308", b"9007199254740993"),
    *(b"9" * 400, b"0x" + b"f" * 5000, b"true", b"null", b'"1"'),
)

Mutation = Callable[[bytes, "Mutator"], bytes]


class Mutator:
    """Makes new inputs from old ones; ``tokens`` are words that mean something to the reader."""

    def __init__(self, tokens: Sequence[bytes], random: Random) -> None:
        self.tokens = tuple(tokens) + _ODD_NUMBERS
        self.random = random

    def __call__(self, data: bytes, other: bytes) -> bytes:
        """Return ``data`` after a few mutations, or spliced with ``other``."""
        if self.random.random() < 0.1:
            data = self._splice(data, other)
        for _ in range(self.random.choice((1, 1, 1, 2, 4))):
            data = self.random.choice(_MUTATIONS)(data, self)
        return data[:LONGEST]

    def place(self, data: bytes) -> int:
        """Return a place between two bytes."""
        return self.random.randint(0, len(data))

    def piece(self, data: bytes) -> tuple[int, int]:
        """Return where a piece starts and stops; short pieces are as likely as long ones."""
        start = self.place(data)
        return start, min(len(data), start + self.random.randint(0, 1 << self.random.randrange(10)))

    def found(self, pattern: re.Pattern[bytes], data: bytes) -> tuple[int, int] | None:
        """Return where some match of the pattern is, looking from a random place on."""
        match = pattern.search(data, self.place(data)) or pattern.search(data)
        return None if match is None else match.span()

    def _splice(self, data: bytes, other: bytes) -> bytes:
        return data[: self.place(data)] + other[self.place(other) :]


def _flip_bit(data: bytes, mutator: Mutator) -> bytes:
    if not data:
        return data
    place = mutator.random.randrange(len(data))
    return _replaced(data, place, place + 1, bytes([data[place] ^ 1 << mutator.random.randrange(8)]))


def _odd_byte(data: bytes, mutator: Mutator) -> bytes:
    place = mutator.place(data)
    return _replaced(data, place, place + mutator.random.randrange(2), bytes([mutator.random.choice(_ODD_BYTES)]))


def _random_bytes(data: bytes, mutator: Mutator) -> bytes:
    start, stop = mutator.piece(data)
    return _replaced(data, start, stop, mutator.random.randbytes(mutator.random.randrange(9)))


def _remove(data: bytes, mutator: Mutator) -> bytes:
    return _replaced(data, *mutator.piece(data), b"")


def _move(data: bytes, mutator: Mutator) -> bytes:
    start, stop = mutator.piece(data)
    place = mutator.place(data)
    return _replaced(data, place, place, data[start:stop])


def _repeat(data: bytes, mutator: Mutator) -> bytes:
    start, stop = mutator.piece(data)
    times = mutator.random.choice(_REPEATS)
    stop = min(stop, start + 8000 // times)
    return _replaced(data, start, stop, data[start:stop] * times)


def _token(data: bytes, mutator: Mutator) -> bytes:
    """Insert a word, half of the time at the start of a line."""
    place = mutator.place(data)
    if mutator.random.random() < 0.5:
        place = data.rfind(b"\n", 0, place) + 1
    return _replaced(data, place, place, mutator.random.choice(mutator.tokens))


def _word_to_token(data: bytes, mutator: Mutator) -> bytes:
    span = mutator.found(_WORD, data)
    return data if span is None else _replaced(data, *span, mutator.random.choice(mutator.tokens))


def _word_to_word(data: bytes, mutator: Mutator) -> bytes:
    span, source = mutator.found(_WORD, data), mutator.found(_WORD, data)
    return data if span is None or source is None else _replaced(data, *span, data[slice(*source)])


def _number(data: bytes, mutator: Mutator) -> bytes:
    span = mutator.found(_NUMBER, data)
    if span is None:
        return data
    digits = str(mutator.random.randint(-20, 20) * 10 ** mutator.random.randrange(8)).encode()
    return _replaced(data, *span, mutator.random.choice((digits, digits, mutator.random.choice(_ODD_NUMBERS))))


def _lines(data: bytes, mutator: Mutator) -> bytes:
    """Remove a line, repeat it elsewhere or put it in another's place."""
    lines = data.split(b"\n")
    one, other = mutator.random.randrange(len(lines)), mutator.random.randrange(len(lines))
    new = mutator.random.choice(([], [lines[one], lines[other]], [lines[other]]))
    return b"\n".join([*lines[:one], *new, *lines[one + 1 :]])


def _replaced(data: bytes, start: int, stop: int, new: bytes) -> bytes:
    return data[:start] + new + data[stop:]


# Numbers and words more often: what stays well-formed gets further.
_MUTATIONS: tuple[Mutation, ...] = (
    _flip_bit,
    _odd_byte,
    _random_bytes,
    _remove,
    _move,
    _repeat,
    _token,
    _token,
    _word_to_token,
    _word_to_word,
    *(_number,) * 4,
    _lines,
    _lines,
)
