"""Plant every bug in turn and print which test finds it: ``python tests/planted [--anew] [PART OF A NAME]``.

First each bug meets the test that caught it last time. Only for those that this test misses, or with ``--anew`` for
all, it is measured which tests run which lines.
"""

import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from bugs import BUGS
from editing import Bug
from planting import Caught, Outcome, outcome, outcome_by, passing
from records import measured

_AT_ONCE = 2


def main(wanted: str, *, anew: bool) -> int:
    """Return 0 if the tests pass as they are and fail with each bug."""
    started, caught = time.perf_counter(), Caught()
    caught.keep(BUGS)
    chosen = [bug for bug in BUGS if wanted in bug.name]
    found = set[Bug]() if anew else _found_as_before(chosen, caught)
    left = [bug for bug in chosen if bug not in found]
    print(f"{len(found)} of {len(chosen)} places caught as last time, after {_minutes(started)}", flush=True)
    if left:
        records = measured()
        print(f"{len(records.seconds)} tests measured, after {_minutes(started)}", flush=True)
        found |= _found(left, lambda bug: outcome_by(records, bug, caught))
    missed = {bug.mistake for bug in chosen if bug not in found}
    mistakes = {bug.mistake for bug in chosen}
    print(
        f"caught: {len(found)} of {len(chosen)} places, that is {len(mistakes - missed)} of {len(mistakes)} mistakes, "
        f"in {_minutes(started)}."
    )
    return 0 if len(found) == len(chosen) else 1


def _found_as_before(bugs: Sequence[Bug], caught: Caught) -> set[Bug]:
    """Return the bugs at which the test that caught them last time fails, and without them passes."""
    tests = {bug: test for bug in bugs if (test := caught.test(bug)) is not None}
    passed = passing(tests.values())
    return _found([bug for bug, test in tests.items() if test in passed], lambda bug: outcome(bug, [tests[bug]]))


def _found(bugs: Sequence[Bug], plant: Callable[[Bug], Outcome]) -> set[Bug]:
    """Plant bugs, print a line for each, and return those that a test finds."""

    def is_found(bug: Bug) -> bool:
        found = plant(bug)
        result = "SURVIVES" if found.failed is None else found.failed
        print(f"{bug.name:<80} {found.seconds:6.1f} s  of {found.candidates:4d}: {result}", flush=True)
        return found.failed is not None

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return {bug for bug, found in zip(bugs, pool.map(is_found, bugs), strict=True) if found}


def _minutes(started: float) -> str:
    seconds = round(time.perf_counter() - started)
    return f"{seconds // 60} min {seconds % 60} s"


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--anew"]
    sys.exit(main(" ".join(words), anew="--anew" in sys.argv))
