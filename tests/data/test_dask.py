"""Fits on Dask equal fits in memory, whatever the partitions and whatever happens to a worker."""

import os
import signal
import threading
import traceback
import warnings

import numpy as np
import pytest
from engine_rows import (
    BOUNDS,
    N_ROWS,
    NAMES,
    assert_same_fit,
    deadly_stage,
    every_arithmetic,
    fitted,
    model,
    pieces,
    row_groups,
    table,
)
from threadpoolctl import threadpool_info

from dpols import Bounds, PrivateLinearRegression
from dpols.algorithms import ALGORITHMS
from dpols.data import BoundedRows, open_rows
from dpols.data.files import read
from dpols.data.threads import one_blas_thread
from dpols.errors import BoundsError, DataError, DataTypeError, ParameterError
from dpols.statistics import gram

pytestmark = pytest.mark.extras
pd = pytest.importorskip("pandas")
dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def frame():
    return table()


def in_partitions(frame):
    return dd.concat([dd.from_pandas(piece, npartitions=1) for piece in pieces(frame)])


def lazy_target(frame):
    return in_partitions(frame)["y"]


def array_of(frame):
    """Features in chunks that cut rows and columns, and the targets."""
    return da.from_array(frame[list(NAMES)].to_numpy(float), chunks=(701, 3)), frame["y"].to_numpy()


KINDS = {
    "frame": lambda frame: (dd.from_pandas(frame, npartitions=3), "y"),
    "skewed, empty and one-row partitions": lambda frame: (in_partitions(frame), "y"),
    "target as a column of its own": lambda frame: (in_partitions(frame)[list(NAMES)], lazy_target(frame)),
    "array": array_of,
    "array with a lazy target": lambda frame: (array_of(frame)[0], da.from_array(array_of(frame)[1], chunks=333)),
    "array of unknown chunks": lambda frame: (
        in_partitions(frame)[list(NAMES)].astype(float).values,
        in_partitions(frame)["y"],
    ),
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@every_arithmetic
def test_a_fit_equals_the_one_in_memory(client, frame, kind, arithmetic):
    assert_same_fit(fitted(*kind(frame), arithmetic=arithmetic), fitted(frame, "y", arithmetic=arithmetic), arithmetic)


@pytest.mark.parametrize("method", ALGORITHMS)
def test_the_sums_of_every_method_can_be_sent_to_workers(client, frame, method):
    lazy = dd.from_pandas(frame, npartitions=2)
    assert_same_fit(fitted(lazy, "y", method=method), fitted(frame, "y", method=method), "exact")


def test_a_float_sum_is_the_same_in_every_run(client, frame):
    lazy = in_partitions(frame)
    np.testing.assert_array_equal(fitted(lazy, "y", arithmetic="float"), fitted(lazy, "y", arithmetic="float"))


def test_more_partitions_than_are_added_at_once_are_all_counted(frame):
    lazy = dd.from_pandas(frame, npartitions=67)
    np.testing.assert_array_equal(fitted(lazy, "y"), fitted(frame, "y"))


def test_names_and_the_number_of_rows_are_those_of_the_table(client, frame):
    fit = model().fit(in_partitions(frame), "y")
    assert tuple(fit.feature_names_in_) == NAMES
    assert fit.privacy_report_.n_rows == N_ROWS
    assert not hasattr(model().fit(*array_of(frame)), "feature_names_in_")


def test_missing_values_are_bad_rows(client, frame):
    holes = frame.astype({"b": "Int64", "c": "boolean"})
    holes.loc[3, "b"] = None
    holes.loc[5, "c"] = None
    lazy = dd.from_pandas(holes, npartitions=2)
    with pytest.raises(DataError, match="Input contains NaN or infinity, and"):
        model().fit(lazy, "y")
    np.testing.assert_array_equal(fitted(lazy, "y", bad_rows="zero"), fitted(holes, "y", bad_rows="zero"))


@pytest.mark.parametrize("cell", [pd.NA, pd.NaT, None, 10**400, np.longdouble("1e400")], ids=repr)
@pytest.mark.parametrize("kind", ["frame", "array"])
def test_a_cell_that_is_no_finite_number_is_a_bad_row_also_where_a_partition_has_another_type(frame, kind, cell):
    numbers = frame[["a", "y"]].astype(float)
    kept = np.longdouble if isinstance(cell, np.longdouble) else object
    other = pd.DataFrame({"a": numbers["a"].to_numpy(kept), "y": numbers["y"]})
    other.loc[7, "a"] = cell
    numbers.loc[7, "a"] = np.nan
    declared = {"bounds": Bounds(features=[(-1.0, 1.0)], target=(-1.0, 1.0)), "bad_rows": "zero", "random_state": 3}
    expected = PrivateLinearRegression(2.0, 1e-6, **declared).fit(numbers[["a"]].to_numpy(), numbers["y"]).coef_
    if kind == "frame":
        data = dd.from_delayed([dask.delayed(other)], meta={"a": float, "y": float}, verify_meta=False), "y"
    else:
        data = da.from_delayed(dask.delayed(other[["a"]].to_numpy()), (len(other), 1), float), other["y"].to_numpy()
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)  # it would tell of the cell
        np.testing.assert_array_equal(PrivateLinearRegression(2.0, 1e-6, **declared).fit(*data).coef_, expected)


