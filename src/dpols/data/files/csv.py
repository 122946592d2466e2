"""CSV: each task is a run of whole lines, found by its bytes, so that all cores parse one file side by side.

A row is a line, whatever stands in others. A compressed file is one task, and is unpacked anew in each pass.
"""

import codecs
import csv
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from typing import Any, BinaryIO

import numpy as np

from ...errors import DataError, DataTypeError
from ..arrow import BLOCK_ROWS, holds_numbers, pyarrow
from ..source import Array
from ..threads import map_blocks
from .compression import compression_of, inner_suffix, unpacked_runs, unpacked_start
from .dialect import SEPARATORS, Dialect
from .task import Header, Part, Stamp

_TASK_BYTES = 1 << 24
_LONGEST_LINE = 1 << 26
_QUOTE, _RETURN, _NEWLINE = b'"\r\n'
_REMEDY = "Write the file anew by a tool that knows CSV, with spaces for line breaks in texts, or as Parquet."


def header(file: Stamp) -> Header:
    """Return the names in the first line, which says nothing of types; no row is read."""
    return [(name, None) for name in _names_and_start(file)[0]]


def parts(file: Stamp, names: Sequence[str]) -> list[Part]:
    """Return runs of lines as (first byte, last byte), each with its number of rows; ill-formed lines are refused."""
    all_names, start, dialect = _names_and_start(file)
    if compression_of(file.path) is not None:
        contents = unpacked_runs(file, start, _TASK_BYTES, _LONGEST_LINE, n_columns=len(all_names))
        return [((start,), sum(_count(file, len(all_names), dialect, content) for content in contents))]
    with open(file.path, "rb") as lines:
        runs = list(_runs(file, lines, start))
    count = partial(_count_run, file, len(all_names), dialect)
    return list(zip(runs, map_blocks(count, runs), strict=True))


def batches(
    file: Stamp, part: tuple[int, ...], names: Sequence[str], *, threads: bool = False, text: Sequence[str] = ()
) -> Iterator[Any]:
    """Yield record batches of some lines; ``threads`` converts columns side by side."""
    all_names, start, dialect = _names_and_start(file)
    if compression_of(file.path) is None:
        contents: Iterator[bytes] = iter([_lines(file, len(all_names), part)])
    else:
        contents = unpacked_runs(file, start, _TASK_BYTES, _LONGEST_LINE, n_columns=len(all_names))
    for content in contents:
        table = _parsed(file, dialect, all_names, names, content, threads=threads, text=text)
        wrong = [field.name for field in table.schema if field.name not in text and not holds_numbers(field.type)]
        if wrong:
            raise DataTypeError(_not_numbers(file, dialect, wrong))
        yield from table.to_batches(max_chunksize=BLOCK_ROWS)


def in_memory(file: Stamp, names: Sequence[str], text: Sequence[str]) -> Any:
    """Return the named columns of all lines as one table: ``text`` as it stands, and others as doubles."""
    arrow = pyarrow()
    all_names = _names_and_start(file)[0]
    if any(all_names.count(name) > 1 for name in names):
        raise DataError(f"{file.path!r} has more than one column of a name that is used; names must be unique.")
    schema = arrow.schema([(name, arrow.string() if name in text else arrow.float64()) for name in names])

    def table(run: tuple[int, ...]) -> Any:
        found = [arrow.Table.from_batches([batch]) for batch in batches(file, run, names, text=text)]
        return arrow.concat_tables([one.cast(schema, safe=False) for one in found])

    runs = [run for run, n_rows in parts(file, names) if n_rows]
    return arrow.concat_tables([schema.empty_table(), *map_blocks(table, runs)])


def _not_numbers(file: Stamp, dialect: Dialect, wrong: Sequence[str]) -> str:
    comma = dialect.decimal == ","
    mark = ("a comma", 'decimal="."', "--decimal .") if comma else ("a point", 'decimal=","', "--decimal ,")
    other = (
        f", or read numbers whose decimal mark is not {mark[0]} by {mark[1]} ({mark[2]})"
        if dialect.separator != ","
        else ""
    )
    return (
        f"column {', '.join(map(repr, wrong))} of {file.path!r} holds text that is no numbers, or not everywhere. "
        "Declare its public categories (categories = [...] in the bounds file, dpols.CategoricalColumn in Python), or "
        f"leave it out; or correct it, and leave empty what is missing{other}."
    )


