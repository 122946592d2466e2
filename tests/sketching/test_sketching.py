"""The released sketch: its law, its grid, what can be computed from it, and what is refused."""

import json
import math

import numpy as np
import pytest
from scipy import stats

from dpols import Bounds, PrivateSketch, release_sketch
from dpols.data import ArraySource, BoundedRows
from dpols.errors import BoundsError, DataError, DataTypeError, ParameterError
from dpols.mechanisms import Channel
from dpols.privacy import GaussianRelease, MixingRelease, epsilon_of
from dpols.randomness import streams
from dpols.statistics import gram

REJECT, ACCEPT = 1e-6, 1e-3
UNIT = Bounds(features=[(-1.0, 1.0)] * 3)
NAMES = ("a", "b", "c")


def table(n: int = 2000, seed: int = 0) -> np.ndarray:
    """Three columns within [-1, 1]; the last is nearly half the first plus a quarter."""
    rng = np.random.default_rng(seed)
    rows = rng.uniform(-1.0, 1.0, size=(n, 3))
    rows[:, 2] = 0.25 + 0.5 * rows[:, 0] + 0.05 * rows[:, 2]
    return rows


def sketch_of(data=None, **changes) -> PrivateSketch:
    arguments = {"bounds": UNIT, "epsilon": 1.0, "delta": 1e-6, "rows": 50, "random_state": 0} | changes
    return release_sketch(table() if data is None else data, **arguments)


def bounded_rows(rows, bounds=UNIT, arithmetic="exact", constant=False) -> BoundedRows:
    row_map = bounds.row_map(n_features=rows.shape[1], columns=None, fit_intercept=constant, with_target=False)
    return BoundedRows(ArraySource(rows, np.zeros(len(rows))), row_map, "raise", arithmetic)


@pytest.mark.parametrize("constant", [False, True])
def test_rows_are_normal_with_the_covariance_of_the_shifted_gram_matrix(constant):
    rows = table(30)
    sketch = sketch_of(rows, rows=20_000, constant=constant)
    statistic = gram(bounded_rows(rows, constant=constant))
    covariance = statistic.value * statistic.step + sketch.shift * np.eye(len(statistic.value))
    white = np.linalg.solve(np.linalg.cholesky(covariance), sketch.rows_.T)
    for column in white:
        assert stats.kstest(column, stats.norm.cdf).pvalue > ACCEPT
        for wrong in (math.sqrt(2 / 3), math.sqrt(3 / 2)):
            assert stats.kstest(wrong * column, stats.norm.cdf).pvalue < REJECT
    assert np.abs(white @ white.T / 20_000 - np.eye(len(white))).max() < 5 * math.sqrt(2 / 20_000)


def test_the_shift_lifts_a_row_of_its_own_to_the_floor():
    sketch = sketch_of()
    (release,) = sketch.report.releases
    assert isinstance(release, MixingRelease)
    assert release.floor - 1.0 <= sketch.shift <= release.floor - 1.0 + 2.0**-39


def test_an_eigenvalue_release_lowers_the_shift_where_it_is_large():
    rows = table(200_000)
    rows[:, 2] = np.random.default_rng(1).uniform(-1.0, 1.0, len(rows))
    without, tested = sketch_of(rows), sketch_of(rows, eigenvalue="on")
    kinds = [type(release).__name__ for release in tested.report.releases]
    assert kinds == ["GaussianRelease", "FailureAllowance", "MixingRelease"]
    assert tested.shift == 0.0 < without.shift
    # On few rows nothing is certain, and the floor is reached by the shift alone.
    few = sketch_of(table(50), eigenvalue="on")
    assert few.shift == pytest.approx(few.report.releases[-1].floor, rel=1e-9)


def test_entries_are_multiples_of_the_grid():
    sketch = sketch_of()
    steps = sketch.rows_ / sketch.report.grid
    assert sketch.report.grid == 2.0**-20
    assert (steps == np.rint(steps)).all()
    assert np.abs(np.rint(steps)).max() > 2**20


@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
@pytest.mark.parametrize("eigenvalue", ["on", "off"])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-9), (1.0, 1e-6), (1e3, 1e-3), (1.0, 1e-300), (1e-6, 0.4)])
def test_all_of_the_budget_is_spent_and_no_more(epsilon, delta, eigenvalue, neighbours):
    report = sketch_of(epsilon=epsilon, delta=delta, eigenvalue=eigenvalue, neighbours=neighbours).report
    assert delta * (1.0 - 1e-6) <= report.certified_delta <= delta
    assert report.spent_epsilon <= epsilon
    if neighbours == "zero-out":
        assert report.spent_epsilon == min(epsilon_of(report.releases, delta), epsilon)


