"""Compressed text files, unpacked in runs of whole lines: nothing is written to disk, and never is all of it held."""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...errors import DataError
from ..arrow import pyarrow
from .task import Stamp

COMPRESSED = {".gz": "gzip", ".zst": "zstd"}


def compression_of(path: str | Path) -> str | None:
    """Return how a file is compressed, which its suffix tells; None where it is not."""
    return COMPRESSED.get(Path(path).suffix.lower())


def inner_suffix(path: str | Path) -> str:
    """Return the suffix that tells a file's format, without that of its compression."""
    path = Path(path)
    return (Path(path.stem) if path.suffix.lower() in COMPRESSED else path).suffix.lower()


def unpacked_start(file: Stamp, longest: int) -> bytes:
    """Return the first line of a compressed file; no more than a block of others is unpacked."""
    with _opened(file) as stream:
        found = b""
        while b"\n" not in found and len(found) < longest and (more := stream.read(1 << 16)):
            found += more
    line, newline, _ = found.partition(b"\n")
    return (line + newline)[:longest]


def unpacked_runs(file: Stamp, start: int, size: int, longest: int, *, n_columns: int) -> Iterator[bytes]:
    """Yield runs of whole lines from a byte on. Where there are several columns, empty lines at the end are none."""
    with _opened(file) as stream:
        _skip(stream, start)
        rest = b""
        while more := stream.read(size):
            content, newline, rest = (rest + more).rpartition(b"\n")
            if len(rest) >= longest:
                raise DataError(f"{file.path!r} has a line of {longest >> 20} MiB or more. Correct it.")
            lines = content + newline
            body = lines.rstrip(b"\r\n") if n_columns > 1 else lines
            if body:
                end = lines.find(b"\n", len(body)) + 1 or len(lines)
                rest = lines[end:] + rest  # empty lines are held back until it is known what follows
                yield lines[:end]
            else:
                rest = lines + rest
    if n_columns > 1:
        rest = rest.rstrip(b"\r\n")
    if rest:
        yield rest if rest.endswith(b"\n") else rest + b"\n"


def _skip(stream: Any, count: int) -> None:
    while count > 0 and (read := stream.read(min(count, 1 << 20))):
        count -= len(read)


@contextmanager
def _opened(file: Stamp) -> Iterator[Any]:
    """Open a compressed file, and say clearly what is wrong with it."""
    try:
        if compression_of(file.path) == "gzip":
            with gzip.open(file.path, "rb") as stream:
                yield stream
        else:
            arrow = pyarrow()
            with arrow.OSFile(file.path) as packed, arrow.CompressedInputStream(packed, "zstd") as stream:
                yield stream
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise _damaged(file) from error
    except OSError as error:
        if error.errno is not None:  # of the file itself, such as one that is missing
            raise
        raise _damaged(file) from None


def _damaged(file: Stamp) -> DataError:
    file.check()
    kind = COMPRESSED[Path(file.path).suffix.lower()]
    return DataError(f"{file.path!r} is not a {kind} file, or is damaged or truncated. Compress it anew.")
