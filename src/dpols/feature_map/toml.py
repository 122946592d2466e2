"""A feature map in TOML: what a person declares of a table, in one file.

``[target]`` has ``low`` and ``high``, the ``name`` of the column that they are of, and as far as wanted ``transform``.
Each ``[features.NAME]`` has either ``low`` and ``high``, and as far as wanted ``missing``, ``transform``, ``degree``
and ``centre``; or ``categories``, and as far as wanted ``unknown``, ``missing``, ``drop_first``, ``reference`` and
``case``. ``transform`` is a name such as "log", a table such as { power = 0.5 }, { centre = 40, scale = 10 } or
{ knots = [30, 50] }, or a list of these. ``interactions``, above all tables, lists products as lists of column names.
Powers and products are those of a column, transformed if it is, minus its centre, by default the middle of its range:
they are then less correlated with it, and noise does less harm. ``[weight]`` has the ``name`` of the column that
holds the weights of rows, if any does, and the largest weight as ``high``; ``[exposure]`` has the ``name`` of the
column of exposures, and their range as ``low`` and ``high``.
"""

import json
import re
import sys
from collections.abc import Mapping
from typing import Any

from ..errors import BoundsError
from .columns import CategoricalColumn, Column, NumericColumn
from .mapping import FeatureMap
from .terms import Factor
from .transforms import as_transform, interval_of

_ARITHMETIC = ("low", "high", "missing", "transform", "degree", "centre")
_CATEGORICAL = ("categories", "unknown", "missing", "drop_first", "reference", "case")


def feature_map_from_toml(document: Mapping[str, Any]) -> FeatureMap:
    """Return the feature map that a parsed TOML document declares."""
    unknown = sorted(set(document) - {"target", "features", "weight", "exposure", "interactions"})
    if unknown:
        raise BoundsError(
            f"has {unknown[0]!r}; it may have [target], [features.NAME], [weight], [exposure] and interactions only."
        )
    _refuse_long(document)
    declared_weight(document)
    declared_exposure(document)
    features = document.get("features")
    if not (isinstance(features, dict) and features):
        raise BoundsError(
            "has no feature; give each feature to use a table [features.NAME] with low and high, or with categories."
        )
    target, target_name, transform = _target(document.get("target"))
    columns = {name: _column(f"features.{toml_key(name)}", table) for name, table in features.items()}
    centres = {name: _centre(name, table, columns[name]) for name, table in features.items()}
    terms: list[Any] = list(columns)
    for name, table in features.items():
        for power in range(2, _degree(f"features.{toml_key(name)}", table) + 1):
            terms.append(Factor(name, power, centres[name]))
    for product in _interactions(document.get("interactions", []), columns):
        terms.append([Factor(name, origin=centres[name]) for name in product])
    return FeatureMap(columns, terms, target, target_name, target_transform=transform)


def declared_weight(document: Mapping[str, Any]) -> tuple[str | None, float | None]:
    """Return the column of weights and the largest weight that a document declares, None where it does not."""
    table = document.get("weight")
    if table is None:
        return None, None
    if not isinstance(table, dict):
        raise BoundsError("has no table [weight], but a value of that name; the table needs name and high.")
    _only("weight", table, ("name", "high"))
    name = table.get("name")
    if not isinstance(name, str):
        raise BoundsError("[weight] has no name; it must be the name of the column that holds the weights of rows.")
    if "high" not in table:
        raise BoundsError("[weight] has no high, the largest weight; fill it in from public knowledge.")
    high = _number("weight", "high", table["high"])
    if not high > 0.0:
        raise BoundsError(f"[weight] has high = {high:g}; the largest weight must be above 0.")
    return name, high


def declared_exposure(document: Mapping[str, Any]) -> tuple[str | None, tuple[float, float] | None]:
    """Return the column of exposures and their range that a document declares, None where it does not."""
    table = document.get("exposure")
    if table is None:
        return None, None
    if not isinstance(table, dict):
        raise BoundsError("has no table [exposure], but a value of that name; the table needs name, low and high.")
    _only("exposure", table, ("name", "low", "high"))
    name = table.get("name")
    if not isinstance(name, str):
        raise BoundsError("[exposure] has no name; it must be the name of the column that holds the exposure of rows.")
    if "low" not in table or "high" not in table:
        raise BoundsError("[exposure] needs low and high, the range of exposure; fill them in from public knowledge.")
    low, high = (_number("exposure", end, table[end]) for end in ("low", "high"))
    if not 0.0 < low < high:
        raise BoundsError(f"[exposure] has low = {low:g} and high = {high:g}; both must be above 0, and rise.")
    return name, (low, high)


