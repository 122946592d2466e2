"""Law 5: statistics do not depend on how the rows are cut, ordered, stored or carried, and rows are never changed."""

import hashlib
import itertools
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from law_cases import bounded, every_arithmetic
from law_oracles import explicit_rows

from dpols import Bounds, PrivateLinearRegression
from dpols.data import ArraySource, BoundedRows, open_rows, threads
from dpols.data import rows as rows_module
from dpols.data.source import add_up
from dpols.statistics import (
    clipped_gradient,
    clipped_gradient_and_counts,
    clipped_squares,
    gram,
    gram_and_first_gradient,
    gram_with_target,
    norm_clipped_gradient,
    residual_sums,
)

NAMES = ("a", "b", "c")
BOUNDS = {
    "norm": Bounds(x_norm=1.0, y_abs=1.0),
    "features": Bounds(features={"c": (-1.0, 0.5), "a": (-1.5, 1.0), "b": (0.0, 2.0)}, target=(-1.0, 3.0)),
    "both": Bounds(features={"a": (-1.5, 1.0), "b": (0.0, 2.0), "c": (-1.0, 0.5)}, x_norm=0.8, target=(-1.0, 3.0)),
}
BINS = ((0.7, 0.0), (0.2, -0.1))  # bound of residuals, and where the second bin of fitted values begins
every_bounds = pytest.mark.parametrize("bounds", BOUNDS.values(), ids=BOUNDS)
every_intercept = pytest.mark.parametrize("fit_intercept", [False, True], ids=["no-intercept", "intercept"])


def table(n_rows=300, *, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n_rows, 3)), rng.standard_normal(n_rows)


def statistics_of(source, bounds, fit_intercept=True, **kwargs):
    row_map = bounds.row_map(n_features=3, columns=NAMES, fit_intercept=fit_intercept)
    rows = BoundedRows(source, row_map, **kwargs)
    theta = np.array([[0.3, -2.0, 1.0, 0.5], [0.0, 0.0, 0.0, 0.0]])[:, : 3 + fit_intercept]
    found = (
        gram(rows),
        gram_with_target(rows),
        clipped_gradient(rows, theta, residual_bound=0.7),
        norm_clipped_gradient(rows, theta, norm_bound=0.3),
        *clipped_gradient_and_counts(rows, theta, residual_bound=0.7, edges=np.array([0.1, 0.5])),
        clipped_squares(rows, theta, residual_bound=0.7),
        residual_sums(
            rows,
            theta,
            residual_bound=np.array([bound for bound, _ in BINS]),
            edges=np.array([[-np.inf] * len(BINS), [edge for _, edge in BINS]]),
        ),
    )
    # Doubles in the units of bounded rows, whole numbers as they are.
    return np.concatenate([f.value.ravel() if f.exact else f.value.ravel() * f.step for f in found])


def _by_fitted(fitted, targets, bound, edge):
    residuals = np.clip((targets - fitted) / bound, -1.0, 1.0)
    return [
        (fitted <= edge).sum(),
        (fitted > edge).sum(),
        residuals[fitted <= edge].sum(),
        residuals[fitted > edge].sum(),
    ]


def assert_same(actual, expected):
    """The same integers, or the same doubles but for the rounding of sums."""
    assert actual.dtype == expected.dtype
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())
    else:
        np.testing.assert_array_equal(actual, expected)


@dataclass(frozen=True)
class CutSource:
    """Rows in blocks that end where they are told to."""

    features: np.ndarray
    target: np.ndarray
    ends: tuple[int, ...]
    columns = NAMES
    n_features = 3

    @property
    def n_rows(self):
        return len(self.target)

    def total(self, kernel, *args):
        cuts = sorted({0, self.n_rows, *self.ends})
        blocks = [slice(a, b) for a, b in itertools.pairwise(cuts)]
        return add_up((kernel(self.features[b], self.target[b], *args), b.stop - b.start) for b in blocks)


