"""What is publicly known of a raw column: its range, or its categories, and what stands for an empty cell."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Rational
from typing import Any, Literal

from ..data.bounds import Interval, as_float, checked_interval
from ..errors import BoundsError
from ..storage.plain_data import finite_number, flag, mapping, text, tuple_of

OTHER = "other"
_LONGEST = 400  # digits of a whole number
Unknown = Literal["zeros", "other"]


@dataclass(frozen=True)
class NumericColumn:
    """A column of numbers.

    Parameters
    ----------
    low, high : float
        The range of its values, from public knowledge. Values outside are clipped.
    missing : float, optional
        What an empty cell counts as. Without it a row with an empty cell is not finite, and ``bad_rows`` decides.
    """

    low: float
    high: float
    missing: float | None = None

    def __post_init__(self) -> None:
        low, high = checked_interval("(low, high)", (self.low, self.high))
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        if self.missing is not None:
            value = _number("missing", self.missing)
            if not low <= value <= high:
                raise BoundsError(f"missing={value!r} must lie in the range [{low:g}, {high:g}] of its column.")
            object.__setattr__(self, "missing", value)

    @property
    def interval(self) -> Interval:
        """The declared range."""
        return self.low, self.high

    def describe(self) -> str:
        """Say what is declared."""
        empty = "" if self.missing is None else f"; empty cells count as {self.missing:g}"
        return f"[{self.low:g}, {self.high:g}]{empty}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"kind": "numeric", "low": self.low, "high": self.high, "missing": self.missing}


@dataclass(frozen=True)
class CategoricalColumn:
    """A column of categories, each of which becomes a column of zeros and ones.

    Parameters
    ----------
    categories : sequence of str, int, float or bool
        All categories, from public knowledge. Numbers match equal numbers, whether they are stored as such or as text.
    unknown : "zeros" or "other", default="zeros"
        What a value outside the categories counts as: none of them, or one further category named "other".
    missing : a category, optional
        What an empty cell counts as. Without it a row with an empty cell is not finite, and ``bad_rows`` decides.
    drop_first : bool, default=True
        Whether the first category has no column of its own: it is what the others are compared with. A value that
        counts as zeros then counts as the first category.
    """

    categories: Sequence[Any]
    unknown: Unknown = "zeros"
    missing: Any = None
    drop_first: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.categories, str) or not isinstance(self.categories, Sequence):
            raise BoundsError(f"categories={self.categories!r} must be a list of the public categories.")
        names = tuple(_category("categories", value) for value in self.categories)
        object.__setattr__(self, "categories", names)
        if self.unknown not in ("zeros", "other"):
            raise BoundsError(f"unknown={self.unknown!r} must be 'zeros' or 'other'.")
        if not isinstance(self.drop_first, bool):
            raise BoundsError(f"drop_first={self.drop_first!r} must be true or false.")
        twice = repeated(self.levels)
        if twice is not None:
            raise BoundsError(f"categories has {twice!r} more than once; each category needs a name of its own.")
        if len(self.levels) < 2:
            raise BoundsError(f"categories={list(names)} must have at least two; a column of one category is constant.")
        if self.missing is not None:
            value = _category("missing", self.missing)
            if value not in self.levels:
                raise BoundsError(f"missing={value!r} must be one of the categories {list(self.levels)}.")
            object.__setattr__(self, "missing", value)

    @property
    def levels(self) -> tuple[str, ...]:
        """The names of all categories, with the one for other values where there is one."""
        names = tuple(self.categories)
        return (*names, OTHER) if self.unknown == "other" else names

    def describe(self) -> str:
        """Say what is declared."""
        unknown = "others count as zeros" if self.unknown == "zeros" else "others count as 'other'"
        empty = "" if self.missing is None else f"; empty cells count as {self.missing!r}"
        return f"one of {', '.join(map(repr, self.categories))}; {unknown}{empty}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"kind": "categorical", **asdict(self), "categories": list(self.categories)}


Column = NumericColumn | CategoricalColumn


def repeated(names: Sequence[str]) -> str | None:
    """Return a name that occurs more than once, None where there is none."""
    return next((name for name, count in Counter(names).items() if count > 1), None)


def category_name(value: Any) -> str:
    """Return the name that stands for equal values: of 1, 1.0 and True each one name, of text itself.

    >>> category_name(1), category_name(1.0), category_name(0.5), category_name(True), category_name(" a")
    ('1', '1', '0.5', 'true', ' a')
    """
    if isinstance(value, str):
        return value
    if value is True or value is False or type(value).__name__ == "bool":  # also numpy's
        return "true" if value else "false"
    exact = _exact(value)
    if exact is not None and exact.denominator == 1:
        return str(exact.numerator)
    return repr(float(value))


def _exact(value: Any) -> Fraction | None:
    """Return a number as a fraction, without rounding; None where it is not finite, or far beyond doubles."""
    if isinstance(value, Rational):
        return Fraction(value)
    number = value if isinstance(value, Decimal) else float(value)
    if not math.isfinite(number) or (isinstance(number, Decimal) and abs(number.adjusted()) > _LONGEST):
        return None
    return Fraction(number)


def column_from_dict(data: Any, number: type[float] = float) -> Column:
    """Rebuild a column from plain data, with limits of type ``number``.

    What is wrong raises TypeError, ValueError or KeyError.
    """
    fields = dict(mapping(data))
    kind = text(fields.pop("kind"))
    readers = _FIELDS[kind]
    if set(fields) != set(readers):
        raise ValueError(f"a {kind} column has the fields {', '.join(readers)}")
    read = {name: readers[name](value) for name, value in fields.items()}
    if kind == "categorical":
        return CategoricalColumn(**read)
    return NumericColumn(number(read["low"]), number(read["high"]), read["missing"])


def _optional(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else read(value)


_FIELDS: dict[str, dict[str, Callable[[Any], Any]]] = {
    "numeric": {"low": finite_number, "high": finite_number, "missing": _optional(finite_number)},
    "categorical": {"categories": tuple_of(text), "unknown": text, "missing": _optional(text), "drop_first": flag},
}


def _number(name: str, value: Any) -> float:
    try:
        number = as_float(value)
    except OverflowError:  # the number may be too long to be printed
        raise BoundsError(f"{name} is beyond the range of doubles; it must be a finite number.") from None
    except (TypeError, ValueError):
        raise BoundsError(f"{name}={value!r} must be a number.") from None
    if isinstance(value, str) or not math.isfinite(number):
        raise BoundsError(f"{name}={value!r} must be a finite number.")
    return number


def _category(name: str, value: Any) -> str:
    if isinstance(value, str) and value == "":
        raise BoundsError(f"{name} has an empty text; empty cells are declared by missing=...")
    try:
        return category_name(value)
    except (TypeError, ValueError, OverflowError):
        raise BoundsError(
            f"{name} has a value of type {type(value).__name__}; give text, numbers or booleans."
        ) from None
