"""Everything that charges a ledger, stopped at each of its releases: what was drawn stays charged, and nothing else."""

import ast
from pathlib import Path

import numpy as np
import pytest

import dpols
from dpols import Bounds, BudgetLedger, PaidBounds, PrivateGridSearch, PrivateLinearRegression, release_sketch
from dpols.mechanisms import Channel

RNG = np.random.default_rng(5)
X, Y = RNG.uniform(-1.0, 1.0, (200, 2)), RNG.uniform(-1.0, 1.0, 200)
BOUNDS = Bounds(features=[(-1, 1)] * 2, target=(-1, 1))
BUDGET = {"epsilon": 1.0, "delta": 1e-4}
MECHANISMS = ("gaussian", "symmetric_gaussian", "mix_gram", "mix_rows")


def fitting(**parameters):
    groups = np.arange(200) // 2 if "max_rows_per_unit" in parameters else None
    chosen = {"bounds": BOUNDS, "method": "adassp"} | BUDGET | parameters
    return lambda ledger: PrivateLinearRegression(ledger=ledger, **chosen).fit(X, Y, groups=groups)


def searching(grid, **parameters):
    estimator = PrivateLinearRegression(bounds=BOUNDS, method="adassp")
    return lambda ledger: PrivateGridSearch(estimator, grid, ledger=ledger, **BUDGET, **parameters).fit(X, Y)


def sketching(**parameters):
    bounds = Bounds(features=[(-1, 1)] * 2)
    return lambda ledger: release_sketch(X, bounds=bounds, rows=8, ledger=ledger, **BUDGET, **parameters)


# How it is started, and how many values it lets out.
CHARGED = {
    "fit": (fitting(), 3),
    "seeded fit": (fitting(random_state=0), 3),
    "fit that buys everything": (fitting(bounds=PaidBounds(), count_clipped=True), 7),
    "fit with intervals": (fitting(method="whitened", inference=True, options={"n_iterations": 6}), 15),
    "fit of units": (fitting(max_rows_per_unit=2, count_clipped=True), 4),
    "search": (searching({"fit_intercept": [True, False]}), 7),
    "seeded search": (searching({"fit_intercept": [True, False]}, random_state=0), 7),
    "search of one": (searching({"count_clipped": [True]}), 5),
    "sketch": (sketching(), 1),
    "sketch with an eigenvalue": (sketching(eigenvalue="on"), 2),
    "seeded sketch": (sketching(random_state=0), 1),
}


def stop_at(monkeypatch, number, *, drawn):
    """Stop by an error at a release, by its number: before anything of it is done, or when it has been drawn."""
    calls = []
    for name in MECHANISMS:
        through = getattr(Channel, name)

        def stopping(*arguments, through=through, **more):
            calls.append(True)
            if len(calls) == number and not drawn:
                raise ZeroDivisionError
            value = through(*arguments, **more)
            if len(calls) == number:
                raise ZeroDivisionError
            return value

        monkeypatch.setattr(Channel, name, stopping)


@pytest.mark.parametrize("what", CHARGED)
@pytest.mark.parametrize("drawn", [False, True], ids=["before the draw", "after the draw"])
def test_what_was_drawn_stays_charged_and_what_was_not_is_given_back(what, drawn, tmp_path, monkeypatch):
    run, count = CHARGED[what]
    ledger = BudgetLedger(tmp_path / "ledger", epsilon=200.0, delta=0.1)
    for number in range(1, count + 1):
        with monkeypatch.context() as patched:
            stop_at(patched, number, drawn=drawn)
            with pytest.raises(ZeroDivisionError):
                run(ledger)
        kept = drawn or number > 1
        assert ledger.entries()[-1].status == ("spent" if kept else "void"), f"release {number}"
    with monkeypatch.context() as patched:
        stop_at(patched, count + 1, drawn=drawn)
        run(ledger)
    assert ledger.entries()[-1].status == "spent"


def test_nothing_else_holds_a_charge():
    """A new caller of `held` needs a line in the table above."""
    package = Path(dpols.__file__).parent
    callers = {
        Path(path.relative_to(package).parts[0]).stem
        for path in package.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == "held"
    }
    assert callers == {"fitting", "private_search", "sketching"}
