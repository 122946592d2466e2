"""Functions of a column by public constants, one step after another; the range of each step follows from the last one.

Each step is monotone where it is allowed, or an even power, so that a range follows from its ends. Ends are rounded
outwards: no value lies beyond them, neither as it is computed nor in exact arithmetic.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..data.bounds import Interval, as_float, number_text
from ..data.source import Array
from ..errors import BoundsError, quoted
from ..storage.plain_data import finite_number, text, tuple_of, whole
from .splines import Spline

__all__ = ["Power", "Spline", "Standardize"]  # for users, as dpols.transforms

_SLACK = 4  # units in the last place by which a function may be off, and by which an end is rounded outwards

# name -> the function, its inverse, below which argument it is not defined, whether it is at that one, what to do
_FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], float, bool, str]] = {
    "log": (np.log, np.exp, 0.0, False, "declare a low above 0, or use log1p, the logarithm of 1 + a"),
    "log2": (np.log2, np.exp2, 0.0, False, "declare a low above 0"),
    "log10": (np.log10, lambda y: np.power(10.0, y), 0.0, False, "declare a low above 0"),
    "log1p": (np.log1p, np.expm1, -1.0, False, "declare a low above -1"),
    "sqrt": (np.sqrt, lambda y: np.square(np.maximum(y, 0.0)), 0.0, True, "declare a low of at least 0"),
    "exp": (np.exp, lambda y: np.log(np.maximum(y, 0.0)), -math.inf, True, ""),
}
FUNCTION_NAMES = tuple(_FUNCTIONS)
_ZEROS = {"log": 1.0, "log2": 1.0, "log10": 1.0, "log1p": 0.0, "sqrt": 0.0}  # where a function is 0 without rounding
_ARITHMETIC: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "+": (lambda a, b: a + b, "-"),
    "-": (lambda a, b: a - b, "+"),
    "*": (lambda a, b: a * b, "/"),
    "/": (lambda a, b: a / b, "*"),
}


@dataclass(frozen=True)
class Function:
    """A named function: log, log2, log10, log1p, sqrt or exp."""

    name: str

    def __post_init__(self) -> None:
        if self.name not in _FUNCTIONS:
            raise BoundsError(f"transform {self.name!r} is not known; use one of {', '.join(_FUNCTIONS)}.")

    def values(self, x: Array) -> Array:
        return np.asarray(_FUNCTIONS[self.name][0](x))

    def inverse(self, y: Array) -> Array:
        with np.errstate(over="ignore", divide="ignore"):
            return np.asarray(_FUNCTIONS[self.name][1](y))

    def interval(self, ends: Interval, label: str) -> Interval:
        function, _, least, closed, remedy = _FUNCTIONS[self.name]
        if ends[0] < least or (ends[0] == least and not closed):
            raise BoundsError(
                f"{self.label(label)} needs values {'of at least' if closed else 'above'} {least:g}, but the range of "
                f"{label} is [{ends[0]:g}, {ends[1]:g}]; {remedy}."
            )
        zero = _ZEROS.get(self.name)
        with np.errstate(over="ignore"):
            low, high = (_end(float(function(end)), end == zero, side) for end, side in zip(ends, (-1, 1), strict=True))
        return low, high

    def label(self, inner: str) -> str:
        return f"{self.name}({bare(inner)})"

    def to_list(self) -> list[Any]:
        return [self.name]


@dataclass(frozen=True)
class Arithmetic:
    """A number that is added, subtracted, multiplied by or divided by."""

    sign: str
    number: float

    def __post_init__(self) -> None:
        if self.sign not in _ARITHMETIC or not math.isfinite(self.number) or (self.sign in "*/" and self.number == 0):
            raise BoundsError(f"a transform has {self.sign} {self.number!r}; give a finite number, and not * or / 0.")

    def values(self, x: Array) -> Array:
        return np.asarray(_ARITHMETIC[self.sign][0](x, self.number))

    def inverse(self, y: Array) -> Array:
        inverse = _ARITHMETIC[self.sign][1]
        return np.asarray(_ARITHMETIC[inverse][0](y, self.number))

    def interval(self, ends: Interval, label: str) -> Interval:
        operation, number = _ARITHMETIC[self.sign][0], float(self.number)
        return hull([(lambda a: operation(a, number), end) for end in ends], lambda a: operation(a, Fraction(number)))

    def label(self, inner: str) -> str:
        if self.sign in "+-":
            sign = self.sign if self.number >= 0 else {"+": "-", "-": "+"}[self.sign]
            return f"({bare(inner) if inner.endswith(')') else inner} {sign} {number_text(abs(self.number))})"
        return f"-{inner}" if self == Arithmetic("*", -1.0) else f"{inner}{self.sign}{number_text(self.number)}"

    def to_list(self) -> list[Any]:
        return [self.sign, self.number]


@dataclass(frozen=True)
class Power:
    """A power: a whole number, or of values of at least 0 any number, or of values above 0 also a negative one.

    >>> from dpols import FeatureMap, NumericColumn
    >>> bounds = FeatureMap({"length": NumericColumn(1, 64, transform=Power(0.5))}).bounds()
    >>> [round(limit, 9) for limit in bounds.features["length^0.5"]]
    [1.0, 8.0]
    """

    exponent: float

    def __post_init__(self) -> None:
        value = self.exponent
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 < abs(value) <= 16.0:
            raise BoundsError(f"power {value!r} must be a number from -16 to 16, and not 0.")
        object.__setattr__(self, "exponent", as_float(value))

    def values(self, x: Array) -> Array:
        return np.asarray(np.power(x, self.exponent))

    def inverse(self, y: Array) -> Array:
        with np.errstate(over="ignore", divide="ignore"):
            root = np.power(np.abs(y), 1.0 / self.exponent)
            return np.asarray(
                np.copysign(root, y) if self._odd else np.where(y > 0.0, root, math.inf if self.exponent < 0.0 else 0.0)
            )

    def interval(self, ends: Interval, label: str) -> Interval:
        whole_number = self.exponent == int(self.exponent)
        if (self.exponent < 0.0 and ends[0] <= 0.0) or (not whole_number and ends[0] < 0.0):
            least = "above 0" if self.exponent < 0.0 else "of at least 0"
            raise BoundsError(
                f"{self.label(label)} needs values {least}, but the range of {label} is [{ends[0]:g}, {ends[1]:g}]; "
                f"declare a low {least}."
            )
        exact = int(self.exponent) if whole_number else None
        pairs = [(lambda a: a**self.exponent, end) for end in ends]
        low, high = hull(pairs, None if exact is None else lambda a: a**exact)
        return (0.0 if self._even and ends[0] < 0.0 < ends[1] else low), high

    @property
    def _even(self) -> bool:
        return self.exponent % 2 == 0

    @property
    def _odd(self) -> bool:
        return self.exponent > 0 and self.exponent % 2 == 1

    def label(self, inner: str) -> str:
        return f"{inner}^{number_text(self.exponent)}"

    def to_list(self) -> list[Any]:
        return ["power", self.exponent]


@dataclass(frozen=True)
class Standardize:
    """The number minus a public centre, over a public scale.

    Coefficients are then those of a step of one scale. Neither may be computed from the data.
    """

    centre: float
    scale: float

    @property
    def steps(self) -> tuple[Arithmetic, Arithmetic]:
        """The two steps that it stands for."""
        return Arithmetic("-", _number("centre", self.centre)), Arithmetic("/", _number("scale", self.scale))


Step = Function | Arithmetic | Power | Spline
Transform = tuple[Step, ...]


def as_transform(given: Any) -> Transform:
    """Return the steps that a name, a step, or a sequence of these stands for, the first one first."""
    if given is None:
        return ()
    if isinstance(given, str):
        return (Function(given),)
    if isinstance(given, Standardize):
        return given.steps
    if isinstance(given, Step):
        return (given,)
    if isinstance(given, Mapping):
        return _from_table(given)
    if not isinstance(given, Sequence):
        raise BoundsError(
            f"transform={quoted(given)} must be one of {', '.join(_FUNCTIONS)}, a Power, Standardize or Spline of "
            "dpols.transforms, or a list of these."
        )
    steps = tuple(step for part in given for step in as_transform(part))
    if any(isinstance(step, Spline) for step in steps[:-1]):
        raise BoundsError("a transform has a step after a spline; the spline must be the last one.")
    return steps


def _from_table(given: Mapping[str, Any]) -> Transform:
    """Return the steps of a table as bounds files have it."""
    match dict(given):
        case {"power": exponent, **rest} if not rest:
            return (Power(exponent),)
        case {"centre": centre, "scale": scale, **rest} if not rest:
            return Standardize(centre, scale).steps
        case {"knots": knots, **rest} if not set(rest) - {"degree"}:
            return (Spline(knots, **rest),)
    raise BoundsError(
        f"transform = {quoted(dict(given))} must have power, or centre and scale, or knots and as far as wanted degree."
    )


def interval_of(transform: Transform, interval: Interval, name: str) -> Interval:
    """Return the range of a transformed column, rounded outwards, without what a spline makes of it."""
    label = name
    for step in transform:
        if isinstance(step, Spline):
            break
        interval, label = step.interval(interval, label), step.label(label)
        if not all(math.isfinite(end) for end in interval):
            raise BoundsError(f"the range of {bare(label)} exceeds that of doubles; declare a tighter range of {name}.")
    return interval


def values_of_transform(transform: Transform, x: Array) -> Array:
    """Return transformed numbers; nan stays nan."""
    for step in transform:
        if not isinstance(step, Spline):
            x = step.values(x)
    return x


def inverse_of_transform(transform: Transform, y: Array) -> Array:
    """Return the numbers whose transforms are given; an end of the range for what is no transform of any."""
    for step in reversed(transform):
        assert not isinstance(step, Spline)
        y = step.inverse(y)
    return y


def label_of(transform: Transform, name: str) -> str:
    """Return how a transformed column is written."""
    for step in transform:
        name = step.label(name)
    return name


def described(transform: Transform, name: str) -> str:
    """Return how a transformed column is written, with the knots of a spline."""
    label, last = bare(label_of(transform, name)), transform[-1]
    if not isinstance(last, Spline):
        return label
    return f"{label} of degree {last.degree} with knots {', '.join(map(number_text, last.knots)) or 'none'}"


def require_invertible(transform: Transform, interval: Interval, name: str) -> None:
    """Refuse a transform of a target from which the target does not follow."""
    for step in transform:
        if isinstance(step, Spline) or (isinstance(step, Power) and interval[0] < 0.0 and step.exponent % 2 == 0):
            raise BoundsError(
                f"the target cannot be {label_of(transform, name)}, from which {name} does not follow; use one of "
                f"{', '.join(_FUNCTIONS)}, or a power of a target of at least 0."
            )
        interval = step.interval(interval, name)


def transform_from_list(data: Any) -> Transform:
    """Rebuild a transform from plain data; what is wrong raises TypeError, ValueError or KeyError."""
    return tuple(_step_from(tuple_of(lambda part: part)(step)) for step in tuple_of(lambda part: part)(data))


def _step_from(parts: Sequence[Any]) -> Step:
    name = text(parts[0]) if parts else ""
    if name == "spline" and len(parts) == 3:
        return Spline(tuple_of(finite_number)(parts[1]), whole(parts[2]))
    if name in _FUNCTIONS and len(parts) == 1:
        return Function(name)
    if name == "power" and len(parts) == 2:
        return Power(finite_number(parts[1]))
    if name in _ARITHMETIC and len(parts) == 2:
        return Arithmetic(name, finite_number(parts[1]))
    raise ValueError(f"a transform has the step {name!r}, which is not known or has the wrong numbers")


def numbers_of(transform: Transform) -> tuple[float, ...]:
    """Return the constants of a transform."""
    return tuple(
        number
        for step in transform
        for number in (
            step.knots
            if isinstance(step, Spline)
            else (step.number,)
            if isinstance(step, Arithmetic)
            else (step.exponent,)
            if isinstance(step, Power)
            else ()
        )
    )


def hull(
    ends: Sequence[tuple[Callable[[float], float], float]], exact: Callable[[Fraction], Fraction] | None
) -> Interval:
    """Return the least interval of doubles around the values at both ends, rounded outwards unless these are exact."""
    found = []
    for function, end in ends:
        try:
            value = float(function(float(end)))
            known = exact is not None and math.isfinite(value) and exact(Fraction(float(end))) == Fraction(value)
        except OverflowError:
            return -math.inf, math.inf
        if math.isnan(value):
            return -math.inf, math.inf
        found.append((value, known))
    (low, low_known), (high, high_known) = sorted(found)
    return _end(low, low_known, -1), _end(high, high_known, 1)


def bare(label: str) -> str:
    """Return a label without parentheses around all of it."""
    if not (label.startswith("(") and label.endswith(")")):
        return label
    depth = 0
    for place, sign in enumerate(label):
        depth += (sign == "(") - (sign == ")")
        if depth == 0 and place < len(label) - 1:
            return label
    return label[1:-1]


def _end(value: float, exact: bool, side: int) -> float:
    return value if exact or not math.isfinite(value) else value + side * _SLACK * math.ulp(value)


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise BoundsError(f"{name}={value!r} must be a finite number, of public knowledge.")
    return as_float(value)
