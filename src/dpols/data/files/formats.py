"""The formats that can be read, by the names of their files."""

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from ...errors import DataError
from ..source import Array
from . import parquet
from .task import FileTask, Stamp


class Format(Protocol):
    """What a module for one format offers."""

    def schema(self, file: Stamp) -> Any:
        """Return the file's columns as an Arrow schema, from its header alone."""

    def parts(self, file: Stamp, names: tuple[str, ...]) -> Iterator[tuple[tuple[int, ...], int]]:
        """Yield the parts that make up the file, each with its number of rows."""

    def blocks(self, task: FileTask, *, threads: bool) -> Iterator[tuple[Array, Array]]:
        """Yield features and target of a part, in blocks of at most 64k rows."""


_MODULES: dict[str, ModuleType] = {"parquet": parquet}
FORMATS: dict[str, Format] = _MODULES  # type: ignore[assignment]
_SUFFIXES = {".parquet": "parquet", ".pq": "parquet"}


def format_of(path: Path) -> str:
    """Return the name of a file's format, which its suffix tells."""
    kind = _SUFFIXES.get(path.suffix.lower())
    if kind is None:
        raise DataError(f"{str(path)!r} must end in {', '.join(_SUFFIXES)}; other formats are not read. Convert it.")
    return kind
