"""Data sets in Parquet files: where they are looked for, and whether they are the right ones."""

import hashlib
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from dpols.errors import DataError, MissingExtraError

from .sources import Source
from .table import Array, Dataset

FOLDER_VARIABLE = "DPOLS_DATA"


class UnavailableError(DataError, FileNotFoundError):
    """A data set's file is in none of the folders where it is looked for."""


def cache_folder() -> Path:
    """Return the user's cache folder for data sets, by the custom of the platform."""
    home = Path.home()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "dpols" / "Cache"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "dpols"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "dpols"


def load_files(source: Source) -> Dataset:
    """Read a data set's files, after checking that they hold what the table says."""
    path = _find(source, source.file)
    table = _read_parquet(path, source.sha256)
    if table.num_rows != source.rows or table.num_columns != source.features + 1:
        raise DataError(
            f"{str(path)!r} has {table.num_rows} rows and {table.num_columns} columns; {source.name} must have "
            f"{source.rows} rows and {source.features + 1} columns, the target last."
        )
    columns = [np.asarray(column.to_numpy(), dtype=np.float64) for column in table.columns]
    return Dataset(
        name=source.name,
        title=source.title,
        features=np.column_stack(columns[:-1]),
        target=columns[-1],
        feature_names=tuple(table.column_names[:-1]),
        target_name=source.target,
        origin=source.public_origin,
        licence=source.licence,
        folds=_folds(source),
    )


def _folds(source: Source) -> Array | None:
    if source.folds_file is None:
        return None
    path = _find(source, source.folds_file)
    folds = np.asarray(_read_parquet(path, source.folds_sha256).column("test_fold").to_numpy())
    if len(folds) != source.rows:
        raise DataError(f"{str(path)!r} has {len(folds)} rows where {source.name} has {source.rows}.")
    return folds


def _find(source: Source, file: str) -> Path:
    named = os.environ.get(FOLDER_VARIABLE)
    folders = [*([Path(named)] if named else []), cache_folder()]
    for folder in folders:
        if (folder / file).is_file():
            return folder / file
    raise UnavailableError(
        f"data set {source.name!r} is not available: {file} is not in {' or '.join(repr(str(f)) for f in folders)}. "
        f"Its public origin is {source.public_origin}. Put {file} (Parquet, {source.rows} rows, {source.features} "
        f"feature columns, the target last) into {str(folders[-1])!r}, or name its folder in {FOLDER_VARIABLE}."
    )


def _read_parquet(path: Path, sha256: str | None) -> Any:
    try:
        from pyarrow import BufferReader, parquet
    except ImportError:
        raise MissingExtraError("pyarrow", "files") from None
    content = path.read_bytes()
    if sha256 is not None and hashlib.sha256(content).hexdigest() != sha256:
        raise DataError(f"{str(path)!r} is not the file that the table lists (SHA-256 {sha256}); replace it.")
    return parquet.read_table(BufferReader(content))
