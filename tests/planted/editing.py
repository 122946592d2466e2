"""A mistake as changes to the source.

A text to replace must occur exactly once in its file: whoever moves it updates the change.
"""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Edit:
    """A text of one file, and what to put in its place."""

    file: str  # below src/dpols
    old: str
    new: str

    def apply(self, package: Path) -> None:
        """Change the file in a copy of the package."""
        path = package / self.file
        start = self._start(path)
        text = path.read_text(encoding="utf-8")
        path.write_text(text[:start] + self.new + text[start + len(self.old) :], encoding="utf-8")

    def lines(self, package: Path) -> range:
        """Return the numbers of the lines that it changes."""
        path = package / self.file
        first = path.read_text(encoding="utf-8")[: self._start(path)].count("\n") + 1
        return range(first, first + self.old.rstrip("\n").count("\n") + 1)

    def _start(self, path: Path) -> int:
        text = path.read_text(encoding="utf-8")
        count = text.count(self.old)
        if count != 1:
            raise LookupError(
                f"src/dpols/{self.file} has the following text {count} times, not once; the source has moved on, so "
                f"update the change in tests/planted.\n{self.old}"
            )
        return text.index(self.old)


@dataclass(frozen=True, init=False)
class Bug:
    """One mistake in one place."""

    mistake: str
    place: str
    edits: tuple[Edit, ...]

    def __init__(self, mistake: str, place: str, *edits: Edit) -> None:
        for name, value in (("mistake", mistake), ("place", place), ("edits", edits)):
            object.__setattr__(self, name, value)

    @property
    def name(self) -> str:
        return f"{self.mistake} ({self.place})"

    def plant(self, package: Path) -> None:
        """Change a copy of the package."""
        for edit in self.edits:
            edit.apply(package)
