"""Ids of units in several files or partitions: where their types differ, one person could be two units."""

import numpy as np
import pytest

from dpols import Bounds, BudgetLedger, PrivateLinearRegression, read
from dpols.errors import DataError

pytestmark = pytest.mark.extras

N = 400
TYPES = ["int64", "uint16", "double", "float", "string", "large_string", "dictionary", "binary", "us", "ns", "null"]
ALIKE = [{"int64", "uint16", "double"}, {"string", "large_string", "dictionary"}]


def ids_as(kind):
    pa = pytest.importorskip("pyarrow")
    ids = pa.array(np.arange(N))
    if kind == "dictionary":
        return ids.cast("string").dictionary_encode()
    if kind == "binary":
        return ids.cast("string").cast("binary")
    if kind == "null":
        return pa.nulls(N)
    return ids.cast(pa.timestamp("s")).cast(pa.timestamp(kind)) if kind in ("us", "ns") else ids.cast(kind)


def write(path, kind, suffix):
    pa = pytest.importorskip("pyarrow")
    path.parent.mkdir(exist_ok=True)
    y = np.where(np.arange(N) % 8, -1.0, 1.0)
    table = pa.table({"x": np.ones(N), "y": y, "who": ids_as(kind)})
    if suffix == "parquet":
        pytest.importorskip("pyarrow.parquet").write_table(table, path)
    else:
        pytest.importorskip("pyarrow.feather").write_feather(table, path)


def fitting(**more):
    bounds = Bounds(features={"x": (-1, 1)}, target=(-1, 1))
    chosen = {"unit": "who", "max_rows_per_unit": 1, "neighbours": "add-remove", "random_state": 0} | more
    return PrivateLinearRegression(50.0, 1e-2, bounds, **chosen)


@pytest.mark.parametrize("suffix", ["parquet", "feather"])
def test_files_whose_ids_may_not_be_equal_are_refused_before_a_charge(tmp_path, suffix):
    ledger = BudgetLedger(tmp_path / "l.sqlite", epsilon=100.0, delta=0.1)
    pairs = [(a, b) for place, a in enumerate(TYPES) for b in TYPES[:place]]
    for a, b in pairs:
        folder = tmp_path / f"{a} {b}"
        write(folder / f"a.{suffix}", a, suffix)
        write(folder / f"b.{suffix}", b, suffix)
        source = read(folder, "y")
        if "null" in (a, b) or any({a, b} <= family for family in ALIKE):
            source.require_ids("who")
            continue
        with pytest.raises(DataError, match=r"unit='who' has the type .* in some files and .* in others.*such as text"):
            fitting(ledger=ledger).fit(source)
    assert not ledger.entries()


@pytest.mark.parametrize("kinds", [("int64", "uint16", "double"), ("string", "large_string", "dictionary")], ids=str)
def test_files_whose_ids_are_equal_hold_the_same_units(tmp_path, kinds):
    for kind in kinds:
        write(tmp_path / "some" / f"{kind}.parquet", kind, "parquet")
        write(tmp_path / "one" / f"{kind}.parquet", kinds[0], "parquet")
    several, one = (fitting().fit(read(tmp_path / name, "y")) for name in ("some", "one"))
    assert several.coef_.tolist() == one.coef_.tolist()
    assert str(several.privacy_report_.row_count) == str(one.privacy_report_.row_count)


def test_ids_that_names_of_folders_give_are_text(tmp_path):
    pa = pytest.importorskip("pyarrow")
    write(tmp_path / "a.parquet", "int64", "parquet")
    (tmp_path / "who=7").mkdir()
    table = pa.table({"x": np.ones(N), "y": np.ones(N)})
    pytest.importorskip("pyarrow.parquet").write_table(table, tmp_path / "who=7" / "b.parquet")
    with pytest.raises(DataError, match="int64 in some files and string in others"):
        fitting().fit(read(tmp_path, "y"))


def test_partitions_of_dask_whose_ids_may_not_be_equal_are_refused():
    pd, dask, frames = (pytest.importorskip(name) for name in ("pandas", "dask", "dask.dataframe"))
    whole = pd.DataFrame({"x": np.ones(N), "y": np.where(np.arange(N) % 8, -1.0, 1.0), "who": np.arange(N)})

    def of(*kinds):
        parts = [dask.delayed(whole.assign(who=whole["who"].astype(kind))) for kind in kinds]
        return frames.from_delayed(parts, meta=whole.assign(who=whole["who"].astype(kinds[0])), verify_meta=False)

    for kinds in (("int64", "string"), ("string", "int64"), ("datetime64[us]", "datetime64[ns]")):
        with pytest.raises(DataError, match=r"unit='who' has the type .* in some partitions and .* in others"):
            fitting().fit(of(*kinds), "y")
    same, mixed = (fitting().fit(of(*kinds), "y") for kinds in (("int64", "int64"), ("int64", "float64")))
    assert same.coef_.tolist() == mixed.coef_.tolist()
