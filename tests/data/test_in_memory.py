"""How passes over rows in memory are run: in blocks on all cores, BLAS held at one thread, and without a copy of X."""

import threading
import tracemalloc

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from dpols import Bounds, PrivateLinearRegression
from dpols.data import ArraySource, threads
from dpols.data import rows as bounded_rows
from dpols.statistics import totals

N_ROWS, N_FEATURES = 200_000, 20
BOUNDS = {
    "features": Bounds(features=[(-1.0, 1.0)] * N_FEATURES, target=(-1.0, 1.0)),
    "norm": Bounds(x_norm=2.0, y_abs=1.0),
}


def rows(dtype=np.float64, order="C"):
    rng = np.random.default_rng(0)
    return np.asarray(rng.uniform(-1.0, 1.0, (N_ROWS, N_FEATURES)), dtype=dtype, order=order), rng.uniform(
        -1, 1, N_ROWS
    )


def blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_a_pass_goes_in_blocks_over_all_threads_with_blas_at_one(monkeypatch):
    monkeypatch.setattr(threads, "worker_count", lambda: 3)
    meeting = threading.Barrier(3, timeout=30)
    seen, first = [], iter(range(3))

    def kernel(features, target):
        if next(first, None) is not None:
            meeting.wait()  # until three blocks are worked on at the same time
        seen.append((len(features), threading.get_ident(), *blas_threads()))
        return (features.sum(axis=0),)

    X, y = rows()
    with threadpool_limits(2, user_api="blas"):
        total = ArraySource(X, y).total(kernel)
        assert set(blas_threads()) == {2}
    assert total.n_rows == sum(n for n, *_ in seen) == N_ROWS
    assert max(n for n, *_ in seen) <= 1 << 16
    assert len({thread for _, thread, *_ in seen}) == 3
    assert {count for _, _, *counts in seen for count in counts} == {1}
    np.testing.assert_allclose(total.values[0], X.sum(axis=0))


def test_blas_is_restored_after_a_fit_and_after_one_that_fails():
    X, y = rows()
    with threadpool_limits(2, user_api="blas"):
        model = PrivateLinearRegression(1.0, 1e-6, BOUNDS["features"])
        model.fit(X, y)
        assert set(blas_threads()) == {2}
        X[5, 3] = np.nan
        with pytest.raises(ValueError, match="NaN"):
            model.fit(X, y)
        assert set(blas_threads()) == {2}


@pytest.mark.parametrize("arithmetic", ["exact", "float"])
@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize(("dtype", "order"), [("f4", "C"), ("f8", "C"), ("f8", "F")])
def test_a_fit_copies_no_more_than_blocks_beyond_what_is_kept(dtype, order, bounds, arithmetic, monkeypatch):
    monkeypatch.setattr(threads, "worker_count", lambda: 2)
    monkeypatch.setattr(bounded_rows, "_ROUNDED_CELLS", 0)
    X, y = rows(dtype, order)
    model = PrivateLinearRegression(1.0, 1e-6, BOUNDS[bounds], method="ihm", arithmetic=arithmetic, fit_intercept=False)
    model.fit(X[:1000], y[:1000])  # imports and caches
    tracemalloc.start()
    try:
        model.fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # Two threads hold a block of 16384 rows and two spans each.
    assert peak < 15e6 < X.nbytes


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("method", ["whitened", "ihm"])
def test_rows_that_are_kept_rounded_give_the_same_fit_and_are_not_kept_beyond_a_limit(
    method, bounds, order, monkeypatch
):
    X, y = rows(order=order)
    model = PrivateLinearRegression(1.0, 1e-6, BOUNDS[bounds], method=method, arithmetic="exact", random_state=0)

    def fitted():
        tracemalloc.start()
        try:
            return model.fit(X, y).coef_.tobytes(), tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    model.fit(X[:1000], y[:1000])  # imports and caches
    kept, peak = fitted()
    monkeypatch.setattr(bounded_rows, "_ROUNDED_CELLS", 0)
    rounded_anew, low = fitted()
    assert kept == rounded_anew
    assert low + 10e6 < peak < low + 30e6  # 4 bytes for each of 21 coordinates


@pytest.mark.parametrize("bad_rows", ["raise", "zero"])
def test_bad_rows_are_refused_or_zero_where_rows_are_kept_rounded(bad_rows):
    X, y = rows()
    X, y = X[:40_000], y[:40_000]
    X[[3, 30_000]] = np.nan
    row_map = BOUNDS["features"].row_map(n_features=N_FEATURES, columns=None, fit_intercept=True)
    bounded = bounded_rows.BoundedRows(ArraySource(X, y), row_map, bad_rows, arithmetic="exact")
    if bad_rows == "raise":
        with pytest.raises(ValueError, match="NaN"):
            bounded.bounded_once()
    else:
        rounded = bounded.bounded_once()
        assert rounded.is_rounded
        assert totals(rounded).value.tolist() == totals(bounded).value.tolist()


@pytest.mark.parametrize(("method", "n_passes"), [("ihm", 3), ("adassp", 1), ("dp-gd", 12)])
def test_sums_of_one_pass_are_fused(method, n_passes):
    """A Gram matrix and the gradient at zero are one pass, and so is each later gradient with its clipping."""
    X, y = rows()
    source = ArraySource(X[:500], y[:500])
    passes = []

    class Counted:
        columns, n_features, n_rows = None, N_FEATURES, 500

        def total(self, kernel, *args):
            passes.append(kernel)
            return source.total(kernel, *args)

    options = {"ihm": {"n_iterations": 3}, "dp-gd": {"n_iterations": 12}}.get(method)
    PrivateLinearRegression(1.0, 1e-6, BOUNDS["features"], method=method, options=options).fit(Counted())
    assert len(passes) == n_passes


@pytest.mark.parametrize("arithmetic", ["exact", "float"])
def test_mapped_arrays_on_disk_are_read_in_blocks_beyond_what_is_kept(tmp_path, arithmetic, monkeypatch):
    monkeypatch.setattr(bounded_rows, "_ROUNDED_CELLS", 0)
    X, y = rows()
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    mapped = [np.load(tmp_path / name, mmap_mode="r") for name in ("X.npy", "y.npy")]
    model = PrivateLinearRegression(1.0, 1e-6, BOUNDS["features"], method="ihm", arithmetic=arithmetic, random_state=0)
    tracemalloc.start()
    try:
        on_disk = model.fit(*mapped).coef_
        assert tracemalloc.get_traced_memory()[1] < 16e6
    finally:
        tracemalloc.stop()
    assert on_disk.tobytes() == model.fit(X, y).coef_.tobytes()
