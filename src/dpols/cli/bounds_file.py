"""The bounds file: TOML with a table ``[target]`` and a table ``[features.NAME]`` for each feature.

Each table has ``low`` and ``high``, or ``categories``; `dpols.feature_map.toml` lists what else it may have. A table
``[weight]`` declares weights of rows, ``[exposure]`` exposures. Only the columns that the file names are used. A CSV
file with the columns ``column``, ``low`` and ``high`` does as well.
"""

import tomllib
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, TypeVar

from ..data import Bounds
from ..data.bounds_table import read_bounds_table
from ..errors import BoundsError, ParameterError
from ..feature_map import FeatureMap, NumericColumn
from ..feature_map.toml import feature_map_from_toml, one_line, toml_key

Declared = TypeVar("Declared")

_HEAD = """\
# Bounds for "dpols fit". Give each column its low and high, or its categories, from public knowledge: what such a
# column can hold, never what this table happens to hold, since that would leak it. Numbers outside are clipped, and
# other categories count as none of those listed. Columns without a table here are not used: delete those that you do
# not need. A yes/no target (--family binomial) needs no low and high.
#
# A column of numbers may also have
#   missing = 45            what an empty cell counts as
#   degree = 2              its powers up to this one as further features
#   transform = "log"       a function in its place, also for the target: log, log2, log10, log1p, sqrt, exp,
#                           { power = 0.5 }, { centre = 40, scale = 10 }, or { knots = [30, 50] } for a smooth curve
# and a column of categories
#   missing = "north"       what an empty cell counts as
#   unknown = "other"       a category of its own for all that are not listed
#   reference = "west"      what others are compared with, in place of the first category
#   drop_first = false      a coefficient also for the first category
#   case = "exact"          "South" is then not "south"
# Products of columns are listed here, above all tables:
# interactions = [["COLUMN", "OTHER COLUMN"]]
#
# Where a column holds weights of rows, give it a table [weight] with its name, and the largest weight as high; it must
# not be computed from this table. Exposure of counts has a table [exposure] with name, low and high, above 0.
"""
_LIMITS = "# low =\n# high =\n"
_CATEGORIES = '# categories = ["FIRST", "SECOND"]\n'
_EITHER = f"{_LIMITS}# or {_CATEGORIES[2:]}"


def read_feature_map(path: Path, target: str | None = None) -> FeatureMap:
    """Return what a file declares, as a feature map with the range of the target, which is that of this name."""
    declared = read_declared(path, target)
    if declared.target is None:
        raise BoundsError(
            f"bounds file {str(path)!r}: has no table [target]; it needs the low and high of the column to predict."
        )
    if target is not None and declared.target_name not in (None, target):
        raise BoundsError(
            f"bounds file {str(path)!r}: [target] is that of {declared.target_name!r}, not of --target {target!r}; "
            f"pass --target {declared.target_name}, or give [target] the name, low and high of {target!r}."
        )
    return declared


def read_declared(path: Path, target: str | None = None, *, family: str = "gaussian") -> FeatureMap:
    """Return what a file declares, of whatever target; a CSV file has a row for each column, also for the target.

    A yes/no target needs no range, so that its table may have a name alone.
    """
    if path.suffix.lower() == ".csv":
        return _from_table(path, target)
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # also of numbers too long and tables too deep for Python
        raise BoundsError(f"{str(path)!r} is not valid TOML: {error}.") from None
    if family == "binomial" and isinstance(table := document.get("target"), dict) and table.keys() <= {"name"}:
        if target is not None and table.get("name", target) != target:
            raise BoundsError(
                f"bounds file {str(path)!r}: [target] has the name {table['name']!r}, and the target is {target!r}; "
                "change one of them."
            )
        del document["target"]
    try:
        return feature_map_from_toml(document)
    except BoundsError as error:
        raise BoundsError(f"bounds file {str(path)!r}: {error}") from None


def _from_table(path: Path, target: str | None) -> FeatureMap:
    table = read_bounds_table(path, target, option="--target")
    return FeatureMap({name: NumericColumn(*pair) for name, pair in table["features"].items()}, target=table["target"])


def read_bounds(path: Path) -> Bounds:
    """Return the bounds that a file declares which has ranges only."""
    declared = plain_bounds(read_feature_map(path))
    if declared is None:
        raise BoundsError(f"bounds file {str(path)!r}: declares more than ranges; only ranges can be used here.")
    return declared


def plain_bounds(declared: FeatureMap) -> Bounds | None:
    """Return the bounds of a feature map that does nothing to the columns, None where it does or is a formula's."""
    if declared.formula is not None or declared.terms != FeatureMap(declared.columns).terms:
        return None
    columns = declared.columns.values()
    plain = all(isinstance(column, NumericColumn) and column.missing is None and not column.steps for column in columns)
    return declared.bounds() if plain and not declared.target_transform else None


def feature_names(bounds: Bounds) -> list[str]:
    """Return the features that a bounds file names."""
    assert isinstance(bounds.features, Mapping)
    return list(bounds.features)


def bounds_template(
    columns: Mapping[str, str | None], target: str, *, categories: Collection[str] = (), typed: bool = False
) -> str:
    """Return a bounds file to fill in; ``columns`` maps a name to its type where that is none of numbers.

    Columns that do not hold numbers, and those that ``categories`` names, get a list of categories to fill in; others
    get limits, or either where the table is not ``typed``.
    """
    parts = [_HEAD, f"[target]\nname = {one_line(target)}\n{_LIMITS}"]
    for name, other_type in columns.items():
        if name != target:
            listed = other_type is not None or name in categories
            blank = _CATEGORIES if listed else _LIMITS if typed or categories else _EITHER
            parts.append(f"[features.{toml_key(name)}]\n{blank}")
    return "\n".join(parts)


def filled_bounds(bounds: Bounds, target: str) -> str:
    """Return a bounds file with the limits of ``bounds``, whose features are a mapping."""
    assert isinstance(bounds.features, Mapping)
    assert bounds.target is not None
    tables = [(f"[target]\nname = {one_line(target)}", bounds.target)]
    tables += [(f"[features.{toml_key(name)}]", pair) for name, pair in bounds.features.items()]
    return "\n".join(f"{head}\nlow = {low!r}\nhigh = {high!r}\n" for head, (low, high) in tables)


def settled(option: str, given: Declared | None, declared: Declared | None, where: str) -> Declared | None:
    """Return what an option or a table of the bounds file says, where they do not contradict each other."""
    if given is not None and declared not in (None, given):
        raise ParameterError(f"{option} {given!r} contradicts {declared!r} of {where}; leave out one of them.")
    return given if declared is None else declared


def declared_beside(
    bounds: Path | None, declared: Callable[[Mapping[str, Any]], tuple[str | None, Declared | None]]
) -> tuple[str | None, Declared | None]:
    """Return the column, and what is declared of it, that a bounds file has beside features and target, if any."""
    if bounds is None or bounds.suffix.lower() == ".csv":
        return None, None
    try:
        return declared(tomllib.loads(bounds.read_text(encoding="utf-8")))
    except BoundsError as error:
        raise BoundsError(f"bounds file {str(bounds)!r}: {error}") from None
    except (ValueError, RecursionError):  # which reading the bounds explains
        return None, None
