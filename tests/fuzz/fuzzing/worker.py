"""One entry point in a process of its own, which may die of what it is fed without ending the whole run.

PYTHONPATH=tests/fuzz python -m fuzzing.worker NAME FOLDER INPUTS SECONDS SEED
"""

import json
import resource
import sys
import tempfile
from pathlib import Path
from typing import Any

from .guided import Finding, Fuzzed, fuzz, judged

# The entry points that take objects; all others take bytes.
GENERATED = ("fit and predict", "release_sketch")
MEMORY = 8 << 30  # of addresses; what asks for more is a finding


def work(name: str, folder: Path, *, inputs: int, seconds: float, seed: int) -> dict[str, Any]:
    """Fuzz one entry point; keep its corpus and what was found in ``folder``, and return the counts."""
    corpus, findings, last = folder / "corpus" / name, folder / "findings", last_input(folder, name)
    for made in (corpus, findings):
        made.mkdir(parents=True, exist_ok=True)
    done = _fuzzed(name, inputs, seconds, seed, last)
    last.unlink(missing_ok=True)
    for place, data in enumerate(done.corpus):
        (corpus / f"{place:05}").write_bytes(data)
    found = []
    for place, finding in enumerate(done.findings):
        file = findings / f"{name}-{place}"
        file.write_bytes(finding.data)
        found.append({"entry_point": name, "what": finding.what, "where": finding.where, "input": str(file)})
    return {
        "inputs": done.inputs,
        "accepted": done.accepted,
        "seconds": round(done.seconds, 1),
        "corpus": len(done.corpus),
        "findings": found,
    }


def last_input(folder: Path, name: str) -> Path:
    """Return the file that holds the input being fed; it stays where the process dies of it."""
    return folder / "findings" / f"{name}-last"


def replayed(name: str, data: bytes) -> Finding | None:
    """Feed one entry point one input, as kept by an earlier run; return what no entry point may do."""
    if name in GENERATED:
        from .calls import judged_call
        from .cases import Case

        outcome: object = judged_call(name, Case.from_bytes(data))
    else:
        from .readers import readers

        with tempfile.TemporaryDirectory(dir=scratch()) as folder:
            outcome = judged(readers()[name].feed, data, Path(folder))
    return outcome if isinstance(outcome, Finding) else None


def _fuzzed(name: str, inputs: int, seconds: float, seed: int, last: Path) -> Fuzzed:
    if name in GENERATED:
        from .calls import fuzz_calls

        return fuzz_calls(name, inputs=inputs, seconds=seconds, seed=seed, last=last)
    from .readers import readers

    with tempfile.TemporaryDirectory(dir=scratch()) as folder:
        return fuzz(readers()[name], Path(folder), inputs=inputs, seconds=seconds, seed=seed, last=last)


def scratch() -> str | None:
    """Return a folder in memory, where there is one: every input is a file."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


if __name__ == "__main__":
    _, wanted, place, inputs, seconds, seed = sys.argv
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    counts = work(wanted, Path(place), inputs=int(inputs), seconds=float(seconds), seed=int(seed))
    print(json.dumps(counts))
