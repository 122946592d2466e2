"""Model files: JSON with a schema version and a checksum of every byte, written atomically, released values only."""

import hashlib
import json
import math
import os
from pathlib import Path
from typing import Any

from ..errors import ModelFileError
from .output_file import check_replaceable, is_ledger
from .placed_file import write_whole

FORMAT = "dpols-model"
VERSION = 11
_NO_CHECKSUM = "0" * 64


def write_model(path: str | os.PathLike[str], content: dict[str, Any]) -> None:
    """Write ``content`` so that a reader sees the old file or the whole new one, never a part."""
    path = Path(path)
    check_replaceable(path, "model file")
    write_whole(path, model_bytes(content))


def model_bytes(content: dict[str, Any]) -> bytes:
    """Return what a model file of this content holds."""
    return stamped({"format": FORMAT, "version": VERSION, "sha256": _NO_CHECKSUM, "content": content})


def read_model(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the content of a model file, or raise ModelFileError where it is damaged or too new."""
    if is_ledger(Path(path)):
        raise ModelFileError(f"{str(path)!r} is a ledger and no model file.")
    try:
        return parsed_model(Path(path).read_bytes(), path)
    except OSError as error:
        raise ModelFileError(f"cannot read model file {str(path)!r}: {error.strerror}.") from None


def parsed_model(data: bytes, path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the content of a model file's bytes; ``path`` is what messages call it."""
    content, intact = opened(data, path)
    if not intact:
        raise ModelFileError(f"{str(path)!r} is damaged: its checksum does not match.")
    return content


def opened(data: bytes, path: str | os.PathLike[str]) -> tuple[dict[str, Any], bool]:
    """Return the content of a model file's bytes, and whether their checksum is the one that they hold."""
    try:
        document = json.loads(data.decode("utf-8"), parse_float=_finite, parse_int=finite_whole, parse_constant=_finite)
    except (ValueError, RecursionError):
        raise ModelFileError(f"{str(path)!r} is not a model file: it is not valid JSON.") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ModelFileError(f"{str(path)!r} is not a dpols model file.")
    if document.get("version") != VERSION:
        raise ModelFileError(
            f"{str(path)!r} has version {document.get('version')!r}, this dpols reads version {VERSION}; upgrade dpols."
        )
    content = document.get("content")
    if not isinstance(content, dict) or set(document) != {"format", "version", "sha256", "content"}:
        raise ModelFileError(f"{str(path)!r} is not a complete model file.")
    return content, document["sha256"] == _checksum(data, document["sha256"])


def _finite(text: str) -> float:
    """Read a number; what is not finite is not JSON, although Python's reader takes it."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def finite_whole(text: str) -> int:
    """Read a whole number of JSON within the range of doubles, beyond which arithmetic would fail."""
    _finite(text)
    return int(text)


def stamped(document: dict[str, Any]) -> bytes:
    """Return a document with the checksum of its bytes, in which the checksum itself counts as zeros."""
    data = (json.dumps({**document, "sha256": _NO_CHECKSUM}, indent=2, allow_nan=False) + "\n").encode()
    return data.replace(_NO_CHECKSUM.encode(), hashlib.sha256(data).hexdigest().encode(), 1)


def _checksum(data: bytes, found: Any) -> str:
    """Return what the checksum of a file's bytes should be, given the one that was found in it."""
    if not isinstance(found, str) or len(found) != len(_NO_CHECKSUM):
        return _NO_CHECKSUM
    return hashlib.sha256(data.replace(found.encode(), _NO_CHECKSUM.encode(), 1)).hexdigest()
