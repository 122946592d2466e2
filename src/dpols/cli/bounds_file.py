"""The bounds file: TOML with a table ``[target]`` and a table ``[features.NAME]`` for each feature.

Each table has ``low`` and ``high``. Only the columns that the file names are used.
"""

import json
import re
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import BoundsError

if TYPE_CHECKING:
    from ..data import Bounds

_HEAD = """\
# Bounds for "dpols fit". Give low and high of every column from public knowledge: what such a column can hold,
# never what this table happens to hold, since that would leak it. Values outside are clipped.
# Columns without a table here are not used: delete those that you do not need.
"""
_LIMITS = "# low =\n# high =\n"


def read_bounds(path: Path) -> "Bounds":
    """Return the bounds that a file declares."""
    from ..data import Bounds

    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # also of numbers too long and tables too deep for Python
        raise BoundsError(f"{str(path)!r} is not valid TOML: {error}.") from None
    try:
        unknown = sorted(set(document) - {"target", "features"})
        if unknown:
            raise BoundsError(f"has {unknown[0]!r}; it may have [target] and [features.NAME] only.")
        features = document.get("features")
        if not (isinstance(features, dict) and features):
            raise BoundsError("has no feature; give each feature to use a table [features.NAME] with low and high.")
        target = _limits("target", document.get("target"))
        return Bounds(
            features={name: _limits(f"features.{toml_key(name)}", table) for name, table in features.items()},
            target=target,
        )
    except BoundsError as error:
        raise BoundsError(f"bounds file {str(path)!r}: {error}") from None


def feature_names(bounds: "Bounds") -> list[str]:
    """Return the features that a bounds file names."""
    assert isinstance(bounds.features, Mapping)
    return list(bounds.features)


def bounds_template(columns: Mapping[str, str | None], target: str) -> str:
    """Return a bounds file without limits; ``columns`` maps a name to the type that rules it out, or None."""
    parts = [_HEAD, f"# {_one_line(target)}\n[target]\n{_LIMITS}"]
    features = {name: reason for name, reason in columns.items() if name != target}
    parts += [f"[features.{toml_key(name)}]\n{_LIMITS}" for name, reason in features.items() if reason is None]
    parts += [
        f"# {_one_line(name)} holds {_one_line(reason)[1:-1]}, not numbers. "
        "Encode it as one 0/1 column for each public category.\n"
        for name, reason in features.items()
        if reason is not None
    ]
    return "\n".join(parts)


def filled_bounds(bounds: "Bounds", target: str) -> str:
    """Return a bounds file with the limits of ``bounds``, whose features are a mapping."""
    assert isinstance(bounds.features, Mapping)
    assert bounds.target is not None
    tables = [(f"# {_one_line(target)}\n[target]", bounds.target)]
    tables += [(f"[features.{toml_key(name)}]", pair) for name, pair in bounds.features.items()]
    return "\n".join(f"{head}\nlow = {low!r}\nhigh = {high!r}\n" for head, (low, high) in tables)


def toml_key(name: str) -> str:
    """Return a name as a TOML key, in quotes where it needs them.

    >>> toml_key("age"), toml_key("body mass")
    ('age', '"body mass"')
    """
    if re.fullmatch(r"[A-Za-z0-9_-]+", name):
        return name
    return _one_line(name)


def _limits(where: str, table: Any) -> tuple[float, float]:
    if not isinstance(table, dict):
        raise BoundsError(f"has no table [{where}]; it needs low and high.")
    unknown = sorted(set(table) - {"low", "high"})
    if unknown:
        raise BoundsError(f"[{where}] has {unknown[0]!r}; it may have low and high only.")
    for end in ("low", "high"):
        if end not in table:
            raise BoundsError(f"[{where}] has no {end}; fill it in from public knowledge, or delete the table.")
        if isinstance(table[end], bool) or not isinstance(table[end], int | float):
            found = repr(table[end]) if isinstance(table[end], str) else f"a value of type {type(table[end]).__name__}"
            raise BoundsError(f"[{where}] has {end} = {found}; it must be a number.")
        if isinstance(table[end], int) and abs(table[end]) > sys.float_info.max:  # may be too long to be printed
            raise BoundsError(f"[{where}] has a whole number beyond the range of doubles in {end}.")
    low, high = table["low"], table["high"]
    if not low < high:
        raise BoundsError(f"[{where}] has low = {low!r} and high = {high!r}; low must be less than high.")
    return low, high


def _one_line(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