def test_rows_in_floating_point_are_refused_and_nothing_is_recorded():
    channel = Channel(streams(0, 1))
    with pytest.raises(ParameterError, match="exact arithmetic only"):
        channel.mix_rows(gram(bounded_rows(table(), arithmetic="float")), rows=5, floor=3.0)
    assert channel.releases == ()


def test_each_trial_has_rows_of_its_own():
    channel = Channel(streams(0, 2))
    mixed = channel.mix_rows(gram(bounded_rows(table(50))), rows=4, floor=3.0, certain=np.array([0.0, 2.5]))
    assert channel.releases == (MixingRelease(4, 3.0),)
    assert mixed.rows.shape == (2, 4, 3)
    assert not (mixed.rows[0] == mixed.rows[1]).any()
    assert mixed.shift.tolist() == [3.0, 0.5]
    with pytest.raises(ParameterError, match="floor > 1"):
        channel.mix_rows(gram(bounded_rows(table(50))), rows=4, floor=1.0)


def test_seeds_repeat_are_flagged_and_none_is_the_default():
    assert (sketch_of().rows_ == sketch_of().rows_).all()
    seeded, fresh, again = sketch_of().report, sketch_of(random_state=None), sketch_of(random_state=None)
    assert seeded.seeded
    assert not seeded.private
    assert "NOT PRIVATE" in str(seeded).splitlines()[0]
    assert fresh.report.private
    assert "NOT PRIVATE" not in str(fresh.report)
    assert not (fresh.rows_ == again.rows_).any()


def test_the_report_says_what_was_asked_spent_released_and_assumed():
    rows = table()
    report = sketch_of(rows, eigenvalue="on", constant=True, neighbours="replace-one").report
    data = json.loads(report.to_json())
    assert data["asked"] == {"epsilon": 1.0, "delta": 1e-6}
    assert data["columns"] == ["x0", "x1", "x2", "(constant)"]
    assert (data["arithmetic"], data["relation"], data["private"]) == ("exact", "replace-one", False)
    assert (data["n_rows"], data["sketch_rows"], data["grid"]) == (2000, 50, 2.0**-20)
    assert [line["kind"] for line in data["lines"]] == ["gaussian", "failure", "mixing"]
    assert data["bounds"][0] == ["x0", "[-1, 1]"]
    text = str(report)
    for part in ("exact: the guarantee holds", "epsilon = 1,", "replace-one", "Certified", "sketch of the table", "x2"):
        assert part in text
    assert max(len(line) for line in text.splitlines()) <= 120


def test_the_estimated_gram_matrix_is_unbiased_in_the_users_units():
    rng = np.random.default_rng(3)
    rows = np.column_stack([rng.uniform(20, 80, 5000), rng.uniform(-1, 3, 5000)])
    bounds = Bounds(features=[(20.0, 80.0), (-1.0, 3.0)])
    for constant in (False, True):
        sketch = sketch_of(rows, bounds=bounds, rows=20_000, epsilon=1e3, constant=constant)
        full = np.column_stack([rows, np.ones(5000)]) if constant else rows
        truth = full.T @ full
        sizes = np.sqrt(np.outer(np.diag(truth), np.diag(truth)))
        assert np.abs(sketch.gram() - truth).max(where=True, initial=0) < 6 * math.sqrt(2 / 20_000) * sizes.max()
        assert np.abs((sketch.gram() - truth) / sizes).max() < 0.06


def test_the_estimated_gram_matrix_is_unbiased_although_the_shift_is_large():
    rows = table(400)
    estimates = [sketch_of(rows, rows=40, random_state=seed).gram() for seed in range(400)]
    mean, spread = np.mean(estimates, axis=0), np.std(estimates, axis=0) / 20.0
    assert (np.abs(mean - rows.T @ rows) < 4.5 * spread).all()
    biased = mean + sketch_of(rows, rows=40).shift * 3.0 * np.eye(3)
    assert (np.abs(biased - rows.T @ rows) > 4.5 * spread).any()


