"""Plain data from files, value by value: what is not what it should be is refused by its type, without quoting it."""

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

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


def read_fields(cls: type[Item], data: Any, checked: Mapping[str, Callable[[Any], Any]] = MappingProxyType({})) -> Item:
    """Return a dataclass from a mapping with all of its fields, each read by its type or as ``checked`` says."""
    values = mapping(data)
    kinds = {name: kind for name, kind in get_type_hints(cls).items() if name in cls.__dataclass_fields__}  # type: ignore[attr-defined]
    return cls(**{name: (checked.get(name) or _reader(kind))(values[name]) for name, kind in kinds.items()})


_PLAIN: dict[Any, Callable[[Any], Any]] = {float: finite_number, int: whole, bool: flag, str: text}


def _reader(kind: Any) -> Callable[[Any], Any]:
    """Return how to read a value of a type: plain, a tuple, a dataclass, or one of these or None."""
    parts = get_args(kind)
    if kind in _PLAIN:
        return _PLAIN[kind]
    if get_origin(kind) is tuple:
        return tuple_of(_reader(parts[0])) if parts[-1] is ... else _fixed([_reader(part) for part in parts])
    if type(None) in parts:
        return lambda value: None if value is None else _reader(parts[0])(value)
    return lambda value: read_fields(kind, value)


def _fixed(readers: list[Callable[[Any], Any]]) -> Callable[[Any], tuple[Any, ...]]:
    return lambda value: tuple(read(item) for read, item in zip(readers, tuple_of(lambda x: x)(value), strict=True))


def _missing(what: str, value: Any) -> str:
    return f"a value of type {type(value).__name__} stands where {what} belongs"
