"""Tables in files: read as `dpols.read` and the commands read them. No message may quote a row."""

import csv
import gzip
import importlib
import io
import itertools
import shutil
import tomllib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from dpols.data.files import column_types, read
from dpols.data.files import csv as csv_files
from dpols.data.source import Total
from dpols.errors import DpolsError

from .guided import NeverFed, WrongResult, require
from .seeds import CANARY

_SMALL: dict[str, Any] = {"_TASK_BYTES": 48, "_LONGEST_LINE": 200}  # so that small files are cut into many parts
_DEEPEST = 200  # folders in folders, beyond which Python cannot take them away again
_counts = itertools.count()  # other names for other contents: headers are remembered by name, size and time


def feed_file(suffix: str) -> Callable[[bytes, Path], None]:
    """Return how a file with this suffix is fed."""

    def feed(data: bytes, folder: Path) -> None:
        path = folder / f"{next(_counts)}{suffix}"
        path.write_bytes(data)
        columns: dict[str, str | None] = {}
        try:
            columns = column_types(path)
            _check_template(columns)
            whole = _passes(path, list(columns))
            if suffix == ".csv":
                with mock.patch.multiple(csv_files, **_SMALL):
                    _require_same(whole, _passes(path, list(columns)))
                _require_same(whole, _packed(path, data, list(columns)))
        except DpolsError as error:
            secret = CANARY.decode()
            require(secret not in str(error) or secret in _header(data, columns), "a row is quoted")
            raise
        finally:
            path.unlink()

    return feed


def _packed(path: Path, data: bytes, names: list[str]) -> Total:
    """Make passes over the same file, compressed."""
    packed = path.with_suffix(".csv.gz")
    packed.write_bytes(gzip.compress(data, 1))
    try:
        return _passes(packed, names)
    finally:
        packed.unlink()


def feed_folder(data: bytes, folder: Path) -> None:
    """Read a folder whose files have the names that the input's lines give; each holds one row."""
    root = folder / f"folder{next(_counts)}"
    root.mkdir()
    try:
        for line in data.split(b"\n")[:6]:
            path = root.joinpath(*_parts(line))
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("a,y\n1,2\n", encoding="utf-8")
            except (OSError, ValueError):
                raise NeverFed from None  # no name that a file can have
        names = list(column_types(root))
        source = read(root, target="y")
        require(set(source.columns) | {"y"} == set(names), "columns that are not listed")
        found = source.total(_sums)
        require(found.n_rows == source.n_rows == len(source.tasks), "rows are lost")
    finally:
        shutil.rmtree(root)


def _parts(line: bytes) -> list[str]:
    parts = [part for part in line.decode("utf-8", "replace").split("/") if part not in ("", ".", "..")]
    return parts[-_DEEPEST:] or ["data.csv"]


def _check_template(columns: dict[str, str | None]) -> None:
    """Check that the bounds file to fill in is TOML of these columns, and no others."""
    make = importlib.import_module("dpols.cli.bounds_file").bounds_template
    for typed in (False, True) if columns else ():
        text = make(columns, list(columns)[-1], typed=typed)
        found = tomllib.loads(text).get("features", {})
        require(set(found) <= set(columns), "a template of other columns")


def _passes(path: Path, names: list[str]) -> Total:
    """Make two passes over a file as a fit does, and read it as the commands do; return the sums of the columns."""
    source = read(path, target=names[-1] if names else None)
    for columns in (names, names[0]):
        with suppress(DpolsError):
            read(path, target=names[-1], columns=columns)
            raise WrongResult("a target among the features, or a name for a list")
    first = source.total(_sums)
    require(first.n_rows == source.n_rows, "a pass over another number of rows")
    _require_same(first, source.total(_sums))
    table = importlib.import_module("dpols.cli.tables").read_columns(path, names)
    require(table.column_names == names and table.num_rows == source.n_rows, "a table of other columns or rows")
    return first


def _require_same(one: Total, other: Total) -> None:
    require(one.n_rows == other.n_rows, "passes over different numbers of rows")
    for a, b in zip(one.values, other.values, strict=True):
        require(np.allclose(a, b, rtol=1e-9, equal_nan=True), "passes over different values")


def _sums(features: Any, target: Any) -> tuple[Any, ...]:
    if features.dtype not in (np.float32, np.float64) or features.shape[0] != len(target):
        raise WrongResult("blocks that are no rows of numbers")
    with np.errstate(all="ignore"):
        return features.sum(axis=0, dtype=np.float64), np.asarray(target.sum())


def _header(data: bytes, columns: dict[str, str | None]) -> str:
    """Return the text that names columns, also where it was refused."""
    try:
        return str([*columns, *next(csv.reader(io.StringIO(data.decode("utf-8", "replace"))), [])])
    except csv.Error:
        return str(columns)
