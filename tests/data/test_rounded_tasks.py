"""Rows of files that are rounded as they are read, and kept as far as memory allows, give the bits of any other way."""

from dataclasses import replace

import numpy as np
import pytest

from dpols import Bounds, PrivateLinearRegression, read
from dpols.data import BoundedRows, bounding, packed_rows, rounded_tasks, rounding, rows
from dpols.data.files import reading, task
from dpols.data.source import Columns
from dpols.errors import BadRowsError
from dpols.statistics import totals_and_products

pytest.importorskip("pyarrow")
pytestmark = pytest.mark.extras

N_ROWS, GROUP = 3000, 500
NAMES = ("a", "b", "c")
BOUNDS = {
    "ranges": Bounds(features={"a": (-1.0, 3.0), "b": (0.0, 0.1), "c": (-5.0, 5.0)}, target=(-2.0, 4.0)),
    "one range": Bounds(features=dict.fromkeys(NAMES, (-1.0, 1.0)), target=(-1.0, 1.0)),
    "ranges and a norm": Bounds(features=dict.fromkeys(NAMES, (-1.0, 1.0)), target=(-1.0, 1.0), x_norm=0.7),
    "a norm": Bounds(x_norm=2.0, y_abs=1.0),
}
LABELS = Bounds(features=BOUNDS["ranges"].features, target=(0.0, 1.0))
ALL, HALF = 1 << 29, 8 * N_ROWS + 14 * N_ROWS // 2  # bytes to be kept


def table(*, bad=False):
    import pyarrow

    rng = np.random.default_rng(3)
    a, b, y = rng.normal(0.5, 1.0, N_ROWS), rng.uniform(0.0, 0.11, N_ROWS).astype(np.float32), rng.normal(size=N_ROWS)
    b[::7] = np.float32(0.1)  # above 0.1 in double precision
    a[17], y[400] = 1e300, -1e300
    weight = rng.uniform(0.0, 2.0, N_ROWS)
    if bad:
        a[[3, 1200]], b[2999], y[700] = np.nan, np.inf, -np.inf
    return pyarrow.table({"a": a, "b": b, "c": rng.integers(-9, 9, N_ROWS), "y": y, "w": weight})


@pytest.fixture
def in_groups(tmp_path, monkeypatch):
    """Write a table whose row groups are tasks of their own."""
    from pyarrow import parquet

    def write(table):
        parquet.write_table(table, tmp_path / "rows.parquet", row_group_size=GROUP)
        return tmp_path / "rows.parquet"

    monkeypatch.setattr(task, "TASK_CELLS", 1)
    return write


def bounded(path, bounds, **how):
    source = read(path, "y", NAMES)
    assert len(source.tasks) == N_ROWS // GROUP
    row_map = bounds.row_map(n_features=3, columns=source.columns, fit_intercept=True)
    return BoundedRows(source, row_map, arithmetic="exact", **how)


def sums(of):
    found, products = totals_and_products(of)
    return [found.value, products.gram, products.moment]


