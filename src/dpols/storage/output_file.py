"""Files that are written as a whole: what such a file must never take the place of."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from ..errors import ParameterError

LEDGER_ID = 0x44504C47  # "DPLG", by which SQLite files tell what they are
_SQLITE, _ID_AT = b"SQLite format 3\0", 68
# Locked, or with a journal that only a writer can take back.
_IN_USE = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_READONLY)
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
    """Return whether a file, which may not exist, is a budget ledger.

    SQLite is asked first: a process that closes a file loses its locks on it, but for what SQLite itself opened.
    """
    if _is_ledger_of_sqlite(path):
        return True
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            start = file.read(_ID_AT + 4)
    except OSError:
        return False
    return start.startswith(_SQLITE) and start[_ID_AT:] == LEDGER_ID.to_bytes(4, "big")


def _is_ledger_of_sqlite(path: Path) -> bool:
    """Return whether SQLite finds a ledger at a path, or something of its own that is in use."""
    try:
        if not path.is_file():
            return False
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=0.0)) as database:
            return bool(database.execute("PRAGMA application_id").fetchone() == (LEDGER_ID,))
    except sqlite3.OperationalError as error:
        return error.sqlite_errorcode & 0xFF in _IN_USE
    except (OSError, sqlite3.DatabaseError):
        return False
