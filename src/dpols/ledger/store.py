"""One SQLite file that several processes append to, one at a time; every row carries the hash of the one before it.

A row is appended in a transaction that holds the write lock from its first look at the file until the row is on disk,
so that no two writers decide from the same state. Changing, deleting or inserting a row breaks the chain; cutting rows
off the end is found by the head that is kept beside them. Who can write the file can also forge chain and head as a
whole, or put an old copy back: only a head that was noted elsewhere finds that.

A writer that is killed leaves a journal beside the file. Whoever opens the file next, also to read it, puts it back as
it was from that journal, which takes the right to write. So every connection asks for that right; where it is not to be
had, SQLite reads a file without a journal and refuses one with.

SQLite makes an empty file first. While a ledger is created a marker lies beside it, so that an empty file with a marker
is a creation that was cut short, and one without was emptied later.
"""

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..errors import LedgerError
from ..storage.output_file import LEDGER_ID

Content = dict[str, Any]

_VERSION = 2
_PATIENCE = 120.0  # seconds to wait for other writers
_START = "0" * 64
# What SQLite says of a journal that it may not use, where the file cannot be written or the journal not be opened.
_NEEDS_RECOVERY = ("SQLITE_READONLY_ROLLBACK", "SQLITE_READONLY_RECOVERY")


@dataclass(frozen=True)
class Row:
    """One line of the history."""

    number: int
    content: Content
    sha256: str

    @property
    def head(self) -> str:
        """The number and hash of this row: note it down, and later changes up to here can be found."""
        return f"{self.number}:{self.sha256}"


