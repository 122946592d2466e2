"""What is publicly known of a raw column: its range, or its categories, and what stands for an empty cell."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import InitVar, asdict, dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Rational
from typing import Any, Literal

from ..data.bounds import Interval, as_float, checked_interval, number_text, range_text, read_from_data
from ..data.missing import real_number
from ..errors import BoundsError, quoted
from ..storage.plain_data import finite_number, flag, mapping, text, tuple_of
from .splines import Spline
from .transforms import Transform, as_transform, transform_from_list

OTHER = "other"
_LONGEST = 400  # digits of a whole number
Unknown = Literal["zeros", "other"]
Case = Literal["ignore", "exact"]


@dataclass(frozen=True)
class NumericColumn:
    """A column of numbers.

    Parameters
    ----------
    low, high : float
        The range of its values, from public knowledge. Values outside are clipped.
    missing : float, optional
        What an empty cell counts as. Without it a row with an empty cell is not finite, and ``bad_rows`` decides.
    transform : str, Power, Standardize, Spline, or a list of these, optional
        What becomes of a clipped number, wherever a term names the column: "log", "log2", "log10", "log1p", "sqrt",
        "exp", or another function by public constants. The range of the result follows.
    """

    low: float
    high: float
    missing: float | None = None
    transform: Any = None

    def __post_init__(self) -> None:
        low, high = checked_interval("(low, high)", (self.low, self.high))
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        if self.missing is not None:
            value = _number("missing", self.missing)
            if not low <= value <= high:
                raise BoundsError(f"missing={value!r} must lie in the range [{low:g}, {high:g}] of its column.")
            object.__setattr__(self, "missing", value)
        object.__setattr__(self, "transform", as_transform(self.transform))

    @property
    def steps(self) -> Transform:
        """The steps of the transform."""
        return self.transform  # type: ignore[no-any-return]

    @property
    def pieces(self) -> Spline | None:
        """The spline that the transform ends with, if it does."""
        last = self.steps[-1] if self.steps else None
        return last if isinstance(last, Spline) else None

    @property
    def interval(self) -> Interval:
        """The declared range."""
        return self.low, self.high

    def describe(self) -> str:
        """Say what is declared."""
        empty = "" if self.missing is None else f"; empty cells count as {number_text(self.missing)}"
        return f"{range_text(self.interval)}{empty}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        transform = [step.to_list() for step in self.steps]
        return {"kind": "numeric", "low": self.low, "high": self.high, "missing": self.missing, "transform": transform}


@dataclass(frozen=True)
class CategoricalColumn:
    """A column of categories, each of which becomes a column of zeros and ones.

    Parameters
    ----------
    categories : sequence of str, int, float or bool
        All categories, from public knowledge. Numbers match equal numbers, whether they are stored as such or as text.
        White space around a text does not matter.
    unknown : "zeros" or "other", default="zeros"
        What a value outside the categories counts as: none of them, or one further category named "other".
    missing : a category, optional
        What an empty cell counts as. Without it a row with an empty cell is not finite, and ``bad_rows`` decides.
    drop_first : bool, default=True
        Whether the first category has no column of its own: it is what the others are compared with. A value that
        counts as zeros then counts as the first category.
    case : "ignore" or "exact", default="ignore"
        Whether "SOUTH" is the category "south", or another value. Categories that differ in letter case alone need
        "exact".
    reference : a category, optional
        The category to compare with; it becomes the first one.
    """

    categories: Sequence[Any]
    unknown: Unknown = "zeros"
    missing: Any = None
    drop_first: bool = True
    case: Case = "ignore"
    reference: InitVar[Any] = None

    def __post_init__(self, reference: Any) -> None:
        if isinstance(self.categories, str) or not isinstance(self.categories, Sequence):
            raise BoundsError(f"categories={quoted(self.categories)} must be a list of the public categories.")
        if read_from_data(self.categories):
            raise BoundsError("categories must be public knowledge, and one of them was read from the data.")
        names = tuple(_category("categories", value) for value in self.categories)
        object.__setattr__(self, "categories", with_first(names, reference))
        if self.unknown not in ("zeros", "other"):
            raise BoundsError(f"unknown={quoted(self.unknown)} must be 'zeros' or 'other'.")
        if not isinstance(self.drop_first, bool):
            raise BoundsError(f"drop_first={quoted(self.drop_first)} must be true or false.")
        twice = repeated(self.levels)
        if twice is not None:
            raise BoundsError(f"categories has {twice!r} more than once; each category needs a name of its own.")
        if self.case not in ("ignore", "exact"):
            raise BoundsError(f"case={quoted(self.case)} must be 'ignore' or 'exact'.")
        if self.case == "ignore":
            _refuse_twins(self.levels)
        if len(self.levels) < 2:
            raise BoundsError(f"categories={list(names)} must have at least two; a column of one category is constant.")
        if self.missing is not None:
            value = self.level_of(_category("missing", self.missing))
            if value not in self.levels:
                raise BoundsError(f"missing={value!r} must be one of the categories {list(self.levels)}.")
            object.__setattr__(self, "missing", value)

    @property
    def levels(self) -> tuple[str, ...]:
        """The names of all categories, with the one for other values where there is one."""
        names = tuple(self.categories)
        return (*names, OTHER) if self.unknown == "other" else names

    def level_of(self, name: str) -> str:
        """Return the category of a name, in whatever letter case where that does not matter; the name if it has none.

        >>> CategoricalColumn(["north", "south"]).level_of("South")
        'south'
        """
        if self.case == "exact" or name in self.levels:
            return name
        return next((level for level in self.levels if level.casefold() == name.casefold()), name)

    def describe(self) -> str:
        """Say what is declared."""
        zeros = f"{self.categories[0]!r}" if self.drop_first else "none of them"
        unknown = f"undeclared categories count as {zeros if self.unknown == 'zeros' else repr(OTHER)}"
        empty = "" if self.missing is None else f"; empty cells count as {self.missing!r}"
        case = "; letter case matters" if self.case == "exact" else ""
        return f"one of {', '.join(map(repr, self.categories))}; {unknown}{empty}{case}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"kind": "categorical", **asdict(self), "categories": list(self.categories)}


Column = NumericColumn | CategoricalColumn


def repeated(names: Sequence[str]) -> str | None:
    """Return a name that occurs more than once, None where there is none."""
    return next((name for name, count in Counter(names).items() if count > 1), None)


def with_first(names: tuple[str, ...], reference: Any) -> tuple[str, ...]:
    """Return names with one of them first, the reference; as they are where there is none."""
    if reference is None:
        return names
    name = _category("reference", reference)
    if name not in names:
        raise BoundsError(f"reference={name!r} must be one of the categories {list(names)}.")
    return (name, *(other for other in names if other != name))


def _refuse_twins(names: Sequence[str]) -> None:
    """Refuse names that differ in letter case alone, since cells of either case would count as both."""
    seen: dict[str, str] = {}
    for name in names:
        twin = seen.setdefault(name.casefold(), name)
        if twin != name:
            raise BoundsError(
                f"categories has {twin!r} and {name!r}, which differ in letter case alone. If they are one category, "
                "leave one out; if they are two, declare case='exact'."
            )


def category_name(value: Any) -> str:
    """Return the name that stands for equal values: of 1, 1.0 and True each one, of text itself, without outer space.

    >>> category_name(1), category_name(1.0), category_name(0.5), category_name(True), category_name(" a")
    ('1', '1', '0.5', 'true', 'a')
    """
    if isinstance(value, str):
        return value.strip()
    if value is True or value is False or type(value).__name__ == "bool":  # also numpy's
        return "true" if value else "false"
    exact = _exact(value)
    if exact is not None and exact.denominator == 1:
        return str(exact.numerator)
    return repr(real_number(value))


def _exact(value: Any) -> Fraction | None:
    """Return a number as a fraction, without rounding; None where it is not finite, or far beyond doubles."""
    if isinstance(value, Rational):
        return Fraction(value)
    number = value if isinstance(value, Decimal) else real_number(value)
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
    return NumericColumn(number(read["low"]), number(read["high"]), read["missing"], read["transform"])


def _optional(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else read(value)


_FIELDS: dict[str, dict[str, Callable[[Any], Any]]] = {
    "numeric": {
        "low": finite_number,
        "high": finite_number,
        "missing": _optional(finite_number),
        "transform": transform_from_list,
    },
    "categorical": {
        "categories": tuple_of(text),
        "unknown": text,
        "missing": _optional(text),
        "drop_first": flag,
        "case": text,
    },
}


def _number(name: str, value: Any) -> float:
    try:
        number = as_float(value)
    except OverflowError:  # the number may be too long to be printed
        raise BoundsError(f"{name} is beyond the range of doubles; it must be a finite number.") from None
    except (TypeError, ValueError):
        raise BoundsError(f"{name}={quoted(value)} must be a number.") from None
    if not math.isfinite(number):
        raise BoundsError(f"{name}={value!r} must be a finite number.")
    return number


def _category(name: str, value: Any) -> str:
    if isinstance(value, str) and not value.strip():
        raise BoundsError(f"{name} has an empty text; empty cells are declared by missing=...")
    try:
        return category_name(value)
    except (TypeError, ValueError, OverflowError):
        raise BoundsError(
            f"{name} has a value of type {type(value).__name__}; give text, numbers or booleans."
        ) from None
