"""Files that are written as a whole: what such a file must never take the place of."""

import os
from pathlib import Path

from ..errors import ParameterError

LEDGER_ID = 0x44504C47  # "DPLG", by which SQLite files tell what they are
_SQLITE, _ID_AT = b"SQLite format 3\0", 68
_BESIDE_A_LEDGER = ("-journal", "-wal", "-shm", "-creating")  # what SQLite or a ledger keeps there for a while


def check_replaceable(path: Path, name: str) -> None:
    """Make sure that a new file may take the place of what is at ``path``, which messages call ``name``.

    That can be nothing, or a regular file. A link, a pipe or a device would be gone, and what is gone with a ledger is
    all that is known of what was spent.
    """
    if path.is_symlink():
        raise ParameterError(
            f"{name} {str(path)!r} is a link, to {os.path.realpath(path)!r}; name the file itself, so that it is clear "
            "what is replaced."
        )
    if path.exists() and not path.is_file():
        raise ParameterError(f"{name} {str(path)!r} is not a regular file, and would be replaced by one; name a file.")
    if is_ledger(path):
        raise ParameterError(
            f"{name} {str(path)!r} would overwrite a ledger, and with it all that is known of what was spent; choose "
            "another name."
        )
    for ending in _BESIDE_A_LEDGER:
        if path.name.endswith(ending) and is_ledger(path.with_name(path.name.removesuffix(ending))):
            raise ParameterError(
                f"{name} {str(path)!r} is a name that the ledger beside it needs for itself; choose another."
            )


def is_ledger(path: Path) -> bool:
    """Return whether a file, which may not exist, is a budget ledger."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            start = file.read(_ID_AT + 4)
    except OSError:
        return False
    return start.startswith(_SQLITE) and start[_ID_AT:] == LEDGER_ID.to_bytes(4, "big")
