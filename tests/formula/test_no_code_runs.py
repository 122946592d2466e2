"""Whatever stands in a formula, none of it runs: formulas by a grammar, with hostile pieces in every place."""

import _thread
import builtins
import gc
import os
import subprocess
import threading
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from dpols import Bounds, CategoricalColumn, FeatureMap, NumericColumn, ols
from dpols.errors import DpolsError
from dpols.formula import target_of, translated

DECLARED = FeatureMap(
    {
        "a": NumericColumn(0, 10),
        "h": NumericColumn(-1, 2),
        "body mass": NumericColumn(0, 1),
        "r": CategoricalColumn(["x", "y", "z"]),
    },
    target=(0, 100),
)
WATCHED = [
    *((builtins, name) for name in ("open", "eval", "exec", "compile", "__import__", "input", "breakpoint")),
    *((os, name) for name in ("system", "popen", "open", "remove", "execv")),
    *((subprocess, name) for name in ("Popen", "run", "call", "check_output")),
    (_thread, "start_new_thread"),
]

HOSTILE = [
    "__import__('os').system('touch made')",
    "__import__('os')",
    "open('made', 'w')",
    "eval('1')",
    "exec('import os')",
    "compile('1', 'x', 'eval')",
    "[eval('1'), 2][1]",
    "{'a': eval('1')}",
    "**{'a': eval('1')}",
    "*[eval('1')]",
    "*eval('1')",
    "lambda: eval('1')",
    "(lambda x: eval('1'))(a)",
    "[x for x in eval('1')]",
    "a.__class__.__bases__[0].__subclasses__()",
    "a.to_csv('made')",
    "a[eval('1')]",
    "a if eval('1') else h",
    "f'{eval(1)}'",
    "`__import__('os').system('touch made')`",
    "`a`.__class__",
    "@eval('1')",
    "(x := eval('1'))",
    "Q(\"eval('1')\")",
    "np.load('made')",
    "os.system('touch made')",
    "z=eval('1')",
    "levels=eval('1')",
    "raw=eval('1')",
    "degree=eval('1')",
    "__builtins__",
    "\\x65val('1')",
    "'\\x65val(1)'",
    "; import os",
    "# a\n eval('1')",
    "yield eval('1')",
    "await eval('1')",
    "not eval('1')",
    "~eval('1')",
    "eval('1') == 1",
    "1e999",
    "9" * 5000,
    "\N{FULLWIDTH LATIN SMALL LETTER E}val('1')",
]
hostile = st.sampled_from(HOSTILE)
name = st.sampled_from(["a", "h", "r", "`body mass`", "True", "levels", "__class__"])
number = st.sampled_from(["0", "1", "2", "3", "1.5", "-1", "16", "17"])
level = st.sampled_from(["'x'", '"y"', "'z'", "1", "True", "-2"])


def joined(*pieces):
    return st.tuples(*(st.just(piece) if isinstance(piece, str) else piece for piece in pieces)).map("".join)


def with_some(valid, odd=hostile):
    """What is valid, and once in a while what is not."""
    return st.integers(0, 9).flatmap(lambda at: odd if at == 0 else valid)


arithmetic = st.recursive(
    with_some(name),
    lambda inner: (
        joined("(", inner, " - ", with_some(number), ")")
        | joined(inner, " * ", inner)
        | joined(inner, st.sampled_from(["**", "^"]), with_some(number))
        | joined("I(", inner, ")")
    ),
    max_leaves=4,
)
levels = st.lists(with_some(level), min_size=1, max_size=4).map(lambda items: f"[{', '.join(items)}]")
more = st.lists(joined(st.sampled_from([", ", ", z=", ", *", ", **", ", raw="]), hostile), max_size=1).map("".join)
operand = (
    with_some(name)
    | joined("I(", arithmetic, more, ")")
    | joined("{", arithmetic, "}")
    | joined("C(", with_some(name), ", levels=", with_some(levels), more, ")")
    | joined("C(r)")
    | joined("poly(", with_some(name), ", ", with_some(number), ", raw=", with_some(st.just("True")), more, ")")
    | joined(with_some(st.sampled_from(["log", "scale", "eval", "a.mean", "__import__"])), "(", name, ")")
)
right = st.recursive(
    operand,
    lambda inner: (
        joined(inner, st.sampled_from([" + ", " + ", " + ", " - ", ":", "*", "/", " | ", " ~ "]), inner)
        | joined("(", inner, ")", st.sampled_from(["", "", "**2", "^2", "**3"]))
    ),
    max_leaves=6,
)
formulas = joined(with_some(st.just("y")), " ~ ", right)


@contextmanager
def nothing_runs():
    """Fail where this thread, or a thread that comes from it, calls one of the watched functions.

    Threads of earlier tests may call them, and so may finalisers of what those tests left behind, which a garbage
    collection would run in this thread.
    """
    called, ours = [], {threading.current_thread()}

    def noted(name, function):
        def call(*args, **kwargs):
            if threading.current_thread() in ours:
                called.append(name)
            return function(*args, **kwargs)

        return call

    def start(thread, start=threading.Thread.start):
        if threading.current_thread() in ours:
            ours.add(thread)
        start(thread)

    real = [(module, name, getattr(module, name)) for module, name in WATCHED]
    watching = [(module, name, noted(name, function)) for module, name, function in real]
    real.append((threading.Thread, "start", threading.Thread.start))
    watching.append((threading.Thread, "start", start))
    collecting = gc.isenabled()
    gc.disable()
    for place in watching:
        setattr(*place)
    try:
        yield
    finally:
        for place in real:
            setattr(*place)
        if collecting:
            gc.enable()
    assert called == []


