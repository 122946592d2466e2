"""Plant every bug in turn and print which test finds it: ``python tests/planted [PART OF A NAME]``."""

import sys
import time
from concurrent.futures import ThreadPoolExecutor

from bugs import BUGS
from editing import Bug
from planting import outcome_by
from records import Records, measured

_AT_ONCE = 2


def main(wanted: str) -> int:
    """Return 0 if the tests pass as they are and fail with each bug."""
    started = time.perf_counter()
    records = measured()
    print(f"{len(records.seconds)} tests measured, after {_minutes(started)}", flush=True)
    chosen = [bug for bug in BUGS if wanted in bug.name]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        caught = list(pool.map(lambda bug: is_caught(bug, records), chosen))
    mistakes = {bug.mistake for bug in chosen}
    missed = {bug.mistake for bug, found in zip(chosen, caught, strict=True) if not found}
    print(
        f"caught: {sum(caught)} of {len(chosen)} places, that is {len(mistakes - missed)} of {len(mistakes)} mistakes, "
        f"in {_minutes(started)}."
    )
    return 0 if all(caught) else 1


def is_caught(bug: Bug, records: Records) -> bool:
    """Plant a bug and print a line."""
    found = outcome_by(records, bug)
    result = "SURVIVES" if found.failed is None else found.failed
    print(f"{bug.name:<80} {found.seconds:6.1f} s  of {found.candidates:4d}: {result}", flush=True)
    return found.failed is not None


def _minutes(started: float) -> str:
    seconds = round(time.perf_counter() - started)
    return f"{seconds // 60} min {seconds % 60} s"


if __name__ == "__main__":
    sys.exit(main(" ".join(sys.argv[1:])))
