"""Rows that belong to someone: at most so many rows of each unit, such as a patient with many visits, are used.

Which these are depends on the rows of that unit alone, so that taking a unit away changes nothing but its own rows.
Rows that are not used count as rows of zeros: they add nothing to any sum.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..errors import DataError, ParameterError
from .kinds import library_of
from .memory import ArraySource, TableSource
from .row_choice import choose, first_copies, plain_rows, row_hashes, seeds_of
from .source import Array, Kernel, RowSource, Total, add_up
from .threads import even_blocks, map_blocks
from .unit_ids import unit_ids

WITHOUT_ID = (
    "the id of a unit is missing, or a float beyond 2^53 (single precision: 2^24), and bad_rows='raise' refuses rows "
    "without one. Fill it in, store ids as whole numbers or text, or pass bad_rows='zero' to leave such rows out."
)


class PartlyUsed:
    """Rows of which only some are used; the others count, but add nothing."""

    source: RowSource

    @property
    def columns(self) -> tuple[str, ...] | None:
        return self.source.columns

    @property
    def n_features(self) -> int:
        return self.source.n_features

    @property
    def n_rows(self) -> int:
        """Number of rows, those that are not used included: that of the used ones is not public."""
        return self.source.n_rows


@dataclass(frozen=True, repr=False)
class UnitSource(PartlyUsed):
    """Rows in memory of which only some are used."""

    source: ArraySource | TableSource
    kept: Array
    codes: Array  # of the unit of each row, kept or not
    is_local: ClassVar[bool] = True

    def total(self, kernel: Kernel, *args: Any) -> Total:
        def work(block: slice) -> tuple[tuple[Array, ...], int]:
            features, target = self.source.block(block)
            kept = self.kept[block]
            if not kept.all():
                features, target = features[kept], target[kept]
            return kernel(features, target, *args), block.stop - block.start

        return add_up(map_blocks(work, even_blocks(self.n_rows)))

    def with_units(self, kernel: Kernel, *args: Any) -> tuple[Array, Total]:
        """Return the numbers of the units of all rows that are used, in the order of a pass, and its total."""
        return np.asarray(self.codes[self.kept]), self.total(kernel, *args)


def source_of_units(source: RowSource, ids: Any, *, max_rows: int, bad_rows: str) -> UnitSource:
    """Return at most ``max_rows`` rows of each unit; ``ids`` says to whom each row belongs.

    Ids are of any kind that can be hashed. Rows without one are refused, or with ``bad_rows="zero"`` not used.
    """
    if not isinstance(source, ArraySource | TableSource):
        raise DataError(
            f"ids beside the rows need rows in memory, and they come from a {type(source).__name__}, in which rows "
            "have no order. Keep the ids in a column of the table, and name it by unit=... ."
        )
    codes, found = unit_ids(ids)
    if len(codes) != source.n_rows:
        raise DataError("there must be one id of a unit for each row, and their numbers differ.")
    if bad_rows == "raise" and (codes < 0).any():
        raise DataError(WITHOUT_ID)
    return UnitSource(source, _used_rows(source, codes, found, max_rows), codes)


def first_of_units(source: ArraySource, units: Array) -> UnitSource:
    """Return the rows of a source of which the first ones are used, and belong to these units."""
    codes = np.full(source.n_rows, -1, dtype=np.int64)
    codes[: len(units)] = units
    return UnitSource(source, codes >= 0, codes)


def _used_rows(source: ArraySource | TableSource, codes: Array, ids: Sequence[Hashable], max_rows: int) -> Array:
    """Return which rows are used: at most ``max_rows`` of each unit, and none without a unit."""
    large = np.append(np.bincount(codes[codes >= 0], minlength=len(ids)) > max_rows, False)  # the last for no id
    seeds = np.zeros(len(large), dtype=np.uint64)
    seeds[large] = seeds_of([ids[place] for place in np.flatnonzero(large).tolist()])
    to_choose = large[codes]

    def hashes(block: slice) -> Array:
        some = to_choose[block]
        features, target = source.block(block) if some.any() else (np.empty((len(some), 0)), np.empty(len(some)))
        return row_hashes(plain_rows(features[some], target[some]), seeds[codes[block][some]])

    numbers = np.concatenate(list(map_blocks(hashes, even_blocks(source.n_rows))))
    used = np.asarray(codes >= 0)
    used[to_choose] = first_copies(codes[to_choose], numbers, choose(codes[to_choose], numbers, max_rows))
    return used


def without_column(table: Any, name: Any) -> Any:
    """Return a table in memory, or an array, without one of its columns, given by name or for an array by place."""
    kind = library_of(table)
    if kind == "pandas":
        return table.drop(columns=[name])
    if kind == "polars":
        return table.drop(name)
    if kind == "pyarrow":
        return table.select([column for column in table.column_names if column != name])
    if isinstance(table, np.ndarray):
        return np.delete(table, name, axis=1)
    return [[value for place, value in enumerate(row) if place != name] for row in table]


def unit_column(table: Any, name: Any) -> Any:
    """Return the ids of units from a column of a table in memory, given by name or for an array by place."""
    names = {"pandas": "columns", "polars": "columns", "pyarrow": "column_names"}.get(library_of(table))
    if names is not None:
        if name not in list(getattr(table, names)):
            raise DataError(
                f"unit={name!r} is not a column; the columns are {[str(c) for c in getattr(table, names)]}."
            )
        return table[name]
    if not isinstance(table, np.ndarray | list | tuple):
        raise DataError(
            f"unit={name!r} must name a column, and X is a {type(table).__name__}, which has none with names; pass a "
            "table, or dpols.read(path, target=...)."
        )
    n_columns = _n_columns(table)
    if n_columns is None or isinstance(name, bool) or not isinstance(name, int) or not 0 <= name < n_columns:
        raise DataError(f"unit={name!r} must be the number of a column where X is an array; or pass groups to fit.")
    return table[:, name] if isinstance(table, np.ndarray) else [row[name] for row in table]


def checked_max_rows(value: Any) -> int:
    """Return the largest number of rows of a unit."""
    try:
        whole = not isinstance(value, bool) and int(value) == value and 1 <= value <= 10**6
    except (TypeError, ValueError, OverflowError):
        whole = False
    if not whole:
        raise ParameterError(
            f"max_rows_per_unit={value!r} must be a whole number from 1 to 1000000: of each unit so many rows are "
            "used, and the more it may have the more noise there is."
        )
    return int(value)


def _n_columns(rows: Any) -> int | None:
    """Return how many columns an array or a list of rows has, or None where it is no table."""
    if isinstance(rows, np.ndarray):
        return rows.shape[1] if rows.ndim == 2 else None
    widths = {len(row) if isinstance(row, list | tuple) or np.ndim(row) == 1 else None for row in rows}
    return widths.pop() if len(widths) == 1 else None