@pytest.mark.parametrize(
    ("bounds", "centre", "scale"),
    [
        (UNIT, 0.0, 1.0),
        (Bounds(features=[(100.0, 300.0), (-6.0, 6.0), (10.0, 20.0)]), [200.0, 0.0, 15.0], [100.0, 6.0, 5.0]),
        (Bounds(x_norm=2.0), 0.0, 1.0),
    ],
    ids=["unit", "ranges", "norm"],
)
def test_ridge_finds_the_coefficients_at_large_epsilon(bounds, centre, scale):
    rows = table(20_000)
    theirs = np.asarray(centre) + np.asarray(scale) * rows
    sketch = sketch_of(theirs, bounds=bounds, rows=2000, epsilon=100.0, constant=True)
    design = np.column_stack([theirs[:, :2], np.ones(len(rows))])
    truth = np.linalg.lstsq(design, theirs[:, 2], rcond=None)[0]
    for target in (2, "x2"):
        for penalty in (None, 0.0):
            coefficients, intercept = sketch.ridge(target, penalty)
            assert coefficients == pytest.approx(truth[:2], abs=0.02 * float(np.max(np.abs(truth[:2]))))
            predicted = theirs[:, :2] @ coefficients + intercept
            assert np.abs(predicted - design @ truth).max() < 0.02 * np.ptp(theirs[:, 2])


def test_ridge_without_a_constant_has_no_intercept_and_a_penalty_shrinks():
    rows = table(20_000)
    sketch = sketch_of(rows, rows=2000, epsilon=100.0)
    truth = np.linalg.lstsq(rows[:, 1:], rows[:, 0], rcond=None)[0]
    coefficients, intercept = sketch.ridge(0, 0.0)
    assert intercept == 0.0
    assert coefficients == pytest.approx(truth, abs=0.1)
    assert np.linalg.norm(sketch.ridge(0, 1e9)[0]) < 1e-3


def test_ridge_by_default_is_the_regression_on_the_rows_of_the_sketch():
    sketch = sketch_of()
    plain = np.linalg.lstsq(sketch.rows_[:, [0, 2]], sketch.rows_[:, 1], rcond=None)[0]
    # Nearly: where the shift exceeds X'X, what is below 0 is left out before the penalty is added.
    big = sketch_of(table(200_000), rows=500)
    plain = np.linalg.lstsq(big.rows_[:, [0, 2]], big.rows_[:, 1], rcond=None)[0]
    assert big.ridge(1)[0] == pytest.approx(plain, rel=1e-9)
    assert np.isfinite(sketch.ridge(1)[0]).all()


@pytest.mark.parametrize("constant", [False, True])
def test_principal_components_are_those_of_the_table_at_large_epsilon(constant):
    rng = np.random.default_rng(5)
    rows = np.clip(rng.normal(size=(40_000, 3)) @ np.diag([0.3, 0.1, 0.02]) + [0.3, 0.0, -0.2], -1, 1)
    sketch = sketch_of(rows, rows=4000, epsilon=100.0, constant=constant)
    centred = rows - rows.mean(axis=0) if constant else rows
    values, vectors = np.linalg.eigh(centred.T @ centred / len(rows))
    found = sketch.principal_components(2)
    assert found.components.shape == (2, 3)
    for j in range(2):
        assert abs(found.components[j] @ vectors[:, -1 - j]) > 0.99
    assert found.variances == pytest.approx(values[::-1][:2], rel=0.15)
    assert (np.diff(sketch.principal_components(3).variances) <= 0).all()


def test_similar_columns_are_near_each_other_in_the_sketch():
    rng = np.random.default_rng(6)
    groups = rng.uniform(-1, 1, size=(50_000, 2))
    rows = np.clip(np.repeat(groups, 3, axis=1) + 0.2 * rng.normal(size=(50_000, 6)), -1, 1)
    sketch = sketch_of(rows, bounds=Bounds(features=[(-1, 1)] * 6), rows=100)
    points = sketch.rows_.T
    distances = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    same = np.equal.outer(np.repeat([0, 1], 3), np.repeat([0, 1], 3))
    assert distances[same].max() < 0.5 * distances[~same].min()


def test_tables_of_every_kind_give_the_same_sketch():
    pandas, polars, pyarrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    rows = table(300)
    named = Bounds(features={"b": (-1, 1), "a": (-1, 1), "c": (-1, 1)})
    expected = sketch_of(rows)
    frame = pandas.DataFrame(rows, columns=NAMES)
    for kind in (frame, polars.DataFrame(rows, schema=NAMES), pyarrow.Table.from_pandas(frame)):
        sketch = sketch_of(kind, bounds=named)
        assert sketch.columns == NAMES
        assert (sketch.rows_ == expected.rows_).all()
        assert sketch.ridge("c")[0] == pytest.approx(expected.ridge(2)[0])
    for kind in (np.asfortranarray(rows), rows.tolist(), rows.astype(object)):
        assert (sketch_of(kind).rows_ == expected.rows_).all()


