"""Calls of ``fit`` and of ``release_sketch`` as plain values, so that each can be kept in a file and repeated.

Most of what is generated is sound, so that odd values meet all the rest of the program; each part is odd now and then.
"""

import inspect
import json
import math
import warnings
from dataclasses import asdict, dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from dpols.algorithms import ALGORITHMS
from dpols.data import Bounds

from .forms import FORMS, PLAIN_FORMS, TARGETS

SECRET_NUMBER = 7351942608.0  # only cells hold it: no message may quote it

# Values that JSON has no form for, each by its kind and text.
_NOT_IN_JSON = {
    f"{type(value).__name__} {value}": value
    for value in (1j, Decimal("0.5"), Fraction(1, 3), np.int64(2), np.float32(0.5))
}


@dataclass(frozen=True)
class Case:
    """One call: the table, the bounds and the parameters."""

    n_rows: int
    n_features: int
    seed: int
    magnitude: float
    spoiled: tuple[tuple[int, int, float], ...]  # row, column and value; the last column is the target
    form: str
    target: str
    later_form: str  # of the table that is predicted for
    bounds: dict[str, Any] | None
    parameters: dict[str, Any]

    def table(self) -> tuple[Any, Any]:
        """Return rows and targets in their form."""
        values = self._values()
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return FORMS[self.form](values[:, :-1]), TARGETS[self.target](values[:, -1].copy())

    def later_table(self) -> Any:
        """Return the rows that are predicted for."""
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return FORMS[self.later_form](self._values()[:, :-1])

    def declared(self) -> Any:
        """Return the bounds, which may be none at all."""
        return 3 if self.bounds is None else Bounds(**self.bounds)

    def to_bytes(self) -> bytes:
        """Return the case as JSON."""
        return json.dumps({name: _to_plain(value) for name, value in asdict(self).items()}).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> "Case":
        """Read a case back."""
        return cls(**{name: _from_plain(value) for name, value in json.loads(data).items()})

    def _values(self) -> Any:
        values = np.random.default_rng(self.seed).uniform(-1.5, 1.5, (self.n_rows, self.n_features + 1))
        values *= self.magnitude
        for row, column, value in self.spoiled:
            if values.size:
                values[row % self.n_rows, column % (self.n_features + 1)] = value
        return values


def _to_plain(value: Any) -> Any:
    """Return a value as JSON can hold it; containers keep their type."""
    if isinstance(value, dict):
        return {"mapping": [[_to_plain(key), _to_plain(item)] for key, item in value.items()]}
    if isinstance(value, list | tuple):
        return {type(value).__name__: [_to_plain(item) for item in value]}
    name = f"{type(value).__name__} {value}"
    return {"other": name} if name in _NOT_IN_JSON else value


