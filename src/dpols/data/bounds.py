"""Bounds that the caller declares, and the affine map that they define.

Nothing here is read from the data but by `Bounds.from_data`, which voids the guarantee. The numbers that it gives are
of a type of their own, so that every range which they become part of is known to be read from the data.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, Literal, get_args

import numpy as np

from ..errors import BoundsError, quoted
from .row_map import Beside as Beside
from .row_map import Interval as Interval
from .row_map import RowMap
from .source import Array

Origin = Literal["declared", "reference", "paid", "data"]

# Beyond these the square of a norm leaves the range of doubles, and with it the proof that rows are short.
_SMALLEST, _LARGEST = 1e-100, 1e100


class ReadFromData(float):
    """An end of a range that was read from the data, or that was computed from one by plain arithmetic."""

    __slots__ = ()

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **how: Any) -> Any:
        """Let numpy compute with the number, and mark what it gives unless that is an array."""
        return _marked(getattr(ufunc, method)(*_unmarked(inputs), **how))

    def __array_function__(self, function: Any, _types: Any, args: Any, how: Any) -> Any:
        """Do the same for functions such as ``np.round``, which would make an array of the number first."""
        named = {name: _unmarked((value,))[0] for name, value in how.items()}
        return _marked(function(*_unmarked(args), **named))

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    @property
    def real(self) -> "ReadFromData":
        return self

    def conjugate(self) -> "ReadFromData":
        return self


def _unmarked(values: Sequence[Any]) -> list[Any]:
    return [float(value) if isinstance(value, ReadFromData) else value for value in values]


def _marked(result: Any) -> Any:
    if isinstance(result, tuple):
        return tuple(_marked(each) for each in result)
    return ReadFromData(result) if isinstance(result, float | int | np.floating | np.integer) else result


def _keep_marked(name: str) -> None:
    plain = getattr(float, name)

    def operation(self: ReadFromData, *others: Any) -> Any:
        # Of fractions and numpy's numbers of other widths a float does not know, and they know of no mark.
        known = (each if isinstance(each, Integral) or not isinstance(each, Real) else float(each) for each in others)
        return _marked(plain(self, *known))

    setattr(ReadFromData, name, operation)


_ONE, _TWO = "neg pos abs round floor ceil trunc", "add sub mul truediv floordiv mod pow"
for _name in (*_ONE.split(), *_TWO.split(), *(f"r{name}" for name in _TWO.split())):
    _keep_marked(f"__{_name}__")


class ReadOnly(dict[str, Any]):
    """A mapping that stays as it was made; unlike the one of the standard library it can be copied and pickled."""

    def _refuse(self, *args: Any, **named: Any) -> Any:
        raise TypeError("ranges cannot be changed once they are declared; make a new dpols.Bounds of them.")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> Any:
        return ReadOnly, (dict(self),)


@dataclass(frozen=True)
class Bounds:
    """What is publicly known of the ranges of features and target.

    Parameters
    ----------
    features : mapping of column name to (low, high), or sequence of (low, high), optional
        The range of each feature. Values outside are clipped. A mapping needs a table with column names.
    target : (low, high), optional
        The range of the target. Values outside are clipped. A regression needs either this or ``y_abs``; a sketch
        has no target.
    x_norm : float, optional
        The largest Euclidean norm of a row's features: in the data's own units, or, where ``features`` is given
        too, after each feature has been mapped to [-1, 1]. Longer rows are shrunk. Give this, ``features`` or both.
    y_abs : float, optional
        The largest absolute value of the target; the same as ``target=(-y_abs, y_abs)``.
    origin : str
        Where the bounds come from, for reports: set by the functions that make bounds. Bounds with any number that
        was read from the data come from the data, whatever is given.

    With an intercept, features and target are centred at the middle of their bounds; without one they are only
    scaled, since a shift would need an intercept. The intercept is one more, constant coordinate of the row, and the
    row norm that the privacy guarantee rests on counts it.

    >>> Bounds(features={"age": (18, 90), "bmi": (15, 50)}, target=(0, 200_000))
    Bounds(features={'age': (18.0, 90.0), 'bmi': (15.0, 50.0)}, target=(0.0, 200000.0))
    >>> Bounds(x_norm=1.0, y_abs=1.0)
    Bounds(x_norm=1.0, y_abs=1.0)
    """

    features: Mapping[str, Interval] | Sequence[Interval] | None = None
    target: Interval | None = None
    x_norm: float | None = None
    y_abs: float | None = None
    origin: Origin = field(default="declared", repr=False)

    def __post_init__(self) -> None:
        if self.origin not in get_args(Origin):
            raise BoundsError(f"origin={quoted(self.origin)} must be one of {', '.join(map(repr, get_args(Origin)))}.")
        if self.features is None and self.x_norm is None:
            raise BoundsError(
                "Bounds needs features=..., x_norm=... or both: the range of every feature must be public."
            )
        if self.target is not None and self.y_abs is not None:
            raise BoundsError("Bounds needs exactly one of target=(low, high) and y_abs=..., or neither for a sketch.")
        if self.features is not None:
            object.__setattr__(self, "features", checked_ranges(self.features, self._interval, "(low, high) pairs"))
        if self.target is not None:
            object.__setattr__(self, "target", self._interval("target", self.target))
        for name in ("x_norm", "y_abs"):
            if getattr(self, name) is not None:
                number = checked_positive(name, getattr(self, name))
                object.__setattr__(self, name, ReadFromData(number) if self.origin == "data" else number)
        if self.origin != "data" and read_from_data(*self._ranges()):
            object.__setattr__(self, "origin", "data")

    def _interval(self, name: str, pair: object) -> Interval:
        low, high = checked_interval(name, pair)
        return (ReadFromData(low), ReadFromData(high)) if self.origin == "data" else (low, high)

    def _ranges(self) -> Iterator[Sequence[float] | None]:
        """Give all numbers, in ranges."""
        yield from ranges_of(self.features)
        yield self.target
        yield tuple(number for number in (self.x_norm, self.y_abs) if number is not None)

    def __repr__(self) -> str:
        given = [(name, getattr(self, name)) for name in ("features", "target", "x_norm", "y_abs")]
        given += [("origin", self.origin)] * (self.origin == "data")
        return f"Bounds({', '.join(f'{name}={value!r}' for name, value in given if value is not None)})"

    @classmethod
    def from_reference(cls, table: Any, *, target: Any = None, margin: float = 0.1) -> "Bounds":
        """Return the ranges of a table that is public by the caller's word, such as a census or a simulated one.

        Parameters
        ----------
        table : array, table or source of rows
            The reference: never the data that is to be protected, nor a part of it.
        target : str or array, optional
            Name of the target's column, or its values.
        margin : float, default=0.1
            By how much of its width each range is extended on either side.
        """
        from .extremes import ranges

        return cls(**ranges(table, target, margin), origin="reference")

    @classmethod
    def from_data(cls, table: Any, *, target: Any = None, unsafe_from_data: bool = False) -> "Bounds":
        """Return the ranges of the data itself, which VOIDS the guarantee: they reveal the smallest and largest values.

        For experiments on data that is public anyway. A fit with such bounds says in the first line of its report that
        it is not private. ``unsafe_from_data=True`` is required; `dpols.PaidBounds` are the private way.
        """
        if unsafe_from_data is not True:
            raise BoundsError(
                "bounds that are read from the data void the guarantee: pass unsafe_from_data=True to accept that, or "
                "use dpols.PaidBounds, which reads them privately for a share of the budget."
            )
        from .extremes import ranges

        return cls(**ranges(table, target, 0.0), origin="data")

    @classmethod
    def from_file(cls, path: Any, *, target: str | None = None) -> "Bounds":
        """Return the bounds that a CSV file with the columns ``column``, ``low`` and ``high`` declares.

        ``target`` is the name of the row that is the target's; without it, that of the row named "target".
        """
        from .bounds_table import read_bounds_table

        return cls(**read_bounds_table(path, target))

    def row_map(
        self, *, n_features: int, columns: Sequence[str] | None, fit_intercept: bool, with_target: bool = True
    ) -> "RowMap":
        """Return the map from user's rows to rows of norm at most 1 and targets in [-1, 1].

        Without a target every row's target is 0.
        """
        target = self._target() if with_target else (-1.0, 1.0)
        target_centre, target_scale = _centre_and_scale(target, fit_intercept, "target")
        centre = scale = low = high = None
        feature_norm = constant = self.x_norm or math.inf
        if self.features is not None:
            intervals = self.in_order(n_features, columns)
            pairs = [_centre_and_scale(pair, fit_intercept, f"feature {i}") for i, pair in enumerate(intervals)]
            centre, scale = np.array(pairs).T
            ends = (np.array(intervals) - centre[:, None]) / scale[:, None]
            # Where a range is narrow against its distance from zero, the centre is rounded and an end falls outside.
            low, high = _shared(np.maximum(ends[:, 0], -1.0)), _shared(np.minimum(ends[:, 1], 1.0))
            feature_norm, constant = min(feature_norm, math.sqrt(n_features)), 1.0
        return RowMap(
            centre=centre,
            scale=scale,
            low=low,
            high=high,
            feature_norm=feature_norm,
            norm_is_implied=self.features is not None and feature_norm == math.sqrt(n_features),
            intercept=constant if fit_intercept else None,
            target=target,
            target_centre=target_centre,
            target_scale=target_scale,
            n_features=n_features,
        )

    def in_order(self, n_features: int, columns: Sequence[str] | None) -> list[Interval]:
        """Return the range of each feature in the order of the data's columns; there must be any."""
        return in_column_order(self.features or (), n_features, columns)

    def _target(self) -> Interval:
        if self.target is not None:
            return self.target
        if self.y_abs is None:
            raise BoundsError("Bounds needs target=(low, high) or y_abs=...: the range of the target must be public.")
        return -self.y_abs, self.y_abs


