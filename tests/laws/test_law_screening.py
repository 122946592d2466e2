"""Law: sums that follow from products of all rows have the bits of sums over all rows, wherever the rows lie."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from law_cases import bounded
from test_law_whitened import metric_of, ready

from dpols import Bounds, PrivateLinearRegression
from dpols.algorithms import path
from dpols.data import kept_rows, whole_numbers
from dpols.statistics import (
    Gradients,
    on_grid,
    screening,
    totals,
    totals_and_products,
    whiten,
    whitened_gradient,
    whitened_gradient_and_counts,
    whitened_gram,
)

pytestmark = pytest.mark.filterwarnings("error")
seeds = st.integers(0, 2**32 - 1)
STEP = 2.0**-whole_numbers.BITS


@pytest.fixture
def taken(monkeypatch):
    """Count the gradients that follow from products, and how many rows are kept for them."""
    seen = []
    original = screening._Reference.whole_sums

    def watch(self, *args):
        seen.append(self.kept.rows.n_rows)
        return original(self, *args)

    monkeypatch.setattr(screening._Reference, "whole_sums", watch)
    return seen


def problem(seed, n_rows, width=4):
    """Rows in two trials' coordinates, with a point for each and a limit that some rows exceed."""
    rng = np.random.default_rng(seed)
    X, y = ready(seed=seed, n_rows=n_rows, width=width)
    rows = bounded(X, y, arithmetic="exact")
    metric = metric_of(seed, 10.0 ** rng.uniform(-2.0, 2.0), width)
    white = whiten(rows, metric, totals_and_products(rows)[1])
    theta = on_grid(rows, rng.standard_normal((2, width)) * 10.0 ** rng.uniform(-3.0, 1.0))
    sizes = np.linalg.norm(X @ metric, axis=2) * np.abs(y - theta @ X.T)
    return rng, white, theta, np.quantile(sizes, rng.uniform(0.3, 1.0), axis=1), sizes


def at_distance(rng, white, theta, reach):
    """A point about so far away in whitened coordinates, and near the farthest where a row's residual moves most."""
    direction = rng.standard_normal(theta.shape)
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    step = np.einsum("tij,tj->ti", white.metric, direction) * (reach * rng.uniform(0.9, 1.001))[:, None]
    return on_grid(white.bounded, theta + step)


@settings(max_examples=60)
@given(seed=seeds, n_rows=st.integers(1, 400))
def test_gradients_near_a_reference_have_the_bits_of_a_pass(seed, n_rows):
    rng, white, theta, limit, _ = problem(seed, n_rows)
    lengths = np.linalg.norm(white.metric, axis=(1, 2))
    reach = limit / lengths**2 * 10.0 ** rng.uniform(-2.0, 1.0)
    gradients = Gradients(white)
    first = gradients.at(theta, limit=limit, reach=reach)
    assert (first.value == whitened_gradient(white, theta, limit=limit).value).all()
    for times in (1.0, 1.0, 1.7):
        near = at_distance(rng, white, theta, reach)
        found = gradients.at(near, limit=times * limit)
        expected = whitened_gradient(white, near, limit=times * limit)
        assert (found.value == expected.value).all()
        assert found.sensitivity == expected.sensitivity
        np.testing.assert_array_equal(found.step, expected.step)


def rounded_twice(rng, width):
    """A point of the grid, next to where the grid becomes coarser, and the point to which it is rounded again."""
    border = 2.0**0.99 - 1.0
    while True:
        direction = rng.standard_normal((1, width))
        given = grid_value(direction * border * (1.0 - 1e-7) / np.linalg.norm(direction))
        evaluated = grid_value(given)
        if np.linalg.norm(evaluated - given) > 5.0 * STEP:
            return given, evaluated


def grid_value(theta):
    numbers, exponent = whole_numbers.on_grid(theta)
    return numbers * 2.0 ** -exponent[:, None]


