"""Ids of units: which ids are the same depends on their own rows alone, whatever library holds them."""

import datetime
import uuid
from collections import deque
from decimal import Decimal

import numpy as np
import pytest

from dpols import Bounds, PrivateLinearRegression, read
from dpols.data.files.formats import FORMATS
from dpols.data.unit_ids import unit_codes
from dpols.data.units import unit_column, without_column
from dpols.errors import DataError

# Neighbouring whole numbers beyond 2^53 and 2^63, which are equal as floats.
LONG = [2**60 + 1, 2**60, 2**60 + 1, 2**60 + 2, 2**60]
LONGER = [2**63 + number for number in (1, 0, 1, 2, 0)]
SAME = [0, 1, 0, 2, 1]  # which of them are the same


def of_pandas(dtype):
    pd = pytest.importorskip("pandas")
    if "pyarrow" in str(dtype):
        pytest.importorskip("pyarrow")
    return lambda ids: pd.Series(ids, dtype=dtype)


def of_pandas_categories(container):
    pd = pytest.importorskip("pandas")
    return lambda ids: getattr(pd, container)(
        pd.Categorical(pd.array(ids, dtype="Int64" if max(filter(None, ids)) < 2**63 else "UInt64"))
    )


def of_polars(kind):
    pl = pytest.importorskip("polars")
    return lambda ids: pl.Series(ids, dtype=getattr(pl, kind))


def of_pyarrow(make):
    pa = pytest.importorskip("pyarrow")
    return lambda ids: make(pa, pa.array(ids, pa.int64() if max(filter(None, ids)) < 2**63 else pa.uint64()))


def in_chunks(pa, column):
    return pa.chunked_array([column[:2].dictionary_encode(), column[2:].dictionary_encode()])


COLUMNS = {
    "list": (lambda: list, LONG),
    "list beyond 64 bits": (lambda: list, [number * 2**60 for number in LONG]),
    "tuple": (lambda: tuple, LONGER),
    "deque": (lambda: deque, LONG),
    "array of objects": (lambda: lambda ids: np.array(ids, dtype=object), LONG),
    "masked array": (lambda: masked, LONG),
    "pandas Int64": (lambda: of_pandas("Int64"), LONG),
    "pandas UInt64": (lambda: of_pandas("UInt64"), LONGER),
    "pandas int64[pyarrow]": (lambda: of_pandas("int64[pyarrow]"), LONG),
    "pandas uint64[pyarrow]": (lambda: of_pandas("uint64[pyarrow]"), LONGER),
    "pandas object": (lambda: of_pandas(object), LONG),
    "pandas categories": (lambda: of_pandas_categories("Series"), LONG),
    "pandas categories of unsigned": (lambda: of_pandas_categories("Series"), LONGER),
    "pandas index of categories": (lambda: of_pandas_categories("CategoricalIndex"), LONG),
    "polars Int64": (lambda: of_polars("Int64"), LONG),
    "polars UInt64": (lambda: of_polars("UInt64"), LONGER),
    "polars Object": (lambda: of_polars("Object"), LONG),
    "pyarrow int64": (lambda: of_pyarrow(lambda pa, column: column), LONG),
    "pyarrow uint64": (lambda: of_pyarrow(lambda pa, column: pa.chunked_array([column])), LONGER),
    "pyarrow dictionary": (lambda: of_pyarrow(in_chunks), LONG),
}


def masked(ids):
    missing = [number is None for number in ids]
    return np.ma.array([number or 0 for number in ids], mask=missing, dtype=np.int64)


def partition(codes):
    """Number equal codes in the order in which they come, missing ones as they are."""
    seen = {-1: -1}
    return [seen.setdefault(code, len(seen) - 1) for code in np.asarray(codes).tolist()]


