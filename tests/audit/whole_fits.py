"""Whole fits, searches and sketches on a tape, and what they let out measured in its own units.

Nothing here reads a declared sensitivity: how far someone's rows move a released value is seen by taking them away,
and how much noise there is in it by taking the exact value off.
"""

from collections import Counter

import numpy as np

from dpols import Bounds, PaidBounds, PrivateLinearRegression
from dpols.audit.tape import run_on_tape
from dpols.privacy import FailureAllowance, GaussianRelease, MixingRelease

BOUNDS = Bounds(features=[(-3.0, 3.0), (0.0, 50.0)], target=(-10.0, 10.0))
PAID = PaidBounds(features=[(-1000.0, 1000.0), None], target=(-1e6, 1e6), share=0.2)
MOST = 3  # rows of a unit that are used
OWN = (5, 40, 41, 90)  # rows of the unit that is taken away; the last one is more than are used
N_ROWS = 120


def visits():
    """Rows of units of various sizes. Those of one unit lie beyond all bounds, all at the same place."""
    rng = np.random.default_rng(0)
    X = np.column_stack((rng.uniform(-3.0, 3.0, N_ROWS), rng.uniform(0.0, 50.0, N_ROWS)))
    y, people = X[:, 0] + rng.normal(0.0, 1.0, N_ROWS), rng.integers(1, 50, N_ROWS)
    X[list(OWN)], y[list(OWN)], people[list(OWN)] = (9.0, 90.0), 40.0, 0
    return X, y, people


def strangers():
    """Other rows altogether, as many and of the same units."""
    rng = np.random.default_rng(1)
    return 40.0 * rng.standard_cauchy((N_ROWS, 2)), 20.0 * rng.standard_cauchy(N_ROWS) + 5.0


def without(X, y, rows):
    """The data with rows that count as zero rows in place of some."""
    X, y = X.copy(), y.copy()
    X[list(rows)], y[list(rows)] = np.nan, np.nan
    return X, y


def model(seed=0, **parameters):
    """An estimator that takes any rows; the budget is large enough for every method on so few."""
    chosen = {"epsilon": 5.0, "delta": 1e-3, "bounds": BOUNDS, "bad_rows": "zero", "random_state": seed}
    return PrivateLinearRegression(**(chosen | parameters))


def on_tape(run, following=None):
    """What a call without arguments lets out, and returns."""
    return run_on_tape(lambda *_: run(), None, [], following=following)


def pair_on_tape(run, first, second):
    """The tapes of a run on two data sets, the second with the values of the first let out."""
    tape = on_tape(lambda: run(*first))
    return tape, on_tape(lambda: run(*second), following=tape)


def moved(call, other):
    """How far apart the exact values behind one release are on two data sets, in the units of what is let out."""
    difference = (call.statistic.value - other.statistic.value).astype(np.float64)
    return float(np.linalg.norm(difference * np.reshape(call.statistic.step, (-1,) + (1,) * (difference.ndim - 1))))


def noise(call):
    """Independent draws of one variance: what was let out less the exact value."""
    unit = np.reshape(call.statistic.step, (-1,) + (1,) * (np.ndim(call.released) - 1))
    (difference,) = call.released - call.statistic.value.astype(np.float64) * unit
    if call.mechanism != "symmetric_gaussian":
        return difference.ravel()
    beside = difference[np.triu_indices(len(difference), 1)]
    return np.concatenate((np.diag(difference), np.sqrt(2.0) * beside))


def leverage(call, other):
    """The share of the shifted matrix behind a sketch that is someone's: the trace of (G + shift I)^-1 (G - G')."""
    one, two = (each.statistic.value.astype(np.float64) * each.statistic.step for each in (call, other))
    larger, smaller = (one, two) if np.trace(one) >= np.trace(two) else (two, one)
    return float(np.trace(np.linalg.solve(larger + call.shift[0] * np.eye(len(larger)), larger - smaller)))


def released(calls):
    """The releases that a tape has seen, counted."""
    return Counter(
        MixingRelease(int(call.declared["rows"]), call.declared["floor"])
        if call.is_sketch
        else GaussianRelease(call.declared["multiplier"])
        for call in calls
    )


def without_allowances(releases):
    """Releases that let a value out, counted."""
    return Counter(release for release in releases if not isinstance(release, FailureAllowance))


def returned(fitted):
    """All that a fitted model shows."""
    inference = None if fitted.inference_ is None else fitted.inference_.to_dict()
    return fitted.coef_.tolist(), fitted.intercept_, fitted.privacy_report_.to_dict(), inference
