"""Products of columns: their names, their values in a block, and the ranges that follow from the declared ones."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from ..data.bounds import Interval, as_float
from ..data.source import Array
from ..errors import BoundsError
from ..storage.plain_data import finite_number, flag, mapping, text, whole
from .columns import CategoricalColumn, Column, NumericColumn

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
        alike the column itself, so that noise does less harm.
    all_levels : bool, optional
        Whether each category gets a column, the first one included; by default what the column's ``drop_first`` says.
    """

    column: str
    power: int = 1
    origin: float = 0.0
    all_levels: bool | None = None


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
    merged: dict[tuple[str, float], Factor] = {}
    for item in items:
        factor = _checked(Factor(item) if isinstance(item, str) else item, columns)
        key = (factor.column, factor.origin)
        if key in merged and isinstance(columns[factor.column], CategoricalColumn):
            raise BoundsError(f"a term has column {factor.column!r} of categories twice; once is enough.")
        power = factor.power + (merged[key].power if key in merged else 0)
        merged[key] = Factor(factor.column, power, factor.origin, factor.all_levels)
    if not merged:
        raise BoundsError(f"term {given!r} must be a column name or a sequence of column names.")
    if max(factor.power for factor in merged.values()) > _LARGEST_POWER:
        raise BoundsError(f"term {given!r} has a power above {_LARGEST_POWER}.")
    return tuple(merged.values())


def output_of(term: Term, columns: Mapping[str, Column]) -> Output:
    """Return what a term gives.

    The ranges of categories are chosen so that rows are short. Of k columns at most one is not zero: with the values
    0 and 1 shifted by 1/k and divided by 1 - 1/k, a row's squared norm is k / (k - 1) at most, and not k.
    """
    interval, names = (1.0, 1.0), [""]
    for factor in term:
        column = columns[factor.column]
        if isinstance(column, NumericColumn):
            interval = _times(interval, _power(_shifted(column.interval, factor.origin), factor.power))
            parts = [_label(factor)]
        else:
            parts = [f"{factor.column}[{level}]" for level in _levels(factor, column)]
        names = [f"{left}:{right}" if left else right for left, right in product(names, parts)]
    if not all(math.isfinite(end) for end in interval):
        raise BoundsError(f"the range of {names[0]!r} exceeds that of doubles; use smaller powers or tighter ranges.")
    if not any(isinstance(columns[factor.column], CategoricalColumn) for factor in term):
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
    parts = ((factor, columns[factor.column]) for factor in term)
    return math.prod(len(_levels(factor, column)) for factor, column in parts if isinstance(column, CategoricalColumn))


def values_of(term: Term, columns: Mapping[str, Column], cells: Callable[[str], Array]) -> Array:
    """Return the columns of a term for some rows; ``cells`` gives a column's clipped numbers, or its level numbers.

    Level numbers are -1 for a value that is none of the categories and -2 for a cell that makes its row useless.
    """
    values: Array | None = None
    for factor in term:
        column = columns[factor.column]
        if isinstance(column, NumericColumn):
            part = ((cells(factor.column) - factor.origin) ** factor.power)[:, None]
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
        {"column": factor.column, "power": factor.power, "origin": factor.origin}
        if factor.all_levels is None
        else {"column": factor.column, "all_levels": factor.all_levels}
        for factor in term
    ]


def factor_from_dict(data: Any) -> Factor:
    """Rebuild a factor from plain data; what is wrong raises TypeError, ValueError or KeyError."""
    fields = mapping(data)
    if set(fields) == {"column", "all_levels"}:
        return Factor(text(fields["column"]), all_levels=flag(fields["all_levels"]))
    if set(fields) != {"column", "power", "origin"}:
        raise ValueError("a factor has the fields column, power and origin, or column and all_levels")
    return Factor(text(fields["column"]), whole(fields["power"]), finite_number(fields["origin"]))


def _checked(factor: Any, columns: Mapping[str, Column]) -> Factor:
    if not isinstance(factor, Factor):
        raise BoundsError(f"a term has a part of type {type(factor).__name__}; give column names.")
    if factor.column not in columns:
        raise BoundsError(f"a term has column {factor.column!r}, which is not declared; declared are {list(columns)}.")
    column = columns[factor.column]
    if isinstance(column, CategoricalColumn):
        if factor.power != 1 or factor.origin != 0.0:
            raise BoundsError(f"column {factor.column!r} holds categories; it has no powers.")
        full = not column.drop_first if factor.all_levels is None else factor.all_levels
        return Factor(factor.column, all_levels=full)
    if factor.all_levels is not None:
        raise BoundsError(f"column {factor.column!r} holds numbers; it has no levels.")
    if isinstance(factor.power, bool) or not isinstance(factor.power, int) or factor.power < 1:
        raise BoundsError(f"power={factor.power!r} of column {factor.column!r} must be a positive whole number.")
    if not math.isfinite(factor.origin):
        raise BoundsError(f"origin={factor.origin!r} of column {factor.column!r} must be finite.")
    return Factor(factor.column, factor.power, as_float(factor.origin))


def _levels(factor: Factor, column: CategoricalColumn) -> tuple[str, ...]:
    return column.levels if factor.all_levels else column.levels[1:]


def _label(factor: Factor) -> str:
    name = factor.column
    if factor.origin:
        name = f"({name} {'-' if factor.origin > 0 else '+'} {abs(factor.origin):g})"
    return name if factor.power == 1 else f"{name}^{factor.power}"


def _shifted(interval: Interval, origin: float) -> Interval:
    return interval[0] - origin, interval[1] - origin


def _times(a: Interval, b: Interval) -> Interval:
    corners = [x * y for x, y in product(a, b)]
    return min(corners), max(corners)


def _power(interval: Interval, power: int) -> Interval:
    try:
        low, high = sorted(end**power for end in interval)
    except OverflowError:
        return -math.inf, math.inf
    inside = power % 2 == 0 and interval[0] < 0.0 < interval[1]
    return (0.0 if inside else low), high