def read(formula):
    """Read a formula and map rows by it; return whether that was possible."""
    with nothing_runs():
        try:
            made = translated(formula, DECLARED)
        except DpolsError:
            return False
        columns = made.feature_map.columns.values()
        made.feature_map.transform([["x" if isinstance(column, CategoricalColumn) else 0.5 for column in columns]])
        assert target_of(formula) == made.target
        return True


@pytest.fixture(autouse=True)
def _warm(tmp_path, monkeypatch):
    """Let the library import what it imports late, and refuse one formula, before anything is watched."""
    monkeypatch.chdir(tmp_path)
    translated("y ~ a + I(a**2)", DECLARED).feature_map.transform([[0.5]])
    with pytest.raises(DpolsError):
        translated("y ~ eval(a)", DECLARED)


@pytest.mark.parametrize("call", [lambda: eval("1"), lambda: open(os.devnull).close(), lambda: os.system("true")])
def test_the_watch_sees_a_call(call):
    with pytest.raises(AssertionError), nothing_runs():
        call()


def by_another(call):
    """Call in a thread of its own, to its end."""
    thread = threading.Thread(target=call)
    thread.start()
    thread.join(60)


@pytest.mark.parametrize(
    "call", [lambda: by_another(lambda: eval("1")), lambda: by_another(lambda: by_another(lambda: eval("1")))]
)
def test_the_watch_sees_threads_that_come_from_this_one(call):
    with pytest.raises(AssertionError), nothing_runs():
        call()


def test_the_watch_does_not_see_a_thread_that_ran_before_nor_those_that_it_starts():
    go, done = threading.Event(), threading.Event()

    def before():
        go.wait()
        eval("1")
        by_another(lambda: eval("1"))
        done.set()

    thread = threading.Thread(target=before)
    thread.start()
    with nothing_runs():
        go.set()
        assert done.wait(60)
    thread.join()


def test_the_watch_does_not_see_the_finaliser_of_what_was_left_behind():
    class Left:
        def __init__(self):
            self.itself = self

        def __del__(self):
            finished.append(eval("1"))

    finished = []
    gc.collect()
    Left()
    with nothing_runs():
        kept = [[] for _ in range(100_000)]  # so many new objects start a garbage collection
    assert len(kept) == 100_000
    gc.collect()
    assert finished == [1]


@given(formulas)
@settings(max_examples=1500)
def test_no_formula_of_the_grammar_runs_code(formula):
    event("read" if read(formula) else "refused")


@given(formulas, hostile, st.integers(0, 200))
@settings(max_examples=500)
def test_no_piece_runs_wherever_it_stands(formula, piece, place):
    read(formula[:place] + piece + formula[place:])


def test_the_grammar_gives_formulas_that_are_read_and_others():
    seen = []

    @given(formulas)
    @settings(max_examples=300, database=None)
    def look(formula):
        seen.append(read(formula))

    look()
    assert 30 < sum(seen) < 270


CALLS = [
    "y ~ {}",
    "y ~ a + I({})",
    "y ~ {{{}}}",
    "y ~ C({}, levels=['x', 'y'])",
    "y ~ C(r, {})",
    "y ~ C(r, levels=[{}, 'y'])",
    "y ~ C(r, levels={})",
    "y ~ poly({}, 2, raw=True)",
    "y ~ poly(a, {}, raw=True)",
    "y ~ poly(a, degree={}, raw=True)",
    "y ~ poly(a, 2, raw={})",
    "y ~ poly(a, 2, raw=True, {})",
    "y ~ poly(a, 2, raw=True, z={})",
    "y ~ (a + h)**{}",
    "y ~ I(a**{})",
    "y ~ I(a - {})",
    "log({}) ~ a",
]


@pytest.mark.parametrize("around", CALLS)
def test_each_piece_is_refused_in_each_place(around, tmp_path):
    """But for names of columns, which any text in backticks is; its levels alone declare it."""
    accepted = [piece for piece in HOSTILE if read(around.format(piece))]
    names = ["`__import__('os').system('touch made')`", "__builtins__"]
    assert accepted == (names if around.startswith("y ~ C({}") else [])
    assert list(tmp_path.iterdir()) == []


def test_a_fit_by_a_hostile_formula_is_refused(tmp_path):
    rows = np.random.default_rng(0).uniform(size=(100, 2))
    table = {"x": rows[:, 0], "y": rows[:, 1]}
    bounds = Bounds(features={"x": (0, 1)}, target=(0, 1))
    for formula in (
        "y ~ poly(x, 2, raw=True, z=__import__('os').system('touch made'))",
        "y ~ poly(x, 2, raw=True, **[{}, __import__('os').system('touch made')][0])",
        "y ~ poly(x, degree=[__import__('os').system('touch made'), 2][1], raw=True)",
    ):
        with pytest.raises(DpolsError, match="cannot be read"), nothing_runs():
            ols(formula, table, epsilon=1, delta=1e-6, bounds=bounds)
    assert list(tmp_path.iterdir()) == []
