"""Which columns of a table are features and which is the target, and whether they hold numbers."""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from ..errors import BoundsError, DataError, DataTypeError
from .arrow import holds_numbers
from .kinds import library_of
from .source import Array


def feature_names(names: Sequence[str], target: object, weights: object = None) -> list[str]:
    """Return the columns that are features: all but the target and the weights where these are names of columns."""
    if len(set(names)) < len(names):
        raise DataError(f"column names must be unique, but are {list(names)}.")
    if isinstance(target, str) and target not in names:
        raise DataError(f"target={target!r} is not a column; the columns are {list(names)}.")
    if isinstance(weights, str) and weights not in names:
        raise DataError(f"sample_weight={weights!r} is not a column; the columns are {list(names)}.")
    if isinstance(weights, str) and isinstance(target, str) and weights == target:
        raise DataError(f"sample_weight={weights!r} is also the target; name another column.")
    others = [name for name in (target, weights) if isinstance(name, str)]
    features = [name for name in names if name not in others]
    if not features:
        raise BoundsError("the table has no feature columns.")
    return features


def require_name(target: object, what: str) -> None:
    """Refuse a target that is not the name of a column, or None, where X is ``what``, whose rows have no order."""
    if not isinstance(target, str | None):
        raise DataError(
            f"y must be the name of a column where X is {what}: its rows have no order in which they could be matched "
            "with targets."
        )


def require_numeric(bad: Sequence[str], all_names: Sequence[str]) -> None:
    """Refuse a table of which some columns do not hold numbers."""
    if bad:
        raise DataTypeError(
            f"column(s) {list(bad)} do not hold numbers. Declare their public categories by dpols.CategoricalColumn in "
            "a dpols.FeatureMap (categories = [...] in a bounds file), or leave them out; the numeric columns are "
            f"{[name for name in all_names if name not in bad]}."
        )


def is_numeric(column: Any) -> bool:
    """Return whether a column of polars or pyarrow holds numbers, booleans or nothing but missing values."""
    if library_of(column) == "pyarrow":
        return holds_numbers(column.type)
    return bool(column.dtype.is_numeric()) or str(column.dtype) in ("Boolean", "Null")


def doubles(column: Any) -> Array:
    """Return the numbers of a column of polars or pyarrow, missing ones as nan."""
    if library_of(column) == "pyarrow":
        # A safe cast would refuse whole numbers beyond 2^53, and quote them.
        return np.asarray(column.cast("float64", safe=False).to_numpy(zero_copy_only=False))
    arrow = as_arrow(column)
    if arrow is not column:
        return doubles(arrow)
    return np.asarray(column.cast(float).to_numpy(), dtype=np.float64)


def as_arrow(rows: Any) -> Any:
    """Return a table or a column of polars as one of pyarrow, which shares its memory; anything else as it is.

    The threads of polars would compete with those of a pass.
    """
    return rows.to_arrow() if library_of(rows) == "polars" and find_spec("pyarrow") is not None else rows
