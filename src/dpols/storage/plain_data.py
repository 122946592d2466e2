"""Plain data from files, value by value: what is not what it should be is refused by its type, without quoting it."""

import math
from collections.abc import Callable
from typing import Any, TypeVar

Item = TypeVar("Item")


def finite_number(value: Any) -> float:
    """Return a number; words, booleans and what exceeds a double are none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(_missing("a number", value))
    try:
        number = float(value)
    except OverflowError:
        raise ValueError("a whole number exceeds the range of doubles") from None
    if not math.isfinite(number):
        raise ValueError(f"{number} stands where a finite number belongs")
    return number


def whole(value: Any) -> int:
    """Return a positive whole number."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(_missing("a whole number", value))
    if value < 1:
        raise ValueError("a whole number is not positive")
    return value


def flag(value: Any) -> bool:
    """Return true or false."""
    if not isinstance(value, bool):
        raise TypeError(_missing("true or false", value))
    return value


def text(value: Any) -> str:
    """Return text."""
    if not isinstance(value, str):
        raise TypeError(_missing("text", value))
    return value


def mapping(value: Any) -> dict[str, Any]:
    """Return a mapping."""
    if not isinstance(value, dict):
        raise TypeError(_missing("a mapping", value))
    return value


def tuple_of(read: Callable[[Any], Item]) -> Callable[[Any], tuple[Item, ...]]:
    """Return how to read a list whose items ``read`` reads."""

    def read_all(value: Any) -> tuple[Item, ...]:
        if not isinstance(value, list | tuple):
            raise TypeError(_missing("a list", value))
        return tuple(read(item) for item in value)

    return read_all


def _missing(what: str, value: Any) -> str:
    return f"a value of type {type(value).__name__} stands where {what} belongs"
