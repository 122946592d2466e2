"""Kill processes at random moments of every call of a ledger, and look at the ledger after each kill.

    python tests/ledger/kill_loop.py --kills 300

Real child processes, SIGKILL and a real SQLite file. Each child says through a pipe what it is about to call and what
came of it. After its death the ledger must open, its chain of hashes must hold, all that was there must still be there,
and so must all that the child was told of. A journal beside the file shows that a writer died in mid-write.
"""

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from dpols import BudgetLedger
from dpols.errors import LedgerError
from dpols.privacy import GaussianRelease

KILLS_PER_LEDGER = 10  # then a new one, so that creations are killed, too
LONGEST_LIFE = 0.04  # seconds from a child's start to its death
BUDGET = {"epsilon": 3.0, "delta": 1e-5}
CALLS = ("add", "reserve", "reserve", "settle", "settle", "void", "void", "raise_cap", "check")
MAY_BE = {"add": {"spent"}, "reserve": {"open", "spent", "void"}, "settle": {"spent"}, "void": {"void"}}  # afterwards


def call(ledger, name, choice):
    """Make a call, and return the number of the entry that it made or ended."""
    waiting = [entry for entry in ledger.entries() if entry.status == "open"]
    if name == "add":
        return ledger.add(GaussianRelease(choice.uniform(1e3, 1e6)), what="add").number
    if name == "reserve":
        groups = [[GaussianRelease(choice.uniform(1e3, 1e6))] for _ in range(choice.randint(1, 2))]
        return ledger.reserve(groups, what="reserve").number
    if name == "settle" and waiting:
        return ledger.settle(choice.choice(waiting)).number
    if name == "void" and waiting:
        return ledger.void(choice.choice(waiting), why="nothing came of it").number
    if name == "raise_cap":
        budget = ledger.state().budget
        ledger.raise_cap(budget.epsilon * 1.0001, budget.delta)
        return 0
    ledger.check()
    return None


def live(path, pipe, choice, first):
    """Create or open a ledger and call it until the end comes, telling what is begun and what is done."""

    def tell(*words):
        os.write(pipe, (json.dumps(words) + "\n").encode())

    tell("begin", "create", None)
    ledger = BudgetLedger(path, **BUDGET) if first else BudgetLedger(path)
    tell("done", "create", None)
    while True:
        name = choice.choice(CALLS)
        tell("begin", name, None)
        tell("done", name, call(ledger, name, choice))


@dataclass
class Tally:
    """What was killed, and in what state the file was then."""

    kills: int = 0
    journals: int = 0
    during: Counter = field(default_factory=Counter)


def kill_one_child(path, choice, first):
    """Start a child, kill it after some time, and return what it told."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            live(path, writing, choice, first)
        except BaseException as error:
            os.write(writing, (json.dumps(("error", str(error), None)) + "\n").encode())
        finally:
            os._exit(1)
    os.close(writing)
    time.sleep(choice.uniform(0.0, LONGEST_LIFE))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with os.fdopen(reading) as pipe:
        return [json.loads(line) for line in pipe.read().splitlines()]


def opened(path, first):
    """Open a ledger after a kill, or create it again where its creation, the first of all calls, was cut short."""
    try:
        return BudgetLedger(path)
    except LedgerError as error:
        if not (first and ("there is no ledger" in str(error) or "is empty" in str(error))):
            raise AssertionError("the ledger cannot be used after a kill") from error
        return BudgetLedger(path, **BUDGET)


def check(path, before, told):
    """Look at a ledger after a kill, and return its rows; AssertionError where something is wrong or lost."""
    failed = [text for kind, text, _ in told if kind == "error"]
    assert not failed, f"a call failed before the kill: {failed}"
    done = [(name, number) for kind, name, number in told if kind == "done"]
    ledger = opened(path, first=not before and not done)
    ledger.check(before[-1].head if before else None)
    rows = ledger._store.rows()
    assert rows[: len(before)] == before, "rows of before the kill are gone or changed"
    written = sum(number is not None for _, number in done)
    new = len(rows) - max(len(before), 1)
    assert written <= new <= written + 1, f"{written} rows were written, {new} are there"
    state = ledger.state()
    status = {entry.number: entry.status for entry in state.entries}
    for name, number in done:
        if name in MAY_BE and number:
            assert status.get(number) in MAY_BE[name], f"the {name} of row {number} is lost"
    check_total(state)
    return rows


def check_total(state):
    """Compare what counts with the sum of 1 / multiplier^2, which the ledger does not compute."""
    total = sum(
        max(1 / Fraction(group[0].multiplier) ** 2 for group in entry.groups)
        for entry in state.entries
        if entry.status != "void"
    )
    spent = state.gaussian / Fraction(state.caps.multiplier) ** 2
    assert total <= spent * (1 + Fraction(1, 10**9)), "less counts as spent than was charged"


def run(folder, kills, *, seed=1):
    """Kill that many children, one after the other, and check the ledger after each."""
    tally = Tally()
    while tally.kills < kills:
        path, rows = Path(folder) / f"{tally.kills}.ledger", []
        for _ in range(min(KILLS_PER_LEDGER, kills - tally.kills)):
            told = kill_one_child(path, random.Random(f"{seed} {tally.kills}"), first=not rows)
            tally.kills += 1
            tally.journals += path.with_name(f"{path.name}-journal").exists()
            tally.during[told[-1][1] if told and told[-1][0] == "begin" else "between calls"] += 1
            rows = check(path, rows, told)
    return tally


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        tally = run(folder, given.kills, seed=given.seed)
    during = ", ".join(f"{name} {count}" for name, count in sorted(tally.during.items()))
    print(f"{tally.kills} kills in {time.monotonic() - start:.0f} s, {tally.journals} in mid-write: nothing was lost.")
    print(f"The calls that were cut short: {during}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