def in_column_order(
    features: Mapping[str, Any] | Sequence[Any], n_features: int, columns: Sequence[str] | None
) -> list[Any]:
    """Return what is given by column name or by place, one for each column of the data and in their order."""
    if not isinstance(features, Mapping):
        if len(features) != n_features:
            raise BoundsError(
                f"features has {len(features)} bounds, but the data has {n_features} features; "
                "give one (low, high) for each column, in order."
            )
        return list(features)
    if columns is None:
        raise BoundsError(
            "features is a mapping by column name, but the data has no column names; "
            "pass a table, or a sequence of (low, high) in column order."
        )
    missing = [name for name in columns if name not in features]
    unknown = [name for name in features if name not in columns]
    if missing or unknown:
        parts = [f"no bounds for column(s) {missing}"] if missing else []
        parts += [f"bounds for unknown column(s) {unknown}"] if unknown else []
        raise BoundsError(f"{' and '.join(parts)}; the data's feature columns are {list(columns)}.")
    return [features[name] for name in columns]


def ranges_of(features: Mapping[str, Any] | Sequence[Any] | None) -> tuple[Any, ...]:
    """Return what is given by column name or by place, without the names."""
    return tuple(features.values() if isinstance(features, Mapping) else features or ())


def checked_ranges(features: Any, check: Callable[[str, Any], Any], what: str) -> "ReadOnly | tuple[Any, ...]":
    """Return ranges by column name or by place, each as ``check`` returns it; ``what`` they are to be, for messages."""
    if isinstance(features, Mapping):
        return ReadOnly({str(name): check(f"features[{name!r}]", pair) for name, pair in features.items()})
    if isinstance(features, str) or not hasattr(features, "__len__"):
        raise BoundsError(f"features={quoted(features)} must be a mapping or a sequence of {what}.")
    single = next((pair for pair in features if isinstance(pair, str | bytes) or np.isscalar(pair)), None)
    if single is not None:  # a value of a column, perhaps, that was taken for its range
        raise BoundsError(f"features holds values of type {type(single).__name__}, and must be a sequence of {what}.")
    return tuple(check(f"features[{i}]", pair) for i, pair in enumerate(features))


