"""Bounds for ``dpols fit`` that no file declares: paid for, from a public reference, or unsafely from the data."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data import Bounds, read
from ..data.arrow import pyarrow
from ..data.files import Dialect, Stamp, column_types, columns_in_words, table_in_memory
from ..errors import DataTypeError, ParameterError
from ..feature_map import FeatureMap

if TYPE_CHECKING:
    from ..side_releases.paid_bounds import PaidBounds


@dataclass(frozen=True)
class BoundsWays:
    """The ways to bounds, of which a fit takes one; a share of the budget may go with a file of outer limits."""

    file: Path | None
    share: float | None
    reference: Path | None
    from_data: bool

    def __post_init__(self) -> None:
        """Refuse a fit that is told no way to its bounds, or several."""
        known = {
            "--bounds": self.file is not None and self.share is None,
            "--paid-bounds": self.share is not None,
            "--reference-bounds": self.reference is not None,
            "--unsafe-bounds-from-data": self.from_data,
        }
        ways = [name for name, given in known.items() if given]
        if not ways:
            raise ParameterError(
                "--bounds is missing: give a file with the public range of each column (dpols bounds-template writes "
                "one), or buy private ranges by --paid-bounds 0.1, or name a public table by --reference-bounds."
            )
        if len(ways) > 1:
            raise ParameterError(f"{' and '.join(ways)} cannot go together; choose one way to the bounds.")


def check_reference(reference: Path, data: Path) -> None:
    """Refuse a reference that is the data, or a folder and a file in it: its ranges are then those of private rows."""
    one, other = reference.resolve(), data.resolve()
    same = reference.exists() and data.exists() and reference.samefile(data)
    if same or one in other.parents or other in one.parents:
        raise ParameterError(
            f"--reference-bounds {str(reference)!r} is the data itself, or a part of it, so its ranges are not public. "
            "Name a public table, buy private ranges by --paid-bounds 0.1, or accept a fit that is NOT private by "
            "--unsafe-bounds-from-data."
        )


def columns_with(name: str, data: Path, option: str, dialect: Dialect) -> dict[str, str | None]:
    """Return the columns of a file, each with why it holds no numbers, or None; the one of this name is among them."""
    columns = column_types(data, dialect)
    if name not in columns:
        raise ParameterError(
            f"{option} {name!r} is not a column of {str(data)!r}{columns_in_words(name, list(columns))}."
        )
    return columns


def check_unit(data: Path, unit: str | None, max_rows_per_unit: int | None, dialect: Dialect) -> None:
    """Refuse a unit that is no column of the data, or of which it is not said how many rows are used."""
    if unit is None:
        if max_rows_per_unit is not None:
            raise ParameterError("--max-rows-per-unit goes with --unit, the column that says to whom a row belongs.")
        return
    if max_rows_per_unit is None:
        raise ParameterError(
            f"--max-rows-per-unit is missing: say how many rows of each {unit!r} are used, such as 5. The noise grows "
            "with it."
        )
    columns_with(unit, data, "--unit", dialect)


def feature_columns(
    data: Path, target: str, features: str | None, others: Sequence[str | None], dialect: Dialect
) -> list[str]:
    """Return the columns that are features: those that are listed, or all but the target, the unit and the weight."""
    columns = columns_with(target, data, "--target", dialect)
    if features is None:
        return [name for name in columns if name not in (target, *others)]
    listed = [name.strip() for name in features.split(",")]
    for name in listed:
        if name not in columns or name in (target, *others) or listed.count(name) > 1:
            raise ParameterError(
                f"--features has {name!r}; it must list columns of {str(data)!r}, each once and not the target, the "
                "unit or the weight, with commas between them."
            )
    return listed


def paid(share: float, outer: Bounds | None = None, features: Sequence[str] | None = None) -> "PaidBounds":
    """Return bounds to be paid for, within outer limits where a file declares them.

    Without features they are those of a feature map.
    """
    from ..side_releases.paid_bounds import PaidBounds

    if not 0.0 < share < 1.0:
        raise ParameterError(
            f"--paid-bounds {share:g} must lie strictly between 0 and 1: it is a share of the budget, such as 0.1."
        )
    if outer is None:
        return PaidBounds(features=None if features is None else dict.fromkeys(features), share=share)
    return PaidBounds(features=outer.features, target=outer.target, share=share)


def map_of_reference(path: Path, target: str | None, features: Sequence[str]) -> FeatureMap | None:
    """Return the ranges and categories of a public table in a file; None where it holds numbers alone."""
    if path.is_dir():
        return None
    file, types = Stamp.of(path), column_types(path)
    names = [*features, *([] if target is None else [target])]
    missing = [name for name in names if name not in types]
    if missing:
        raise ParameterError(
            f"--reference-bounds {str(path)!r} has no column {missing[0]!r}; its columns are {list(types)}. Name the "
            "features to use by --features."
        )
    text = [name for name in features if types[name] is not None or not _holds_numbers(file, name)]
    if not text:
        return None
    table = table_in_memory(file, names, text)
    return FeatureMap.from_reference(_without_empty(table, text), target=target)


def _holds_numbers(file: Stamp, name: str) -> bool:
    try:
        table_in_memory(file, [name], ())
    except DataTypeError:
        return False
    return True


def from_table(path: Path, target: str | None, features: Sequence[str], dialect: Dialect, *, unsafe: bool) -> Bounds:
    """Return the ranges of a table in a file: of a public one, or unsafely of the data itself."""
    source: Any = read(path, target, features, **dialect.options)
    return Bounds.from_data(source, unsafe_from_data=True) if unsafe else Bounds.from_reference(source)


def _without_empty(table: Any, names: Sequence[str]) -> Any:
    """Return a table in which empty text is missing."""
    from pyarrow import compute, types

    for place, name in enumerate(table.column_names):
        if name in names and types.is_string(table.schema.field(place).type):
            column = table.column(place)
            filled = compute.if_else(compute.equal(column, ""), pyarrow().scalar(None, column.type), column)
            table = table.set_column(place, name, filled)
    return table
