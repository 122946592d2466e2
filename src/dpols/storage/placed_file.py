"""Files that are written as a whole or not at all. Their space can be taken before anything is spent on them."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path

_BASE, _PER_COEFFICIENT, _PER_LETTER, _PER_PAIR = 1 << 16, 1 << 11, 16, 256


def room_for(names: Sequence[str], *, pairs: bool) -> int:
    """Return how many bytes a model of such coefficients, or its report, takes at most; twice to ten times too many.

    >>> room_for(["age", "hours"], pairs=False)
    69760
    """
    linear = _BASE + sum(_PER_COEFFICIENT + _PER_LETTER * len(name) for name in names)
    return linear + (_PER_PAIR * len(names) ** 2 if pairs else 0)


class PlacedFile:
    """A file that has its space, under a name of its own beside the one that it is meant for."""

    def __init__(self, path: Path, temporary: Path, file: FileIO) -> None:
        self.path, self._temporary, self._file = path, temporary, file

    def write(self, data: bytes) -> None:
        """Write all of the file and give it its name: a reader sees the old file or the whole new one."""
        rest = memoryview(data)
        while rest:
            rest = rest[self._file.write(rest) :]
        self._file.truncate()
        os.fsync(self._file.fileno())
        self._file.close()  # Windows renames no open file
        os.chmod(self._temporary, 0o666 & ~_umask())  # as any other new file; temporary ones are for the owner only
        os.replace(self._temporary, self.path)

    def fill(self, data: bytes) -> str | None:
        """Write the file; where that fails, save it elsewhere and return what to say."""
        try:
            self.write(data)
        except OSError as error:
            return f"{str(self.path)!r} could not be written ({error.strerror}); {_saved_elsewhere(self.path, data)}"
        return None


@contextmanager
def placed_file(path: Path, size: int) -> Iterator[PlacedFile]:
    """Take ``size`` bytes on the disk of a file; OSError is raised where they are not to be had."""
    folder = str(path.parent)
    try:
        descriptor, name = tempfile.mkstemp(dir=folder, prefix=f".{path.name}.")
    except OSError as error:
        raise type(error)(f"cannot write to the folder {folder!r} of {path.name!r}: {error.strerror}.") from None
    try:
        with FileIO(descriptor, "r+") as file:
            try:
                _take(file, size)
            except OSError as error:
                raise OSError(
                    f"there is no space for {str(path)!r} ({error.strerror}); {size:,} bytes are taken before anything "
                    "is spent. Free some, or name a file on another disk."
                ) from None
            yield PlacedFile(path, Path(name), file)
    finally:
        Path(name).unlink(missing_ok=True)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that a reader sees the old one or the whole new one, never a part."""
    with placed_file(path, len(data)) as file:
        file.write(data)


def _take(file: FileIO, size: int) -> None:
    """Make a disk set space apart, so that writing to it later does not fail for want of it."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
    else:
        for _ in range(0, size, _BASE):
            file.write(bytes(_BASE))
        os.fsync(file.fileno())
        file.seek(0)


def _saved_elsewhere(path: Path, data: bytes) -> str:
    """Save what could not be written where it belongs in the folder for temporary files, or else print it."""
    folder = None
    try:
        folder = tempfile.mkdtemp(prefix="dpols-")
        saved = Path(folder, path.name)
        with saved.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        return f"it was saved to {str(saved)!r} instead, so that what was paid for is not lost."
    except OSError:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):
        sys.stdout.write(data.decode())
        sys.stdout.flush()
    return "nor anywhere else, so it was printed: keep the output, since it was paid for."


def _umask() -> int:
    """Return this process's file mode mask, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
