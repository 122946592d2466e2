"""Data sets as their public origin hands them out, for those that are not part of the data folder.

The text files of the UCI repository become what the Parquet files would hold: features first, and the target as the
literature takes it. Fixed splits are no part of them; without `<name>.folds.parquet`, rows are divided into ten
parts at random, but in the same way each time.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpols.errors import DataError, MissingExtraError

from .sources import Source
from .table import Array

SPLITS = 10


@dataclass(frozen=True)
class RawForm:
    """How a text file is laid out: with commas, and the target in the last column."""

    file: str
    columns: tuple[str, ...] | None  # None: the file has a header
    target: Callable[[Array], Array]


def _centred(values: Array) -> Array:
    return np.asarray(values - values.mean())


def _centred_log(values: Array) -> Array:
    return _centred(np.log1p(values))


RAW: dict[str, RawForm] = {
    "3droad": RawForm("3D_spatial_network.txt", ("OSM_ID", "LONGITUDE", "LATITUDE", "ALTITUDE"), _centred),
    "buzz": RawForm("Twitter.data", (*(f"x{i + 1}" for i in range(77)), "annotation"), _centred_log),
    "slice": RawForm("slice_localization_data.csv", None, _centred),
}


def read_raw(path: Path, source: Source) -> tuple[Array, Array, tuple[str, ...]]:
    """Return features, target and names of the features from the text file of a data set."""
    form = RAW[source.name]
    table = _read(path, form)
    if (table.num_rows, table.num_columns) != (source.rows, source.features + 1):
        raise DataError(
            f"{str(path)!r} has {table.num_rows} rows and {table.num_columns} columns; {source.name} must have "
            f"{source.rows} rows and {source.features + 1} columns, the target last."
        )
    columns = [np.asarray(column.to_numpy(), dtype=np.float64) for column in table.columns]
    if not all(np.isfinite(column).all() for column in columns):
        raise DataError(f"{str(path)!r} has a cell that is empty or not finite; {source.name} has none.")
    return np.column_stack(columns[:-1]), form.target(columns[-1]), tuple(table.column_names[:-1])


def made_folds(source: Source) -> Array:
    """Return for each row one of ten parts, of sizes that differ by one at most, the same each time."""
    digest = hashlib.sha256(f"folds/{source.name}".encode()).digest()
    folds = np.arange(source.rows) % SPLITS
    return np.asarray(np.random.default_rng(int.from_bytes(digest[:16])).permutation(folds))


def _read(path: Path, form: RawForm) -> Any:
    try:
        import pyarrow
        from pyarrow import csv
    except ImportError:
        raise MissingExtraError("pyarrow", "files") from None
    names = None if form.columns is None else list(form.columns)
    try:
        return csv.read_csv(path, read_options=csv.ReadOptions(column_names=names))
    except pyarrow.ArrowInvalid as error:
        raise DataError(f"{str(path)!r} is not the text file of the UCI repository: {error}.") from None
