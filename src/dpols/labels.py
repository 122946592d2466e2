"""Yes/no outcomes as numbers: which two labels there are, and 0 and 1 in their place."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .data.kinds import is_table, library_of
from .data.missing import floats, unmasked
from .errors import DataError, ParameterError
from .linalg import Array


def declared_labels(classes: Any) -> Array | None:
    """Return the declared labels as an array of two, or None where none are declared."""
    if classes is None:
        return None
    if isinstance(classes, str) or not isinstance(classes, Sequence | np.ndarray) or len(classes) != 2:
        raise ParameterError(f"classes={classes!r} must be two labels, such as ('no', 'yes'); the second is a yes.")
    labels = np.asarray(classes)
    if labels.dtype.kind in "OU" and not all(isinstance(label, str) for label in classes):
        raise ParameterError(f"classes={classes!r} must be two texts, two numbers or two truth values.")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ParameterError(f"classes={classes!r} must be finite.")
    if labels[0] == labels[1]:
        raise ParameterError(f"classes={classes!r} must be two different labels.")
    return labels


def found_labels(y: Any) -> Array:
    """Return the two labels of outcomes in memory, in order; they are taken for public."""
    from sklearn.utils.multiclass import type_of_target

    y = np.asarray(y)
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise DataError("y has missing or infinite values (NaN); declare the labels by classes=(no, yes).")
    kind = type_of_target(y, input_name="y")
    if kind not in ("binary", "multiclass"):
        raise DataError(f"Unknown label type: {kind}. y must hold two labels, such as 0 and 1 or 'no' and 'yes'.")
    labels = np.unique(y)
    if len(labels) != 2:
        raise DataError(
            f"Only binary classification is supported: y has {len(labels)} class{'es' * (len(labels) != 1)}, and two "
            "are required. Declare them by classes=(no, yes) if one of them does not occur."
        )
    return labels


def in_public_words(labels: Array, *, found: bool) -> str:
    """Say for a report which label is which, and where they were found."""
    no, yes = labels.tolist()
    return f"the labels {no!r} (no) and {yes!r} (yes) of the target{', which were found in the data' * found}"


def as_numbers(y: Any, labels: Array) -> Array:
    """Return 0 for the first label, 1 for the second, and nan for everything else."""
    values = np.asarray(y)
    if labels.dtype.kind in "OUS":
        numbers = dict(zip(labels.tolist(), (0.0, 1.0), strict=True))
        cells = (numbers.get(cell, np.nan) if isinstance(cell, str | bytes) else np.nan for cell in values.tolist())
        return np.fromiter(cells, dtype=np.float64, count=len(values))
    if values.dtype.kind in "OUS":
        values = _as_floats(values.tolist())
    with np.errstate(invalid="ignore"):
        second, first = np.equal(values, labels[1]), np.equal(values, labels[0])
    return np.where(second, 1.0, np.where(first, 0.0, np.nan)).astype(np.float64)


def label_cells(y: Any) -> Any:
    """Return outcomes in memory with a list as a vector of its cells: numpy would turn all into text where one is."""
    y = unmasked(y)
    if hasattr(y, "__array__") or not isinstance(y, Sequence):
        return y
    cells = np.empty(len(y), dtype=object)
    for place, cell in enumerate(y):
        one = isinstance(cell, list | tuple) and len(cell) == 1  # a row of a table of one column
        cells[place] = cell[0] if one else cell
    return cells


def _as_floats(cells: list[Any]) -> Array:
    """Return the number of each cell, nan where it is none: of each the same as if it stood alone."""
    try:
        return floats(cells)
    except (TypeError, ValueError):
        if len(cells) == 1:
            return np.array([np.nan])
    half = len(cells) // 2
    return np.concatenate((_as_floats(cells[:half]), _as_floats(cells[half:])))


def column_of(X: Any, name: str) -> Any | None:
    """Return the outcomes of a table in memory as an array; None where rows are elsewhere."""
    if not is_table(X):
        return None
    if library_of(X) == "pyarrow":
        return np.asarray(X.column(name).to_pylist(), dtype=object) if name in X.column_names else None
    return np.asarray(X[name]) if name in list(X.columns) else None