@pytest.mark.extras
@pytest.mark.parametrize("name", COLUMNS)
def test_a_missing_id_joins_no_others(name):
    make, ids = COLUMNS[name][0](), COLUMNS[name][1]
    assert partition(unit_codes(make(ids))) == SAME
    for place in range(len(ids)):
        gone = [None if row == place else number for row, number in enumerate(ids)]
        codes = unit_codes(make(gone))
        assert codes[place] == -1
        rest = np.delete(np.arange(len(ids)), place)
        assert partition(codes[rest]) == partition(np.array(SAME)[rest])


@pytest.mark.parametrize("other", ["a", 1.5, 2**70, b"a", None, float("nan"), ("x", 1), Decimal("0.1"), True])
@pytest.mark.parametrize(
    "container", [list, tuple, lambda ids: np.array(ids, dtype=object)], ids=["list", "tuple", "array"]
)
def test_an_id_of_another_type_joins_no_others(other, container):
    ids = np.empty(len(LONG) + 1, dtype=object)
    ids[:-1], ids[-1] = LONG, other
    assert partition(unit_codes(container(ids.tolist()) if container in (list, tuple) else ids))[:-1] == SAME


@pytest.mark.parametrize("other", ["a", 0.5, 1])
def test_ids_in_lists_of_rows_are_read_apart_from_the_features(other):
    """numpy would make floats or strings of all cells where one of them is."""
    rows = [[number, 0.25, 1] for number in LONG] + [[other, 1, 0]]
    assert partition(unit_codes(unit_column(rows, 0))) == [*SAME, 3]
    assert without_column(rows, 0) == [[0.25, 1]] * 5 + [[1, 0]]
    for wrong in ([[1, 2], [3]], [1, 2], []):
        with pytest.raises(DataError, match="must be the number of a column"):
            unit_column(wrong, 0)


def test_rows_in_lists_are_fitted_with_ids_of_any_type():
    bounds = Bounds(features=[(-1, 1)], target=(-1, 1))
    rows = [[f"p{place // 2}", (-1) ** place] for place in range(200)]
    y = [(-1) ** place for place in range(200)]
    model = PrivateLinearRegression(1.0, 1e-6, bounds, random_state=0, max_rows_per_unit=2)
    plain = [[row[1]] for row in rows]
    expected = model.fit(plain, y, groups=[row[0] for row in rows]).coef_.copy()
    np.testing.assert_array_equal(model.set_params(unit=0).fit(rows, y).coef_, expected)


@pytest.mark.extras
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_fit_does_not_see_that_a_zero_row_lost_its_id(library):
    """The row adds nothing with its id or without, so a seeded fit must be the same to the last bit."""
    module = pytest.importorskip(library)
    n = 2000
    ids, x, y = [2**60 + place for place in range(n)], np.ones(n), np.where(np.arange(n) % 8, -1.0, 1.0)
    x[-1] = y[-1] = 0.0
    bounds = Bounds(features={"x": (-1, 1)}, target=(-1, 1))
    found = []
    for last in (ids[-1], None):
        who = [*ids[:-1], last]
        if library == "pandas":
            who = module.array(who, dtype="Int64")
        columns = {"who": who, "x": x, "y": y}
        table = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
        model = PrivateLinearRegression(
            1.0, 1e-6, bounds, unit="who", max_rows_per_unit=1, bad_rows="zero", fit_intercept=False, random_state=0
        )
        found.append(model.fit(table, "y").coef_[0])
    assert found[0] == found[1]
    assert found[0] == pytest.approx(-0.75, abs=0.2)


