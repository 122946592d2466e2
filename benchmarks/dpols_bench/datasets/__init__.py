"""Data sets by name: those of the literature on private regression, made-up ones, and one that needs no download.

>>> load("diabetes").features.shape
(442, 10)
"""

from dpols.errors import ParameterError

from .families import FAMILIES
from .files import UnavailableError, cache_folder, load_files
from .generated import GENERATED, diabetes
from .leverage import LEVERAGE, load_leverage
from .networks import is_network, load_network
from .sources import SOURCES, Source
from .table import Dataset

REAL = tuple(source.name for source in SOURCES)
SYNTHETIC = tuple(GENERATED)
NAMES = (*REAL, *SYNTHETIC, *FAMILIES, *LEVERAGE, "diabetes")


def load(name: str) -> Dataset:
    """Return a data set: all its rows, before any shuffling, splitting or scaling.

    Files are looked for in the folder that the environment variable ``DPOLS_DATA`` names, then in the user's cache.
    Where they are in neither, UnavailableError says what to put where.
    """
    if name == "diabetes":
        return diabetes()
    if name in GENERATED:
        return GENERATED[name]()
    if name in FAMILIES:
        return FAMILIES[name]()
    if is_network(name):
        return load_network(name)
    if name in LEVERAGE:
        return load_leverage(name)
    return load_files(source(name))


def source(name: str) -> Source:
    """Return where a real data set comes from."""
    for row in SOURCES:
        if row.name == name:
            return row
    raise ParameterError(f"dataset={name!r} is not known; the data sets are {', '.join(NAMES)}.")


__all__ = [
    "FAMILIES",
    "LEVERAGE",
    "NAMES",
    "REAL",
    "SOURCES",
    "SYNTHETIC",
    "Dataset",
    "Source",
    "UnavailableError",
    "cache_folder",
    "load",
    "source",
]
