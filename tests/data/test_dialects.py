"""Text files as they come: separators, decimal commas, encodings and compression, told by headers alone."""

import gzip

import numpy as np
import pytest

from dpols import CategoricalColumn, FeatureMap, NumericColumn, read
from dpols.errors import DataError, DataTypeError
from dpols.feature_map import mapped_files

pa = pytest.importorskip("pyarrow")
pytestmark = pytest.mark.extras

MAP = FeatureMap(
    {"größe": NumericColumn(0, 100), "ort": CategoricalColumn(["north", "Köln", "Mâcon"])}, target=(0, 100)
)


def lines(separator=",", decimal=".", rows=300):
    """The table that every file of these tests holds: a header with an umlaut, numbers, and text."""
    made = [separator.join(("größe", "ort", "pay"))]
    for i in range(rows):
        numbers = (f"{i % 90}.{i % 10}".replace(".", decimal), f"{i % 50}.5".replace(".", decimal))
        made.append(separator.join((numbers[0], ("north", "Köln", "Mâcon")[i % 3], numbers[1])))
    return "\n".join(made) + "\n"


def zstd(content):
    buffer = pa.BufferOutputStream()
    with pa.CompressedOutputStream(buffer, "zstd") as packed:
        packed.write(content)
    return buffer.getvalue().to_pybytes()


def rows_of(path, **how):
    source = mapped_files(MAP, read(path, "pay", ["größe", "ort"], **how))
    blocks = list(source.blocks())
    return np.column_stack((np.concatenate([x for x, _ in blocks]), np.concatenate([y for _, y in blocks])))


@pytest.fixture
def expected(tmp_path):
    (tmp_path / "plain.csv").write_text(lines(), encoding="utf-8")
    return rows_of(tmp_path / "plain.csv")


@pytest.mark.parametrize(
    ("name", "content", "how"),
    [
        ("a.csv", lines(";", ",").encode(), {}),
        ("a.csv", lines(";", ",").encode("latin-1"), {}),
        ("a.csv", lines(";", ".").encode("latin-1"), {"decimal": "."}),
        ("a.csv", lines(";", ",").encode("latin-1"), {"encoding": "latin-1"}),
        ("a.csv", lines().encode("utf-8-sig"), {}),
        ("a.tsv", lines("\t").encode("cp1252"), {}),
        ("a.tsv", lines("\t", ",").encode(), {"decimal": ","}),
        ("a.txt", lines("|").encode(), {}),
        ("a.csv", lines("|").encode(), {"sep": "|"}),
        ("a.csv", lines("\t").encode(), {"sep": "tab"}),
        ("a.csv.gz", gzip.compress(lines(";", ",").encode("latin-1")), {}),
        ("a.tsv.gz", gzip.compress(lines("\t").encode()), {}),
        ("a.csv.zst", zstd(lines().encode()), {}),
        ("A.CSV.GZ", gzip.compress(lines().encode()[:-1] + b"\r\n\r\n\n"), {}),
    ],
)
def test_a_table_is_the_same_however_it_is_written(tmp_path, expected, name, content, how):
    (tmp_path / name).write_bytes(content)
    assert np.array_equal(rows_of(tmp_path / name, **how), expected)


