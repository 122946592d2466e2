"""All entry points, the branches that were reached, and the planted crash, in one command.

    PYTHONPATH=tests/fuzz python -m fuzzing [--inputs N] [--seconds S] [--seed SEED] [--only NAME] [--out DIR] [--json]
    PYTHONPATH=tests/fuzz python -m fuzzing --replay FILE

Exits with 1 where something was found, under 90% of the readers' branches were reached, or the planted crash was not
found. What was found is kept in DIR/findings, each input in a file of its own, which ``--replay`` feeds again. Needs
the extras ``all`` and ``test``.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .worker import last_input, replayed, scratch

LEAST_COVERAGE = 0.9
FULL = 100_000  # inputs from which on a run is a full one
_LANES = 2  # processes at a time
# Shares of the inputs and of the time: a fit takes hundreds of times as long as a rule of delta.
SHARES = {
    "fit and predict": (0.05, 0.25),
    "release_sketch": (0.04, 0.11),
    "ledger, rows forged": (0.04, 0.11),
    "ledger": (0.04, 0.06),
    "model file, checksum mended": (0.05, 0.09),
    "CSV file": (0.06, 0.08),
    "Parquet file": (0.06, 0.06),
    "Arrow file": (0.06, 0.04),
    "numpy file": (0.08, 0.04),
    "folder of files": (0.06, 0.04),
    "bounds file": (0.10, 0.04),
    "privacy report": (0.06, 0.04),
    "model file": (0.07, 0.01),
    "feature map": (0.07, 0.01),
    "delta rule": (0.08, 0.01),
    "method options": (0.08, 0.01),
}


def run(
    folder: Path, *, inputs: int, seconds: float, seed: int = 0, only: Sequence[str] = tuple(SHARES), blind: bool = True
) -> dict[str, Any]:
    """Fuzz everything, keep corpora and findings in ``folder``, and return what came of it.

    ``only`` names some of the entry points. ``blind`` also looks for the planted crash without branches to guide.
    """
    start = time.monotonic()

    def one(name: str) -> dict[str, Any]:
        share, time_share = SHARES[name]
        return _worker(name, folder, round(share * inputs), _LANES * time_share * seconds, seed)

    with ThreadPoolExecutor(_LANES) as lanes:
        results = dict(zip(only, lanes.map(one, only), strict=True))
    findings = [finding for result in results.values() for finding in result.pop("findings")]
    branches = json.loads(_module("branches", str(folder / "corpus")).stdout)
    planted = _planted(seed, blind)
    covered, total = (sum(row[key] for row in branches) for key in ("covered", "total"))
    return {
        "inputs": sum(result["inputs"] for result in results.values()),
        "seconds": round(time.monotonic() - start, 1),
        "entry_points": results,
        "findings": findings,
        "branch_coverage": covered / total,
        "branches": branches,
        "planted_crash": planted,
        "passes": not findings and covered >= LEAST_COVERAGE * total and planted["guided"] is not None,
    }


def render(result: dict[str, Any]) -> str:
    """Return the result as text."""
    lines = [f"{'entry point':<30} {'inputs':>8} {'accepted':>9} {'corpus':>7} {'seconds':>8}"]
    lines += [
        f"{name:<30} {row['inputs']:>8} {row['accepted']:>9} {row['corpus']:>7} {row['seconds']:>8}"
        for name, row in result["entry_points"].items()
    ]
    lines += [f"{'all':<30} {result['inputs']:>8}", "", f"{'branches of the readers':<30} {'covered':>8} {'of':>5}"]
    lines += [f"{row['file']:<30} {row['covered']:>8} {row['total']:>5}" for row in result["branches"]]
    lines.append(f"in all {result['branch_coverage']:.1%}; not taken:")
    lines += [f"  {row['file']}: {', '.join(row['missing'])}" for row in result["branches"] if row["missing"]]
    planted = result["planted_crash"]
    guided = f"found after {planted['guided']} inputs" if planted["guided"] else "NOT FOUND"
    lines += ["", f"planted crash: {guided}"]
    if planted["blind_inputs"]:
        blind = f"after {planted['blind']}" if planted["blind"] else f"not in {planted['blind_inputs']}"
        lines.append(f"  by mutations of the seeds alone, without branches to guide: {blind}")
    lines.append("")
    lines += [f"FOUND in {found['entry_point']}: {found['what']} ({found['where']})" for found in result["findings"]]
    lines.append(f"{len(result['findings'])} findings in {result['inputs']} inputs, {result['seconds']} seconds")
    return "\n".join(lines)


def _worker(name: str, folder: Path, inputs: int, seconds: float, seed: int) -> dict[str, Any]:
    done = _module("worker", name, str(folder), str(inputs), str(seconds), str(seed), check=False)
    if done.returncode == 0:
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return found
    what = f"the process ended with {done.returncode}: {' '.join(done.stderr.strip().splitlines()[-1:])}"
    last = last_input(folder, name)
    lost = {"entry_point": name, "what": what, "where": "", "input": str(last) if last.exists() else ""}
    return {"inputs": 0, "accepted": 0, "seconds": 0.0, "corpus": 0, "findings": [lost]}


def _planted(seed: int, blind: bool) -> dict[str, Any]:
    from .planted import find_planted_crash

    most = 40_000
    with tempfile.TemporaryDirectory(dir=scratch()) as folder:
        return asdict(
            find_planted_crash(Path(folder), inputs=most, blind_inputs=most * blind, seconds=120.0, seed=seed)
        )


def _module(name: str, *arguments: str, check: bool = True) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", f"fuzzing.{name}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=check, env=within_reach())


def within_reach() -> dict[str, str]:
    """Return an environment in which a process finds this package."""
    beside = (str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH"))
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, beside))}


def _replay(file: Path) -> int:
    """Feed a finding to the entry point that its file is named after; say what came of it."""
    name = file.name.rpartition("-")[0]
    if name not in SHARES:
        raise SystemExit(f"{str(file)!r} is not named after an entry point; findings are called NAME-0.")
    found = replayed(name, file.read_bytes())
    print(f"{name}: " + ("nothing is wrong with it" if found is None else f"{found.what} ({found.where})"))
    return 0 if found is None else 1


def main() -> int:
    """Parse, run, print."""
    parser = argparse.ArgumentParser(prog="fuzzing", description="Fuzz the public entry points.")
    parser.add_argument("--inputs", type=int, default=120_000, help="inputs in all")
    parser.add_argument("--seconds", type=float, default=3600.0, help="time for them, after which fewer are made")
    parser.add_argument("--seed", type=int, default=0, help="seed of the mutations")
    parser.add_argument("--only", action="append", choices=SHARES, help="an entry point, in place of all; repeatable")
    parser.add_argument("--out", type=Path, help="folder to keep corpora and findings in")
    parser.add_argument("--json", action="store_true", help="print JSON and nothing else")
    parser.add_argument("--replay", type=Path, help="feed a kept finding again, and do nothing else")
    given = parser.parse_args()
    if given.replay is not None:
        return _replay(given.replay)
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.out or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        result = run(
            folder,
            inputs=given.inputs,
            seconds=given.seconds,
            seed=given.seed,
            only=given.only or tuple(SHARES),
            blind=given.inputs >= FULL,
        )
        for finding in result["findings"]:
            if finding["input"]:
                finding["data"] = Path(finding["input"]).read_bytes()[:2000].decode("utf-8", "backslashreplace")
    print(json.dumps(result, indent=2) if given.json else render(result))
    return 0 if result["passes"] else 1


if __name__ == "__main__":
    sys.exit(main())
