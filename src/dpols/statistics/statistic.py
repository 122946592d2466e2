"""A sum with its sensitivity, and how sums over the rows of units come by theirs."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import numpy as np

from ..data.rows import Arithmetic
from ..data.source import Array
from ..data.whole_numbers import ONE


class _RowsOfUnits(Protocol):
    @property
    def rows_per_unit(self) -> int:
        """In how many rows neighbouring data sets may differ."""


P = ParamSpec("P")
R = TypeVar("R")
Rows = TypeVar("Rows", bound=_RowsOfUnits)


@dataclass(frozen=True, repr=False)
class Statistic:
    """A value, and a bound on the Euclidean distance that one row can move it, both in multiples of ``step``.

    In exact arithmetic both are whole numbers and the bound holds of the program's own integers.
    """

    value: Array
    sensitivity: float
    step: float | Array = 1.0  # one for all trials, or one for each
    rows_at_once: int = 1  # how many rows can be gone, each of which moves it by an equal part of the sensitivity

    @property
    def exact(self) -> bool:
        """Whether the value is held in whole numbers."""
        return self.value.dtype.kind != "f"


def per_unit(statistic: Statistic, rows_per_unit: int) -> Statistic:
    """Return the same sum for neighbours that differ in so many rows: it moves that much more, and is counted in units.

    By the triangle inequality the sensitivity grows by that factor. The step shrinks by it, so that the
    sensitivity is the same in terms of it, and the data looks to a method like as many rows as there may be units.
    """
    if rows_per_unit == 1:
        return statistic
    return Statistic(
        statistic.value, statistic.sensitivity * rows_per_unit, statistic.step / rows_per_unit, rows_per_unit
    )


def of_units(function: Callable[Concatenate[Rows, P], R]) -> Callable[Concatenate[Rows, P], R]:
    """Make sums over rows ones whose sensitivity is that of the rows' units."""

    @wraps(function)
    def for_units(rows: Rows, /, *args: P.args, **kwargs: P.kwargs) -> R:
        result: Any = function(rows, *args, **kwargs)
        if isinstance(result, Statistic):
            return per_unit(result, rows.rows_per_unit)  # type: ignore[return-value]
        return tuple(per_unit(statistic, rows.rows_per_unit) for statistic in result)  # type: ignore[return-value]

    return for_units


def counted(counts: Array, arithmetic: Arithmetic, columns: int = 1) -> Statistic:
    """Wrap counts of each of some columns; one row moves a count of each by 1.

    In exact arithmetic they are held in steps of 2^-20, so that rounding their noise costs nothing.
    """
    if arithmetic == "float":
        return Statistic(counts.astype(np.float64), math.sqrt(columns))
    # A whole number whose square is at least columns * 2^40.
    root = math.isqrt(columns * int(ONE) ** 2 - 1) + 1
    return Statistic(counts * np.asarray(ONE, dtype=counts.dtype), float(root), 1.0 / ONE)


def call(span: Any, method: str, *args: Any) -> tuple[Array, ...]:
    """Return what a method of a span gives: the kernel of a sum over spans."""
    result: tuple[Array, ...] = getattr(span, method)(*args)
    return result