@pytest.mark.parametrize("rounded", ["reference", "next"])
@pytest.mark.parametrize("seed", range(3))
def test_distances_are_those_of_the_points_that_are_evaluated(seed, rounded):
    rng, width, limit = np.random.default_rng(seed), 8, np.array([0.3])
    given, evaluated = rounded_twice(rng, width)
    away = (evaluated - given) / np.linalg.norm(evaluated - given)
    other = grid_value(given - 2.0**-8 * away)
    assert (grid_value(other) == other).all()
    start, after = (given, other) if rounded == "reference" else (other, given)
    reach = np.linalg.norm(given - other, axis=1) * (1.0 + 1e-9)  # the evaluated points are farther apart
    # Residuals at the reference that come to the limit, within a few steps, where the way is as long as the reach.
    X = np.repeat(0.999 * away, 121, axis=0)
    sizes = limit / 0.999 - 0.999 * reach - 2.0 * STEP + np.arange(-60, 61) * STEP
    y = X @ grid_value(start)[0] + np.sign((start - after) @ away[0]) * sizes
    X, y = np.vstack((X, 0.05 * rng.standard_normal((500, width)))), np.r_[y, rng.uniform(-0.1, 0.1, 500)]
    assert np.abs(y).max() < 1.0
    rows = bounded(X, y, arithmetic="exact")
    white = whiten(rows, np.eye(width)[None], totals_and_products(rows)[1])
    gradients = Gradients(white)
    gradients.at(start, limit=limit, reach=reach)
    found, expected = gradients.at(after, limit=limit), whitened_gradient(white, after, limit=limit)
    np.testing.assert_array_equal(found.value, expected.value)


def test_points_within_reach_take_no_pass_and_others_do(taken):
    _, white, theta, limit, sizes = problem(5, 400)
    # Long enough that rounding to the grid changes distances by less than 1%.
    reach = 5e-2 * np.median(sizes, axis=1) / np.square(np.linalg.norm(white.metric, axis=(1, 2)))
    gradients = Gradients(white)
    gradients.at(theta, limit=limit, reach=reach)
    step = np.einsum("tij,tj->ti", white.metric, np.full_like(theta, 0.5))
    for share, count in ((0.5, 1), (0.99, 2), (1.02, 2)):
        gradients.at(theta + share * step * reach[:, None], limit=limit)
        assert len(taken) == count
    gradients.at(theta, limit=0.999 * limit)
    assert len(taken) == 2
    above = (sizes > limit[:, None]).any(axis=0).sum()
    assert above <= taken[0] < 0.9 * white.bounded.n_rows


def test_a_row_is_kept_if_and_only_if_it_may_be_shortened_within_reach():
    _, white, theta, limit, sizes = problem(11, 400)
    reach = np.full(2, 0.05) * limit / np.square(np.linalg.norm(white.metric, axis=(1, 2)))
    gradients = Gradients(white)
    gradients.at(theta, limit=limit, reach=reach)
    X, _ = ready(seed=11, n_rows=400, width=4)
    lengths = np.linalg.norm(X @ white.metric, axis=2)
    margin = sizes + lengths**2 * reach[:, None] - limit[:, None]
    kept = gradients._reference.kept.rows.n_rows
    tolerance = 1e-4 * limit[:, None]
    assert (margin > tolerance).any(axis=0).sum() <= kept <= (margin > -tolerance).any(axis=0).sum()


@settings(max_examples=15)
@given(seed=seeds, n_rows=st.integers(1, 300))
def test_counts_come_beside_the_same_gradient(seed, n_rows):
    _, white, theta, limit, _ = problem(seed, n_rows)
    edges = np.vstack((np.zeros(2), np.outer([0.1, 1.0, 3.0], limit)))
    expected = whitened_gradient_and_counts(white, theta, limit=limit, edges=edges)
    found = Gradients(white).with_counts(theta, limit=limit, edges=edges, reach=np.ones(2))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.value, other.value)


@settings(max_examples=20)
@given(seed=seeds, n_rows=st.integers(1, 300), share=st.floats(0.0, 1.0))
def test_gram_matrices_from_products_have_the_bits_of_a_pass(seed, n_rows, share):
    white = problem(seed, n_rows)[1]
    X, _ = ready(seed=seed, n_rows=n_rows, width=4)
    longest = np.linalg.norm(X @ white.metric, axis=2).max(axis=1)
    assume((longest > 0.0).all())
    limits = np.maximum(share * longest, 1e-100)
    plain = whiten(white.bounded, white.metric)
    np.testing.assert_array_equal(whitened_gram(white, limit=limits).value, whitened_gram(plain, limit=limits).value)