@pytest.mark.parametrize(
    ("ids", "same"),
    [
        ([1, 1.0, True, "1", b"1", Decimal(1)], [0, 0, 0, 1, 2, 0]),
        ([2**53, 2.0**53, 2**53 + 1], [0, -1, 1]),
        (["7", "007", "7 ", "7"], [0, 1, 2, 0]),
        (["a", "a\0", "A"], [0, 1, 2]),
        (np.array(["a", "a\0", "b"]), [0, 0, 1]),  # numpy drops what it fills up with
        (np.array([b"a", b"b", b"a"]), [0, 1, 0]),
        ([0.0, -0.0, float("nan"), np.nan, None], [0, 0, -1, -1, -1]),
        (np.array([0.0, -0.0, np.nan, np.inf]), [0, 0, -1, -1]),
        (np.array([1j, 1j, np.nan, 2]), [0, 0, -1, 1]),
        (np.array(["2020-01-01", "NaT", "2020-01-01"], "M8[ns]"), [0, -1, 0]),
        ([("x", 1), ("x", 1.0), ("x", None), ("x", float("nan")), ("x",)], [0, 0, -1, -1, 1]),
        ([Decimal("1.50"), Decimal("1.5"), Decimal("NaN")], [0, 0, -1]),
        ([uuid.UUID(int=1), uuid.UUID(int=2), uuid.UUID(int=1)], [0, 1, 0]),
        ([datetime.date(2020, 1, 1), datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1)], [0, 0, 1]),
        (range(3), [0, 1, 2]),
    ],
    ids=str,
)
def test_what_counts_as_the_same_id(ids, same):
    assert partition(unit_codes(ids)) == same


@pytest.mark.extras
@pytest.mark.parametrize(("kind", "bits"), [("float16", 11), ("float32", 24), ("float64", 53)])
def test_a_float_that_may_stand_for_several_ids_is_missing(kind, bits):
    pa, pl, pd = (pytest.importorskip(library) for library in ("pyarrow", "polars", "pandas"))
    ids = np.array([2**bits - 1, 2**bits, 2**bits + 2, -(2**bits), 2**bits - 1], dtype=kind)
    columns = [ids, np.ma.array(ids), list(ids), pd.Series(ids), pd.Series(list(ids), dtype=object)]
    columns += [pa.array(ids)]
    if kind != "float16":  # which these do not have
        columns += [pl.Series(ids), pd.Series(ids, dtype=kind.title()), pd.Series(pd.Categorical(ids))]
        columns += [pd.Series(ids, dtype=f"{'double' if bits == 53 else 'float'}[pyarrow]")]
    if kind == "float32":
        columns += [ids.astype(np.complex64)]
    for column in columns:
        assert partition(unit_codes(column)) == [0, -1, -1, -1, 0]


@pytest.mark.extras
@pytest.mark.parametrize(("suffix", "kind", "bits"), [("dta", "f4", 24), ("dta", "f8", 53), ("xlsx", "f8", 53)])
def test_files_of_floats_lose_no_unit_to_its_neighbour(tmp_path, suffix, kind, bits):
    """Whole numbers beyond the precision of the file are missing ids, and the others are read as they are."""
    pd = pytest.importorskip("pandas")
    if suffix == "xlsx":
        pytest.importorskip("openpyxl"), pytest.importorskip("python_calamine")
    path = tmp_path / f"visits.{suffix}"
    ids = np.array([2**bits - 1, 2**bits, 2**bits + 2, -(2**bits), 7], dtype=kind)
    visits = pd.DataFrame({"who": ids, "x": np.ones(5), "y": np.ones(5)})
    visits.to_stata(path, write_index=False) if suffix == "dta" else visits.to_excel(path, index=False)
    (task,) = read(path, "y").tasks
    (batch,) = FORMATS[task.kind].batches(task.file, task.part, ["who"], text=["who"])
    assert batch.column("who").to_pylist() == [str(2**bits - 1), "", "", "", "7"]
    bounds = Bounds(features={"x": (-1, 1)}, target=(-1, 1))
    with pytest.raises(DataError, match="the id of a unit is missing"):
        PrivateLinearRegression(1.0, 1e-6, bounds, unit="who", max_rows_per_unit=1).fit(read(path, "y"))


