"""The real data sets by name; `sources.toml` lists them, with public origin and checksum."""

import re
import tomllib
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True)
class Source:
    """Where a data set comes from and how to recognise its files."""

    name: str
    title: str
    rows: int
    features: int
    target: str
    origin: str
    licence: str
    sha256: str | None = None
    has_folds: bool = False
    folds_sha256: str | None = None

    @property
    def file(self) -> str:
        """Name of the file with the rows."""
        return f"{self.name}.parquet"

    @property
    def folds_file(self) -> str | None:
        """Name of the file with the fixed splits, where there are any."""
        return f"{self.name}.folds.parquet" if self.has_folds else None

    @property
    def public_origin(self) -> str:
        """The origin in words, with its address where it has a number in the UCI repository."""
        number = re.match(r"UCI (\d+):", self.origin)
        return f"{self.origin} (https://archive.ics.uci.edu/dataset/{number[1]})" if number else self.origin


def _listed() -> tuple[Source, ...]:
    """Return the rows of the list that lies beside this file."""
    listed = tomllib.loads(files(__package__).joinpath("sources.toml").read_text(encoding="utf-8"))
    return tuple(Source(name, **row) for name, row in listed.items())


SOURCES = _listed()