def _centre_and_scale(pair: Interval, centred: bool, name: str) -> tuple[float, float]:
    low, high = pair
    if centred:
        return 0.5 * low + 0.5 * high, 0.5 * high - 0.5 * low
    scale = max(abs(low), abs(high))
    if scale == 0.0:
        raise BoundsError(f"bounds {pair} of {name} leave nothing to fit.")
    return 0.0, scale


def _shared(ends: Array) -> Array:
    """Return one end where all are the same but for rounding; clipping with one is several times as fast."""
    rounded = np.round(ends, 12)
    return rounded[:1] if np.all(rounded == rounded[0]) else ends


def read_from_data(*ranges: Sequence[Any] | None) -> bool:
    """Return whether any number of some ranges, or of other numbers taken for public, was read from the data."""
    return any(isinstance(number, ReadFromData) for pair in ranges if pair is not None for number in pair)


def number_text(number: float, within: float | None = None) -> str:
    """Return a number with six digits, or with as many more as it takes to be off by no more than ``within``.

    By default that is rounding alone, so that numbers which a person declares stand there as they are.

    >>> number_text(0.25), number_text(1_700_000_500.0), number_text(2 / 3, within=1e-6)
    ('0.25', '1700000500', '0.666667')
    """
    if not math.isfinite(number):
        return f"{number:g}"
    allowed = 1e-12 * abs(number) if within is None else within
    if abs(float(short := f"{number:g}") - number) <= allowed:
        return short
    texts = (f"{number:.{digits}g}" for digits in range(7, 18))
    text = next((text for text in texts if abs(float(text) - number) <= allowed), repr(float(number)))
    return f"{float(text):.0f}" if "e+" in text and abs(number) < 1e16 else text