def test_row_order_does_not_matter_and_rows_are_not_kept():
    rows = table(300)
    kept = rows.copy()
    assert (sketch_of(rows).rows_ == sketch_of(rows[::-1]).rows_).all()
    assert (rows == kept).all()
    assert "0.25" not in repr(sketch_of(rows).report.bounds)


def test_bad_rows_are_refused_or_count_as_zero():
    rows = table(300)
    rows[7, 1] = np.nan
    with pytest.raises(DataError, match="Input contains NaN or infinity, and"):
        sketch_of(rows)
    zeroed = np.where(np.isnan(rows).any(axis=1, keepdims=True), 0.0, rows)
    assert (sketch_of(rows, bad_rows="zero").rows_ == sketch_of(zeroed).rows_).all()


def test_a_sketch_of_one_row_and_of_fewer_rows_than_columns():
    assert sketch_of(np.zeros((1, 3)), rows=1).rows_.shape == (1, 3)
    small = sketch_of(rows=2)
    assert small.rows_.shape == (2, 3)
    assert np.isfinite(small.ridge(0)[0]).all()
    assert np.isfinite(small.gram()).all()


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"epsilon": 0.0}, ParameterError, "epsilon"),
        ({"epsilon": math.nan}, ParameterError, "epsilon"),
        ({"delta": 0.0}, ParameterError, "delta"),
        ({"delta": "1/n"}, ParameterError, "delta"),
        ({"rows": 0}, ParameterError, "rows=0 must be a positive whole number"),
        ({"rows": 2.5}, ParameterError, "rows=2.5"),
        ({"rows": True}, ParameterError, "rows=True"),
        ({"bounds": None}, BoundsError, "public knowledge"),
        ({"bounds": Bounds(features=[(-1, 1)] * 3, target=(0, 1))}, BoundsError, "no target"),
        ({"bounds": Bounds(x_norm=1.0, y_abs=1.0)}, BoundsError, "no target"),
        ({"bounds": Bounds(features=[(-1, 1)] * 2)}, BoundsError, "2 bounds, but the data has 3"),
        ({"bounds": Bounds(features=dict.fromkeys("abc", (-1, 1)))}, BoundsError, "no column names"),
        ({"eigenvalue": "auto"}, ParameterError, "eigenvalue='auto'"),
        ({"neighbours": "add"}, ParameterError, "neighbours='add'"),
        ({"bad_rows": "drop"}, ParameterError, "bad_rows='drop'"),
        ({"random_state": "seed"}, ParameterError, "random_state"),
        ({"data": np.zeros(3)}, DataError, "shapes"),
        ({"data": np.zeros((0, 3))}, DataError, "no rows"),
        ({"data": np.zeros((3, 0)), "bounds": Bounds(x_norm=1.0)}, DataError, "no columns"),
        ({"data": np.zeros((3, 3), dtype=complex)}, DataError, "Complex"),
        ({"data": "table.csv"}, DataTypeError, "must be an array"),
        ({"data": [["a", "b", "c"]]}, DataError, "must hold numbers"),
    ],
)
def test_errors_are_clear_and_come_before_anything_is_released(changes, error, words, monkeypatch):
    monkeypatch.setattr(Channel, "mix_rows", lambda *args, **kwargs: pytest.fail("released before all checks"))
    with pytest.raises(error, match=words):
        sketch_of(**changes)


def test_sparse_tables_are_refused():
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(DataTypeError, match="toarray"):
        sketch_of(sparse.csr_matrix(np.eye(3)))


def test_wrong_questions_to_a_sketch_are_refused():
    sketch = sketch_of(constant=True)
    for target in ("y", 3, -1, 1.0, "(constant)"):
        with pytest.raises(ParameterError, match="not a column"):
            sketch.ridge(target)
    for penalty in (-1.0, math.nan, math.inf):
        with pytest.raises(ParameterError, match="penalty"):
            sketch.ridge(0, penalty)
    for count in (0, 4, 1.5):
        with pytest.raises(ParameterError, match="from 1 to 3"):
            sketch.principal_components(count)


def test_the_noise_of_the_eigenvalue_grows_with_the_floor():
    release = sketch_of(eigenvalue="on").report.releases[0]
    assert isinstance(release, GaussianRelease)
    assert release.multiplier == pytest.approx(sketch_of(eigenvalue="on").report.releases[2].floor / math.sqrt(50))