@every_arithmetic
def test_files_are_read_by_the_workers(client, frame, tmp_path, arithmetic, monkeypatch):
    row_groups(frame, tmp_path / "rows")
    monkeypatch.chdir(tmp_path)
    there = read("rows", target="y", client=client)
    assert len(there.tasks) > 2
    assert_same_fit(
        fitted(there, arithmetic=arithmetic), fitted(read("rows", target="y"), arithmetic=arithmetic), arithmetic
    )

    driver = os.getpid()

    def rows_read_by_the_driver(features, target):
        import os

        import numpy

        return (numpy.array(len(target) * (os.getpid() == driver)),)

    total = there.total(rows_read_by_the_driver)
    assert (total.n_rows, int(total.values[0])) == (N_ROWS, 0)


@pytest.mark.posix
@pytest.mark.parametrize(
    ("call", "arithmetic"), [(3, "float"), (8, "exact")], ids=["while rows are counted", "in a pass of the fit"]
)
def test_a_worker_killed_in_the_middle_of_a_pass_changes_nothing(client, frame, tmp_path, arithmetic, call):
    stage, killed = deadly_stage(tmp_path, call)
    lazy = dd.from_pandas(frame, npartitions=4).map_partitions(stage, meta=frame.iloc[:0])
    actual = fitted(lazy, "y", arithmetic=arithmetic)
    assert killed.exists()
    assert_same_fit(actual, fitted(frame, "y", arithmetic=arithmetic), arithmetic)


def test_a_task_that_fails_and_is_retried_counts_once(client, frame, tmp_path):
    log = str(tmp_path / "failures")

    def flaky(part):
        import os

        try:
            os.close(os.open(log, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return part
        raise OSError("a disk that is tired")

    X, y = array_of(frame)
    with dask.annotate(retries=3):
        actual = fitted(X.rechunk((701, 4)).map_blocks(flaky, meta=np.empty((0, 4))), y)
    assert (tmp_path / "failures").exists()
    np.testing.assert_array_equal(actual, fitted(frame, "y"))


def test_rows_that_come_and_go_between_passes_are_refused(frame, tmp_path):
    log = tmp_path / "calls"

    def fading(part):
        with open(log, "ab") as file:
            file.write(b".")
        return part.iloc[log.stat().st_size // 5 :]

    lazy = dd.from_pandas(frame, npartitions=2).map_partitions(fading, meta=frame.iloc[:0])
    with pytest.raises(DataError, match="another number of rows than there were at first"):
        model().fit(lazy, "y")


SECRET = "HIV positive"


def csv_with_a_late_word(frame, folder):
    """A file whose first lines, from which Dask guesses the types, hold numbers only."""
    path = folder / "rows.csv"
    path.write_text("a,y\n" + "0.5,0.25\n" * 50_000 + f"{SECRET},0.1\n")
    return dd.read_csv(path, blocksize=100_000, sample=10_000), "y"


def frame_of_another_type(frame, folder):
    parts = [dask.delayed(lambda cell: frame[["a", "y"]].astype({"a": object}).assign(a=cell))(SECRET)]
    return dd.from_delayed(parts, meta={"a": float, "y": float}, verify_meta=False), "y"


def array_of_another_type(frame, folder):
    parts = [dask.delayed(np.full)((20, 1), SECRET, dtype=object)]
    return da.concatenate([da.from_delayed(part, (20, 1), float) for part in parts]), np.zeros(20)


def failing_task(frame, folder):
    def fail(part):
        if len(part):
            raise KeyError(SECRET)
        return part

    return dd.from_pandas(frame[["a", "y"]], npartitions=2).map_partitions(fail, meta=frame[["a", "y"]].iloc[:0]), "y"


@pytest.mark.parametrize("where", ["threads", "workers"])
@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (csv_with_a_late_word, "ValueError"),
        (frame_of_another_type, "ValueError"),
        (array_of_another_type, "ValueError"),
        (failing_task, "KeyError"),
    ],
)
def test_no_error_quotes_a_cell(request, frame, tmp_path, data, kind, where):
    scheduler = request.getfixturevalue("client") if where == "workers" else "threads"
    bounds = Bounds(features=[(-1.0, 1.0)], target=(-1.0, 1.0))
    with dask.config.set(scheduler=scheduler), pytest.raises(DataError) as caught:
        PrivateLinearRegression(2.0, 1e-6, bounds).fit(*data(frame, tmp_path))
    assert f"Dask failed with {kind}" in str(caught.value)
    assert SECRET not in "".join(traceback.format_exception(caught.value))


@pytest.mark.posix
def test_a_cluster_without_workers_left_is_told_as_dask_tells_it(frame):
    def die(part):
        os.kill(os.getpid(), signal.SIGKILL)

    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0", "memory_limit": 0}
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(processes=True, **options) as cluster,
        distributed.Client(cluster),
        pytest.raises(distributed.KilledWorker),
    ):
        model().fit(dd.from_pandas(frame, npartitions=2).map_partitions(die, meta=frame.iloc[:0]), "y")


