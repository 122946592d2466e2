"""A project: a folder of plain files that the commands can use, too.

``project.json`` holds what was chosen, ``bounds.toml`` is the bounds file that follows from it, and ``fits/1``,
``fits/2`` and so on hold one fit each.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from threading import RLock
from typing import Any

from ..errors import ParameterError
from ..storage.placed_file import write_whole
from ..storage.plain_data import read_fields
from .choices import Choices

_LONGEST_NAME = 60


@dataclass(frozen=True)
class Project:
    """A folder, and what it holds."""

    folder: Path
    lock: RLock

    @property
    def key(self) -> str:
        """The name of the folder, which addresses have."""
        return self.folder.name

    @property
    def bounds_file(self) -> Path:
        """The bounds file of the present choices."""
        return self.folder / "bounds.toml"

    @property
    def fits_folder(self) -> Path:
        """Where the fits are."""
        return self.folder / "fits"

    def choices(self) -> Choices:
        """Return what was chosen so far."""
        text = (self.folder / "project.json").read_text(encoding="utf-8")
        try:
            return read_fields(Choices, json.loads(text))
        except (KeyError, TypeError, ValueError):
            raise ParameterError(
                f"the file 'project.json' of project {self.key!r} is damaged or of another version of dpols; start a "
                "new project, whose ledger may be the same file."
            ) from None

    def change(self, **parts: Any) -> Choices:
        """Keep what a page has chosen; later pages that no longer fit it must be filled in again."""
        with self.lock:
            return self._write(replace(self.choices(), **parts))

    def _write(self, choices: Choices) -> Choices:
        write_whole(self.folder / "project.json", json.dumps(asdict(choices), indent=2).encode())
        return choices


class Projects:
    """All projects of a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self._locks: dict[str, RLock] = {}
        self._lock = RLock()

    def all(self) -> Iterator[Project]:
        """Return all projects, in the order of their names."""
        if self.folder.is_dir():
            for path in sorted(self.folder.iterdir()):
                if (path / "project.json").is_file():
                    yield self._project(path)

    def find(self, key: str) -> Project | None:
        """Return the project of this key, if there is one."""
        return next((project for project in self.all() if project.key == key), None)

    def create(self, name: str) -> Project:
        """Make a project of this name."""
        label = " ".join(name.split())[:_LONGEST_NAME]
        if not label:
            raise ParameterError("The project has no name. Type a name for it, such as 'staff survey'.")
        stem = re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-") or "project"
        self.folder.mkdir(parents=True, exist_ok=True)
        for number in range(1, 1000):
            path = self.folder / (stem if number == 1 else f"{stem}-{number}")
            try:
                os.mkdir(path, 0o700)
            except FileExistsError:
                continue
            project = self._project(path)
            project._write(Choices(label))
            return project
        raise ParameterError(f"There are too many projects named {label!r}. Type another name.")

    def _project(self, path: Path) -> Project:
        with self._lock:
            return Project(path, self._locks.setdefault(path.name, RLock()))


def digest(choices: Choices) -> str:
    """Return a hash of all choices, by which a page knows whether it still shows what would be fitted."""
    return hashlib.sha256(json.dumps(asdict(choices), sort_keys=True).encode()).hexdigest()[:32]
