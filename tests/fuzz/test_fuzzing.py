"""The fuzzer: what it must notice, and a short run of every entry point. The long one is ``make fuzz``."""

# ruff: noqa: E402 -- the fuzzer needs extras and limits of a process, which are looked for first

import importlib
import json
import subprocess
import sys

import pytest

pytest.importorskip("hypothesis")
for extra in ("pyarrow", "pandas", "polars", "typer", "coverage", "resource"):
    pytest.importorskip(extra)

from fuzzing.__main__ import LEAST_COVERAGE, SHARES, within_reach
from fuzzing.calls import CALLS, check
from fuzzing.cases import Case, fit_cases, sketch_cases
from fuzzing.files import READING
from fuzzing.guided import Finding, TooSlow, WrongResult, at_most, judged
from fuzzing.readers import readers
from fuzzing.worker import GENERATED, last_input, replayed, work
from hypothesis import given, settings

from dpols.errors import DataError, DpolsError

pytestmark = pytest.mark.extras

SHORT = dict.fromkeys(SHARES, 100) | {
    "fit and predict": 30,
    "release_sketch": 30,
    "CSV file": 40,
    "ledger, rows forged": 30,
}


@pytest.mark.parametrize("name", SHARES)
def test_a_short_run_of_every_entry_point_finds_nothing(name, tmp_path):
    done = work(name, tmp_path, inputs=SHORT[name], seconds=60.0, seed=1)
    assert done["findings"] == []
    assert done["inputs"] == SHORT[name]
    assert 0 < done["accepted"] < done["inputs"]


def test_a_table_without_columns_is_refused_by_the_reader(tmp_path):
    pyarrow = importlib.import_module("pyarrow")
    importlib.import_module("pyarrow.feather").write_feather(pyarrow.table({}), str(tmp_path / "none.arrow"))
    with pytest.raises(DpolsError, match="has no feature columns"):
        readers()["Arrow file"].feed((tmp_path / "none.arrow").read_bytes(), tmp_path)


def test_every_entry_point_has_a_share():
    assert set(SHARES) == {*readers(), *GENERATED}
    assert set(GENERATED) == set(CALLS)
    for shares in zip(*SHARES.values(), strict=True):
        assert sum(shares) == pytest.approx(1.0)


def test_seeds_alone_reach_most_branches_of_the_readers(tmp_path):
    for name, reader in readers().items():
        (tmp_path / name).mkdir()
        for place, seed in enumerate(reader.seeds):
            (tmp_path / name / str(place)).write_bytes(seed)
    rows = in_a_process(f"from fuzzing.branches import measure; found = measure(Path({str(tmp_path)!r}))")
    assert {row["file"] for row in rows} == {f"{name.replace('.', '/')}.py" for name in READING}
    assert 0.3 < sum(row["covered"] for row in rows) / sum(row["total"] for row in rows) < LEAST_COVERAGE
    assert any(row["missing"] for row in rows)


def in_a_process(code):
    """Run code that sets ``found``, and return what it found: coverage is measured from the first import on."""
    script = f"import json\nfrom pathlib import Path\nfrom dataclasses import asdict\n{code}\n"
    script += "print(json.dumps([asdict(row) for row in found]))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=within_reach()
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize(("module", "functions"), READING.items(), ids=str)
def test_what_is_measured_exists(module, functions):
    found = importlib.import_module(module)
    for name in functions or ():
        target = found
        for part in name.split("."):
            target = vars(target)[part] if isinstance(target, type) else getattr(target, part)


def feed_of(outcome):
    def feed(data, folder):
        if outcome is not None:
            raise outcome

    return feed


@pytest.mark.parametrize(
    "undocumented",
    [
        KeyError("x"),
        ValueError("x"),
        AssertionError(),
        MemoryError(),
        WrongResult("x"),
        OSError("no number"),
        TooSlow(),
    ],
    ids=repr,
)
def test_what_is_not_documented_is_found(undocumented, tmp_path):
    found = judged(feed_of(undocumented), b"input", tmp_path)
    assert isinstance(found, Finding)
    assert found.data == b"input"
    assert type(undocumented).__name__ in found.what


