"""The formats that can be read, by the names of their files."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from ...errors import DataError
from . import csv, ipc, npy, parquet
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


_MODULES: dict[str, ModuleType] = {"parquet": parquet, "csv": csv, "arrow": ipc, "npy": npy}
FORMATS: dict[str, Format] = _MODULES  # type: ignore[assignment]
_SUFFIXES = {
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "arrow",
    ".arrow": "arrow",
    ".ipc": "arrow",
    ".npy": "npy",
}


def format_of(path: Path) -> str:
    """Return the name of a file's format, which its suffix tells."""
    kind = _SUFFIXES.get(path.suffix.lower())
    if kind is None:
        raise DataError(f"{str(path)!r} must end in {', '.join(_SUFFIXES)}; other formats are not read. Convert it.")
    return kind
