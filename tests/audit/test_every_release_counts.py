"""What is charged is used: change any one value that a run's channel lets out, and what the run returns changes."""

from dataclasses import replace
from inspect import signature

import numpy as np
import pytest

from dpols import Bounds
from dpols.algorithms import ALGORITHMS
from dpols.audit.tape import run_on_tape
from dpols.data import ArraySource, BoundedRows
from dpols.mechanisms import Mixed
from dpols.privacy import PrivacyBudget
from dpols.randomness import streams

N_ROWS, WIDTH = 400, 3


def changed(call):
    """The call, had it returned something else, in three ways: rules with thresholds do not notice every change."""
    value = call.returned
    if isinstance(value, Mixed):
        return [replace(call, returned=Mixed(1.5 * value.gram, value.shift))]
    far = 1000.0 * (1.0 + np.abs(value))
    return [replace(call, returned=other) for other in (value + far, value - far, value + np.cumsum(far, axis=-1))]


def same(first, second):
    """Whether two runs released and returned the same, shifts and steps included."""
    one, other = first.result, second.result
    return (
        [call.path for call in first.calls] == [call.path for call in second.calls]
        and one.transcript.keys() == other.transcript.keys()
        and np.array_equal(one.theta, other.theta)
        and all(np.array_equal(one.transcript[key], other.transcript[key], equal_nan=True) for key in one.transcript)
    )


@pytest.mark.parametrize("arithmetic", ["exact", "float"])
@pytest.mark.parametrize("method", ALGORITHMS)
def test_every_release_of_a_run_has_a_part_in_its_result(method, arithmetic):
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-0.5, 0.5, (N_ROWS, WIDTH)), rng.uniform(-1.0, 1.0, N_ROWS)
    row_map = Bounds(x_norm=1.0, y_abs=1.0).row_map(n_features=WIDTH, columns=None, fit_intercept=False)
    rows = BoundedRows(ArraySource(X, y), row_map, "raise", arithmetic)
    algorithm = ALGORITHMS[method]
    few = {"n_iterations": 6} if "n_iterations" in signature(algorithm.plan_for).parameters else {}
    plan = algorithm.plan(PrivacyBudget(10.0, 1e-3), n_rows=N_ROWS, n_features=WIDTH, **few)

    def run(following=None):
        return run_on_tape(lambda r, bits: algorithm.run(r, plan, bits), rows, streams(0, 1), following=following)

    tape = run()
    assert same(run(following=tape), tape)
    for place, call in enumerate(tape.calls):
        before, after = tape.calls[:place], tape.calls[place + 1 :]
        others = [run(following=replace(tape, calls=(*before, other, *after))) for other in changed(call)]
        assert not all(same(other, tape) for other in others), f"release {place}, by {call.mechanism}, is not used"