@pytest.mark.parametrize("documented", [None, DataError("x"), FileNotFoundError(2, "no such file")], ids=repr)
def test_what_is_documented_is_not(documented, tmp_path):
    assert judged(feed_of(documented), b"input", tmp_path) is documented


def test_an_endless_loop_is_found():
    def endless():
        while True:
            pass

    with pytest.raises(TooSlow), at_most(0.05):
        endless()


def test_a_process_that_dies_leaves_the_input_that_it_died_of(tmp_path):
    code = f"""
import os
from pathlib import Path
from fuzzing import readers, worker
from fuzzing.guided import Reader
deadly = Reader("deadly", lambda data, folder: os._exit(7), [b"poison"], (), frozenset())
readers.readers = lambda: {{"deadly": deadly}}
worker.work("deadly", Path({str(tmp_path)!r}), inputs=3, seconds=9.0, seed=0)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False, env=within_reach()).returncode == 7
    assert last_input(tmp_path, "deadly").read_bytes() == b"poison"


@settings(max_examples=200)
@given(fit_cases() | sketch_cases())
def test_a_case_reads_back(case):
    assert repr(Case.from_bytes(case.to_bytes())) == repr(case)


SOUND = Case(
    n_rows=9,
    n_features=2,
    seed=0,
    magnitude=1.0,
    spoiled=(),
    form="float64",
    target="vector",
    later_form="words",
    bounds={"x_norm": 1.0, "y_abs": 1.0},
    parameters={"epsilon": 1.0, "delta": 1e-6},
)


def test_a_kept_call_is_repeated(monkeypatch):
    assert replayed("fit and predict", SOUND.to_bytes()) is None
    monkeypatch.setattr("dpols.estimators.PrivateLinearRegression.predict", feed_of(KeyError("x")))
    assert "KeyError" in replayed("fit and predict", SOUND.to_bytes()).what


def test_a_kept_file_is_repeated():
    assert replayed("delta rule", b"1/n^2") is None


def refuse_after_drawing(self, X, y):
    from dpols.randomness import streams

    streams(0, 1)[0].words(3)
    raise DataError("too late")


def quote(self, X, y):
    raise DataError("a cell holds 7351942608")


def modify(self, X, y):
    X[0, 0] = 3.0
    raise DataError("refused")


def warn(self, X, y):
    import warnings

    warnings.warn("overflow", RuntimeWarning, stacklevel=1)
    raise DataError("refused")


@pytest.mark.parametrize(
    ("broken", "match"),
    [
        (refuse_after_drawing, "random bits were drawn"),
        (quote, "quotes a cell"),
        (modify, "inputs were modified"),
        (warn, "RuntimeWarning"),
    ],
)
def test_a_fit_that_breaks_a_promise_is_found(broken, match, monkeypatch):
    assert check("fit and predict", SOUND)
    monkeypatch.setattr("dpols.estimators.PrivateLinearRegression.fit", broken)
    with pytest.raises(WrongResult, match=match):
        check("fit and predict", SOUND)


def test_the_command_finds_the_planted_crash_prints_json_and_fails_where_little_was_reached(tmp_path):
    arguments = ["--only", "delta rule", "--inputs", "100", "--seconds", "30", "--json", "--out", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-m", "fuzzing", *arguments], capture_output=True, text=True, check=False, env=within_reach()
    )
    found = json.loads(done.stdout)
    assert found["inputs"] == 8  # the share of this entry point
    assert found["findings"] == []
    assert 0 < found["planted_crash"]["guided"] <= 12_000  # inputs
    assert found["branch_coverage"] < LEAST_COVERAGE
    assert not found["passes"]
    assert done.returncode == 1
