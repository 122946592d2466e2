"""The formats that can be read, by the names of their files."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from ...errors import DataError
from . import csv, excel, ipc, npy, parquet, stata
from .compression import COMPRESSED, inner_suffix
from .task import Header, Part, Stamp


class Format(Protocol):
    """What a module for one format offers."""

    def header(self, file: Stamp) -> Header:
        """Return the file's columns, from its header alone."""

    def parts(self, file: Stamp, names: Sequence[str]) -> list[Part]:
        """Return the parts that make up the file."""

    def batches(
        self, file: Stamp, part: tuple[int, ...], names: Sequence[str], *, threads: bool, text: Sequence[str]
    ) -> Iterator[Any]:
        """Yield the named columns of a part, in this order, as record batches or arrays of at most 64k rows.

        ``threads`` allows the reader threads of its own. The columns in ``text`` need not hold numbers; where the
        format has no types, their cells are read as text, whatever they look like.
        """


_MODULES: dict[str, ModuleType] = {
    "parquet": parquet,
    "csv": csv,
    "arrow": ipc,
    "npy": npy,
    "excel": excel,
    "stata": stata,
}
FORMATS: dict[str, Format] = _MODULES  # type: ignore[assignment]
_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "arrow",
    ".arrow": "arrow",
    ".ipc": "arrow",
    ".npy": "npy",
    ".xlsx": "excel",
    ".xlsm": "excel",
    ".xlsb": "excel",
    ".xls": "excel",
    ".ods": "excel",
    ".dta": "stata",
}
_REMEDIES = {
    ".sav": "Write it as Parquet, in Python by pandas.read_spss(path).to_parquet('data.parquet').",
    ".sas7bdat": "Write it as Parquet, in Python by pandas.read_sas(path).to_parquet('data.parquet').",
    ".rds": "Write it as Parquet, in R by arrow::write_parquet(readRDS(path), 'data.parquet').",
    ".rdata": "Write the table as Parquet, in R by load(path) and arrow::write_parquet(table, 'data.parquet').",
    ".json": "Write it as Parquet, in Python by pandas.read_json(path).to_parquet('data.parquet').",
    ".zip": "Unpack it first.",
    ".bz2": "Unpack it first, or compress it by gzip or zstd.",
    ".xz": "Unpack it first, or compress it by gzip or zstd.",
}


def format_of(path: Path) -> str:
    """Return the name of a file's format, which its suffix tells."""
    suffix = inner_suffix(path)
    kind = _SUFFIXES.get(suffix)
    if kind is not None and path.suffix.lower() in COMPRESSED and kind != "csv":
        raise DataError(f"{str(path)!r} is compressed, which is read of text files only. Unpack it first.")
    if kind is None:
        known = ", ".join(_SUFFIXES)
        remedy = _REMEDIES.get(path.suffix.lower(), "Write it as Parquet or CSV.")
        raise DataError(
            f"{str(path)!r} must end in {known}, or for text also in .gz or .zst; other formats are not read. {remedy}"
        )
    return kind
