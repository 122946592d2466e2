"""CSV: each task is a run of whole lines, found by its bytes, so that all cores parse one file side by side.

A row is a line, whatever stands in others.
"""

import codecs
import csv
import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, BinaryIO

import numpy as np

from ...errors import DataError, DataTypeError
from ..arrow import BLOCK_ROWS, holds_numbers, pyarrow
from ..threads import map_blocks
from .task import Header, Part, Stamp

_TASK_BYTES = 1 << 24
_LONGEST_LINE = 1 << 26
_QUOTE, _RETURN, _NEWLINE = b'"\r\n'
_BEFORE, _AFTER = (np.isin(np.arange(256), list(signs)) for signs in (b',\n"', b',\r\n"'))
_REMEDY = "Write the file anew by a tool that knows CSV, with spaces for line breaks in texts, or as Parquet."


def header(file: Stamp) -> Header:
    """Return the names in the first line, which says nothing of types; no row is read."""
    return [(name, None) for name in _names_and_start(file)[0]]


def parts(file: Stamp, names: Sequence[str]) -> list[Part]:
    """Return runs of lines as (first byte, last byte), each with its number of rows; ill-formed lines are refused."""
    all_names, start = _names_and_start(file)
    with open(file.path, "rb") as lines:
        runs = list(_runs(file, lines, start))
    return list(zip(runs, map_blocks(partial(_count, file, len(all_names)), runs), strict=True))


def batches(
    file: Stamp, part: tuple[int, ...], names: Sequence[str], *, threads: bool = False, text: Sequence[str] = ()
) -> Iterator[Any]:
    """Yield record batches of some lines; ``threads`` converts columns side by side."""
    table = _parsed(file, _names_and_start(file)[0], names, part, threads=threads, text=text)
    wrong = [field.name for field in table.schema if field.name not in text and not holds_numbers(field.type)]
    if wrong:
        raise DataTypeError(
            f"column {', '.join(map(repr, wrong))} of {file.path!r} holds text that is no numbers, or not everywhere. "
            "Correct it and leave empty what is missing, encode it as one 0/1 column for each publicly known category, "
            "or leave it out."
        )
    yield from table.to_batches(max_chunksize=BLOCK_ROWS)


def in_memory(file: Stamp, names: Sequence[str], text: Sequence[str]) -> Any:
    """Return the named columns of all lines as one table: ``text`` as it stands, and others as doubles."""
    arrow = pyarrow()
    all_names = _names_and_start(file)[0]
    if any(all_names.count(name) > 1 for name in names):
        raise DataError(f"{file.path!r} has more than one column of a name that is used; names must be unique.")
    schema = arrow.schema([(name, arrow.string() if name in text else arrow.float64()) for name in names])

    def table(run: tuple[int, ...]) -> Any:
        return arrow.Table.from_batches(batches(file, run, names, text=text)).cast(schema, safe=False)

    runs = [run for run, n_rows in parts(file, names) if n_rows]
    return arrow.concat_tables([schema.empty_table(), *map_blocks(table, runs)])


def _names_and_start(file: Stamp) -> tuple[list[str], int]:
    """Return the names in the first line, and where the second one begins."""
    with open(file.path, "rb") as lines:
        first = lines.readline(_LONGEST_LINE)
    start = len(first)
    _check_length(file, first)
    first = first.removeprefix(codecs.BOM_UTF8)
    _check_quotes(file, first.removesuffix(b"\n") + b"\n")
    try:
        names = next(csv.reader([first.decode()]), [])
    except (UnicodeDecodeError, csv.Error):
        raise DataError(f"{file.path!r} is not CSV in UTF-8; convert it first.") from None
    if not names:
        raise DataError(f"{file.path!r} is empty; its first line must name the columns.")
    if len(names) == 1 and re.search("[;\t|]", names[0]):
        raise DataError(f"{file.path!r} names its columns as {names[0]!r}; only commas are read as separators.")
    return names, start


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


def _count(file: Stamp, n_columns: int, run: tuple[int, int]) -> int:
    content = _lines(file, n_columns, run)
    _check_quotes(file, content)
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


def _check_quotes(file: Stamp, lines: bytes) -> None:
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
    if not (_BEFORE[codes[quotes[::2] - 1]].all() and _AFTER[codes[quotes[1::2] + 1]].all()):
        raise DataError(
            f"{file.path!r} has a quotation mark in the middle of a value; by RFC 4180 it must be doubled, and the "
            f"value stand in quotation marks. {_REMEDY}"
        )


def _parsed(
    file: Stamp,
    all_names: Sequence[str],
    names: Sequence[str],
    run: tuple[int, ...],
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

    content = _lines(file, len(all_names), run)
    # One block, so that a column has one type in all of it.
    reading = arrow_csv.ReadOptions(column_names=all_names, use_threads=threads, block_size=len(content) + 1)
    parsing = arrow_csv.ParseOptions(ignore_empty_lines=False)
    converting = arrow_csv.ConvertOptions(
        include_columns=list(names), column_types={name: arrow.string() for name in text if name in names}
    )
    try:
        return arrow_csv.read_csv(arrow.BufferReader(content), reading, parsing, converting)
    except arrow.ArrowException as error:
        file.check()
        raise DataError(f"{file.path!r} {_without_values(str(error))}") from None


def _without_values(message: str) -> str:
    """Say what pyarrow found wrong, without the values that its message quotes."""
    if found := re.search(r"Expected (\d+) columns, got (\d+)", message):
        return f"has a line with {found.group(2)} values where the header has {found.group(1)}. Correct it."
    return "is not well-formed CSV. Correct it."
