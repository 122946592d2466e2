"""One reader under Atheris in place of the fuzzer's own search: the same checks, seeds and words.

    pip install atheris
    PYTHONPATH=tests/fuzz python tests/fuzz/against_atheris.py NAME FOLDER SECONDS SEED [own-mutations]

NAME is a reader, or "planted crash", where the search stops once it is found. The corpus is kept in FOLDER, so that
``python -m fuzzing.branches FOLDER/corpus`` measures it. With ``own-mutations`` Atheris chooses what to mutate, and the
fuzzer's mutations change it.
"""

import gc
import json
import os
import shutil
import sys
import tempfile
import time
from collections import deque
from pathlib import Path
from random import Random
from types import FunctionType
from typing import Any

import atheris
from fuzzing.guided import Finding, NeverFed, Reader, judged
from fuzzing.planted import planted_reader
from fuzzing.readers import readers
from fuzzing.worker import scratch

# One mutation at a time, as several in a row leave little that is well-formed; the fuzzer has its own limit of time.
OPTIONS = ("-mutate_depth=1", "-max_len=32768", "-timeout=0", "-rss_limit_mb=0", "-verbosity=0")


def search(name: str, folder: Path, seconds: float, seed: int, *, own_mutations: bool) -> None:
    """Search, print what came of it, and end the process, as Atheris does not return."""
    place = Path(tempfile.mkdtemp(dir=scratch()))
    reader = planted_reader(place) if name == "planted crash" else readers()[name]
    for function in gc.get_objects():
        if isinstance(function, FunctionType) and function.__code__.co_filename in reader.files:
            atheris.instrument_func(function)
    mutate, counts, start = reader.mutator(reader.tokens, Random(seed)), {"inputs": 0, "accepted": 0}, time.monotonic()
    found: set[str] = set()

    def feed(data: bytes) -> None:
        outcome = judged(reader.feed, data, place)
        counts["inputs"] += not isinstance(outcome, NeverFed)
        counts["accepted"] += outcome is None
        found.update({outcome.where} if isinstance(outcome, Finding) else ())
        passed = time.monotonic() - start
        if passed > seconds or any("in planted" in where for where in found):
            print(json.dumps({**counts, "seconds": round(passed, 1), "found": sorted(found)}), flush=True)
            shutil.rmtree(place)
            os._exit(0)

    before = deque(reader.seeds[:1], maxlen=1)  # what was mutated last, to splice with

    def mutator(data: bytes, size: int, _: int) -> bytes:
        other = before[0]
        before.append(data)
        return mutate(data, other)[:size]

    own: dict[str, Any] = {"custom_mutator": mutator} if own_mutations else {}
    files = _written(reader, mutate.tokens, folder / "corpus" / name, place / "words")
    atheris.Setup([sys.argv[0], *OPTIONS, f"-seed={seed + 1}", f"-artifact_prefix={place}/", *files], feed, **own)
    atheris.Fuzz()


def _written(reader: Reader, tokens: tuple[bytes, ...], corpus: Path, words: Path) -> list[str]:
    """Write the seeds and the words to files, and return the arguments that name them."""
    corpus.mkdir(parents=True)
    for place, data in enumerate(reader.seeds):
        (corpus / f"seed{place}").write_bytes(data)
    texts = ("".join(f"\\x{byte:02x}" for byte in word) for word in tokens if len(word) <= 64)  # no longer ones
    words.write_text("".join(f'"{text}"\n' for text in texts), encoding="ascii")
    return [f"-dict={words}", str(corpus)]


if __name__ == "__main__":
    search(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]), own_mutations=len(sys.argv) > 5)
