"""Counts of values on public grids: exact, and moved by one row, or one unit, by no more than declared."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpols.data import ArraySource, BoundedRows, Bounds
from dpols.data.units import source_of_units
from dpols.errors import DataError
from dpols.side_releases.counting import UnboundedRows, norm_counts, value_counts

EDGES = (np.array([-1.0, 0.0, 0.5, 1.0]), np.array([0.0, 1e-3, 1e3]), np.array([-1e9, -1.0, 1.0, 1e9]))
numbers = st.one_of(
    st.sampled_from([0.0, -0.0, 0.5, 1.0, -1.0, 1e-3, 1e308, -1e308, 5e-324]),
    st.floats(-2.0, 2.0),
    st.floats(-1e9, 1e9),
)
tables = st.lists(st.tuples(numbers, numbers, numbers), min_size=1, max_size=8).map(np.array)
every_arithmetic = pytest.mark.parametrize("arithmetic", ["exact", "float"])


def unbounded(table, arithmetic, ids=None, most=1, bad_rows="zero"):
    source = ArraySource(table[:, :-1].copy(), table[:, -1].copy())
    if ids is not None:
        source = source_of_units(source, ids, max_rows=most, bad_rows=bad_rows)
    return UnboundedRows(source, bad_rows, arithmetic, most)


def zeroed(table, rows):
    table = table.copy()
    table[rows] = np.nan
    return table


def statistics_of(rows):
    yield value_counts(rows, EDGES)
    yield value_counts(rows, (np.array([-math.inf, 0.0, 1.5, math.inf]), EDGES[2]), by_norm=True)
    row_map = Bounds(features=[(-1.0, 1.0), (0.0, 1e3)], target=(-1.0, 1.0)).row_map(
        n_features=2, columns=None, fit_intercept=True
    )
    bounded = BoundedRows(rows.source, row_map, rows.bad_rows, rows.arithmetic, rows.rows_per_unit)
    yield norm_counts(bounded, np.linspace(0.0, 1.0, 9)[:-1])


@every_arithmetic
@settings(max_examples=60)
@given(table=tables, data=st.data())
def test_a_row_or_a_unit_moves_counts_by_no_more_than_declared(arithmetic, table, data):
    most = data.draw(st.integers(1, 3))
    ids = data.draw(st.lists(st.sampled_from("ab"), min_size=len(table), max_size=len(table))) if most > 1 else None
    gone = 0 if ids is None else np.array([one == ids[0] for one in ids])
    pairs = zip(
        statistics_of(unbounded(table, arithmetic, ids, most)),
        statistics_of(unbounded(zeroed(table, gone), arithmetic, ids, most)),
        strict=True,
    )
    for more, less in pairs:
        assert more.exact == (arithmetic == "exact")
        moved = sum((int(a) - int(b)) ** 2 for a, b in zip(more.value, less.value, strict=True))
        assert moved <= (int(more.sensitivity) ** 2 if more.exact else more.sensitivity**2 * (1.0 + 1e-12))
        assert float(more.sensitivity) == float(less.sensitivity)


@every_arithmetic
def test_the_declared_sensitivity_is_attained_and_not_larger(arithmetic):
    table = np.array([[0.7, 5.0, 3.0], [0.2, 0.0, 0.0]])
    for k, (more, less) in zip(
        (3, 2, 1),
        zip(
            statistics_of(unbounded(table * 10, arithmetic)),
            statistics_of(unbounded(zeroed(table * 10, 0), arithmetic)),
            strict=True,
        ),
        strict=True,
    ):
        assert more.sensitivity * more.step == pytest.approx(math.sqrt(k), rel=1e-6)
        moved = math.dist(more.value.astype(float), less.value.astype(float))
        assert moved <= more.sensitivity
    first = value_counts(unbounded(table, arithmetic), EDGES)
    other = value_counts(unbounded(zeroed(table, 0), arithmetic), EDGES)
    assert math.dist(first.value.astype(float), other.value.astype(float)) / first.sensitivity > 1 - 1e-6


def test_counts_are_those_of_numpy():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(5000, 3)) * [1.0, 100.0, 3.0]
    counted = value_counts(unbounded(table, "exact"), EDGES)
    expected = [
        np.histogram(np.clip(column, edges[0], np.nextafter(edges[-1], -np.inf)), edges)[0]
        for column, edges in zip(table.T, EDGES, strict=True)
    ]
    np.testing.assert_array_equal(counted.value * counted.step, np.concatenate(expected))
    norms = np.array([-math.inf, 0.0, 50.0, math.inf])
    by_norm = value_counts(unbounded(table, "exact"), (norms, EDGES[2]), by_norm=True)
    longer = (np.hypot(table[:, 0], table[:, 1]) > 50.0).sum()
    np.testing.assert_array_equal((by_norm.value * by_norm.step)[:3], (0, 5000 - longer, longer))


@every_arithmetic
def test_bad_rows_are_refused_or_counted_nowhere(arithmetic):
    table = np.array([[0.1, 1.0, 1.0], [np.nan, 1.0, 1.0], [0.1, 1.0, np.inf]])
    with pytest.raises(DataError, match="Input contains NaN or infinity, and"):
        value_counts(unbounded(table, arithmetic, bad_rows="raise"), EDGES)
    counted = value_counts(unbounded(table, arithmetic), EDGES)
    assert (counted.value * counted.step).sum() == 3