def test_totals_are_the_same_beside_products():
    X, y = ready(n_rows=50)
    rows = bounded(X, y, arithmetic="exact")
    np.testing.assert_array_equal(totals_and_products(rows)[0].value, totals(rows).value)


def table(n_rows=3000):
    """Skewed rows, some of great leverage, and residuals with heavy tails."""
    rng = np.random.default_rng(2)
    X = np.clip(rng.standard_exponential((n_rows, 3)) * [0.1, 0.3, 0.05] - 0.2, -1.0, 1.0)
    X[:20] *= 3.0
    return X, np.clip(X @ [1.0, -0.5, 2.0] + 0.1 * rng.standard_t(3, n_rows), -2.0, 2.0)


def fitted(data, method="whitened", epsilon=30.0, **more):
    bounds = Bounds(features={f"x{i}": (-1.0, 1.0) for i in range(3)}, target=(-2.0, 2.0))
    model = PrivateLinearRegression(
        epsilon, 1e-6, bounds, method=method, arithmetic="exact", random_state=4, **more
    ).fit(*data)
    return np.array([*model.coef_, model.intercept_]).tobytes()


def frame():
    pandas = pytest.importorskip("pandas")
    X, y = table()
    return pandas.DataFrame({**{f"x{i}": X[:, i] for i in range(3)}, "y": y})


def in_file(folder):
    from dpols import read

    pytest.importorskip("pyarrow")
    frame().to_parquet(folder / "rows.parquet", row_group_size=700)
    return (read(folder / "rows.parquet", target="y"),)


def in_dask(_folder):
    dask = pytest.importorskip("dask.dataframe")
    return dask.from_pandas(frame(), npartitions=4), "y"


SOURCES = {"memory": lambda _: (frame(), "y"), "a file": in_file, "Dask": in_dask}


@pytest.mark.extras
@pytest.mark.parametrize("method", ["whitened", "whitened-inference"])
@pytest.mark.parametrize("source", SOURCES)
def test_a_fit_has_the_same_bits_with_and_without_screening(monkeypatch, tmp_path, taken, source, method):
    from dpols.data import rows

    data = SOURCES[source](tmp_path)
    plain = fitted(data, method)
    assert not taken, "so small a table is read in every pass"
    monkeypatch.setattr(path, "_CELLS", 0)
    monkeypatch.setattr(rows, "_ROUNDED_CELLS", 0)  # or a file would be one in memory
    monkeypatch.setattr(rows, "_SPAN_CELLS", 1)  # several spans in a block
    assert fitted(data, method) == plain
    assert taken
    assert max(taken) < 0.5 * 3000
    del taken[:]
    monkeypatch.setattr(kept_rows, "_MOST_CELLS", 0)
    assert fitted(data, method) == plain
    assert not any(taken), "rows that take too much memory are given up"


@pytest.mark.extras
@pytest.mark.parametrize("method", ["whitened", "whitened-inference"])
def test_passes_that_are_told_do_not_tell_how_many_were_taken(monkeypatch, taken, method):
    def told():
        seen = []
        bounds = Bounds(features={f"x{i}": (-1.0, 1.0) for i in range(3)}, target=(-2.0, 2.0))
        model = PrivateLinearRegression(30.0, 1e-6, bounds, method=method, arithmetic="exact", random_state=4)
        model.fit(frame(), "y", progress=lambda number, done, n_rows: seen.append((number, done == n_rows)))
        return {number for number, _ in seen}, {number for number, ended in seen if ended}

    plain = told()
    assert not taken
    monkeypatch.setattr(path, "_CELLS", 0)
    assert told() == plain
    assert taken


def test_units_of_several_rows_have_the_same_bits(monkeypatch, taken):
    X, y = table()
    units = np.arange(len(X)) // 2

    def fit():
        bounds = Bounds(features=[(-1.0, 1.0)] * 3, target=(-2.0, 2.0))
        model = PrivateLinearRegression(
            30.0, 1e-6, bounds, arithmetic="exact", random_state=4, max_rows_per_unit=2
        ).fit(X, y, groups=units)
        return np.array([*model.coef_, model.intercept_]).tobytes()

    plain = fit()
    monkeypatch.setattr(path, "_CELLS", 0)
    assert fit() == plain
    assert taken