@every_bounds
@every_intercept
def test_statistics_are_those_of_the_explicit_rows(bounds, fit_intercept):
    X, y = table()
    rows, targets = explicit_rows(X, y, bounds, fit_intercept=fit_intercept, columns=NAMES)
    both = np.column_stack((rows, targets))
    theta = np.array([[0.3, -2.0, 1.0, 0.5], [0.0, 0.0, 0.0, 0.0]])[:, : 3 + fit_intercept]
    clipped, by_norm, squares, counts = [], [], [], []
    for t in theta:
        residuals = targets - rows @ t
        squares.append(np.sum(np.clip(residuals, -0.7, 0.7) ** 2))
        counts.append([np.sum((np.abs(residuals) > 0.1) & (np.abs(residuals) <= 0.5)), np.sum(np.abs(residuals) > 0.5)])
        clipped.append(rows.T @ np.clip(residuals, -0.7, 0.7))
        terms = rows * residuals[:, None]
        norms = np.linalg.norm(terms, axis=1, keepdims=True)
        by_norm.append((terms * np.minimum(1.0, 0.3 / np.maximum(norms, 1e-300))).sum(axis=0))
    again = [
        clipped,
        counts,
        squares,
        [_by_fitted(rows @ t, targets, *how) for t, how in zip(theta, BINS, strict=True)],
    ]
    expected = [np.array(part) for part in (rows.T @ rows, both.T @ both, clipped, by_norm, *again)]
    actual = statistics_of(ArraySource(X, y), bounds, fit_intercept)
    assert_same(actual, np.concatenate([e.ravel() for e in expected]))


@every_arithmetic
@settings(max_examples=30)
@given(ends=st.sets(st.integers(1, 299)).map(tuple), which=st.sampled_from(sorted(BOUNDS)), intercept=st.booleans())
def test_any_partition_into_blocks_gives_the_same_statistics(arithmetic, ends, which, intercept):
    X, y = table()
    whole = statistics_of(ArraySource(X, y), BOUNDS[which], intercept, arithmetic=arithmetic)
    assert_same(statistics_of(CutSource(X, y, ends), BOUNDS[which], intercept, arithmetic=arithmetic), whole)


@every_arithmetic
@settings(max_examples=20)
@given(order=st.permutations(range(60)), which=st.sampled_from(sorted(BOUNDS)), intercept=st.booleans())
def test_any_order_of_rows_gives_the_same_statistics(arithmetic, order, which, intercept):
    X, y = table(60)
    whole = statistics_of(ArraySource(X, y), BOUNDS[which], intercept, arithmetic=arithmetic)
    turned = ArraySource(X[list(order)], y[list(order)])
    assert_same(statistics_of(turned, BOUNDS[which], intercept, arithmetic=arithmetic), whole)


@every_arithmetic
@every_bounds
@pytest.mark.parametrize("workers", [1, 7])
@pytest.mark.parametrize(("block_rows", "span_rows"), [(13, 4096), (97, 4096), (10**9, 256), (700, 300)])
def test_blocks_spans_and_threads_give_the_same_statistics(
    bounds, arithmetic, workers, block_rows, span_rows, monkeypatch
):
    X, y = table(1500)
    whole = statistics_of(ArraySource(X, y), bounds, arithmetic=arithmetic)
    monkeypatch.setattr(threads, "_BLOCK_ROWS", block_rows)
    monkeypatch.setattr(rows_module, "_SPAN_ROWS", span_rows)
    monkeypatch.setattr(threads, "worker_count", lambda: workers)
    assert_same(statistics_of(ArraySource(X, y), bounds, arithmetic=arithmetic), whole)


@every_arithmetic
@every_bounds
def test_more_rows_than_one_block_give_the_sums_of_the_blocks(bounds, arithmetic):
    X, y = table(3 * 16384 + 5)
    whole = statistics_of(ArraySource(X, y), bounds, arithmetic=arithmetic)
    cuts = [slice(i, i + 5000) for i in range(0, len(y), 5000)]
    parts = [statistics_of(ArraySource(X[cut], y[cut]), bounds, arithmetic=arithmetic) for cut in cuts]
    assert_same(whole, np.sum(parts, axis=0))


@pytest.mark.parametrize("n_rows", [1, 16384, 16385, 50_000, 1_000_003])
def test_blocks_are_even_and_hold_every_row_once(n_rows):
    blocks = threads.even_blocks(n_rows)
    assert [row for block in blocks for row in range(block.start, block.stop)] == list(range(n_rows))
    sizes = [block.stop - block.start for block in blocks]
    assert max(sizes) <= 16384
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("order", ["C", "F"])
def test_sums_of_many_rows_of_full_length_are_exact(order):
    """Odd squares near 2^40 would lose their last bit as soon as a partial sum passed 2^53."""
    odd, n_rows = 2**20 - 3, 4 * 16383  # in blocks of 16383, an odd number too
    X = np.full((n_rows, 1), odd / (2.0**20 - 1.5), order=order)
    row_map = Bounds(x_norm=1.0, y_abs=1.0).row_map(n_features=1, columns=None, fit_intercept=False)
    rows = BoundedRows(ArraySource(X, np.full(n_rows, odd / 2.0**20)), row_map, arithmetic="exact")
    expected = [[n_rows * odd**2]]
    assert gram(rows).value.tolist() == expected
    assert [s.value.tolist() for s in gram_and_first_gradient(rows, residual_bound=1.0)] == [expected, expected]