@pytest.mark.parametrize("most", [0, HALF, ALL])
@pytest.mark.parametrize("bad", [False, True])
@pytest.mark.parametrize("bounds", BOUNDS)
def test_sums_have_the_same_bits_in_every_pass(monkeypatch, in_groups, bounds, bad, most):
    monkeypatch.setattr(rounded_tasks, "_MOST_BYTES", most)
    plain = bounded(in_groups(table(bad=bad)), BOUNDS[bounds], bad_rows="zero")
    monkeypatch.setattr(rows, "_ROUNDED_CELLS", 0)
    rounded = plain.bounded_once()
    assert rounded.is_rounded
    assert not rounded.at_hand
    expected = sums(plain)
    for _ in range(3):
        for one, other in zip(sums(rounded), expected, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("odd", [0.5, 7.0, -7.0, np.nan])
def test_an_outcome_that_is_no_label_is_a_bad_row_however_rows_are_rounded(monkeypatch, in_groups, odd):
    data = table()
    outcomes = np.where(np.asarray(data["y"]) > 0, 1.0, 0.0)
    outcomes[1400] = odd
    plain = bounded(in_groups(data.set_column(3, "y", [outcomes])), LABELS, bad_rows="zero")
    plain = replace(plain, row_map=replace(plain.row_map, labelled=True))
    found, refusing = [sums(plain)], replace(plain, bad_rows="raise")
    for cells in (rows._ROUNDED_CELLS, 0):
        monkeypatch.setattr(rows, "_ROUNDED_CELLS", cells)
        found.append(sums(plain.bounded_once()))
        with pytest.raises(BadRowsError):
            sums(refusing.bounded_once())
    outcomes[1400] = np.nan
    expected = sums(bounded(in_groups(data.set_column(3, "y", [outcomes])), LABELS, bad_rows="zero"))
    for each in found:
        for one, other in zip(each, expected, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("bounds", ["ranges", "one range"])
def test_columns_give_the_bits_of_a_block(bounds):
    data = table()
    columns = [np.asarray(data[name]) for name in NAMES]
    row_map = BOUNDS[bounds].row_map(n_features=3, columns=NAMES, fit_intercept=True)
    assert rounding.is_by_column(row_map)
    found = rounding.rounded_columns(Columns(columns, np.asarray(data["y"])), row_map, set(), is_known=False)
    (expected, target), bad = bounding.rounded_block(np.array(columns).T, np.asarray(data["y"]), row_map)
    assert bad == 0
    np.testing.assert_array_equal(found[0], expected)
    np.testing.assert_array_equal(found[1], target)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("n_rows", [1, 8191, 20001])
@pytest.mark.parametrize("small", [False, True])
def test_packed_rows_are_the_rows(small, n_rows, order):
    most = packed_rows.BELOW - 1 if small else 2**20
    numbers = np.random.default_rng(n_rows).integers(-most, most, (n_rows, 3), endpoint=True)
    numbers[0] = [-most, most, -1]
    target, kept = np.arange(float(n_rows)), packed_rows.PackedRows(small=small)
    for here in (slice(0, n_rows // 3), slice(n_rows // 3, n_rows)):
        kept.add(np.asarray(numbers[here], np.float64, order=order), target[here])
    found = [(rows.astype(np.float64), own.astype(np.float64)) for rows, own in kept.blocks()]
    np.testing.assert_array_equal(np.concatenate([rows for rows, _ in found]), numbers)
    np.testing.assert_array_equal(np.concatenate([own for _, own in found]), target)


@pytest.mark.parametrize(("most", "read_again"), [(0, 6), (HALF, 3), (ALL, 0)])
def test_as_many_tasks_are_kept_as_memory_is_allowed_for(monkeypatch, in_groups, most, read_again):
    monkeypatch.setattr(rounded_tasks, "_MOST_BYTES", most)
    monkeypatch.setattr(rows, "_ROUNDED_CELLS", 0)
    seen, own = [], reading.task_columns
    monkeypatch.setattr(reading, "task_columns", lambda task, **how: (seen.append(task), own(task, **how))[1])
    rounded = bounded(in_groups(table()), BOUNDS["ranges"]).bounded_once()
    totals_and_products(rounded)
    assert len(seen) == 6
    del seen[:]
    totals_and_products(rounded)
    assert len(seen) == read_again


@pytest.mark.parametrize("most", [0, ALL])
def test_bad_rows_are_refused_in_every_pass(monkeypatch, in_groups, most):
    monkeypatch.setattr(rounded_tasks, "_MOST_BYTES", most)
    monkeypatch.setattr(rows, "_ROUNDED_CELLS", 0)
    rounded = bounded(in_groups(table(bad=True)), BOUNDS["ranges"]).bounded_once()
    for _ in range(2):
        with pytest.raises(BadRowsError, match="NaN or infinity"):
            totals_and_products(rounded)


@pytest.mark.parametrize("more", [{}, {"sample_weight": "w", "max_weight": 1.5}])
@pytest.mark.parametrize("most", [0, HALF, ALL])
def test_a_fit_has_the_same_bits_however_many_rows_are_kept(monkeypatch, in_groups, most, more):
    path = in_groups(table())

    def fitted():
        weight = {name: more[name] for name in more if name == "sample_weight"}
        columns = (*NAMES, "w") if more else NAMES
        how = {name: more[name] for name in more if name == "max_weight"}
        model = PrivateLinearRegression(8.0, 1e-6, BOUNDS["ranges"], arithmetic="exact", random_state=1, **how)
        return model.fit(read(path, "y", columns), **weight)

    expected = fitted()
    monkeypatch.setattr(rows, "_ROUNDED_CELLS", 0)
    monkeypatch.setattr(rounded_tasks, "_MOST_BYTES", most)
    found = fitted()
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    assert found.intercept_ == expected.intercept_
