"""A row of a CSV file is a line, read by itself: what stands in one changes neither others nor how many there are."""

import csv as python_csv
import io
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpols import Bounds, PrivateLinearRegression, read
from dpols.data.files import Stamp, csv
from dpols.errors import DataError, DpolsError

pytest.importorskip("pyarrow")
pytestmark = pytest.mark.extras

CELL = r'(?:"((?:[^"\r\n]|"")*)"|([^",\r\n]*))'
ROW = re.compile(f"{CELL},{CELL}")  # RFC 4180, without line breaks inside of values


def by_the_grammar(content):
    """The rows of two cells, or None where a line is none by itself; empty lines at the end are no rows."""
    lines = re.sub(r"\n$", "", re.sub(r"[\r\n]+\Z", "\n", content)).split("\n") if content.strip("\r\n") else []
    found = [ROW.fullmatch(line.removesuffix("\r")) for line in lines]
    if None in found:
        return None
    return [[quoted.replace('""', '"') if quoted is not None else plain for quoted, plain in pairs(m)] for m in found]


def pairs(match):
    cells = match.groups()
    return [cells[:2], cells[2:]]


def as_read(path, content, names=("a", "b")):
    """The rows of a file, all cells as text, or None where it is refused."""
    path.write_bytes((",".join(names) + "\n" + content).encode())
    file = Stamp.of(path)
    try:
        parts = csv.parts(file, names)
        tables = [list(csv.batches(file, part, names, text=names)) for part, n_rows in parts if n_rows]
    except DataError:
        return None
    rows = [list(row.values()) for batches in tables for batch in batches for row in batch.to_pylist()]
    assert len(rows) == sum(n_rows for _, n_rows in parts)
    return rows


@given(
    st.lists(st.sampled_from(['"', '""', ",", "\n", "\r\n", "\r", "x", "7", " ", "\f", "\v"]), max_size=24).map("".join)
)
@settings(max_examples=1500)
@example('1,"open\n2,3\n')
@example('1,"open\n2,and" closed\n')
@example('1,5 ft 10"\n2,3\n')
@example('1,"a" b\n')
@example('1, "a"\n')
@example('1,"a\nb"\n')
@example("1,a\rb\n")
@example("1,2\n\n3,4\n")
@example("1,2\n\n\n")
@example('"",""""')
@example("\r\n")
def test_lines_are_rows_or_the_file_is_refused(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "grammar.csv"
    expected = by_the_grammar(content)
    assert as_read(path, content) == expected


@given(st.lists(st.tuples(*[st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0"))] * 2), max_size=20))
@settings(max_examples=200)
def test_what_a_csv_writer_writes_is_read(tmp_path_factory, rows):
    written = io.StringIO()
    python_csv.writer(written).writerows(rows)
    path = tmp_path_factory.getbasetemp() / "written.csv"
    assert as_read(path, written.getvalue()) == [list(row) for row in rows]


@pytest.mark.parametrize("size", [1, 3, 7, 16, 50])
def test_parts_of_any_size_are_refused_alike(tmp_path, monkeypatch, size):
    monkeypatch.setattr(csv, "_TASK_BYTES", size)
    good = "".join(f'{i},"a ""quoted"", text {i}"\n' for i in range(20))
    assert as_read(tmp_path / "rows.csv", good) == by_the_grammar(good)
    for odd in ('"open', 'in"side', '"after" it', '"two\nlines"', "a\rreturn", "too,many", ""):
        lines = good.splitlines(keepends=True)
        lines[7] = f"7,{odd}\n" if odd else "\n"
        assert as_read(tmp_path / "rows.csv", "".join(lines)) is None
    twice = "".join(f"{i},{chr(34) + 'open' if i in (5, 12) else 'ok'}\n" for i in range(20))
    assert as_read(tmp_path / "rows.csv", twice) is None


def test_an_empty_line_is_a_missing_value_where_there_is_one_column(tmp_path):
    assert as_read(tmp_path / "rows.csv", "1\n\n3\n", names=("a",)) == [["1"], [""], ["3"]]
    path = tmp_path / "numbers.csv"
    path.write_text("a\n1\n\n3\n")
    ((features, _),) = read(path, columns=["a"]).blocks()
    assert str(features[:, 0].tolist()) == "[1.0, nan, 3.0]"


@pytest.mark.parametrize("start", ["", "\N{BYTE ORDER MARK}"])
def test_names_may_stand_in_quotation_marks(tmp_path, start):
    path = tmp_path / "rows.csv"
    path.write_text(f'{start}"a ""b"", c",y\r\n1,2\r\n', encoding="utf-8")
    assert read(path, "y").columns == ('a "b", c',)


@pytest.mark.parametrize("header", ['"x,y\n1,2', '"x\n",y\n1,2', 'x","y\n1,2', 'x"x,y\n1,2', '"x"x,y\n1,2', "x,y\r1,2"])
def test_a_header_is_a_line_too(tmp_path, header):
    path = tmp_path / "rows.csv"
    path.write_text(header + "\n")
    with pytest.raises(DataError, match="Parquet"):
        read(path)


def test_one_cell_of_a_column_that_is_not_used_hides_no_row(tmp_path):
    """Two people with a mark each would hide all rows between them."""
    model = PrivateLinearRegression(1.0, 1e-6, Bounds(features={"x": (0, 1)}, target=(0, 1)), bad_rows="zero")
    path = tmp_path / "rows.csv"
    for notes in ({}, {100: '"5 ft 10'}, {100: '5 ft 10"'}, {100: '"open', 900: 'closed"'}):
        lines = [f"{i % 7 / 7},{i % 7 / 7},{notes.get(i, 'ok')}" for i in range(1000)]
        path.write_text("\n".join(["x,y,note", *lines]) + "\n")
        if notes:
            with pytest.raises(DpolsError, match="a row must be a line") as caught:
                model.fit(read(path, "y", ["x"]))
            assert "ft" not in str(caught.value)
            assert not re.search("100|900", str(caught.value))
        else:
            assert model.fit(read(path, "y", ["x"])).privacy_report_.n_rows == 1000


def test_the_error_on_a_line_does_not_tell_how_many_values_it_has(tmp_path):
    texts = set()
    for more in (",9", ",9" * 17):
        path = tmp_path / "rows.csv"
        path.write_text(f"a,y\n1,2\n3,4{more}\n5,6\n")
        with pytest.raises(DataError, match="more or fewer values than the header, which has 2") as caught:
            list(read(path, "y").blocks())
        texts.add(str(caught.value))
    assert len(texts) == 1