def strided(a):
    wide = np.zeros((2 * len(a), *a.shape[1:]))
    wide[::2] = a
    return wide[::2]


def read_only(a):
    a = a.copy()
    a.flags.writeable = False
    return a


LAYOUTS = {
    "fortran": lambda X, y: (np.asfortranarray(X), y),
    "read-only": lambda X, y: (read_only(X), read_only(y)),
    "strided": lambda X, y: (strided(X), strided(y)),
    "backwards": lambda X, y: (X[::-1].copy()[::-1], y[::-1].copy()[::-1]),
    "column view": lambda X, y: (np.column_stack((y, X, y))[:, 1:4], np.column_stack((X, y))[:, 3]),
    "float64 target in float32": lambda X, y: (X, y.astype(np.float32)),
    "float32": lambda X, y: (X.astype(np.float32), y.astype(np.float32)),
    "float32 fortran": lambda X, y: (np.asfortranarray(X.astype(np.float32)), y),
    "float16": lambda X, y: (X.astype(np.float16), y.astype(np.float16)),
    "big-endian": lambda X, y: (X.astype(">f8"), y.astype(">f8")),
    "objects": lambda X, y: (X.astype(object), y.astype(object)),
    "lists": lambda X, y: (X.tolist(), y.tolist()),
    "integers": lambda X, y: (np.rint(X).astype(np.int8), np.rint(y).astype(np.int64)),
    "booleans": lambda X, y: (X > 0, y > 0),
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@every_arithmetic
@every_bounds
def test_any_layout_of_the_same_numbers_gives_the_same_statistics(bounds, arithmetic, layout):
    X, y = layout(*table(500))
    plain = ArraySource(np.array(X, dtype=np.float64, order="C"), np.array(y, dtype=np.float64))
    actual, expected = (statistics_of(source, bounds, arithmetic=arithmetic) for source in (open_rows(X, y), plain))
    assert_same(actual, expected)


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("bounds", [BOUNDS["norm"], Bounds(features=[(-1.0, 1.0)] * 3, target=(-1.0, 3.0))], ids=str)
def test_any_layout_of_the_same_numbers_gives_the_same_fit(bounds, layout):
    X, y = layout(*table(500))
    model = PrivateLinearRegression(1.0, 1e-6, bounds, random_state=3)
    plain = model.fit(np.array(X, dtype=np.float64), np.array(y, dtype=np.float64)).coef_
    np.testing.assert_allclose(model.fit(X, y).coef_, plain, rtol=1e-9)


TABLES = {
    "pandas": lambda pandas, X, y: pandas.DataFrame({"y": y, "a": X[:, 0], "b": X[:, 1], "c": X[:, 2]}),
    "polars": lambda polars, X, y: polars.DataFrame({"a": X[:, 0], "y": y, "b": X[:, 1], "c": X[:, 2]}),
    "pyarrow": lambda pyarrow, X, y: pyarrow.table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y}),
}


@pytest.mark.extras
@every_arithmetic
@every_bounds
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, bool])
@pytest.mark.parametrize("kind", TABLES)
def test_any_kind_of_table_gives_the_same_statistics(kind, bounds, arithmetic, dtype):
    X, y = table(700)
    X, y = (X > 0, y > 0) if dtype is bool else (np.rint(2 * X).astype(dtype), np.rint(2 * y).astype(dtype))
    frame = TABLES[kind](pytest.importorskip(kind), X, y)
    expected = statistics_of(ArraySource(X.astype(float), y.astype(float)), bounds, arithmetic=arithmetic)
    by_name = open_rows(frame, "y")
    assert by_name.columns == NAMES
    assert by_name.n_rows == 700
    assert_same(statistics_of(by_name, bounds, arithmetic=arithmetic), expected)
    without = (
        frame.drop(columns="y") if kind == "pandas" else frame.drop("y") if kind == "polars" else frame.drop(["y"])
    )
    assert_same(statistics_of(open_rows(without, y), bounds, arithmetic=arithmetic), expected)


