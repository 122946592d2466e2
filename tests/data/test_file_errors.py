"""Files that cannot be read: one clear error with the file and the remedy; no data in it, no model, nothing charged."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from table_files import NAMES, TARGET, WRITERS, arrow_table, numbers, small_parts  # noqa: F401

from dpols import Bounds, BudgetLedger, PrivateLinearRegression, read
from dpols.data.files import FileSource, csv
from dpols.errors import DataError, DpolsError

pyarrow = pytest.importorskip("pyarrow")
pytestmark = pytest.mark.extras

SECRET = 987654.25
BOUNDS = Bounds(features=[(-1e6, 1e6)] * 5, target=(-1e6, 1e6))


def table():
    """A table in which a value can be recognised."""
    values = numbers()
    values[17] = SECRET
    return arrow_table(values)


def refused(path, *words, target=TARGET, columns=None, errors=DpolsError, ledger=None, arithmetic="auto"):
    """Opening and fitting raises an error with these words, which quotes no value and leaves the model as it was."""
    model = PrivateLinearRegression(1.0, 1e-6, BOUNDS, ledger=ledger, arithmetic=arithmetic)
    before = dict(vars(model))
    with pytest.raises(errors) as caught:
        model.fit(path if isinstance(path, FileSource) else read(path, target, columns))
    assert vars(model) == before
    message = str(caught.value)
    assert [word for word in words if word not in message] == [], message
    assert not any(text in message for text in ("987654", "SECRET"))
    assert "\n" not in message
    return message


@pytest.mark.parametrize("name", ["rows.parquet", "rows.csv", "rows.feather", "rows.npy"])
def test_a_missing_file(tmp_path, name):
    refused(tmp_path / name, name, errors=FileNotFoundError)


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("rows.sav", "pandas.read_spss(path).to_parquet"),
        ("rows.RDS", "arrow::write_parquet(readRDS(path)"),
        ("rows.zip", "Unpack it first"),
        ("rows.csv.bz2", "Unpack it first"),
        ("rows.parquet.gz", "Unpack it first"),
        ("rows", "Write it as Parquet or CSV"),
    ],
)
def test_a_format_that_is_not_read(tmp_path, name, remedy):
    (tmp_path / name).write_bytes(b"PK\3\4")
    refused(tmp_path / name, name, remedy)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("rows.xlsx", ("cannot be read as a workbook", "as CSV")),
        ("rows.dta", ("cannot be read as a Stata file", "as CSV")),
        ("rows.csv.gz", ("not a gzip file", "Compress it anew")),
        ("rows.csv.zst", ("not a zstd file", "Compress it anew")),
    ],
)
def test_a_file_that_is_not_what_its_name_says(tmp_path, name, words):
    pytest.importorskip("python_calamine")
    pytest.importorskip("pandas")
    (tmp_path / name).write_bytes(b"PK\3\4")
    refused(tmp_path / name, name, *words)


@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".npy"])
@pytest.mark.parametrize("content", [b"", b"x0,x1\nSECRET,2\n", b"PAR1" * 99, b"ARROW1\0\0" * 99, b"\x93NUMPY\1\0v\0{"])
def test_a_file_of_another_format(tmp_path, suffix, content):
    path = tmp_path / f"rows{suffix}"
    path.write_bytes(content)
    refused(path, path.name, "damaged", "Write it anew")


@pytest.mark.parametrize("kind", ["parquet", "feather", "arrow", "npy", "records"])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_a_truncated_file(tmp_path, kind, share):
    path = WRITERS[kind](tmp_path, table())
    os.truncate(path, int(share * path.stat().st_size))
    refused(path, path.name, "Write it anew")


@pytest.mark.usefixtures("small_parts")
def test_damage_in_the_middle_of_a_file_with_checksums(tmp_path):
    from pyarrow import parquet

    path = tmp_path / "rows.parquet"
    parquet.write_table(table(), path, row_group_size=700, write_page_checksum=True, compression="none")
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    refused(path, path.name, "Write it anew")


def test_a_truncated_csv_file(tmp_path):
    path = WRITERS["csv"](tmp_path, table())
    text = path.read_text()
    path.write_text(text[: text.rindex(",")])
    refused(path, path.name, "more or fewer values than the header, which has 6", "Correct")


@pytest.mark.parametrize("kind", WRITERS)
def test_a_missing_column(tmp_path, kind):
    path = WRITERS[kind](tmp_path, table())
    refused(path, "'z'", "'x0'", target="z")
    refused(path, "'z'", "'x0'", columns=["x0", "z"])


def test_values_in_the_place_of_names_of_columns_are_not_quoted(tmp_path):
    path, values = WRITERS["csv"](tmp_path, table()), np.arange(771239.5, 771259.5)
    for columns in (values, values.tolist()):
        assert "771239" not in refused(path, "columns must be a list of names", columns=columns)
    assert "id 12" not in refused(path, "no column 'id 0'", "and others", columns=[f"id {i}" for i in range(20)])
    refused(path, "columns='x0' is one name", columns="x0")


@pytest.mark.parametrize("kind", ["parquet", "csv", "feather", "parquet folder"])
@pytest.mark.usefixtures("small_parts")
def test_a_column_of_strings(tmp_path, kind):
    names = pyarrow.array(["SECRET"] * 3000)
    path = WRITERS[kind](tmp_path, table().set_column(2, "x2", names))
    ledger = BudgetLedger(tmp_path / "budget.ledger", epsilon=1.0, delta=1e-6)
    refused(path, "'x2'", "numbers", "leave it out", str(path), ledger=ledger)
    assert ledger.state().used == 0
    others = [name for name in NAMES[:-1] if name != "x2"]
    bounds = Bounds(features=[(-1e6, 1e6)] * 4, target=(-1e6, 1e6))
    assert PrivateLinearRegression(1.0, 1e-6, bounds).fit(read(path, TARGET, others)).n_features_in_ == 4


@pytest.mark.usefixtures("small_parts")
def test_a_string_far_down_in_a_csv_file(tmp_path):
    path = WRITERS["csv"](tmp_path, table())
    lines = path.read_text().splitlines()
    lines[2500] = lines[2500].replace(lines[2500].split(",")[3], "SECRET")
    path.write_text("\n".join(lines))
    refused(path, "'x3'", path.name, "leave empty what is missing")


def test_dates_are_no_numbers(tmp_path):
    days = pyarrow.array(np.arange(3000).astype("datetime64[D]"))
    for kind in ("parquet", "csv"):
        refused(WRITERS[kind](tmp_path, table().set_column(1, "x1", days)), "'x1'", "numbers")


def write_two(folder, first, second, suffix=".parquet"):
    from pyarrow import parquet

    folder.mkdir()
    for name, content in (("a", first), ("b", second)):
        if suffix == ".csv":
            from pyarrow import csv as writer

            writer.write_csv(content, folder / f"{name}.csv")
        else:
            parquet.write_table(content, folder / f"{name}{suffix}")
    return folder


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_a_schema_that_changes_between_files(tmp_path, suffix):
    whole = table()
    more = whole.append_column("z", whole.column("x0"))
    text = whole.set_column(0, "x0", pyarrow.array(["SECRET"] * 3000))
    refused(write_two(tmp_path / "less", whole, whole.drop_columns(["x3"]), suffix), f"b{suffix}", "'x3'")
    refused(write_two(tmp_path / "more", whole, more, suffix), f"b{suffix}", "'z'", "first file", "Name the columns")
    refused(write_two(tmp_path / "type", whole, text, suffix), f"b{suffix}", "'x0'", "numbers")
    chosen = read(tmp_path / "more", TARGET, NAMES[:-1])
    assert PrivateLinearRegression(1.0, 1e-6, BOUNDS).fit(chosen).privacy_report_.n_rows == 6000


def test_the_order_of_columns_may_change_between_files(tmp_path):
    whole = table()
    turned = whole.select(NAMES[::-1])
    expected, actual = (
        PrivateLinearRegression(1.0, 1e-6, BOUNDS, random_state=0).fit(read(folder, TARGET)).coef_
        for folder in (write_two(tmp_path / "same", whole, whole), write_two(tmp_path / "turned", whole, turned))
    )
    assert actual.tobytes() == expected.tobytes()


def test_duplicate_columns(tmp_path):
    double = pyarrow.Table.from_arrays([*table().columns, table().column("x0")], names=[*NAMES, "x0"])
    for kind in ("parquet", "csv", "feather"):
        refused(WRITERS[kind](tmp_path, double), "'x0'", "unique")
    path = WRITERS["parquet"](tmp_path, table())
    refused(path, "'x0'", "unique", columns=["x0", "x1", "x0"])
    refused(path, "'x5'", "among the columns", columns=["x0", "x5"])


def test_a_first_line_that_is_a_row_is_not_quoted(tmp_path):
    path, row = tmp_path / "rows.csv", "SECRET,987654.25,7\n"
    path.write_text(row * 3)
    refused(path, "has no column 'x', 'pay'", "put a line with the names", target="pay", columns=["x"])
    path.write_text(row.replace("SECRET", "987654.25") * 3)
    refused(path, "more than one column of one name", target="7")
    parts = tmp_path / "parts"
    parts.mkdir()
    for name, cell in (("a.csv", "x"), ("b.csv", "SECRET")):
        (parts / name).write_text(row.replace("SECRET", cell) * 3)
    refused(parts, "b.csv", target="7")


def test_an_empty_folder(tmp_path):
    (tmp_path / "empty" / "year=2024").mkdir(parents=True)
    (tmp_path / "empty" / "_SUCCESS").write_text("")
    refused(tmp_path / "empty", "'empty'"[1:-1], "no files")


def test_a_folder_of_several_formats(tmp_path):
    WRITERS["parquet"](tmp_path, table())
    WRITERS["csv"](tmp_path, table())
    refused(tmp_path, "'csv'", "'parquet'", "one at a time")


def test_a_stray_file_in_a_folder_is_not_passed_over(tmp_path):
    folder = WRITERS["parquet folder"](tmp_path, table())
    (folder / "part2" / "rows.parquet.tmp").write_text("")
    refused(folder, "rows.parquet.tmp", "Write it as Parquet or CSV")


def test_a_delta_table(tmp_path):
    folder = WRITERS["parquet folder"](tmp_path, table())
    (folder / "_delta_log").mkdir()
    refused(folder, "Delta", "deleted")


@pytest.mark.parametrize("kind", ["parquet", "csv", "feather", "npy"])
def test_a_table_without_rows(tmp_path, kind):
    refused(WRITERS[kind](tmp_path, table().slice(0, 0)), "no rows")


@pytest.mark.parametrize("array", [np.zeros(5), np.zeros((2, 2, 2)), np.array([["a", "b"]]), np.array([[None, 1]])])
def test_arrays_that_are_no_tables(tmp_path, array):
    np.save(tmp_path / "rows.npy", array, allow_pickle=True)
    refused(tmp_path / "rows.npy", "rows.npy", target="x1")


def test_a_line_that_is_too_long(tmp_path, monkeypatch):
    monkeypatch.setattr(csv, "_TASK_BYTES", 1000)
    monkeypatch.setattr(csv, "_LONGEST_LINE", 5000)
    path = WRITERS["csv"](tmp_path, table())
    path.write_text(path.read_text() + "1," * 5000)
    refused(path, path.name, "a line of", "Correct")
    path.write_text("x" * 6000 + path.read_text())
    refused(path, path.name, "a line of", "Correct")


class ChangesAfter:
    """Changes a file when a pass has been read."""

    def __init__(self, n_passes, change):
        self.n_passes, self.change = n_passes, change

    def __call__(self, number, rows, n_rows):
        if number == self.n_passes and rows == n_rows:
            self.change()


def same_size(path):
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)


CHANGES = {
    "more rows": lambda path: path.write_bytes(path.read_bytes() + b"1,1,1,1,1,1\n"),
    "fewer rows": lambda path: os.truncate(path, path.stat().st_size - 500),
    "the same size": same_size,
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", ["parquet", "csv", "feather", "npy"])
@pytest.mark.parametrize("n_passes", [1, 2])
def test_a_file_that_changes_between_passes(tmp_path, kind, change, n_passes):
    path = WRITERS[kind](tmp_path, table())
    source = read(path, TARGET, progress=ChangesAfter(n_passes, lambda: CHANGES[change](path)))
    refused(source, path.name, "changed", "Start again", arithmetic="float")  # which reads files in every pass


def test_a_file_that_vanishes_between_passes(tmp_path):
    path = WRITERS["parquet"](tmp_path, table())
    source = read(path, TARGET, progress=ChangesAfter(1, path.unlink))
    refused(source, path.name, errors=FileNotFoundError, arithmetic="float")


def test_a_file_that_changes_before_the_fit(tmp_path):
    path = WRITERS["csv"](tmp_path, table())
    ledger = BudgetLedger(tmp_path / "budget.ledger", epsilon=1.0, delta=1e-6)
    source = read(path, TARGET)
    CHANGES["more rows"](path)
    refused(source, path.name, "changed", ledger=ledger)
    assert ledger.state().used == 0


def test_a_file_that_is_added_to_a_folder_does_not_take_part(tmp_path):
    folder = WRITERS["parquet folder"](tmp_path, table())
    source = read(folder, TARGET)
    expected = PrivateLinearRegression(1.0, 1e-6, BOUNDS, random_state=0).fit(source).coef_
    shutil.copy(folder / "part2" / "rows.parquet", folder / "part0" / "new.parquet")
    assert (PrivateLinearRegression(1.0, 1e-6, BOUNDS, random_state=0).fit(source).coef_ == expected).all()
    assert read(folder, TARGET).n_rows > source.n_rows


def test_a_source_without_a_target_and_one_with_two(tmp_path):
    path = WRITERS["parquet"](tmp_path, table())
    refused(path, "no target", "dpols.read", target=None)
    with pytest.raises(ValueError, match="own target"):
        PrivateLinearRegression(1.0, 1e-6, BOUNDS).fit(read(path, TARGET), TARGET)


def test_text_in_one_file_of_a_folder_under_a_feature_map(tmp_path):
    from dpols import FeatureMap, NumericColumn

    good = arrow_table(numbers())
    feature_map = FeatureMap({NAMES[0]: NumericColumn(-10, 10)}, target=(-10, 10))
    pyarrow_parquet = pytest.importorskip("pyarrow.parquet")
    pyarrow_parquet.write_table(good, tmp_path / "a.parquet")
    text = good.set_column(good.schema.get_field_index(NAMES[0]), NAMES[0], pyarrow.array(["SECRET"] * len(good)))
    pyarrow_parquet.write_table(text, tmp_path / "b.parquet")
    with pytest.raises(DpolsError, match=r"b\.parquet'.*declared as numbers") as caught:
        PrivateLinearRegression(1.0, 1e-6, feature_map=feature_map).fit(read(tmp_path, target=TARGET))
    assert "SECRET" not in str(caught.value)


def test_paths_and_sources_are_told_where_they_belong(tmp_path):
    path = tmp_path / "rows.parquet"
    pytest.importorskip("pyarrow.parquet").write_table(arrow_table(numbers()), path)
    model = PrivateLinearRegression(1.0, 1e-6, BOUNDS)
    for given in (path, str(path)):
        with pytest.raises(TypeError, match=r"dpols\.read\(path, target=\.\.\.\)"):
            model.fit(given, TARGET)
    source = read(path, TARGET)
    model.fit(source)
    for given in (source, path, str(path)):
        with pytest.raises(TypeError, match="rows in memory"):
            model.predict(given)
    with pytest.raises(ValueError, match=rf"columns=\['{NAMES[0]}'\]"):
        read(path, TARGET, columns=NAMES[0])


def out_of_range(kind, count):
    """A column of an Arrow file in which something points outside of the column."""
    if kind == "dictionary":
        places = np.append(np.zeros(count - 1), 7).astype(np.int32)
        return pyarrow.DictionaryArray.from_arrays(places, pyarrow.array(["a", "b"]), safe=False)
    offsets = np.arange(count + 1, dtype=np.int32)
    offsets[count // 2] = 2**30
    return pyarrow.StringArray.from_buffers(
        count, pyarrow.py_buffer(offsets.tobytes()), pyarrow.py_buffer(b"a" * count)
    )


@pytest.mark.parametrize("kind", ["dictionary", "text"])
def test_an_arrow_file_that_points_outside_of_itself_is_refused(kind, tmp_path):
    """In a process of its own, which such a file could end."""
    table = pyarrow.table({"c": out_of_range(kind, 600), "y": np.zeros(600)})
    with pyarrow.OSFile(str(tmp_path / "rows.arrow"), "wb") as sink, pyarrow.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    code = (
        "import dpols\n"
        "made = dpols.FeatureMap({'c': dpols.CategoricalColumn(['a', 'b'])}, target=(-1, 1))\n"
        "model = dpols.PrivateLinearRegression(1.0, 1e-6, feature_map=made, bad_rows='zero')\n"
        "model.fit(dpols.read('rows.arrow', target='y'))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "is damaged or truncated" in done.stderr


def test_one_cell_far_below_does_not_make_rows_of_the_empty_ones_above(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("python_calamine")
    for blank in (3, 40):
        book = openpyxl.Workbook()
        for row in (["x", "y"], [0.5, 0.5], [0.5, None], [0.5, 0.5]):
            book.active.append(row)
        book.active.cell(4 + blank, 1, 0.5)
        book.save(tmp_path / "rows.xlsx")
        with pytest.raises(DataError, match="has an empty row between others"):
            read(tmp_path / "rows.xlsx", "y")


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "npy", "csv"])
def test_a_file_that_changes_while_a_pass_reads_it_ends_the_pass(suffix, tmp_path):
    path = WRITERS[suffix](tmp_path, arrow_table(numbers()))
    target = "x5" if suffix == "npy" else TARGET
    source = read(path, target)
    changed = []

    def kernel(features, target):
        changed.append(os.utime(path, ns=(0, 10**18 + len(changed))))
        return (features.sum(axis=0),)

    with pytest.raises(DataError, match="has changed since it was first read"):
        source.total(kernel)
    assert changed


def test_folders_that_are_too_deep_to_be_searched_are_refused(tmp_path, monkeypatch):
    def too_deep(*_):
        raise RecursionError

    monkeypatch.setattr(Path, "rglob", too_deep)  # what Python says of a thousand folders in each other
    with pytest.raises(DataError, match="nested too deeply"):
        read(tmp_path, "y")