def toml_key(name: str) -> str:
    """Return a name as a TOML key, in quotes where it needs them.

    >>> toml_key("age"), toml_key("body mass")
    ('age', '"body mass"')
    """
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else one_line(name)


def one_line(text: str) -> str:
    """Return a text in quotes, as TOML writes it."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _target(table: Any) -> tuple[tuple[float, float] | None, str | None, Any]:
    """Return range, name and transform of the target; a formula may name a feature instead."""
    if table is None:
        return None, None, None
    limits = _limits("target", table, ("name", "low", "high", "transform"))
    name = table.get("name")
    if name is not None and not isinstance(name, str):
        raise BoundsError("[target] has a name that is no text; it must be the name of the column to predict.")
    try:
        return limits, name, as_transform(table.get("transform"))
    except BoundsError as error:
        raise BoundsError(f"[target]: {error}") from None


def _column(where: str, table: Any) -> Column:
    try:
        if isinstance(table, dict) and "categories" in table:
            _only(where, table, _CATEGORICAL)
            return CategoricalColumn(**table)
        low, high = _limits(where, table, _ARITHMETIC)
        return NumericColumn(low, high, table.get("missing"), table.get("transform"))
    except BoundsError as error:
        text = str(error)
        raise BoundsError(text if text.startswith("[") or "no table" in text else f"[{where}]: {text}") from None


def _limits(where: str, table: Any, allowed: tuple[str, ...]) -> tuple[float, float]:
    if not isinstance(table, dict):
        raise BoundsError(f"has no table [{where}]; it needs low and high.")
    _only(where, table, allowed)
    other = "" if where == "target" else ", or give categories, or delete the table"
    for end in ("low", "high"):
        if end not in table:
            raise BoundsError(f"[{where}] has no {end}; fill it in from public knowledge{other}.")
        _number(where, end, table[end])
    low, high = table["low"], table["high"]
    if not low < high:
        raise BoundsError(f"[{where}] has low = {low!r} and high = {high!r}; low must be less than high.")
    return low, high


def _refuse_long(document: Mapping[str, Any]) -> None:
    """Refuse whole numbers beyond the range of doubles, which may be too long to be printed."""
    left: list[tuple[str, str, Any]] = [("", "", document)]
    while left:
        where, name, value = left.pop()
        if isinstance(value, dict):
            inner = ".".join(part for part in (where, name) if part)
            left += [(inner, toml_key(key), inside) for key, inside in value.items()]
        elif isinstance(value, list):
            left += [(where, name, inside) for inside in value]
        elif isinstance(value, int) and abs(value) > sys.float_info.max:
            raise BoundsError(f"[{where}] has a whole number beyond the range of doubles in {name}.")


def _number(where: str, name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        found = repr(value) if isinstance(value, str) else f"a value of type {type(value).__name__}"
        raise BoundsError(f"[{where}] has {name} = {found}; it must be a number.")
    try:
        return float(value)
    except OverflowError:  # the number may be too long to be printed
        raise BoundsError(f"[{where}] has a whole number beyond the range of doubles in {name}.") from None


def _only(where: str, table: dict[str, Any], allowed: tuple[str, ...]) -> None:
    unknown = sorted(set(table) - set(allowed))
    if unknown:
        names = f"{', '.join(allowed[:-1])} and {allowed[-1]}"
        raise BoundsError(f"[{where}] has {unknown[0]!r}; it may have {names} only.")


def _degree(where: str, table: dict[str, Any]) -> int:
    degree = table.get("degree", 1)
    if isinstance(degree, bool) or not isinstance(degree, int) or not 1 <= degree <= 5:
        raise BoundsError(f"[{where}] has degree = {degree!r}; it must be a whole number from 1 to 5.")
    return degree


def _centre(name: str, table: dict[str, Any], column: Column) -> float:
    """Return what powers and products are taken from: by default the middle of the range."""
    if not isinstance(column, NumericColumn) or column.pieces is not None:
        return 0.0
    low, high = interval_of(column.steps, column.interval, name)
    return _number(f"features.{toml_key(name)}", "centre", table.get("centre", 0.5 * low + 0.5 * high))


def _interactions(given: Any, columns: Mapping[str, Column]) -> list[list[str]]:
    """Return the products, each a list of two or more declared columns."""
    for product in given if isinstance(given, list) else [given]:
        if not isinstance(product, list) or len(product) < 2 or not all(isinstance(name, str) for name in product):
            raise BoundsError('interactions must be a list of lists of column names, such as [["age", "hours"]].')
        unknown = [name for name in product if name not in columns]
        if unknown:
            raise BoundsError(f"interactions has {unknown[0]!r}, which has no table [features.{toml_key(unknown[0])}].")
    return list(given)
