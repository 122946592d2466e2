"""Yes/no outcomes as numbers: which two labels there are, and 0 and 1 in their place."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..data.columns import is_numeric
from ..data.kinds import is_table, library_of
from ..data.missing import floats, is_missing, unmasked
from ..errors import BoundsError, DataError, DataTypeError, ParameterError, quoted
from ..feature_map.cells import coder
from ..feature_map.columns import CategoricalColumn
from ..linalg import Array

_LARGEST_EXACT = 2.0**53  # from here on floating point skips whole numbers


def declared_labels(classes: Any) -> Array | None:
    """Return the declared labels as an array of two, or None where none are declared."""
    if classes is None:
        return None
    if isinstance(classes, str) or not isinstance(classes, Sequence | np.ndarray) or len(classes) != 2:
        raise ParameterError(
            f"classes={quoted(classes)} must be two labels, such as ('no', 'yes'); the second is a yes."
        )
    labels = np.asarray(classes)
    if labels.dtype.kind in "OU" and not all(isinstance(label, str) for label in classes):
        raise ParameterError(f"classes={quoted(classes)} must be two texts, two numbers or two truth values.")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ParameterError(f"classes={quoted(classes)} must be finite.")
    if labels[0] == labels[1]:
        raise ParameterError(f"classes={quoted(classes)} must be two different labels.")
    return labels


def labels_of(y: Any, cells: Array, *, look: bool) -> tuple[Array, bool]:
    """Return the labels of outcomes in memory for which none are declared, and whether these were found in them.

    ``cells`` are those of ``y`` as a vector. Numbers that are all 0 or 1, and truth values, have the labels 0 and 1
    whether or not both occur. ``look`` says whether others are looked for: one row may decide which they are.
    """
    two = np.array([False, True]) if _type_of(y).startswith("bool") else np.array([0, 1])
    if not look and not _holds_numbers(y):
        raise DataError(
            "bad_rows='zero' looks for no labels in y, since one row could decide which they are; declare those of "
            "texts and objects by classes=(no, yes)."
        )
    if not look or _are_among(cells, two):
        return two, False
    return found_labels(cells), True


def found_labels(values: Array) -> Array:
    """Return the two labels that a vector of outcomes has, in order; how many others there are is not said."""
    if _empty(values).any() or (values.dtype.kind == "f" and np.isinf(values).any()):
        raise DataError("y has missing or infinite values (NaN); declare the labels by classes=(no, yes).")
    if values.dtype.kind == "f" and (values != np.rint(values)).any():
        raise DataError("Unknown label type: continuous. y must hold two labels, such as 0 and 1 or 'no' and 'yes'.")
    try:
        labels = np.unique(values)
    except Exception:  # its words would tell of a cell
        raise DataError(
            "Unknown label type: y should be a 1d array of two texts, two numbers or two truth values."
        ) from None
    if len(labels) != 2:
        raise DataError(
            "Only binary classification is supported: y must have two classes, and has one class or more than two. "
            "Declare them by classes=(no, yes)."
        )
    return declared_labels(labels.tolist() if labels.dtype == object else labels)  # type: ignore[return-value]


def _holds_numbers(y: Any) -> bool:
    """Return whether outcomes are numbers or truth values by their type, whatever their cells are."""
    if library_of(y) in ("polars", "pyarrow"):
        return is_numeric(y)
    return getattr(getattr(y, "dtype", None), "kind", "O") in "biuf"


def _type_of(y: Any) -> str:
    """Return the name of the type that all outcomes have, where they have one; cells do not matter."""
    return str(getattr(y, "type", getattr(y, "dtype", ""))).lower()


def _are_among(cells: Array, two: Array) -> bool:
    """Return whether all cells that are not missing are numbers or truth values among two."""
    if cells.dtype.kind not in "biuf" and any(isinstance(cell, str | bytes) for cell in cells.tolist()):
        return False
    return not (np.isnan(as_numbers(cells, two)) & ~_empty(cells)).any()


def _empty(cells: Array) -> Array:
    """Return which cells are missing."""
    if cells.dtype.kind in "biuf":
        return np.isnan(cells) if cells.dtype.kind == "f" else np.zeros(len(cells), dtype=bool)
    return np.fromiter(map(is_missing, cells.tolist()), dtype=bool, count=len(cells))


def in_public_words(labels: Array, *, found: bool) -> str:
    """Say for a report which label is which, and where they were found."""
    no, yes = labels.tolist()
    return f"the labels {no!r} (no) and {yes!r} (yes) of the target{', which were found in the data' * found}"


def as_numbers(y: Any, labels: Array) -> Array:
    """Return 0 for the first label, 1 for the second, and nan for everything else."""
    values = np.asarray(y)
    if labels.dtype.kind in "OUS":
        number_of = _reader_of(labels.tolist())
        return np.fromiter((number_of(cell) for cell in values.tolist()), dtype=np.float64, count=len(values))
    if labels.dtype.kind in "iu" and np.abs(labels.astype(np.float64)).max() >= _LARGEST_EXACT:
        if values.dtype.kind not in "iu":  # in floating point neighbours of a label are equal to it
            number_of = _reader_of([str(label) for label in labels.tolist()])
            return np.fromiter((number_of(cell) for cell in values.tolist()), dtype=np.float64, count=len(values))
    elif values.dtype.kind in "OUS":
        values = _as_floats(values.tolist())
    with np.errstate(invalid="ignore"):
        second, first = np.equal(values, labels[1]), np.equal(values, labels[0])
    return np.where(second, 1.0, np.where(first, 0.0, np.nan)).astype(np.float64)


def _reader_of(labels: list[str] | list[bytes]) -> Callable[[Any], float]:
    """Return what gives the number of a cell among two labels, nan where it has none: as in a column that is named."""
    exact = dict(zip(labels, (0.0, 1.0), strict=True))
    twins = len({str(label).casefold() for label in labels}) < 2
    try:
        code = coder("y", CategoricalColumn(labels, case="exact" if twins else "ignore"))
    except BoundsError:  # of labels that are no categories: bytes, or an empty text
        return lambda cell: exact.get(cell, np.nan) if isinstance(cell, str | bytes) else np.nan

    def number_of(cell: Any) -> float:
        if isinstance(cell, str) and cell in exact:
            return exact[cell]
        try:
            found = code(cell)
        except DataTypeError:
            return np.nan
        return float(found) if found >= 0 else np.nan

    return number_of


def label_cells(y: Any) -> Any:
    """Return outcomes in memory with a list as a vector of its cells: numpy would turn all into text where one is.

    So are whole numbers that lack some cells: numpy would round all of them.
    """
    y = _whole_numbers(unmasked(y))
    if hasattr(y, "__array__") or not isinstance(y, Sequence):
        return y
    cells = np.empty(len(y), dtype=object)
    for place, cell in enumerate(y):
        one = isinstance(cell, list | tuple) and len(cell) == 1  # a row of a table of one column
        cells[place] = cell[0] if one else cell
    return cells


def _whole_numbers(y: Any) -> Any:
    """Return a column of whole numbers of which some are missing as a list of cells, and others as they are."""
    library, kind = library_of(y), str(getattr(y, "dtype", getattr(y, "type", ""))).lower()
    if library not in ("pandas", "polars", "pyarrow") or "int" not in kind:
        return y
    if library == "pandas":
        return y if isinstance(getattr(y, "dtype", y), np.dtype) or y.ndim != 1 else y.tolist()
    return (y.to_pylist() if library == "pyarrow" else y.to_list()) if y.null_count else y


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
    """Return the outcomes of a table in memory as its column; None where rows are elsewhere."""
    if not is_table(X) or name not in (X.column_names if library_of(X) == "pyarrow" else list(X.columns)):
        return None
    return X.column(name) if library_of(X) == "pyarrow" else X[name]
