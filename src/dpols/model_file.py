"""Model files: JSON with a schema version and a checksum, written atomically, released values only."""

import hashlib
import json
import math
import os
import tempfile
from pathlib import Path
from typing import Any

from .errors import ModelFileError

FORMAT = "dpols-model"
VERSION = 1


def write_model(path: str | os.PathLike[str], content: dict[str, Any]) -> None:
    """Write ``content`` so that a reader sees the old file or the whole new one, never a part."""
    path = Path(path)
    document = {"format": FORMAT, "version": VERSION, "sha256": _checksum(content), "content": content}
    text = json.dumps(document, indent=2, allow_nan=False) + "\n"
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())  # as any other new file; temporary ones are for the owner only
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def read_model(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the content of a model file, or raise ModelFileError where it is damaged or too new."""
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"), parse_float=_finite, parse_constant=_finite)
    except OSError as error:
        raise ModelFileError(f"cannot read model file {str(path)!r}: {error.strerror}.") from None
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
    if document["sha256"] != _checksum(content):
        raise ModelFileError(f"{str(path)!r} is damaged: its checksum does not match.")
    return content


def _finite(text: str) -> float:
    """Read a number; what is not finite is not JSON, although Python's reader takes it."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def _checksum(content: dict[str, Any]) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def _umask() -> int:
    """Return this process's file mode mask, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
