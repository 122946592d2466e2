"""The one door for rows: what X is, and where its target comes from, is decided here."""

from collections.abc import Collection
from typing import Any

import numpy as np

from ..errors import DataError
from .arrow_stream import stream_source
from .engines import ENGINES, engine_source
from .files import FileSource
from .kinds import is_lazy_frame, is_source, is_stream, is_table, library_of, refuse_one_shot, unquoted
from .memory import ArraySource, real_numbers, table_source
from .selecting import require_columns, with_columns
from .source import Array, RowSource
from .weights import refuse_feature, refuse_name, require_column, weights_of


def open_rows(
    X: Any,
    y: Any = None,
    *,
    with_target: bool = True,
    names: Collection[str] | None = None,
    weights: Any = None,
) -> RowSource:
    """Return the rows of arrays, of a table, of a stream, of an engine's table or of a source.

    ``y`` is the targets, the name of their column where ``X`` has named columns, or None where ``X`` is a source, which
    has its own target. Without a target all columns are features, and the target is 0 in every row. Where a table has
    all columns of ``names``, others are left out. ``weights`` of rows are numbers, one for each row, or the name of a
    column.

    Tables are recognised by the library they come from, so that none of these libraries is imported for nothing.
    """
    refuse_one_shot(X)
    weights = weights_of(X, weights)
    if isinstance(X, FileSource) and weights is not None:
        require_column(weights, "rows of files")
        X, weights = X.weighted(weights), None
    if names:
        refuse_feature(weights, names)
        require_columns(X, names)
        X = with_columns(X, names, y, weights)
    if is_source(X):
        if weights is not None:
            raise DataError(f"sample_weight cannot go with rows of type {type(X).__name__}; pass a table, or files.")
        return _own_target(X, y, with_target)
    if with_target and y is None:
        raise DataError(
            "a fit requires y to be passed, but the target y is None. "
            "Pass the targets, or the name of their column where X is a table."
        )
    if library_of(X) in ENGINES:
        return engine_source(X, y, weights)
    if is_stream(X):
        return stream_source(X, y, names, weights)
    if is_table(X):
        return table_source(X, y if y is None or isinstance(y, str) else _vector(y), weights)
    return _array_source(X, y, weights)


def watched_rows(X: Any, *, rows_are_public: bool) -> Any:
    """Return rows whose own progress, where files have one, does not tell a number of rows that is not public."""
    return X if rows_are_public or not isinstance(X, FileSource) else X.without_row_counts()


def rows_to_predict(estimator: Any, X: Any) -> Array:
    """Return rows in memory as finite numbers, of the columns that a fitted estimator of scikit-learn expects."""
    from sklearn.utils.validation import check_array, validate_data

    with unquoted(_not_numbers):
        rows = X if is_table(X) else _matrix(X)
        validate_data(estimator, X, reset=False, skip_check_array=True)
        if is_table(X):
            source = table_source(X, None)
            rows, _ = source.block(slice(0, source.n_rows))
        rows = check_array(rows, dtype=(np.float64, np.float32), ensure_all_finite=False, input_name="X")
    return _all_finite(rows, "X", "a prediction needs every feature of a row (no NaN and no infinity)")


def _not_numbers(error: Exception) -> str:
    """Say in place of numpy and scikit-learn that a cell is no number, since they quote it."""
    words = {TypeError: "float() argument", ValueError: "could not convert", OverflowError: ""}
    if not isinstance(error, tuple(words)) or words.get(type(error), "") not in str(error):
        raise error
    return "X must hold numbers; could not convert all of it to float."


def targets_to_score(y: Any) -> Array:
    """Return targets as finite numbers."""
    return _all_finite(real_numbers(y, "y"), "y", "a score needs the target of every row (no NaN and no infinity)")


def _all_finite(values: Array, name: str, rule: str) -> Array:
    if not np.isfinite(values).all():
        raise DataError(f"{name} has missing or infinite values; {rule}. Leave such rows out, or fill them in.")
    return values


def target_name(X: Any, y: Any) -> str | None:
    """Return the name of the target where it has one: that of a column, of a series, or of a source's own target."""
    name = y if isinstance(y, str) else getattr(X if y is None else y, "target" if y is None else "name", None)
    return name if isinstance(name, str) and name else None


def column_names(X: Any) -> list[Any]:
    """Return the names of a table's columns as it has them, which need not be text."""
    if is_lazy_frame(X):
        return list(X.collect_schema().names())
    return list(getattr(X, "column_names", getattr(X, "columns", ())))


def _own_target(source: Any, target: Any, with_target: bool) -> RowSource:
    if target is not None:
        raise DataError("y must be None where X is a source of rows, which has its own target.")
    if with_target and getattr(source, "target", "") is None:
        raise DataError("X has no target; name its column, as in dpols.read(path, target=...).")
    if hasattr(source, "check"):
        source.check()
    opened: RowSource = source
    return opened


def _array_source(X: Any, y: Any, weights: Any) -> ArraySource:
    """Return the rows of a matrix; those to fit on are checked as scikit-learn does."""
    from sklearn.utils.validation import check_array

    if isinstance(y, str):
        raise DataError(f"y={y!r} names a column, but X is not a table; pass a table, or the targets as y.")
    if y is None:
        rows = real_numbers(X, "features")
        return ArraySource(rows, np.broadcast_to(np.float64(0.0), rows.shape[:1]))  # zeros that take no memory
    kinds = (np.float64, np.float32)
    least = {"ensure_min_samples": 0, "ensure_min_features": 0}
    rows = _matrix(X)
    if not (type(rows) is np.ndarray and rows.ndim == 2 and rows.dtype in kinds):  # else there is nothing to check
        rows = check_array(rows, dtype=kinds, ensure_all_finite=False, **least, input_name="X")
    if not rows.shape[1]:  # in the words of scikit-learn, but for the number of rows
        raise DataError("X has 0 feature(s) (shape=(, 0)) while a minimum of 1 is required.")
    target = _vector(y)
    if len(target) != len(rows):
        raise DataError("y must have one value for each row of X, and their numbers differ.")
    refuse_name(weights)
    return ArraySource(rows, target if weights is None else np.column_stack((target, weights)))


def _vector(y: Any) -> Array:
    """Return targets as a vector of double precision."""
    from sklearn.utils.validation import check_array

    target = real_numbers(y, "y")
    if type(target) is np.ndarray and target.ndim == 1 and target.dtype == np.float64:
        return target
    target = check_array(target, ensure_2d=False, ensure_all_finite=False, ensure_min_samples=0)
    return one_column(target).astype(np.float64, copy=False)


def one_column(y: Any) -> Array:
    """Return targets as a vector; what is none is refused without its shape, which tells the number of rows."""
    from sklearn.utils.validation import column_or_1d

    with unquoted(_why_no_column):
        return np.asarray(column_or_1d(y, warn=True))


def _why_no_column(error: Exception) -> str:
    if "Complex data not supported" in str(error):
        return "Complex data not supported: y must hold real numbers."
    return "y should be a 1d array, with one target for each row of X."


def _matrix(X: Any) -> Any:
    """Refuse what is not a matrix of numbers, without quoting it; leave sparse ones and frames to scikit-learn."""
    if hasattr(X, "toarray") or hasattr(X, "__dataframe__"):
        return X
    array = real_numbers(X, "X")
    if array.ndim < 2:
        raise DataError(
            f"Expected 2D array, got {array.ndim}D array instead: X must have rows and columns. Reshape your data "
            "with X.reshape(-1, 1) if it is one feature, or X.reshape(1, -1) if it is one row."
        )
    return array