def _from_plain(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    [(kind, content)] = value.items()
    if kind == "other":
        return _NOT_IN_JSON[content]
    items = [_from_plain(item) if kind != "mapping" else tuple(map(_from_plain, item)) for item in content]
    return {"mapping": dict, "list": list, "tuple": tuple}[kind](items)


_ODD_NUMBERS = (0, -1.0, math.nan, math.inf, None, "one", "1", 1j, [1.0], True, 10**400, Decimal("0.5"), Fraction(1, 3))
_TINY_AND_HUGE = (1e-320, 1e-300, 1e-100, 1e-20, 1e-12, 1e-9, 1e-6, 1e3, 1e4, 1e12, 1e100, 1e308)
_CELLS = (
    *(SECRET_NUMBER, 0.0, -0.0, 1.0, math.nan, math.inf, -math.inf, 1e308, -1e308),
    *(1e-320, 5e-324, 1e154, 2.0**53, 65504.0, 3.4e38),
)
_OPTION_VALUES: tuple[Any, ...] = (
    *(1, 2, 3, 7, 40, 0, -1, 0.5, 0.25, 2.5, math.nan, math.inf, "on", "off", "auto", "1/t", None, True, [], {}),
    *(10**400, 1e-300, 1e-9, 1e300, "3", np.int64(2), np.float32(0.5)),
)


def fit_cases() -> st.SearchStrategy[Case]:
    """Return calls of ``fit``."""
    methods = _usually(st.sampled_from(sorted(ALGORITHMS)), ["IHM", None, 3, ""])
    return _cases(methods.flatmap(_parameters), with_target=True)


def sketch_cases() -> st.SearchStrategy[Case]:
    """Return calls of ``release_sketch``."""
    return _cases(_sketch_parameters(), with_target=False)


@st.composite
def _cases(draw: st.DrawFn, parameters: st.SearchStrategy[dict[str, Any]], with_target: bool) -> Case:
    n_rows, n_features = draw(_usually(st.integers(1, 30), [0, 1])), draw(_usually(st.integers(1, 4), [0]))
    forms = _usually(st.sampled_from(PLAIN_FORMS), sorted(FORMS), odds=4)
    form = draw(forms)
    return Case(
        n_rows=n_rows,
        n_features=n_features,
        seed=draw(st.integers(0, 99)),
        magnitude=draw(_usually(st.just(1.0), [0.0, 1e-320, 1e-160, 1e-9, 1e9, 1e150, 1e308])),
        spoiled=tuple(draw(_usually(st.just([]), st.lists(_spoiling, min_size=1, max_size=4)))),
        form=form,
        target=draw(_usually(st.sampled_from(["vector", "list"]), sorted(TARGETS), odds=6)),
        later_form=draw(forms),
        bounds=draw(_bounds(n_features, form.startswith(("pandas", "polars", "arrow")), with_target)),
        parameters=draw(parameters),
    )


def _usually(good: st.SearchStrategy[Any], odd: Any, *, odds: int = 25) -> st.SearchStrategy[Any]:
    """Return the odd about one time in ``odds``: in the middle of a range, since its ends are drawn more often."""
    strange = odd if isinstance(odd, st.SearchStrategy) else st.sampled_from(odd)
    return st.integers(1, odds).flatmap(lambda die: strange if die == odds // 2 + 1 else good)


_spoiling = st.tuples(st.integers(0, 29), st.integers(0, 4), st.sampled_from(_CELLS))
_width = st.integers(-90, 90).map(lambda power: 10.0**power)
_end = _usually(
    st.floats(-2.0, 2.0),
    st.one_of(_width, st.sampled_from([0, 1e-150, 1e100, -1e100, 1e200, 10**400, math.nan, math.inf, "low", None])),
    odds=6,
)


@st.composite
def _bounds(draw: st.DrawFn, n_features: int, named: bool, with_target: bool) -> dict[str, Any] | None:
    if draw(_usually(st.just(False), [True], odds=60)):
        return None
    chosen: dict[str, Any] = {}
    norms = _usually(st.just(1.0), st.one_of(_width, st.sampled_from(_ODD_NUMBERS)), odds=6)
    pairs = st.lists(st.tuples(_end, _end).map(_sorted), min_size=n_features, max_size=n_features)
    kind = draw(st.sampled_from(["norm", "ranges", "both"]))
    if kind != "norm":
        chosen["features"] = draw(_usually(st.just([(-1.0, 1.0)] * n_features), pairs, odds=3))
        if draw(_usually(st.just(named), [not named])):
            chosen["features"] = {f"x{i}": pair for i, pair in enumerate(chosen["features"])}
    if kind != "ranges":
        chosen["x_norm"] = draw(norms)
    if not draw(_usually(st.just(with_target), [not with_target])):
        return chosen
    if draw(st.booleans()):
        chosen["y_abs"] = draw(norms)
    if draw(_usually(st.just("y_abs" not in chosen), ["y_abs" in chosen])):
        chosen["target"] = draw(_usually(st.just((-1.0, 2.0)), st.tuples(_end, _end).map(_sorted), odds=3))
    return chosen


def _sorted(pair: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return a pair in order where it has one."""
    low, high = pair
    numbers = isinstance(low, int | float) and isinstance(high, int | float)
    return (high, low) if numbers and high < low else pair


_extremes = st.sampled_from(_TINY_AND_HUGE + _ODD_NUMBERS)
_deltas = st.sampled_from((1e-320, 1e-308, 1e-303, 1e-300, 1e-100, 0.5, 0.999, 1.0, 2.0, *_ODD_NUMBERS))
_rules = st.sampled_from(("1/n^2", "1/n", "1 / n**1.5", "1/n^0", "1/n^999", "n", "1/n^" + "9" * 400, "1/n" + " " * 9))
_shared = {
    "epsilon": _usually(st.floats(0.01, 50.0), _extremes, odds=8),
    "delta": _usually(st.floats(1e-12, 0.1), st.one_of(_deltas, _rules), odds=8),
    "neighbours": _usually(st.sampled_from(["zero-out", "replace-one"]), ["add-one", None, 1]),
    "bad_rows": _usually(st.sampled_from(["raise", "zero"]), ["drop", None, True, []]),
    "random_state": _usually(st.one_of(st.none(), st.integers(0, 9)), [-1, 1.5, "seed", True, [1]]),
}


def _parameters(method: Any) -> st.SearchStrategy[dict[str, Any]]:
    plan = inspect.signature(ALGORITHMS[method].plan_for).parameters if method in ALGORITHMS else {"n_iterations": None}
    names = [name for name in plan if name != "given"]
    mappings = st.dictionaries(st.sampled_from((*names, "unknown")), st.sampled_from(_OPTION_VALUES), max_size=3)
    odd_mappings = st.sampled_from([3, "ab", [("n_iterations", 2)], {1: 2}])
    return st.fixed_dictionaries(
        {
            **_shared,
            "method": st.just(method),
            "fit_intercept": _usually(st.booleans(), [None, "no", 0]),
            "arithmetic": _usually(st.sampled_from(["auto", "exact", "float", "float"]), ["double", None, 1, []]),
            "accounting": _usually(st.sampled_from(["exact", "paper"]), ["renyi", None, []]),
            "options": _usually(st.none(), st.one_of(mappings, odd_mappings), odds=3),
        }
    )


def _sketch_parameters() -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {
            **_shared,
            "rows": _usually(st.integers(1, 40), st.sampled_from((1000, 10**9, 2.5, *_ODD_NUMBERS)), odds=12),
            "constant": _usually(st.booleans(), [None, "no", 0]),
            "eigenvalue": _usually(st.sampled_from(["off", "on"]), ["maybe", None, []]),
        }
    )