@pytest.mark.parametrize("end", [b"\n\n", b"\n", b""], ids=["empty lines", "a line break", "nothing"])
@pytest.mark.parametrize("size", [64, 1000, 1 << 24])
def test_compressed_lines_are_whole_whatever_the_size_of_a_run(tmp_path, monkeypatch, expected, size, end):
    from dpols.data.files import csv

    monkeypatch.setattr(csv, "_TASK_BYTES", size)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(lines().encode().rstrip(b"\n") + end))
    assert np.array_equal(rows_of(tmp_path / "a.csv.gz"), expected)


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('größe,ort,pay\n1,"north,2\n3,north",4\n', "not closed in its line"),
        ("größe,ort,pay\n1,north,2\n\n3,north,4\n", "an empty line"),
        ("größe,ort,pay\n1,north,2,3\n", "more or fewer values than the header"),
        ("größe,ort,pay\n1,north,viel\n", r"'pay'.*holds text that is no numbers"),
    ],
)
def test_compressed_lines_are_as_strict_as_others(tmp_path, pack, content, message):
    name = "a.csv.gz" if pack is gzip.compress else "a.csv.zst"
    (tmp_path / name).write_bytes(pack(content.encode()))
    with pytest.raises((DataError, DataTypeError), match=message):
        rows_of(tmp_path / name)


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_a_truncated_file_is_refused(tmp_path, pack):
    name = "a.csv.gz" if pack is gzip.compress else "a.csv.zst"
    packed = pack(lines(rows=20_000).encode())
    (tmp_path / name).write_bytes(packed[: len(packed) // 2])
    with pytest.raises(DataError, match="damaged or truncated"):
        rows_of(tmp_path / name)


def test_an_open_quotation_mark_swallows_no_row_whatever_the_separator(tmp_path):
    for separator in ";\t|":
        (tmp_path / "a.csv").write_text(f'a{separator}b\n1{separator}"x\n2{separator}y"\n')
        with pytest.raises(DataError, match="not closed in its line"):
            read(tmp_path / "a.csv", "b")
    (tmp_path / "a.csv").write_text('a;b\n1;"x;y"\n2;"z"\n')
    assert read(tmp_path / "a.csv", "a").n_rows == 2


def test_each_text_is_read_by_itself(tmp_path):
    """A text that is no UTF-8 changes neither how others are read nor whether the file is read."""
    rows = [b"1,K\xf6ln,1", "2,Köln,2".encode(), b"3,\xff\xfe\x81,3", b"4,north,4"]
    (tmp_path / "mixed.csv").write_bytes(b"\n".join(["größe,ort,pay".encode(), *rows]) + b"\n")
    found = rows_of(tmp_path / "mixed.csv")
    assert found[:, 1].tolist() == [1, 1, 0, 0]
    for place in range(4):
        (tmp_path / "one.csv").write_bytes(b"\n".join(["größe,ort,pay".encode(), rows[place]]) + b"\n")
        assert np.array_equal(rows_of(tmp_path / "one.csv"), found[place : place + 1])


def test_one_row_does_not_change_how_others_are_read(tmp_path, expected):
    """Whatever a row holds, the header decides the separator, the decimal mark and the encoding."""
    for row in (b"1;1;1;1;1,north,2", "5|5|5|5|5,Köln,2".encode(), b"5,K\xf6\t\t\t\tln,2"):
        (tmp_path / "a.csv").write_bytes(lines().encode() + row + b"\n")
        try:
            found = rows_of(tmp_path / "a.csv")
        except DataTypeError:
            continue
        assert np.array_equal(found[:-1], expected)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"sep": "::"}, "must be one of , ; | or tab"),
        ({"decimal": "'"}, "must be . or a comma"),
        ({"sep": ",", "decimal": ","}, "both a comma"),
        ({"decimal": ","}, "commas separate the values of the header"),
        ({"encoding": "utf-16"}, "in UTF-8"),
        ({"encoding": "shift-jis"}, "in UTF-8"),
        ({"encoding": "martian"}, "is not known"),
        ({"sep": ";"}, "leave out the separator"),
    ],
)
def test_what_is_said_of_a_file_must_make_sense(tmp_path, how, message):
    (tmp_path / "a.csv").write_text(lines(), encoding="utf-8")
    with pytest.raises(DataError, match=message):
        rows_of(tmp_path / "a.csv", **how)


def test_other_text_is_refused_with_the_step_that_helps(tmp_path):
    (tmp_path / "a.csv").write_text(lines(), encoding="utf-16")
    with pytest.raises(DataError, match='"CSV UTF-8"'):
        read(tmp_path / "a.csv", "pay")
    (tmp_path / "a.csv").write_text(lines(";", "."), encoding="utf-8")
    with pytest.raises(DataTypeError, match=r'decimal mark is not a comma by decimal="\." \(--decimal \.\)'):
        rows_of(tmp_path / "a.csv")
    (tmp_path / "a.tsv").write_text(lines("\t", ","), encoding="utf-8")
    with pytest.raises(DataTypeError, match=r'decimal mark is not a point by decimal="," \(--decimal ,\)'):
        rows_of(tmp_path / "a.tsv")


def test_excel_and_stata_hold_the_same_table(tmp_path):
    pandas, calamine = pytest.importorskip("pandas"), pytest.importorskip("python_calamine")
    pytest.importorskip("openpyxl")
    assert calamine is not None
    table = pandas.read_csv(pandas.io.common.StringIO(lines().replace("größe", "size")))
    made = FeatureMap({"size": NumericColumn(0, 100), "ort": MAP.columns["ort"]}, target=(0, 100))
    table.loc[3, "ort"] = " KÖLN "
    table.to_parquet(tmp_path / "a.parquet")
    table.to_excel(tmp_path / "a.xlsx", index=False)
    table.to_stata(tmp_path / "a.dta", write_index=False)
    table.assign(ort=table["ort"].astype("category")).to_stata(tmp_path / "b.dta", write_index=False)
    found = []
    for name in ("a.parquet", "a.xlsx", "a.dta", "b.dta"):
        blocks = list(mapped_files(made, read(tmp_path / name, "pay", ["size", "ort"])).blocks())
        found.append(np.concatenate([np.column_stack(block) for block in blocks]))
    assert all(np.array_equal(found[0], other) for other in found[1:])
    for name in ("a.xlsx", "a.dta"):
        with pytest.raises(DataTypeError, match="public categories"):
            read(tmp_path / name, "pay", ["size", "ort"]).check()
