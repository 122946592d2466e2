"""Rows of a table as numbers, with yes/no outcomes as 1 and 0, and random splits."""

import hashlib
from functools import lru_cache
from typing import Any

import numpy as np

from dpols.errors import DataError, ParameterError

from ..tables.rows import TRAINING_SHARE, Rows, read_table
from .definitions import MADE_UP, TABLES, Table

Array = np.ndarray[Any, np.dtype[Any]]


def table(name: str) -> Table:
    """Return the definition of a table by its name."""
    for row in TABLES:
        if row.name == name:
            return row
    raise ParameterError(f"table={name!r} is not known; the tables are {', '.join(row.name for row in TABLES)}.")


@lru_cache(maxsize=32)
def load(name: str) -> Rows:
    """Return the rows of a table that have a value in every column in use."""
    definition = table(name)
    if definition is MADE_UP:
        return _made_up()
    used = list(dict.fromkeys([definition.target, *definition.numeric, *definition.categories]))
    frame = read_table(definition.package, definition.item)[used].dropna()
    columns = [np.clip(frame[name].to_numpy(float), *limits) for name, limits in definition.numeric.items()]
    ranges = list(definition.numeric.values())
    for name, levels in definition.categories.items():
        values = frame[name].astype(str).to_numpy()
        if unknown := set(values) - set(levels):
            raise DataError(f"column {name!r} has the levels {sorted(unknown)}, which are not declared.")
        columns += [(values == level).astype(float) for level in levels[1:]]
        ranges += [(0.0, 1.0)] * (len(levels) - 1)
    return Rows(np.column_stack(columns), _outcome(definition, frame), tuple(ranges), definition.counts or (0.0, 1.0))


def _outcome(definition: Table, frame: Any) -> Array:
    column = frame[definition.target]
    if definition.yes is not None:
        return np.asarray((column.astype(str) == definition.yes).to_numpy(float))
    numbers = column.to_numpy(float)
    if definition.at_least is not None:
        return np.asarray((numbers >= definition.at_least).astype(float))
    assert definition.counts is not None
    return np.asarray(np.clip(numbers, *definition.counts))


def _made_up() -> Rows:
    """Return 10,000 rows of 100 columns, of which twenty matter."""
    rng = np.random.default_rng(17)
    features = rng.uniform(-1.0, 1.0, (10_000, 100))
    slopes = np.where(np.arange(100) < 20, rng.standard_normal(100), 0.0)
    target = (rng.random(10_000) < 1.0 / (1.0 + np.exp(-features @ slopes))).astype(float)
    return Rows(features, target, ((-1.0, 1.0),) * 100, (0.0, 1.0))


def split(name: str, number: int) -> tuple[Rows, Rows]:
    """Return training and test rows of one of the random splits."""
    rows = load(name)
    digest = hashlib.sha256(f"glm/{name}/{number}".encode()).digest()
    order = np.random.default_rng(int.from_bytes(digest[:16])).permutation(len(rows.target))
    count = int(TRAINING_SHARE * len(order))
    return rows.taken(order[:count]), rows.taken(order[count:])
