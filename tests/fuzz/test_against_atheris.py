"""The comparison with Atheris runs where Atheris is installed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("atheris")
for extra in ("pyarrow", "pandas", "polars", "typer"):
    pytest.importorskip(extra)

FUZZ = Path(__file__).parent

pytestmark = pytest.mark.extras


@pytest.mark.parametrize("more", [(), ("own-mutations",)], ids=str)
def test_atheris_feeds_a_reader_and_keeps_what_reaches_new_branches(more, tmp_path):
    from fuzzing.__main__ import within_reach
    from fuzzing.readers import readers

    command = [sys.executable, str(FUZZ / "against_atheris.py"), "delta rule", str(tmp_path), "3", "0", *more]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=within_reach())
    counts = json.loads(done.stdout.splitlines()[-1])
    assert 0 < counts["accepted"] < counts["inputs"]
    assert len(list((tmp_path / "corpus/delta rule").iterdir())) > len(readers()["delta rule"].seeds)