def refusing(frame):
    """A table that cannot be computed: who raises something else has not looked at its rows."""

    def compute(part):
        raise AssertionError("rows were read")

    return dd.from_pandas(frame, npartitions=2).map_partitions(compute, meta=frame.iloc[:0])


WRONG = {
    "no such column": (lambda f: (refusing(f), "z"), DataError, "'z' is not a column"),
    "text": (lambda f: (refusing(f.assign(c="u")), "y"), DataTypeError, r"\['c'\] do not hold numbers"),
    "text in the target": (lambda f: (refusing(f.assign(y="u")), "y"), DataTypeError, r"\['y'\] do not hold"),
    "no features": (lambda f: (refusing(f[["y"]]), "y"), BoundsError, "no feature columns"),
    "no target": (lambda f: (refusing(f), None), DataError, "target y is None"),
    "target in memory": (lambda f: (refusing(f), f["y"].to_numpy()), DataError, "name of a column"),
    "a column": (lambda f: (refusing(f)["a"], "y"), DataError, "must have rows and columns"),
    "name with an array": (lambda f: (array_of(f)[0], "y"), DataError, "not a table"),
    "too few targets": (lambda f: (array_of(f)[0], array_of(f)[1][:5]), DataError, "one value for each row"),
    "complex array": (lambda f: (array_of(f)[0] * 1j, array_of(f)[1]), DataError, "real numbers"),
    "text as targets": (lambda f: (array_of(f)[0], da.from_array(np.array(["u"] * N_ROWS))), DataError, "real numbers"),
    "other partitions": (
        lambda f: (refusing(f)[list(NAMES)], dd.from_pandas(f["y"], npartitions=3)),
        DataError,
        "2 partitions but y has 3",
    ),
}


@pytest.mark.parametrize(("data", "error", "message"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_used_is_refused_before_a_row_is_read(frame, data, error, message):
    fit = model()
    with pytest.raises(error, match=message):
        fit.fit(*data(frame))
    assert not hasattr(fit, "n_features_in_")


def test_partitions_that_do_not_match_are_refused_without_a_word_on_their_sizes(frame):
    lazy = dd.from_pandas(frame, npartitions=2)
    with pytest.raises(DataError, match="differ in their number of rows") as caught:
        model().fit(lazy[list(NAMES)], lazy[lazy["a"] > 0]["y"])
    assert not any(character.isdigit() for character in str(caught.value))


def test_a_table_without_rows_is_refused(frame):
    with pytest.raises(DataError, match="no rows"):
        model().fit(dd.from_pandas(frame, npartitions=2).query("a > 100"), "y")


def test_a_client_must_be_one(tmp_path):
    with pytest.raises(ParameterError, match="client='here' must be"):
        read(tmp_path, target="y", client="here")
    with pytest.raises(ParameterError, match="not both"):
        read(tmp_path, target="y", client="here", spark="there")


def blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_workers_hold_blas_at_one_thread(frame):
    def threads_in_use(features, target):
        return (np.array(max(blas_threads(), default=1) * len(target)),)

    with dask.config.set(scheduler="threads"):
        total = open_rows(dd.from_pandas(frame, npartitions=3), "y").total(threads_in_use)
    assert int(total.values[0]) == N_ROWS


def test_blas_gets_its_threads_back_when_the_last_holder_leaves():
    before = blas_threads()
    inside, leave = threading.Event(), threading.Event()

    def other():
        with one_blas_thread():
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    with one_blas_thread():
        thread.start()
        assert inside.wait(10)
    try:
        assert set(blas_threads()) <= {1}  # the other thread still computes
    finally:
        leave.set()
        thread.join()
    assert blas_threads() == before


def test_a_sketch_needs_no_target(frame):
    lazy = open_rows(dd.from_pandas(frame[list(NAMES)], npartitions=3), with_target=False)
    kept = open_rows(frame[list(NAMES)], with_target=False)
    row_map = BOUNDS.row_map(n_features=4, columns=NAMES, fit_intercept=True, with_target=False)
    values = [gram(BoundedRows(source, row_map, arithmetic="exact")).value for source in (lazy, kept)]
    np.testing.assert_array_equal(*values)


def test_columns_that_bounds_do_not_name_are_left_out(frame):
    bounds = Bounds(features={name: (-10.0, 10.0) for name in NAMES[:1]}, target=(-10.0, 10.0))
    text = frame.assign(note="x")
    models = [
        PrivateLinearRegression(2.0, 1e-6, bounds, random_state=0).fit(rows, "y")
        for rows in (text, dd.from_pandas(text, npartitions=2))
    ]
    assert models[1].feature_names_in_.tolist() == [NAMES[0]]
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)
