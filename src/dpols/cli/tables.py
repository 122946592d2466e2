"""Tables in files: what columns there are, and the columns that a command needs. Messages never quote a row."""

import csv
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import DataError, DataTypeError, MissingExtraError

_KINDS = (".csv", ".parquet")


def column_types(path: Path) -> dict[str, str | None]:
    """Return each column's name with why it cannot be used, or None where it can, from the header alone.

    A CSV file's header says nothing of types, so no column of one is ruled out. No row is read.
    """
    if _kind(path) == ".csv":
        return dict.fromkeys(_csv_header(path))
    schema = _parquet_schema(path)
    return {field.name: None if _holds_numbers(field.type) else str(field.type) for field in schema}


def read_columns(path: Path, names: Sequence[str]) -> Any:
    """Return the named columns, all numeric, as a pyarrow table in the order of ``names``."""
    header = _csv_header(path) if _kind(path) == ".csv" else _parquet_schema(path).names
    unknown = [name for name in names if name not in header]
    if unknown:
        raise DataError(f"{str(path)!r} has no column {_listed(unknown)}; its columns are {_listed(header)}.")
    repeated = [name for name in names if header.count(name) > 1]
    if repeated:
        raise DataError(f"{str(path)!r} has more than one column {_listed(repeated)}; names must be unique.")
    table = _read_csv(path, names, header) if _kind(path) == ".csv" else _read_parquet(path, names)
    text = [field.name for field in table.schema if not _holds_numbers(field.type)]
    if text:
        raise DataTypeError(
            f"column {_listed(text)} of {str(path)!r} does not hold numbers, or not everywhere. Correct it, encode it "
            "as one 0/1 column for each publicly known category, or leave it out."
        )
    return table.select(list(names))


def _kind(path: Path) -> str:
    """Return the suffix of a file that can be opened."""
    if path.suffix.lower() not in _KINDS:
        raise DataError(f"{str(path)!r} must end in .csv or .parquet; other formats are not read.")
    path.open("rb").close()  # says clearly what is wrong with a file that is missing or not readable
    return path.suffix.lower()


def _csv_header(path: Path) -> list[str]:
    try:
        with path.open("rb") as file:  # as bytes, since text is decoded ahead of what is read
            header = next(csv.reader(line.decode("utf-8-sig") for line in file), [])
    except (UnicodeDecodeError, csv.Error):
        raise DataError(f"{str(path)!r} is not CSV in UTF-8; convert it first.") from None
    if not header:
        raise DataError(f"{str(path)!r} is empty; its first line must name the columns.")
    if len(header) == 1 and re.search("[;\t|]", header[0]):
        raise DataError(f"{str(path)!r} names its columns as {header[0]!r}; only commas are read as separators.")
    return header


def _read_csv(path: Path, names: Sequence[str], header: Sequence[str]) -> Any:
    pyarrow = _pyarrow()
    from pyarrow import csv as arrow_csv

    try:
        # pyarrow settles types by the first block; a whole number there must not forbid fractions further down.
        chosen = arrow_csv.ConvertOptions(include_columns=list(names))
        with arrow_csv.open_csv(path, convert_options=chosen) as reader:
            guessed = reader.schema
        chosen.column_types = {
            field.name: pyarrow.float64() for field in guessed if _holds_numbers(field.type) and field.type != "bool"
        }
        return arrow_csv.read_csv(path, convert_options=chosen)
    except pyarrow.ArrowException as error:
        raise DataError(f"{str(path)!r} {_without_values(str(error), header)}") from None


def _without_values(message: str, header: Sequence[str]) -> str:
    """Say what pyarrow found wrong, without the values that its message quotes."""
    if found := re.search(r"In CSV column #(\d+)", message):
        name = header[int(found.group(1))]
        return f"has text in column {name!r} between its numbers. Correct it, or leave empty what is missing."
    if found := re.search(r"Expected (\d+) columns, got (\d+)", message):
        return f"has a line with {found.group(2)} values where the header has {found.group(1)}."
    return "is not well-formed CSV."


def _parquet_schema(path: Path) -> Any:
    pyarrow = _pyarrow()
    from pyarrow import parquet

    try:
        return parquet.read_schema(path)
    except (pyarrow.ArrowException, OSError):  # how pyarrow reports a damaged footer
        raise DataError(f"{str(path)!r} is not a Parquet file, or is damaged.") from None


def _read_parquet(path: Path, names: Sequence[str]) -> Any:
    pyarrow = _pyarrow()
    from pyarrow import parquet

    try:
        return parquet.ParquetFile(path).read(columns=list(names))
    except (pyarrow.ArrowException, OSError):  # how pyarrow reports damaged pages
        raise DataError(f"{str(path)!r} cannot be read as Parquet; it is damaged.") from None


def _holds_numbers(kind: Any) -> bool:
    from pyarrow import types

    checks = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    return any(check(kind) for check in checks)


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise MissingExtraError("pyarrow", "files") from None
    return pyarrow


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names)