def _names_and_start(file: Stamp) -> tuple[list[str], int, Dialect]:
    """Return the names in the first line, where the second one begins, and how the file is written."""
    return _first_line(file, file.dialect)


@lru_cache(maxsize=64)
def _first_line(file: Stamp, given: Dialect) -> tuple[list[str], int, Dialect]:
    if compression_of(file.path) is None:
        with open(file.path, "rb") as lines:
            first = lines.readline(_LONGEST_LINE)
    else:
        first = unpacked_start(file, _LONGEST_LINE)
    start = len(first)
    _check_length(file, first)
    if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in first:
        raise DataError(
            f"{file.path!r} is not text in UTF-8 or Latin-1, but in UTF-16 or no text at all; save it anew, in a "
            'spreadsheet as "CSV UTF-8".'
        )
    first = first.removeprefix(codecs.BOM_UTF8)
    try:
        dialect = given.settled(first, inner_suffix(file.path))
    except DataError as error:
        raise DataError(f"{file.path!r}: {error}") from None
    _check_quotes(file, dialect, first.removesuffix(b"\n") + b"\n")
    try:
        names = next(csv.reader([dialect.text(first)], delimiter=dialect.separator or ","), [])
    except csv.Error:
        raise DataError(f"{file.path!r} has a first line that is not CSV; it must name the columns.") from None
    if not names:
        raise DataError(f"{file.path!r} is empty; its first line must name the columns.")
    if len(names) == 1 and (other := re.search("[,;\t|]", names[0])):
        raise DataError(
            f"{file.path!r} names its columns as {names[0]!r}, which {SEPARATORS[other[0]]} separates, and not "
            f"{SEPARATORS[dialect.separator or ',']}; leave out the separator, which the header shows."
        )
    return [name.strip() for name in names], start, dialect


def _runs(file: Stamp, lines: BinaryIO, start: int) -> Iterator[tuple[int, int]]:
    """Yield the first and last byte of runs of whole lines."""
    while start < file.size:
        lines.seek(start + _TASK_BYTES)
        rest = lines.readline(_LONGEST_LINE)
        _check_length(file, rest)
        stop = min(start + _TASK_BYTES + len(rest), file.size)
        yield start, stop
        start = stop


def _check_length(file: Stamp, line: bytes) -> None:
    if len(line) == _LONGEST_LINE:
        raise DataError(f"{file.path!r} has a line of {_LONGEST_LINE >> 20} MiB or more. Correct it.")


def _count_run(file: Stamp, n_columns: int, dialect: Dialect, run: tuple[int, int]) -> int:
    return _count(file, n_columns, dialect, _lines(file, n_columns, run))


def _count(file: Stamp, n_columns: int, dialect: Dialect, content: bytes) -> int:
    _check_quotes(file, dialect, content)
    codes = np.frombuffer(content, dtype=np.uint8)
    ends = codes == _NEWLINE
    after_end = np.roll(ends, 1)  # the last sign is a newline, so that the first one begins a line, too
    if n_columns > 1 and (after_end & (ends | (codes == _RETURN))).any():
        raise DataError(f"{file.path!r} has an empty line where the header has {n_columns} values. Correct it.")
    return int(np.count_nonzero(ends))


def _lines(file: Stamp, n_columns: int, run: tuple[int, ...]) -> bytes:
    """Return whole lines of a file. Where there are several columns, empty lines at its end are none."""
    start, stop = run
    with open(file.path, "rb") as lines:
        lines.seek(start)
        content = lines.read(stop - start)
    if stop == file.size and n_columns > 1:
        content = content.rstrip(b"\r\n")
    return content if content.endswith(b"\n") or not content else content + b"\n"


