"""Which columns of a table are features and which is the target, and whether they hold numbers."""

from collections.abc import Sequence

from ..errors import BoundsError, DataError, DataTypeError


def feature_names(names: Sequence[str], target: object) -> list[str]:
    """Return the columns that are features: all but the target where ``target`` is the name of a column."""
    if len(set(names)) < len(names):
        raise DataError(f"column names must be unique, but are {list(names)}.")
    if isinstance(target, str) and target not in names:
        raise DataError(f"target={target!r} is not a column; the columns are {list(names)}.")
    features = [name for name in names if name != target] if isinstance(target, str) else list(names)
    if not features:
        raise BoundsError("the table has no feature columns.")
    return features


def require_numeric(bad: Sequence[str], all_names: Sequence[str]) -> None:
    """Refuse a table of which some columns do not hold numbers."""
    if bad:
        raise DataTypeError(
            f"column(s) {list(bad)} do not hold numbers. Encode them (one-hot with publicly known categories) "
            f"or leave them out; the numeric columns are {[name for name in all_names if name not in bad]}."
        )
