"""The rows of small tables, which are bounded once: sums over them have the bits of sums that bound them anew."""

from dataclasses import replace

import numpy as np
import pytest

from dpols import Bounds
from dpols.algorithms import algorithm
from dpols.data import ArraySource, threads
from dpols.data import rows as bounded_rows
from dpols.data.kept_rows import KeptRows
from dpols.data.rows import BoundedRows
from dpols.data.units import source_of_units
from dpols.errors import BadRowsError
from dpols.privacy import PrivacyBudget
from dpols.randomness import streams

BOUNDS = {
    "features": Bounds(features=[(-1.0, 1.5)] * 3, target=(-1.0, 1.0)),
    "norm": Bounds(x_norm=1.5, target=(-1.0, 1.0)),
}


def table(n_rows, order="C"):
    rng = np.random.default_rng(1)
    X = np.asarray(rng.standard_normal((n_rows, 3)), order=order)
    return X, X @ [0.3, -0.2, 0.1] + 0.2 * rng.standard_normal(n_rows)


def bounded(source, bounds="features", **more):
    row_map = BOUNDS[bounds].row_map(n_features=3, columns=None, fit_intercept=True)
    return BoundedRows(source, replace(row_map, max_weight=more.pop("max_weight", None)), **more)


def released(rows, method="whitened-inference"):
    options = {"cov_type": "cluster"} if rows.rows_per_unit > 1 else {}
    row = algorithm(method)
    plan = row.plan(PrivacyBudget(3.0, 1e-6), n_rows=rows.n_rows // rows.rows_per_unit, n_features=4, **options)
    fit = row.run(rows, plan, streams(5, 1))
    return [fit.theta.tobytes(), *(np.asarray(value).tobytes() for value in fit.transcript.values())]


def sources():
    X, y = table(40_000)
    yield "one block", bounded(ArraySource(X[:300], y[:300]))
    yield "several spans and blocks", bounded(ArraySource(X, y))
    yield "columns side by side", bounded(ArraySource(*table(3000, "F")))
    yield "long rows", bounded(ArraySource(X, y), "norm")
    weights = np.random.default_rng(2).uniform(0.0, 2.0, len(y))
    yield "weights", bounded(ArraySource(X[:3000], np.column_stack((y, weights))[:3000]), max_weight=1.5)
    X = X.copy()
    X[::9] = np.nan
    yield "bad rows", bounded(ArraySource(X, y), bad_rows="zero")
    units = source_of_units(ArraySource(X[:3000], y[:3000]), np.arange(3000) // 3, max_rows=2, bad_rows="zero")
    yield "units", bounded(units, bad_rows="zero", rows_per_unit=2)


@pytest.mark.parametrize("arithmetic", ["float", "exact"])
@pytest.mark.parametrize("rows", [pytest.param(rows, id=name) for name, rows in sources()])
def test_rows_that_are_bounded_once_give_the_same_bits(rows, arithmetic, monkeypatch):
    rows = replace(rows, arithmetic=arithmetic)
    at_hand = rows.bounded_once()
    assert at_hand.bounded_once() is at_hand
    if not (arithmetic == "exact" and rows.rows_per_unit > 1):
        assert at_hand.spans is not None
    kept = released(rows)
    monkeypatch.setattr(bounded_rows, "_BOUNDED_CELLS", 0)
    monkeypatch.setattr(bounded_rows, "_DOUBLE_CELLS", 0)
    assert rows.bounded_once().spans is None
    assert released(rows) == kept


@pytest.mark.parametrize("arithmetic", ["float", "exact"])
def test_rows_are_not_kept_beyond_a_limit_and_bad_ones_are_refused(arithmetic, monkeypatch):
    X, y = table(300)
    monkeypatch.setattr(bounded_rows, "_BOUNDED_CELLS", 4 * 299)
    monkeypatch.setattr(bounded_rows, "_DOUBLE_CELLS", 4 * 299)
    assert bounded(ArraySource(X, y), arithmetic=arithmetic).bounded_once().spans is None
    X[7] = np.inf
    with pytest.raises(BadRowsError):
        bounded(ArraySource(X[:299], y[:299]), arithmetic=arithmetic).bounded_once()


def test_exact_rows_that_cannot_be_kept_are_not_taken_for_rounded_ones(monkeypatch):
    monkeypatch.setattr(bounded_rows, "_ROUNDED_CELLS", 0)
    rows = bounded(ArraySource(*table(300)), arithmetic="exact").bounded_once()
    assert rows.spans is None
    assert not rows.is_rounded


def test_processes_that_share_the_cores_work_in_one_thread(monkeypatch):
    monkeypatch.setattr(threads, "_pool", lambda *_: pytest.fail("a pool of threads was asked for"))
    monkeypatch.setattr(threads, "worker_count", lambda: 3)
    with threads.this_thread_alone():
        assert list(threads.map_blocks(abs, [-1, 2])) == [1, 2]
        assert list(threads.map_stream(abs, [-1, 2])) == [1, 2]
    monkeypatch.undo()
    assert list(threads.map_blocks(abs, [-1, 2])) == [1, 2]


def test_rows_that_are_kept_of_a_small_table_are_at_hand_and_have_its_sums():
    rows = bounded(ArraySource(*table(900)), arithmetic="exact").bounded_once()
    numbered = rows.numbered(lengths)
    (kept,) = numbered.total(longer_than, 600_000.0)
    some = kept.numbered(rows)
    assert some.rows.spans is not None
    assert 0 < some.rows.n_rows < rows.n_rows
    (count, total), (all_of_them,) = some.total(count_and_sum), some.total(length_sum)
    assert count == some.rows.n_rows
    assert total == all_of_them
    assert total == numbered.total(sum_of_longer, 600_000.0)[0]


def lengths(span):
    return np.square(span.rows).sum(axis=1, keepdims=True)


def longer_than(span, numbers, limit):
    return (KeptRows.of(span, numbers, numbers[:, 0] > limit**2, 8.0),)


def sum_of_longer(_span, numbers, limit):
    return (numbers[numbers > limit**2].sum(),)


def count_and_sum(span, numbers):
    return np.array(len(span.rows)), np.square(span.rows).sum()


def length_sum(_span, numbers):
    return (numbers.sum(),)
