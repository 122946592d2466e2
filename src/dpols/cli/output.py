"""Files that the commands write: checked before the work, then written as a whole or not at all."""

import tempfile
from collections.abc import Iterable
from pathlib import Path

from ..errors import ParameterError
from ..storage.output_file import check_replaceable
from ..storage.placed_file import write_whole


def check_output(path: Path, *, inputs: Iterable[Path] = (), option: str = "--out") -> None:
    """Make sure that a file can be written, so that no budget is spent on a result that would be lost."""
    if path.is_dir():
        raise IsADirectoryError(f"{option} {str(path)!r} is a folder; name a file in it.")
    for given in inputs:
        if path.exists() and given.exists() and path.samefile(given):
            raise ParameterError(f"{option} {str(path)!r} would overwrite a file that is read; choose another name.")
    check_replaceable(path, option)
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        folder = str(path.parent)
        raise type(error)(f"cannot write to the folder {folder!r} of {option}: {error.strerror}.") from None


def write_text(path: Path, lines: Iterable[str]) -> None:
    """Write text so that a reader sees the old file or the whole new one."""
    write_whole(path, "".join(lines).encode())
