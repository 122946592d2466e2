"""Plant every bug in turn and print which test finds it: ``python tests/planted [PART OF A NAME]``."""

import sys

from bugs import BUGS, MISTAKES
from planting import Outcome, outcome


def main(wanted: str) -> int:
    """Return 0 if the tests pass as they are and fail with each bug."""
    chosen = [bug for bug in BUGS if wanted in bug.name]
    if not wanted and not report("nothing planted", outcome(None), should_fail=False):
        return 1
    missed = [bug.name for bug in chosen if not report(bug.name, outcome(bug), should_fail=True)]
    caught = {bug.mistake for bug in chosen} - {bug.mistake for bug in chosen if bug.name in missed}
    places = f"{len(chosen) - len(missed)} of {len(chosen)} places"
    print(f"caught: {len(caught)} of {len(MISTAKES)} mistakes, in {places}.")
    return 1 if missed else 0


def report(name: str, found: Outcome, *, should_fail: bool) -> bool:
    """Print a line, and the output where it is not as it should be."""
    result = "all tests pass" if found.failed is None else found.failed
    print(f"{name:<55} {found.seconds:6.1f} s  {result}", flush=True)
    as_it_should = (found.failed is not None) == should_fail
    if not as_it_should and not should_fail:
        print(found.output)
    return as_it_should


if __name__ == "__main__":
    sys.exit(main(" ".join(sys.argv[1:])))