@lru_cache(maxsize=8)
def _around_marks(separator: str) -> tuple[Array, Array]:
    """Return which bytes may stand before a mark that opens a value, and after one that closes it."""
    before, after = (separator.encode() + signs for signs in (b'\n"', b'\r\n"'))
    return np.isin(np.arange(256), list(before)), np.isin(np.arange(256), list(after))


def _check_quotes(file: Stamp, dialect: Dialect, lines: bytes) -> None:
    """Refuse lines that are no rows by themselves; the last one ends with a newline, too.

    By RFC 4180 a quotation mark opens a value as its first sign, closes it as its last one, is doubled inside, and
    stands in no other value. Beyond that, a line break inside a value is refused: a mark that someone left open would
    swallow the rows up to the next one, and which rows there are would hang on one of them.
    """
    codes = np.frombuffer(lines, dtype=np.uint8)
    if b"\r" in lines and not (codes[np.flatnonzero(codes == _RETURN) + 1] == _NEWLINE).all():
        raise DataError(f"{file.path!r} has a carriage return that ends no line. {_REMEDY}")
    if b'"' not in lines:
        return
    places = np.flatnonzero((codes == _QUOTE) | (codes == _NEWLINE))
    marks = codes[places] == _QUOTE
    odd = np.cumsum(marks, dtype=np.uint8) % 2 == 1  # in number, up to and with this one
    if odd[~marks].any():
        raise DataError(
            f"{file.path!r} has a quotation mark that is not closed in its line, or a line break inside of marks; a "
            f"row must be a line. {_REMEDY}"
        )
    quotes = places[marks]
    before, after = _around_marks(dialect.separator or ",")
    if not (before[codes[quotes[::2] - 1]].all() and after[codes[quotes[1::2] + 1]].all()):
        raise DataError(
            f"{file.path!r} has a quotation mark in the middle of a value; by RFC 4180 it must be doubled, and the "
            f"value stand in quotation marks. {_REMEDY}"
        )


def _parsed(
    file: Stamp,
    dialect: Dialect,
    all_names: Sequence[str],
    names: Sequence[str],
    content: bytes,
    *,
    threads: bool,
    text: Sequence[str] = (),
) -> Any:
    """Return the named columns of some lines as a table: text where it is asked for, else what pyarrow takes it for.

    pyarrow judges by all lines at once. For numbers that makes no difference but whether they are refused; the meaning
    of a text such as "007" or "NA" would depend on other rows.
    """
    arrow = pyarrow()
    from pyarrow import csv as arrow_csv

    plain = dialect.is_utf8(content)
    kind = arrow.string() if plain else arrow.binary()
    # One block, so that a column has one type in all of it.
    reading = arrow_csv.ReadOptions(column_names=all_names, use_threads=threads, block_size=len(content) + 1)
    parsing = arrow_csv.ParseOptions(delimiter=dialect.separator, ignore_empty_lines=False)
    converting = arrow_csv.ConvertOptions(
        include_columns=list(names),
        column_types={name: kind for name in text if name in names},
        decimal_point=dialect.decimal,
    )
    try:
        table = arrow_csv.read_csv(arrow.BufferReader(content), reading, parsing, converting)
    except arrow.ArrowException as error:
        file.check()
        raise DataError(f"{file.path!r} {_without_values(str(error))}") from None
    for name in () if plain else (name for name in text if name in names):
        table = table.set_column(table.schema.get_field_index(name), name, _decoded(table.column(name), dialect))
    return table


def _decoded(column: Any, dialect: Dialect) -> Any:
    """Return a column of bytes as text, each value by itself."""
    arrow = pyarrow()
    coded = column.combine_chunks().dictionary_encode()
    coded = coded.combine_chunks() if isinstance(coded, arrow.ChunkedArray) else coded
    words = arrow.array([dialect.text(value) for value in coded.dictionary.to_pylist()], arrow.string())
    return words.take(coded.indices)


def _without_values(message: str) -> str:
    """Say what pyarrow found wrong, without the values that its message quotes."""
    if found := re.search(r"Expected (\d+) columns, got", message):
        return f"has a line with more or fewer values than the header, which has {found.group(1)}. Correct it."
    return "is not well-formed CSV. Correct it."
