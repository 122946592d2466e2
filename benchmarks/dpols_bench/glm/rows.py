"""Rows of a table as numbers, with yes/no outcomes as 1 and 0, and random splits."""

from functools import lru_cache
from operator import attrgetter
from typing import Any

import numpy as np

from ..tables.definitions import table_of
from ..tables.rows import Rows, rows_of, used_columns
from .definitions import MADE_UP, TABLES, Table

Array = np.ndarray[Any, np.dtype[Any]]


def table(name: str) -> Table:
    """Return the definition of a table by its name."""
    return table_of(TABLES, name, attrgetter("name"))


@lru_cache(maxsize=32)
def load(name: str) -> Rows:
    """Return the rows of a table that have a value in every column in use."""
    definition = table(name)
    if definition is MADE_UP:
        return _made_up()
    frame = used_columns(definition)
    return rows_of(definition, frame, _outcome(definition, frame), definition.counts or (0.0, 1.0))


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
    return load(name).split(f"glm/{name}/{number}")