@pytest.mark.extras
@pytest.mark.parametrize("kind", TABLES)
def test_missing_values_of_a_table_are_bad_rows(kind):
    X, y = table(50)
    frame = TABLES[kind](pytest.importorskip(kind), X, y)
    bounds = BOUNDS["features"]
    if kind == "pandas":
        frame.loc[3, "b"] = None
    elif kind == "polars":
        import polars

        frame = frame.with_columns(
            b=polars.when(polars.int_range(polars.len()) == 3).then(None).otherwise(polars.col("b"))
        )
    else:
        import pyarrow

        values = [None if i == 3 else float(v) for i, v in enumerate(X[:, 1])]
        frame = frame.set_column(1, "b", pyarrow.array(values))
    with pytest.raises(ValueError, match="Input contains NaN or infinity, and"):
        statistics_of(open_rows(frame, "y"), bounds)
    rest = np.arange(50) != 3
    expected = statistics_of(ArraySource(X[rest], y[rest]), bounds)
    assert_same(statistics_of(open_rows(frame, "y"), bounds, bad_rows="zero"), expected)


@pytest.mark.extras
def test_extension_types_and_chunks_give_the_same_statistics():
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    X, y = table(60)
    X, y = np.rint(3 * X), np.rint(3 * y)
    expected = statistics_of(ArraySource(X, y), BOUNDS["features"])
    frame = TABLES["pandas"](pandas, X, y)
    assert_same(statistics_of(open_rows(frame.astype("Int64"), "y"), BOUNDS["features"]), expected)
    assert_same(
        statistics_of(open_rows(frame.astype({"a": "Float32", "y": "int8"}), "y"), BOUNDS["features"]), expected
    )
    shuffled = frame.set_index(np.random.default_rng(0).permutation(60))
    assert_same(statistics_of(open_rows(shuffled, "y"), BOUNDS["features"]), expected)
    halves = [TABLES["pyarrow"](pyarrow, X[s], y[s]) for s in (slice(0, 17), slice(17, 60))]
    assert_same(statistics_of(open_rows(pyarrow.concat_tables(halves), "y"), BOUNDS["features"]), expected)


def fingerprint(array):
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


@every_bounds
@every_intercept
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("bad", [False, True], ids=["good", "bad-row"])
@every_arithmetic
def test_a_fit_never_changes_what_it_is_given(bounds, fit_intercept, dtype, bad, arithmetic):
    X, y = table()
    X, y = 5 * X.astype(dtype), 5 * y.astype(dtype)
    if bad:
        X[3, 1], y[5] = np.nan, np.inf
    before = fingerprint(X), fingerprint(y)
    statistics_of(ArraySource(X, y), bounds, fit_intercept, bad_rows="zero", arithmetic=arithmetic)
    if bounds is BOUNDS["norm"]:
        PrivateLinearRegression(
            1.0, 1e-6, bounds, fit_intercept=fit_intercept, bad_rows="zero", arithmetic=arithmetic
        ).fit(X, y)
    assert (fingerprint(X), fingerprint(y)) == before


def test_a_source_that_changes_between_passes_is_refused():
    class Growing(CutSource):
        def total(self, kernel, *args):
            total = super().total(kernel, *args)
            return total._replace(n_rows=total.n_rows + 1)

    with pytest.raises(ValueError, match="the source must not change"):
        statistics_of(Growing(*table(), (10,)), BOUNDS["norm"])


@pytest.mark.extras
def test_a_pandas_fit_never_changes_its_table():
    pandas = pytest.importorskip("pandas")
    frame = TABLES["pandas"](pandas, *table())
    before = frame.copy(deep=True)
    PrivateLinearRegression(1.0, 1e-6, BOUNDS["features"], random_state=0).fit(frame, "y")
    pandas.testing.assert_frame_equal(frame, before)


def test_bounds_by_name_follow_the_columns_not_their_own_order():
    X, y = table()
    X = X * [1.0, 10.0, 100.0]
    by_name = Bounds(features={"c": (-100.0, 100.0), "a": (-1.0, 1.0), "b": (-10.0, 10.0)}, y_abs=1.0)
    in_order = Bounds(features=[(-1.0, 1.0), (-10.0, 10.0), (-100.0, 100.0)], y_abs=1.0)
    assert_same(statistics_of(ArraySource(X, y), by_name), statistics_of(ArraySource(X, y), in_order))
    turned = X[:, [2, 0, 1]]
    row_map = by_name.row_map(n_features=3, columns=("c", "a", "b"), fit_intercept=False)
    moved = gram(BoundedRows(ArraySource(turned, y), row_map)).value
    np.testing.assert_allclose(moved, gram(bounded(X, y, in_order)).value[np.ix_([2, 0, 1], [2, 0, 1])], rtol=1e-12)
