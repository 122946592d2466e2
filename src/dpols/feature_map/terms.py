"""Products of columns and of functions of them: their names, their values in a block, and the ranges that follow."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from ..data.bounds import Interval, as_float, number_text
from ..data.source import Array
from ..errors import BoundsError, quoted
from ..storage.plain_data import finite_number, flag, mapping, text, whole
from .columns import CategoricalColumn, Column, NumericColumn
from .splines import Spline
from .transforms import (
    Transform,
    as_transform,
    bare,
    hull,
    interval_of,
    label_of,
    transform_from_list,
    values_of_transform,
)

_LARGEST_POWER = 16


@dataclass(frozen=True)
class Factor:
    """One column's part in a product.

    Parameters
    ----------
    column : str
        Name of a raw column.
    power : int, default=1
        Power of a column of numbers.
    origin : float, default=0
        What is subtracted from a column of numbers first. The middle of its range makes a power or a product far less
        correlated with the column itself, so that noise does less harm.
    all_levels : bool, optional
        Whether each category gets a column, the first one included; by default what the column's ``drop_first`` says.
    transform : str, Power, Standardize, Spline, or a list of these, optional
        Function of a column of numbers that comes before origin and power; by default what the column's ``transform``
        says, and ``[]`` for the column itself.
    """

    column: str
    power: int = 1
    origin: float = 0.0
    all_levels: bool | None = None
    transform: Any = None


Term = tuple[Factor, ...]


@dataclass(frozen=True)
class Output:
    """The columns that a term gives: their names, one range for each, and the largest squared norm of all, mapped."""

    names: tuple[str, ...]
    interval: Interval
    squared_norm: float


def as_term(given: Any, columns: Mapping[str, Column]) -> Term:
    """Return a term from a column name, a factor, or a sequence of these; a name that is repeated is a power."""
    items = (given,) if isinstance(given, str | Factor) else tuple(given) if isinstance(given, Sequence) else ()
    merged: dict[tuple[str, float, Transform], Factor] = {}
    for item in items:
        factor = _checked(Factor(item) if isinstance(item, str) else item, columns)
        key = (factor.column, factor.origin, factor.transform)
        if key in merged and (isinstance(columns[factor.column], CategoricalColumn) or spline_of(factor) is not None):
            raise BoundsError(f"a term has column {factor.column!r} of categories or pieces twice; once is enough.")
        merged[key] = replace(factor, power=factor.power + (merged[key].power if key in merged else 0))
    if not merged:
        what = quoted(given) if isinstance(given, Sequence) else f"of type {type(given).__name__}"
        raise BoundsError(f"term {what} must be a column name or a sequence of column names.")
    if max(factor.power for factor in merged.values()) > _LARGEST_POWER:
        raise BoundsError(f"term {quoted(given)} has a power above {_LARGEST_POWER}.")
    return tuple(merged.values())


def output_of(term: Term, columns: Mapping[str, Column]) -> Output:
    """Return what a term gives.

    The ranges of categories are chosen so that rows are short. Of k columns at most one is not zero: with the values
    0 and 1 shifted by 1/k and divided by 1 - 1/k, a row's squared norm is k / (k - 1) at most, and not k. Columns of
    splines are not negative and add up to 1 at most: they lie between such rows, and no norm is larger there.
    """
    interval, names, pieces = (1.0, 1.0), [""], False
    for factor in term:
        column = columns[factor.column]
        if isinstance(column, CategoricalColumn):
            parts, pieces = [f"{factor.column}[{level}]" for level in _levels(factor, column)], True
        elif (spline := spline_of(factor)) is not None:
            spline.check(transformed_interval(factor, column), label_of(factor.transform[:-1], factor.column))
            parts = [f"{label_of(factor.transform, factor.column)}[{i}]" for i in range(1, spline.width + 1)]
            pieces = True
        else:
            own = _power(_shifted(transformed_interval(factor, column), factor.origin), factor.power)
            interval, parts = _times(interval, own), [_label(factor)]
        names = [f"{left}:{right}" if left else right for left, right in product(names, parts)]
    if not all(math.isfinite(end) for end in interval):
        raise BoundsError(f"the range of {names[0]!r} exceeds that of doubles; use smaller powers or tighter ranges.")
    if not pieces:
        return Output(tuple(names), interval, 1.0)
    low, high = min(interval[0], 0.0), max(interval[1], 0.0)
    k = len(names)
    if k == 1:
        return Output(tuple(names), (low, high), 1.0)
    if low < 0.0 < high:
        largest = max(-low, high)
        return Output(tuple(names), (-largest, largest), 1.0)
    inner = (2.0 / k - 1.0) * (high or low)
    return Output(tuple(names), (inner, high) if high else (low, inner), k / (k - 1.0))


def width_of(term: Term, columns: Mapping[str, Column]) -> int:
    """Return how many columns a term gives."""
    return math.prod(_width(factor, columns[factor.column]) for factor in term)


def values_of(term: Term, columns: Mapping[str, Column], cells: Callable[[str], Array]) -> Array:
    """Return the columns of a term for some rows; ``cells`` gives a column's clipped numbers, or its level numbers.

    Level numbers are -1 for a value that is none of the categories and -2 for a cell that makes its row useless.
    """
    values: Array | None = None
    for factor in term:
        column = columns[factor.column]
        if isinstance(column, NumericColumn):
            part = _numbers(factor, column, cells(factor.column))
        else:
            codes = cells(factor.column)
            first = len(column.levels) - len(_levels(factor, column))
            part = (codes[:, None] == np.arange(first, len(column.levels))).astype(np.float64)
            part[codes == -2] = np.nan
        if values is None:
            values = part
        else:
            width = values.shape[1] * part.shape[1]
            values = (values[:, :, None] * part[:, None, :]).reshape(len(part), width)
    assert values is not None
    return values


def term_to_list(term: Term) -> list[dict[str, Any]]:
    """Return plain data."""
    return [
        {
            "column": factor.column,
            "power": factor.power,
            "origin": factor.origin,
            "transform": [step.to_list() for step in factor.transform],
        }
        if factor.all_levels is None
        else {"column": factor.column, "all_levels": factor.all_levels}
        for factor in term
    ]


def factor_from_dict(data: Any) -> Factor:
    """Rebuild a factor from plain data; what is wrong raises TypeError, ValueError or KeyError."""
    fields = mapping(data)
    if set(fields) == {"column", "all_levels"}:
        return Factor(text(fields["column"]), all_levels=flag(fields["all_levels"]))
    if set(fields) != {"column", "power", "origin", "transform"}:
        raise ValueError("a factor has the fields column, power, origin and transform, or column and all_levels")
    transform = transform_from_list(fields["transform"])
    return Factor(text(fields["column"]), whole(fields["power"]), finite_number(fields["origin"]), transform=transform)


def spline_of(factor: Factor) -> Spline | None:
    """Return the spline that a checked factor ends with, if it does."""
    last = factor.transform[-1] if factor.transform else None
    return last if isinstance(last, Spline) else None


def transformed_interval(factor: Factor, column: NumericColumn) -> Interval:
    """Return the range of a column of numbers after its transform."""
    return interval_of(factor.transform or (), column.interval, factor.column)


def _is_finite(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except (TypeError, ValueError, OverflowError):
        return False


def _checked(factor: Any, columns: Mapping[str, Column]) -> Factor:
    if not isinstance(factor, Factor):
        raise BoundsError(f"a term has a part of type {type(factor).__name__}; give column names.")
    if factor.column not in columns:
        raise BoundsError(f"a term has column {factor.column!r}, which is not declared; declared are {list(columns)}.")
    column = columns[factor.column]
    if isinstance(column, CategoricalColumn):
        if factor.power != 1 or factor.origin != 0.0 or factor.transform:
            raise BoundsError(f"column {factor.column!r} holds categories; it has no powers and no transforms.")
        full = not column.drop_first if factor.all_levels is None else factor.all_levels
        return Factor(factor.column, all_levels=full)
    if factor.all_levels is not None:
        raise BoundsError(f"column {factor.column!r} holds numbers; it has no levels.")
    if isinstance(factor.power, bool) or not isinstance(factor.power, int) or factor.power < 1:
        raise BoundsError(f"power={quoted(factor.power)} of column {factor.column!r} must be a positive whole number.")
    if not _is_finite(factor.origin):
        raise BoundsError(f"origin={quoted(factor.origin)} of column {factor.column!r} must be finite.")
    transform = column.transform if factor.transform is None else as_transform(factor.transform)
    checked = Factor(factor.column, factor.power, as_float(factor.origin), transform=transform)
    if spline_of(checked) is not None and (factor.power != 1 or factor.origin != 0.0):
        raise BoundsError(f"column {factor.column!r} is a spline, whose pieces have no powers and no origin.")
    return checked


def _levels(factor: Factor, column: CategoricalColumn) -> tuple[str, ...]:
    return column.levels if factor.all_levels else column.levels[1:]


def _width(factor: Factor, column: Column) -> int:
    if isinstance(column, CategoricalColumn):
        return len(_levels(factor, column))
    spline = spline_of(factor)
    return 1 if spline is None else spline.width


def _numbers(factor: Factor, column: NumericColumn, x: Array) -> Array:
    """Return the columns that a factor gives of a column's clipped numbers."""
    values = values_of_transform(factor.transform, x)
    spline = spline_of(factor)
    if spline is not None:
        return spline.columns(values, transformed_interval(factor, column))
    return np.asarray((values - factor.origin) ** factor.power)[:, None]


def _label(factor: Factor) -> str:
    name = label_of(factor.transform, factor.column)
    if factor.origin:
        name = f"({bare(name)} {'-' if factor.origin > 0 else '+'} {number_text(abs(factor.origin))})"
    return name if factor.power == 1 else f"{name}^{factor.power}"


def _shifted(interval: Interval, origin: float) -> Interval:
    if origin == 0.0:
        return interval
    number = float(origin)
    return hull([(lambda end: end - number, end) for end in interval], lambda end: end - Fraction(number))


def _times(a: Interval, b: Interval) -> Interval:
    """Return the range of a product, rounded outwards."""
    if a == (1.0, 1.0):
        return b
    corners = [_corner(x, float(y)) for x, y in product(a, b)]
    return min(low for low, _ in corners), max(high for _, high in corners)


def _corner(x: float, y: float) -> Interval:
    return hull([(lambda end: end * y, x)] * 2, lambda end: end * Fraction(y))


def _power(interval: Interval, power: int) -> Interval:
    if power == 1:
        return interval
    low, high = hull([(lambda end: end**power, end) for end in interval], lambda end: end**power)
    inside = power % 2 == 0 and interval[0] < 0.0 < interval[1]
    return (0.0 if inside else low), high