class Store:
    """The file. Nothing is kept open between calls, so that copies of it can be sent to other processes."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def create(self, content: Content) -> bool:
        """Write the first row unless there is one; return whether it was written."""
        if not self.path.parent.is_dir():
            raise LedgerError(f"the folder of ledger {str(self.path)!r} does not exist; make it first.")
        with self._writing("rwc") as connection:
            if not self._lacks_rows(connection):
                return False
            connection.execute(f"PRAGMA application_id = {LEDGER_ID}")
            connection.execute(f"PRAGMA user_version = {_VERSION}")
            connection.execute(
                "CREATE TABLE history (number INTEGER PRIMARY KEY, content TEXT NOT NULL, sha256 TEXT NOT NULL)"
            )
            connection.execute("CREATE TABLE head (number INTEGER NOT NULL, sha256 TEXT NOT NULL)")
            connection.execute("INSERT INTO head VALUES (0, ?)", (_START,))
            _append(connection, [], content)
            return True

    def append(self, content_after: Callable[[list[Row]], Content]) -> Row:
        """Append the row that follows from all rows so far; when this returns, the row is on disk."""
        with self._writing("rw") as connection:
            rows = self._checked_rows(connection)
            return _append(connection, rows, content_after(rows))

    def rows(self) -> list[Row]:
        """Return all rows; LedgerError is raised where the chain is broken."""
        with self._errors(), closing(self._connect("rw")) as connection:
            connection.execute("BEGIN")
            return self._checked_rows(connection)

    def is_empty(self) -> bool:
        """Return whether nothing was ever written: there is no file, or its creation was cut short."""
        if not self.path.exists():
            return True
        with self._errors(), closing(self._connect("rw")) as connection:
            connection.execute("BEGIN")
            return self._lacks_rows(connection)

    @contextmanager
    def _writing(self, mode: str) -> Iterator[sqlite3.Connection]:
        if mode == "rwc" and not self.path.exists():
            self._mark()
        with self._errors(), closing(self._connect(mode)) as connection:
            # Wait until the rows, and the name of a new file, have reached the disk.
            connection.execute("PRAGMA synchronous = EXTRA")
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")
        with suppress(OSError):  # the rows are on disk, whatever becomes of the marker
            self._marker.unlink()

    @property
    def _marker(self) -> Path:
        return self.path.with_name(f"{self.path.name}-creating")

    def _mark(self) -> None:
        try:
            self._marker.touch()
        except OSError as error:
            raise LedgerError(f"ledger {str(self.path)!r} cannot be created there ({error.strerror}).") from None

    def _lacks_rows(self, connection: sqlite3.Connection) -> bool:
        """Return whether a creation was cut short, in a transaction, during which no other can end."""
        if int(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]):
            return False
        if not self._marker.exists():
            raise LedgerError(
                f"ledger {str(self.path)!r} has been emptied: what has been spent cannot be known any more, so nothing "
                "may be released. Put back a copy of it. If it never was a ledger, delete the file and create one."
            )
        return True

    def _connect(self, mode: str) -> sqlite3.Connection:
        if mode != "rwc" and not self.path.is_file():
            raise LedgerError(
                f"there is no ledger {str(self.path)!r}; create it by 'dpols ledger create', or in Python by "
                "BudgetLedger(..., epsilon=..., delta=...)."
            )
        self._refuse_second_name()
        uri = f"file:{quote(str(self.path))}?mode={mode}"
        return sqlite3.connect(uri, uri=True, timeout=_PATIENCE, isolation_level=None)

    def _refuse_second_name(self) -> None:
        """A journal lies beside one name: who comes by another does not see it, and takes half a row for the whole."""
        try:
            names = self.path.stat().st_nlink
        except (OSError, ValueError):  # there is none yet, or SQLite will say what is wrong
            return
        if names > 1:
            raise LedgerError(
                f"ledger {str(self.path)!r} has a second name (a hard link), under which a process that was killed "
                "cannot be noticed. Remove the other name, or replace it by a symbolic link."
            )

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except UnicodeDecodeError:  # what SQLite says of a damaged file may quote bytes of it
            raise LedgerError(
                f"ledger {str(self.path)!r} is damaged, so nothing may be released. Put back a copy of it."
            ) from None
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorname", "") in _NEEDS_RECOVERY:
                raise LedgerError(
                    f"a process that wrote to ledger {str(self.path)!r} was killed, and the file must be put back as "
                    "it was from the journal beside it, which takes the right to write to both and to their folder. "
                    "Open it once with that right. Never delete the journal: what was spent would be lost."
                ) from None
            raise LedgerError(
                f"ledger {str(self.path)!r} cannot be used ({error}), so nothing may be released. It must be a "
                "ledger file on a disk with free space, and you need the right to write to it and to its folder."
            ) from None

    def _checked_rows(self, connection: sqlite3.Connection) -> list[Row]:
        if self._lacks_rows(connection):
            raise LedgerError(
                f"ledger {str(self.path)!r} is empty: its creation was cut short, and nothing was charged to it. "
                "Create it again, by 'dpols ledger create' or in Python by BudgetLedger(..., epsilon=..., delta=...)."
            )
        if connection.execute("PRAGMA application_id").fetchone()[0] != LEDGER_ID:
            raise LedgerError(f"{str(self.path)!r} is not a dpols ledger.")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version != _VERSION:
            raise LedgerError(
                f"ledger {str(self.path)!r} has version {version}, this dpols reads version {_VERSION}; upgrade dpols."
            )
        rows: list[Row] = []
        for number, text, sha256 in connection.execute("SELECT number, content, sha256 FROM history ORDER BY number"):
            before = rows[-1].sha256 if rows else _START
            if number != len(rows) + 1 or sha256 != _hash(number, before, text):
                raise self._broken(f"row {len(rows) + 1} is not what was written, or is missing")
            rows.append(Row(number, json.loads(text), sha256))
        if not rows or connection.execute("SELECT number, sha256 FROM head").fetchall() != [
            (rows[-1].number, rows[-1].sha256)
        ]:
            raise self._broken(f"rows after row {len(rows)} are missing")
        return rows

    def _broken(self, what: str) -> LedgerError:
        return LedgerError(
            f"ledger {str(self.path)!r} has been changed: {what}. What has been spent cannot be known any more, so "
            "nothing may be released; put back a copy with a head that was noted down."
        )


def _append(connection: sqlite3.Connection, rows: list[Row], content: Content) -> Row:
    number, before = len(rows) + 1, rows[-1].sha256 if rows else _START
    text = json.dumps(content, sort_keys=True, allow_nan=False)
    row = Row(number, json.loads(text), _hash(number, before, text))
    connection.execute("INSERT INTO history VALUES (?, ?, ?)", (number, text, row.sha256))
    connection.execute("UPDATE head SET number = ?, sha256 = ?", (number, row.sha256))
    return row


def _hash(number: int, before: str, text: str) -> str:
    return hashlib.sha256(f"{number}\n{before}\n{text}".encode()).hexdigest()