def range_text(pair: Interval) -> str:
    """Return a range; ends of many digits, which are computed, are off by a small part of its width at most.

    >>> range_text((0.0, 1_234_567.0)), range_text((0.0, math.log(5))), range_text((1e9 + 1 / 3, 1e9 + 1))
    ('[0, 1234567]', '[0, 1.60944]', '[1000000000.33333, 1000000001]')
    """
    return f"[{', '.join(_end_text(end, 1e-5 * (pair[1] - pair[0])) for end in pair)}]"


def _end_text(end: float, within: float) -> str:
    """Return an end of a range as it is where eleven digits do, as those of most declared ones."""
    exact = number_text(end)
    return exact if float(exact) == float(f"{end:.11g}") else number_text(end, within)


def as_float(value: Any) -> float:
    """Return a number that was read from the data as it is, and any other as a plain float; text is no number."""
    if isinstance(value, str | bytes | bytearray | bool | np.bool_):
        raise TypeError(f"{value!r} is not a number")
    return value if type(value) is ReadFromData else float(value)


def checked_interval(name: str, pair: object, *, smallest: float = _SMALLEST, largest: float = _LARGEST) -> Interval:
    """Return a pair of finite, rising numbers of usable size."""
    try:
        low, high = (as_float(value) for value in pair)  # type: ignore[attr-defined]
    except OverflowError:  # the number may be too long to be printed
        raise BoundsError(f"{name} has a number beyond the range of doubles; both limits must be finite.") from None
    except (TypeError, ValueError):
        raise BoundsError(f"{name}={quoted(pair, most=2)} must be a pair of numbers (low, high).") from None
    if not (math.isfinite(low) and math.isfinite(high)):
        raise BoundsError(f"{name}={quoted(pair, most=2)} must be finite.")
    if low > high:
        raise BoundsError(f"{name}={quoted(pair, most=2)} has the high end first; write ({high:g}, {low:g}).")
    if low == high:
        raise BoundsError(f"{name}={quoted(pair, most=2)} must have low < high; drop a column that is constant.")
    if max(-low, high) > largest or high - low < smallest:
        raise BoundsError(
            f"{name}={quoted(pair, most=2)} must lie within {largest:g} of 0 and be at least {smallest:g} apart."
        )
    return low, high


def checked_positive(name: str, value: object) -> float:
    """Return a positive number of usable size."""
    try:
        number = as_float(value)
    except (TypeError, ValueError, OverflowError):
        raise BoundsError(f"{name}={quoted(value)} must be a number.") from None
    if not _SMALLEST <= number <= _LARGEST:
        raise BoundsError(f"{name}={value!r} must be positive, from {_SMALLEST:g} to {_LARGEST:g}.")
    return number
