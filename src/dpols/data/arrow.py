"""Arrow columns as blocks of numbers. pyarrow is an extra and is imported when it is first used."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import required
from .scratch import scratch
from .source import Array, Block, Columns

BLOCK_ROWS = 32768


def pyarrow() -> Any:
    """Return the package pyarrow, or say how to install it."""
    return required("pyarrow", "files")


def holds_numbers(kind: Any) -> bool:
    """Return whether an Arrow type is one of numbers, booleans or nothing but missing values."""
    from pyarrow import types

    checks = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    return any(check(kind) for check in checks)


def split_batch(
    batch: Any,
    features: Sequence[str],
    target: str | None,
    constants: Mapping[str, float],
    weights: str | None = None,
) -> tuple[Array, Array]:
    """Return the features and the target of a record batch, or of an array with these columns in this order.

    What has the same value in all rows comes from ``constants``; without a target it is 0. Weights stand beside it.
    """
    if isinstance(batch, np.ndarray):
        n = len(features)
        own = np.zeros(len(batch)) if target is None else batch[:, n]
        return batch[:, :n], own if weights is None else np.column_stack((own, batch[:, -1]))
    single = all(name not in constants and str(batch.schema.field(name).type) == "float" for name in features)
    # One column after the other is how Arrow holds them, so that is how they are copied fastest.
    block = scratch("features", (len(features), batch.num_rows), dtype=np.float32 if single else np.float64)
    for row, name in zip(block, features, strict=True):
        row[:] = constants[name] if name in constants else column(batch, name)
    values = scratch("target", (2, batch.num_rows))
    for row, one in zip(values, (target, weights), strict=True):
        row[:] = 0.0 if one is None else constants[one] if one in constants else column(batch, one)
    return block.T, values[0] if weights is None else values.T


def columns_of(
    batch: Any,
    features: Sequence[str],
    target: str | None,
    constants: Mapping[str, float],
    weights: str | None = None,
) -> Columns | Block:
    """Return the columns of a record batch where they lie; what `split_batch` does of an array or beside weights."""
    if isinstance(batch, np.ndarray) or weights is not None:
        return split_batch(batch, features, target, constants, weights)

    def values(name: str) -> Array:
        return np.full(batch.num_rows, constants[name]) if name in constants else column(batch, name)

    return Columns([values(name) for name in features], np.zeros(batch.num_rows) if target is None else values(target))


def with_constants(batch: Any, names: Sequence[str], constants: Mapping[str, str | float]) -> Any:
    """Return a record batch, or an array with these columns, as a table with more columns, one value in each."""
    arrow = pyarrow()
    if isinstance(batch, np.ndarray):
        table = arrow.table({name: batch[:, i] for i, name in enumerate(names)})
    else:
        table = arrow.Table.from_batches([batch])
    for name, value in constants.items():
        table = table.append_column(name, arrow.repeat(value, len(batch)))
    return table


def column(batch: Any, name: str) -> Array:
    """Return a column's values, missing ones as nan."""
    values = batch.column(name)
    if str(values.type) not in ("double", "float", "halffloat"):
        # A safe cast would refuse whole numbers beyond 2^53, and quote them.
        values = values.cast("float64", safe=False)
    return np.asarray(values.to_numpy(zero_copy_only=False))