@pytest.mark.extras
def test_columns_of_other_types_are_exact_too():
    pa, pl, pd = (pytest.importorskip(library) for library in ("pyarrow", "polars", "pandas"))
    ticks = [1, 2, None, 1]  # of a nanosecond, which Python's own times do not have
    decimals = [Decimal("1.5"), Decimal("2.5"), None, Decimal("1.5")]
    for ids in (
        *(pa.array(ticks, kind) for kind in (pa.timestamp("ns", "UTC"), pa.time64("ns"), pa.duration("ns"))),
        *(pl.Series(ticks).cast(kind) for kind in (pl.Datetime("ns", "UTC"), pl.Time, pl.Duration("ns"), pl.Date)),
        *(pd.Series(ticks, dtype=pd.ArrowDtype(kind)) for kind in (pa.timestamp("ns"), pa.time64("ns"))),
        pd.Series(pd.to_datetime(ticks)),
        pd.Series(pd.to_datetime(ticks, utc=True)),
        pa.array(decimals),
        pl.Series(decimals),
        pd.Series(decimals, dtype=pd.ArrowDtype(pa.decimal128(5, 2))),
        *(pa.array(["a", "b", None, "a"], kind) for kind in (pa.string(), pa.large_string(), pa.binary())),
        *(pl.Series(["a", "b", None, "a"], dtype=kind) for kind in (pl.String, pl.Categorical, pl.Enum(["a", "b"]))),
        *(pd.Series(["a", "b", None, "a"], dtype=kind) for kind in (object, "string", "category")),
        *(make([0.0, 1.5, None, -0.0]) for make in (pa.array, pl.Series, pd.Series)),
        pa.array([0.0, 1.5, float("nan"), -0.0]),
        pl.Series([0.0, 1.5, float("nan"), -0.0]),
        pd.Series([0.0, 1.5, None, -0.0], dtype="Float64"),
        pd.Series([0.0, 1.5, None, -0.0], dtype="double[pyarrow]"),
        pd.MultiIndex.from_tuples([(1, "a"), (1, "b"), (1, None), (1, "a")]),
        pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 0]), pa.array([2**60, 2**60 + 1, None])),
    ):
        assert partition(unit_codes(ids)) == [0, 1, -1, 0], (type(ids), getattr(ids, "dtype", None))
    assert unit_codes(pa.chunked_array([], pa.int64())).tolist() == []
    assert unit_codes(pa.nulls(2)).tolist() == [-1, -1]


@pytest.mark.extras
def test_times_that_python_has_no_objects_for_are_ids_like_others():
    pa, pd = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
    far = 2**30  # in days, in half days and in ages
    kinds = {pa.date32(): 1, pa.date64(): 86_400_000, pa.timestamp("s", "Europe/Berlin"): 2**32}
    for kind, unit in kinds.items():
        ids = pa.array([0, far * unit, None, 0], kind)
        for held in (ids, pa.chunked_array([ids])):
            assert partition(unit_codes(held)) == [0, 1, -1, 0], kind
    assert partition(unit_codes(ids.to_pandas())) == [0, 1, -1, 0]
    assert partition(unit_codes(pd.Series(ids.to_pandas()))) == [0, 1, -1, 0]


@pytest.mark.parametrize("ids", ["who", b"who", {1, 2}, iter([1]), 3], ids=lambda ids: type(ids).__name__)
def test_what_is_no_column_of_ids_is_refused(ids):
    with pytest.raises(DataError, match="give a list, a numpy array"):
        unit_codes(ids)


def test_ids_of_another_shape_are_refused():
    for ids in (np.ones((2, 2)), np.array(1)):
        with pytest.raises(DataError, match="dimensions; give"):
            unit_codes(ids)


@pytest.mark.parametrize("missing", [None, np.nan])
def test_whole_numbers_that_a_missing_one_turned_into_floats_join_no_units(missing):
    pandas = pytest.importorskip("pandas")
    ids = pandas.Series([*(2**60 + i for i in range(20)), missing])
    assert ids.dtype == np.float64
    assert (unit_codes(ids) == -1).all()
    assert unit_codes(pandas.Series([1, 2, 1, missing])).tolist() == [0, 1, 0, -1]
    assert unit_codes([2.0**60, 2**60, 2**60 + 1]).tolist() == [-1, 0, 1]
