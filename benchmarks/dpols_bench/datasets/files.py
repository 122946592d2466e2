"""Data sets in Parquet files: where they are looked for, and whether they are the right ones."""

import hashlib
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from dpols.errors import DataError, MissingExtraError

from .raw import RAW, made_folds, read_raw
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
    """Read a data set's files, after checking that they hold what the table says.

    Without them, the text file of its public origin does, for data sets whose form is known.
    """
    form = RAW.get(source.name)
    if form is not None and _found(source.file) is None and (text := _found(form.file)) is not None:
        return _dataset(source, *read_raw(text, source))
    path = _find(source, source.file)
    table = _read_parquet(path, source.sha256)
    if table.num_rows != source.rows or table.num_columns != source.features + 1:
        raise DataError(
            f"{str(path)!r} has {table.num_rows} rows and {table.num_columns} columns; {source.name} must have "
            f"{source.rows} rows and {source.features + 1} columns, the target last."
        )
    columns = [np.asarray(column.to_numpy(), dtype=np.float64) for column in table.columns]
    return _dataset(source, np.column_stack(columns[:-1]), columns[-1], tuple(table.column_names[:-1]))


def _dataset(source: Source, features: Array, target: Array, names: tuple[str, ...]) -> Dataset:
    return Dataset(
        name=source.name,
        title=source.title,
        features=features,
        target=target,
        feature_names=names,
        target_name=source.target,
        origin=source.public_origin,
        licence=source.licence,
        folds=_folds(source),
    )


def _folds(source: Source) -> Array | None:
    if source.folds_file is None:
        return None
    if source.name in RAW and _found(source.folds_file) is None:
        return made_folds(source)
    path = _find(source, source.folds_file)
    folds = np.asarray(_read_parquet(path, source.folds_sha256).column("test_fold").to_numpy())
    if len(folds) != source.rows:
        raise DataError(f"{str(path)!r} has {len(folds)} rows where {source.name} has {source.rows}.")
    return folds


def _folders() -> list[Path]:
    named = os.environ.get(FOLDER_VARIABLE)
    return [*([Path(named)] if named else []), cache_folder()]


def _found(file: str) -> Path | None:
    return next((folder / file for folder in _folders() if (folder / file).is_file()), None)


def _find(source: Source, file: str) -> Path:
    if (path := _found(file)) is not None:
        return path
    folders = _folders()
    text = f", or {RAW[source.name].file} as it comes from there," if source.name in RAW else ""
    raise UnavailableError(
        f"data set {source.name!r} is not available: {file} is not in {' or '.join(repr(str(f)) for f in folders)}. "
        f"Its public origin is {source.public_origin}. Put {file} (Parquet, {source.rows} rows, {source.features} "
        f"feature columns, the target last){text} into {str(folders[-1])!r}, or name its folder in {FOLDER_VARIABLE}."
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
