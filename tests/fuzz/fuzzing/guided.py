"""The loop: mutate what is known, keep what reaches new branches, and note what no entry point may do.

Branches are pairs of successive lines in the files of the reader, seen by Python's own trace hook. An input that
reaches a new one becomes a parent of later inputs, so that conditions that are met one after the other can be met one
by one, each by a small change.
"""

import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import CodeType, FrameType
from typing import Any

import dpols
from dpols.errors import DpolsError

from .mutation import Mutator

LIMIT = 20.0  # seconds that one input may take, on a busy machine
_FINDINGS = 20  # more tell nothing new

Branch = tuple[CodeType, int, int]


class WrongResult(Exception):
    """An entry point accepted its input, but its result breaks a promise."""


def require(holds: bool, otherwise: str) -> None:
    """Raise WrongResult where a promise does not hold."""
    if not holds:
        raise WrongResult(otherwise)


class NeverFed(Exception):
    """The bytes do not reach the entry point; such an input does not count."""


class TooSlow(BaseException):
    """An input took longer than the limit. Not an Exception, so that no reader takes it for its own."""


@dataclass(frozen=True)
class Reader:
    """An entry point that takes bytes: how it is fed, what to start from, and the files whose branches guide."""

    name: str
    feed: Callable[[bytes, Path], object]
    seeds: Sequence[bytes]
    tokens: Sequence[bytes]
    files: frozenset[str]
    mutator: type[Mutator] = Mutator


@dataclass(frozen=True)
class Finding:
    """An input that led to something undocumented."""

    what: str
    where: str
    data: bytes


@dataclass
class Fuzzed:
    """What a run of the loop came to."""

    inputs: int = 0
    accepted: int = 0
    seconds: float = 0.0
    corpus: list[bytes] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


def fuzz(
    reader: Reader,
    folder: Path,
    *,
    inputs: int,
    seconds: float,
    seed: int = 0,
    guided: bool = True,
    first: bool = False,
    last: Path | None = None,
) -> Fuzzed:
    """Feed the reader its seeds and then mutations, up to so many inputs or seconds.

    ``guided=False`` mutates the seeds only. ``first=True`` stops at the first finding. ``last`` is a file that holds
    the input that is being fed, for the case that nobody lives to tell.
    """
    random, done, corpus = Random(seed), Fuzzed(), _Corpus()
    mutate = reader.mutator(reader.tokens, random)
    waiting = list(reader.seeds)
    start = time.monotonic()
    while done.inputs < inputs and time.monotonic() - start < seconds and not (first and done.findings):
        seeding = bool(waiting)
        data = waiting.pop() if seeding else mutate(corpus.parent(random), corpus.any(random))
        if last is not None:
            last.write_bytes(data)
        branches = set[Branch]()
        with recorded(branches, reader.files):
            outcome = judged(reader.feed, data, folder)
        if isinstance(outcome, NeverFed):
            continue
        done.inputs += 1
        done.accepted += outcome is None
        if isinstance(outcome, Finding) and is_new(outcome, done.findings):
            done.findings.append(outcome)
        if seeding or guided:
            corpus.offer(data, frozenset(branches), good=outcome is None, seed=seeding)
    done.seconds, done.corpus = time.monotonic() - start, corpus.inputs
    return done


class _Corpus:
    """The seeds, and an input for every set of branches that once brought a new one."""

    def __init__(self) -> None:
        self.inputs: list[bytes] = []
        self._good: list[int] = []  # places of those that were accepted
        self._place_of: dict[frozenset[Branch], int] = {}
        self._seen: set[Branch] = set()

    def offer(self, data: bytes, branches: frozenset[Branch], *, good: bool, seed: bool) -> None:
        """Keep a seed, an input that reaches a new branch, or one that reaches the same ones by far fewer bytes."""
        place = self._place_of.get(branches)
        if place is not None and 2 * len(data) < len(self.inputs[place]):
            self.inputs[place] = data
        elif seed or not branches <= self._seen:
            if not seed:
                self._place_of[branches] = len(self.inputs)
            if good:
                self._good.append(len(self.inputs))
            self.inputs.append(data)
            self._seen |= branches

    def any(self, random: Random) -> bytes:
        """Return any input."""
        return random.choice(self.inputs)

    def parent(self, random: Random) -> bytes:
        """Choose what to mutate: often what was accepted, as what is broken mostly stays so, or one of the latest."""
        every = range(len(self.inputs))
        pools: tuple[Sequence[int], ...] = (self._good or every, self._good[-3:] or every, every[-8:], every)
        return self.inputs[random.choice(random.choice(pools))]


def judged(feed: Callable[[bytes, Path], object], data: bytes, folder: Path) -> Finding | Exception | None:
    """Feed one input; return None where it was accepted, the documented error that refused it, or a finding."""
    try:
        with at_most(LIMIT):
            feed(data, folder)
    except (DpolsError, NeverFed) as error:
        return error
    except (Exception, TooSlow) as error:
        if isinstance(error, OSError) and error.errno is not None:
            return error
        return Finding(described(error), place_of(error), data)
    return None


def described(error: BaseException) -> str:
    """Return the kind and the message of an error in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def place_of(error: BaseException) -> str:
    """Return the innermost line of dpols that an error passed, outside of the fuzzer itself."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if is_ours(frame.filename) and not _is_here(frame.filename)]
    frame = (ours or frames)[-1]
    return f"{Path(frame.filename).name}:{frame.lineno} in {frame.name}"


def is_ours(file: str) -> bool:
    """Return whether a file is one of dpols."""
    return Path(file).is_relative_to(Path(dpols.__file__).parent)


def _is_here(file: str) -> bool:
    return Path(file).parent == Path(__file__).parent


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise TooSlow in the main thread after so many seconds."""

    def ring(*_: object) -> None:
        raise TooSlow(f"took more than {seconds:g} seconds")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def recorded(branches: set[Branch], files: frozenset[str]) -> Iterator[None]:
    """Add every pair of successive lines of a function in one of the files to ``branches``."""

    def call(frame: FrameType, event: str, argument: Any) -> Callable[..., Any] | None:
        code, last = frame.f_code, 0
        if code.co_filename not in files:
            return None

        def line(frame: FrameType, event: str, argument: Any) -> Callable[..., Any]:
            nonlocal last
            if event == "line":
                branches.add((code, last, frame.f_lineno))
                last = frame.f_lineno
            elif event == "exception":
                branches.add((code, last, -frame.f_lineno))
            return line

        return line

    before = sys.gettrace()
    sys.settrace(call)
    try:
        yield
    finally:
        sys.settrace(before)


def is_new(finding: Finding, known: Sequence[Finding]) -> bool:
    """Return whether no finding of the same kind at the same place is known."""
    same = any(_kind(finding) == _kind(other) for other in known)
    return not same and len(known) < _FINDINGS


def _kind(finding: Finding) -> tuple[str, str]:
    kind = finding.what.partition(":")[0]
    return (finding.what if kind == WrongResult.__name__ else kind), finding.where
