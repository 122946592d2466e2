"""Types of a column of ids that is held in several pieces, such as files or partitions.

Equal ids must be equal in every piece, or one person would be two units. Types of one family have ids that are equal
wherever their values are: texts, however they are encoded; and whole numbers of any width beside doubles, since a
double that may stand for several whole numbers is no id. Nothing is known of any two other types.
"""

from typing import Any

from ..errors import DataError
from .kinds import library_of

_ANYTHING = "anything"  # of a piece without ids, or whose type is not known
_UNKNOWN = "__UNKNOWN_CATEGORIES__"  # Dask's word for categories that differ among partitions


def require_one_type(name: str, first: Any, other: Any, where: str) -> None:
    """Refuse ids of two types, of Arrow or pandas, of which equal ones would not be told to be equal."""
    families = {_family(first), _family(other)} - {_ANYTHING}
    if len(families) > 1:
        raise DataError(
            f"unit={name!r} has the type {first} in some {where} and {other} in others, so that one person would count "
            f"as two units; write all {where} with one type of {name!r}, such as text."
        )


def _family(kind: Any) -> str:
    return _arrow_family(kind) if library_of(kind) == "pyarrow" else _pandas_family(kind)


def _arrow_family(kind: Any) -> str:
    from pyarrow import types

    if types.is_dictionary(kind):
        return _arrow_family(kind.value_type)
    if types.is_null(kind):
        return _ANYTHING
    if types.is_string(kind) or types.is_large_string(kind):
        return "text"
    return "numbers" if types.is_integer(kind) or types.is_float64(kind) else str(kind)


def _pandas_family(kind: Any) -> str:
    import pandas

    if isinstance(kind, pandas.ArrowDtype):
        return _arrow_family(kind.pyarrow_dtype)
    if isinstance(kind, pandas.CategoricalDtype):
        unknown = kind.categories is None or _UNKNOWN in kind.categories
        return _ANYTHING if unknown else _pandas_family(kind.categories.dtype)
    if isinstance(kind, pandas.StringDtype) or str(kind) == "object":
        return "text"  # objects are mostly texts, and compared one by one
    numbers = getattr(kind, "kind", "O") in "iu" or str(kind).lower() == "float64"
    return "numbers" if numbers else str(kind)
