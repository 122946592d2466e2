"""Rows in memory: numpy arrays, and pandas, polars or pyarrow tables read block by block."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ..errors import DataError, DataTypeError
from .columns import doubles, feature_names, is_numeric, require_numeric
from .kinds import library_of
from .missing import floats, unmasked
from .source import Array, Kernel, Total, add_up
from .threads import even_blocks, map_blocks


@dataclass(frozen=True, repr=False)
class ArraySource:
    """Rows of a two-dimensional array and a vector of targets."""

    features: Array
    target: Array
    columns: tuple[str, ...] | None = None
    is_local: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.features.ndim != 2 or self.target.shape not in (self.features.shape[:1], (len(self.features), 2)):
            raise DataError("features and target do not match; expected arrays of shapes (n, d) and (n,).")

    @property
    def n_features(self) -> int:
        return int(self.features.shape[1])

    @property
    def n_rows(self) -> int:
        return int(self.features.shape[0])

    def block(self, rows: slice) -> tuple[Array, Array]:
        """Return features and target of some rows."""
        return self.features[rows], self.target[rows]

    def total(self, kernel: Kernel, *args: Any) -> Total:
        return _total(self, kernel, args)


@dataclass(frozen=True, repr=False)
class TableSource:
    """Rows of a table, of which one block at a time is turned into an array."""

    n_rows: int
    columns: tuple[str, ...]
    read: Callable[[int, int], tuple[Array, Array]] = field(compare=False)  # (start, stop) -> features, target
    is_local: ClassVar[bool] = True

    @property
    def n_features(self) -> int:
        return len(self.columns)

    def block(self, rows: slice) -> tuple[Array, Array]:
        """Return features and target of some rows."""
        return self.read(rows.start, rows.stop)

    def total(self, kernel: Kernel, *args: Any) -> Total:
        return _total(self, kernel, args)


def _total(source: ArraySource | TableSource, kernel: Kernel, args: tuple[Any, ...]) -> Total:
    def work(rows: slice) -> tuple[tuple[Array, ...], int]:
        features, target = source.block(rows)
        return kernel(features, target, *args), len(target)

    return add_up(map_blocks(work, even_blocks(source.n_rows)))


def table_source(table: Any, target: Any, weights: Any = None) -> TableSource:
    """Return the rows of a table in memory; ``target`` is the name of its column, the values, or None for zeros.

    ``weights`` are the name of a column or values, too, or None where rows have none.
    """
    kind = library_of(table)
    n_rows = table.num_rows if kind == "pyarrow" else len(table)
    names = [str(name) for name in (table.column_names if kind == "pyarrow" else table.columns)]
    features, reader = feature_names(names, target, weights), _pandas_reader if kind == "pandas" else _column_reader

    def one_column(values: Any) -> Callable[[int, int], Array]:
        if isinstance(values, str):
            read = reader(table, [values])
            return lambda start, stop: read(start, stop)[:, 0]
        return lambda start, stop: values[start:stop]

    vector = _zeros((n_rows,)) if target is None else target
    if not isinstance(vector, str) and len(vector) != n_rows:
        raise DataError("y must have one value for each row of X, and their numbers differ.")
    read_features, targets = reader(table, features), one_column(vector)
    if weights is None:
        return TableSource(n_rows, tuple(features), lambda a, b: (read_features(a, b), targets(a, b)))
    own = one_column(weights)
    return TableSource(
        n_rows, tuple(features), lambda a, b: (read_features(a, b), np.column_stack((targets(a, b), own(a, b))))
    )


def _zeros(shape: tuple[int, ...]) -> Array:
    """Return zeros that take no memory."""
    return np.broadcast_to(np.float64(0.0), shape)


def _as_array(values: Any) -> Array:
    """Return an array; lists with text among them cell by cell, as numpy would turn all other cells into text, too."""
    if not isinstance(values, list | tuple):
        return np.asarray(values)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Warning: converting a masked element", UserWarning)  # it tells of a cell
        array = np.asarray(values)
    return np.array(values, dtype=object) if array.dtype.kind in "SU" else array


def real_numbers(values: Any, name: str) -> Array:
    """Return real numbers as an array of float32 or float64, without a copy where they already are.

    What is refused is never quoted, as it would be by numpy and scikit-learn.
    """
    values = unmasked(values)
    _refuse_times(name, getattr(values, "dtype", None))  # numpy has no types of its own for some of pandas
    try:
        array = _as_array(values)
    except ValueError:
        raise DataError(f"{name} must be a table of numbers, with as many in each row.") from None
    if array.dtype.kind == "c":
        raise DataError(f"Complex data not supported: {name} must hold real numbers.")
    _refuse_times(name, array.dtype)
    if array.dtype in (np.dtype(np.float64), np.dtype(np.float32)):
        return array
    try:
        with np.errstate(over="ignore"):  # beyond double precision is infinite, and a warning would tell of it
            if hasattr(values, "isna") and values.dtype != object:  # pandas has columns with missing whole numbers
                return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan))
            if array.dtype == object:
                return floats(array.ravel().tolist()).reshape(array.shape)
            return array.astype(np.float64)
    except (ValueError, OverflowError):
        raise DataError(f"{name} must hold numbers; could not convert {array.dtype} to float.") from None
    except TypeError:
        raise DataTypeError(f"each argument must be a string of digits or a number, in all of {name}.") from None


def _refuse_times(name: str, kind: Any) -> None:
    if getattr(kind, "kind", "") in ("m", "M"):
        raise DataTypeError(f"{name} must hold numbers, not {kind}; convert dates to numbers of a public unit.")


def _pandas_reader(table: Any, names: list[str]) -> Callable[[int, int], Array]:
    position = {str(name): i for i, name in enumerate(table.columns)}
    wanted = [position[name] for name in names]
    bad = [name for name, i in zip(names, wanted, strict=True) if not is_numeric_column(table.iloc[:, i])]
    require_numeric(bad, names)
    whole = wanted == list(range(table.shape[1]))

    return lambda start, stop: pandas_numbers(table.iloc[start:stop] if whole else table.iloc[start:stop, wanted])


def pandas_numbers(block: Any) -> Array:
    """Return a pandas frame of numbers as an array of float32 or float64, missing ones as nan; objects cell by cell."""
    kinds = block.dtypes.tolist()
    if all(kind == np.float64 for kind in kinds) or all(kind == np.float32 for kind in kinds):
        return np.asarray(block)
    if any(kind == np.dtype(object) for kind in kinds):
        return np.column_stack([real_numbers(block.iloc[:, i], str(name)) for i, name in enumerate(block.columns)])
    with np.errstate(over="ignore"):  # beyond double precision is infinite, and a warning would tell of it
        return np.asarray(block.to_numpy(dtype=np.float64, na_value=np.nan))


def is_numeric_column(column: Any) -> bool:
    """Return whether a pandas column holds real numbers or booleans, be it as objects."""
    if getattr(column.dtype, "kind", "O") in "fiub":
        return True
    if column.dtype != object:
        return False
    try:
        floats(column)
    except (TypeError, ValueError):
        return False
    return True


def _column_reader(table: Any, names: list[str]) -> Callable[[int, int], Array]:
    """Return how to read a table of polars or pyarrow."""
    columns = [table[name] for name in names]
    require_numeric([name for name, column in zip(names, columns, strict=True) if not is_numeric(column)], names)
    return lambda start, stop: np.column_stack([doubles(column.slice(start, stop - start)) for column in columns])
