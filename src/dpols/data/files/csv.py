"""CSV: each task is a run of whole lines, found by its bytes, so that all cores parse one file side by side."""

import csv
import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, BinaryIO

from ...errors import DataError, DataTypeError
from ..arrow import BLOCK_ROWS, holds_numbers, pyarrow
from ..threads import map_blocks
from .task import Header, Part, Stamp

_TASK_BYTES = 1 << 24
_LONGEST_LINE = 1 << 26


def header(file: Stamp) -> Header:
    """Return the names in the first line, which says nothing of types; no row is read."""
    return [(name, None) for name in _names_and_start(file)[0]]


def parts(file: Stamp, names: Sequence[str]) -> list[Part]:
    """Return runs of lines as (first byte, last byte), each with its number of rows."""
    all_names, start = _names_and_start(file)
    with open(file.path, "rb") as lines:
        runs = list(_runs(file, lines, start))
    one = [name for name in names if name in all_names][:1]
    return list(zip(runs, map_blocks(partial(_count, file, all_names, one), runs), strict=True))


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


def _names_and_start(file: Stamp) -> tuple[list[str], int]:
    """Return the names in the first line, and where the second one begins."""
    with open(file.path, "rb") as lines:
        try:  # line by line as bytes, since text is decoded ahead of what is read
            limited = iter(lambda: lines.readline(_LONGEST_LINE).decode("utf-8-sig"), "")
            names = next(csv.reader(limited), [])
        except (UnicodeDecodeError, csv.Error):
            raise DataError(f"{file.path!r} is not CSV in UTF-8; convert it first.") from None
        start = lines.tell()
    if not names:
        raise DataError(f"{file.path!r} is empty; its first line must name the columns.")
    if len(names) == 1 and re.search("[;\t|]", names[0]):
        raise DataError(f"{file.path!r} names its columns as {names[0]!r}; only commas are read as separators.")
    return names, start


def _runs(file: Stamp, lines: BinaryIO, start: int) -> Iterator[tuple[int, int]]:
    """Yield the first and last byte of runs of whole lines.

    A newline ends a line where the quotation marks before it are even in number; others lie inside a value.
    """
    while start < file.size:
        lines.seek(start)
        read = lines.read(_TASK_BYTES)
        odd = read.count(b'"') % 2 == 1
        stop = start + len(read)
        while line := lines.readline(_LONGEST_LINE):
            stop += len(line)
            odd ^= line.count(b'"') % 2 == 1
            if not odd and line.endswith(b"\n"):
                break
            if stop - start > _TASK_BYTES + _LONGEST_LINE:
                raise DataError(
                    f"{file.path!r} has a line of more than {_LONGEST_LINE >> 20} MiB, or a quotation mark that is "
                    "never closed. Correct it."
                )
        yield start, stop
        start = stop


def _count(file: Stamp, all_names: Sequence[str], names: Sequence[str], run: tuple[int, int]) -> int:
    return int(_parsed(file, all_names, names, run, threads=False).num_rows)


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

    start, stop = run
    with open(file.path, "rb") as lines:
        lines.seek(start)
        content = lines.read(stop - start)
    # One block, since pyarrow would cut others at newlines inside of values.
    reading = arrow_csv.ReadOptions(column_names=all_names, use_threads=threads, block_size=len(content) + 1)
    parsing = arrow_csv.ParseOptions(newlines_in_values=True)
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
