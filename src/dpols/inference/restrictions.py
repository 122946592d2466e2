"""Linear restrictions on coefficients, as a matrix or as text: which combinations of them are to have which values.

    restrictions = restriction {"," restriction}
    restriction  = sum {"=" sum}
    sum          = ["+" | "-"] product {("+" | "-") product}
    product      = operand {("*" | "/") operand}
    operand      = number | name | "(" sum ")"

A restriction without ``=`` says that its sum is 0, so that a list of names says that all of them are 0. A name is that
of a coefficient: ``age``, ``age^2``, ``region[south]`` and ``age:region[south]`` stand as they are, and any other in
backticks. A column of categories that stands alone, such as ``region``, stands for all of its coefficients. Nothing in
a text is evaluated; what is not linear in the coefficients is refused.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import pairwise
from typing import Any

import numpy as np

from ..errors import ParameterError

Array = np.ndarray[Any, np.dtype[Any]]

_KNOWN = 'write "age = 2 * hours, income = 0", a list of such texts, or a matrix with a column for each coefficient'
_PLAIN = r"[^\W\d][\w.]*(?:\[[^\]]*\])?(?:\^[0-9]+)?"
_TOKEN = re.compile(
    rf"""\s*(?:(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    | (?P<name>{_PLAIN}(?::{_PLAIN})*) | `(?P<quoted>[^`]+)`
    | (?P<sign>[-+*/(),=])
    | (?P<end>\Z))""",
    re.VERBOSE,
)
_LONGEST = 20_000  # characters
_SHOWN = 5  # names in a message


@dataclass(frozen=True, eq=False)
class Restrictions:
    """Combinations of coefficients, one in each row of ``weights``, and the values that they are to have."""

    weights: Array
    values: Array
    texts: tuple[str, ...]

    @classmethod
    def of(cls, given: Any, names: Sequence[str]) -> "Restrictions":
        """Read restrictions on coefficients of these names: text, texts, a matrix, or a matrix and values."""
        made = _from_text(given, names) if _is_text(given) else _from_matrix(given, names)
        rank = np.linalg.matrix_rank(_scaled(made.weights))
        if rank < len(made.weights):
            raise ParameterError(
                f"restrictions={_shown(given)} has {len(made.weights)} restrictions of which only {rank} differ; leave "
                "out those that follow from others, contradict them, or name no coefficient."
            )
        return made

    @classmethod
    def on_each(cls, names: Sequence[str]) -> "Restrictions":
        """Return the restrictions that each coefficient by itself is 0."""
        return cls(np.eye(len(names)), np.zeros(len(names)), tuple(names))


@dataclass(frozen=True, eq=False)
class _Form:
    """A linear form in the coefficients: weights and a constant."""

    weights: Array
    constant: float

    def plus(self, other: "_Form", factor: float) -> "_Form":
        return _Form(self.weights + factor * other.weights, self.constant + factor * other.constant)

    def times(self, factor: float) -> "_Form":
        return _Form(factor * self.weights, factor * self.constant)


def _is_text(given: Any) -> bool:
    return isinstance(given, str) or (
        isinstance(given, Sequence) and len(given) > 0 and all(isinstance(item, str) for item in given)
    )


def _from_text(given: Any, names: Sequence[str]) -> Restrictions:
    texts = [given] if isinstance(given, str) else given
    with np.errstate(over="ignore", invalid="ignore"):  # refused below
        parts = [part for text in texts for part in _Reader(text, names).all()]
    weights, values = np.array([form.weights for form, _ in parts]), np.array([-form.constant for form, _ in parts])
    if not (np.isfinite(weights).all() and np.isfinite(values).all()):
        raise ParameterError(f"restrictions={_shown(given)} has a number beyond the range of doubles.")
    return Restrictions(weights, values, tuple(text for _, text in parts))


def _from_matrix(given: Any, names: Sequence[str]) -> Restrictions:
    paired = isinstance(given, tuple) and len(given) == 2 and np.ndim(given[1]) < 2 and np.ndim(given[0]) > 0
    matrix, values = given if paired else (given, 0.0)
    try:
        weights = np.atleast_2d(np.asarray(matrix, dtype=np.float64))
        values = np.broadcast_to(np.asarray(values, dtype=np.float64), weights.shape[:1])
    except (TypeError, ValueError):
        raise ParameterError(f"restrictions={_shown(given)} cannot be read; {_KNOWN}.") from None
    if weights.ndim != 2 or weights.shape[1] != len(names) or not len(weights):
        raise ParameterError(
            f"restrictions has shape {weights.shape}, and must have a column for each of the {len(names)} "
            f"coefficients: {_listed(names)}."
        )
    if not (np.isfinite(weights).all() and np.isfinite(values).all()):
        raise ParameterError("restrictions must hold finite numbers.")
    texts = tuple(_written(row, value, names) for row, value in zip(weights, values, strict=True))
    return Restrictions(weights, np.array(values), texts)


class _Reader:
    """Restrictions and the place up to which they are read: one token, of a kind and with a value, lies ahead."""

    def __init__(self, text: str, names: Sequence[str]) -> None:
        if len(text) > _LONGEST:
            raise ParameterError(f"restrictions has {len(text)} characters; at most {_LONGEST} are read.")
        self._text, self._names, self._count = text, {name: place for place, name in enumerate(names)}, len(names)
        self._twice = {name for name in names if names.count(name) > 1}
        self._stop = 0
        self._advance()

    def all(self) -> list[tuple[_Form, str]]:
        """Return the forms that are to be 0, each with its text."""
        found = []
        try:
            while True:
                found += self._restriction()
                if self._kind == "end":
                    return found
                self._take(",")
        except RecursionError:
            raise self._refusal("it is nested too deeply") from None

    def _restriction(self) -> list[tuple[_Form, str]]:
        if levels := self._levels():
            return [(_Form(np.eye(self._count)[place], 0.0), f"{name} = 0") for name, place in levels]
        sides = [self._side()]
        while self._sees("="):
            self._advance()
            sides.append(self._side())
        if len(sides) == 1:
            (form, text) = sides[0]
            return [(form, f"{text} = 0")]
        return [(left.plus(right, -1.0), f"{one} = {other}") for (left, one), (right, other) in pairwise(sides)]

    def _levels(self) -> list[tuple[str, int]]:
        """Go past a column of categories that stands alone, and return its coefficients; nothing for anything else."""
        if self._kind not in ("name", "quoted") or self._value in self._names:
            return []
        column, one = self._value, re.compile(rf"{re.escape(self._value)}\[[^\]]*\]")
        levels = [(name, place) for name, place in self._names.items() if one.fullmatch(name)]
        if levels:
            self._advance()
            if not (self._kind == "end" or self._sees(",")):
                raise self._unknown(column)
        return levels

    def _side(self) -> tuple[_Form, str]:
        start = self._start
        return self._sum(), " ".join(self._text[start : self._read].split())

    def _sum(self) -> _Form:
        sign = self._take("+", "-") if self._sees("+", "-") else "+"
        form = self._product().times(-1.0 if sign == "-" else 1.0)
        while self._sees("+", "-"):
            factor = -1.0 if self._take("+", "-") == "-" else 1.0
            form = form.plus(self._product(), factor)
        return form

    def _product(self) -> _Form:
        form = self._operand()
        while self._sees("*", "/"):
            sign, other = self._take("*", "/"), self._operand()
            if sign == "/":
                if other.weights.any() or other.constant == 0.0:
                    raise self._refusal("only a number other than 0 can stand after /")
                form = form.times(1.0 / other.constant)
            elif other.weights.any() and form.weights.any():
                raise self._refusal("a product of coefficients is not linear")
            else:
                form = other.times(form.constant) if other.weights.any() else form.times(other.constant)
        return form

    def _operand(self) -> _Form:
        kind, value = self._kind, self._value
        if kind in ("name", "quoted"):
            if value not in self._names:
                raise self._unknown(value)
            if value in self._twice:
                raise self._refusal(f"{value!r} is the name of two coefficients, so only a matrix can tell which")
            self._advance()
            return _Form(np.eye(self._count)[self._names[value]], 0.0)
        if kind == "number":
            self._advance()
            return _Form(np.zeros(self._count), float(value))
        self._take("(")
        form = self._sum()
        self._take(")")
        return form

    def _advance(self) -> None:
        self._read = self._stop  # where the token before it ends
        found = _TOKEN.match(self._text, self._stop)
        if found is None:
            rest = self._text[self._stop :].lstrip()
            self._kind, self._value = "end", ""
            raise self._refusal(f"{rest[:1]!r} stands where no such sign can be")
        self._kind, self._value = str(found.lastgroup), found.group(str(found.lastgroup))
        self._start, self._stop = found.start(self._kind) - (self._kind == "quoted"), found.end()

    def _sees(self, *signs: str) -> bool:
        return self._kind == "sign" and self._value in signs

    def _take(self, *signs: str) -> str:
        if not self._sees(*signs):
            at_end = self._kind == "end"
            raise self._refusal("it ends too early" if at_end else f"{self._value!r} stands where it has no meaning")
        value = self._value
        self._advance()
        return value

    def _unknown(self, name: str) -> ParameterError:
        near = get_close_matches(name, self._names, n=1)
        meant = f"did you mean {near[0]!r}?" if near else f"the coefficients are {_listed(list(self._names))}."
        return ParameterError(f"restrictions={_shown(self._text)} names {name!r}, which is no coefficient; {meant}")

    def _refusal(self, reason: str) -> ParameterError:
        return ParameterError(f"restrictions={_shown(self._text)} cannot be read: {reason}; {_KNOWN}.")


def _scaled(weights: Array) -> Array:
    """Return each row over its largest weight, so that the rank does not depend on units."""
    largest = np.abs(weights).max(axis=1, keepdims=True)
    return np.asarray(np.divide(weights, largest, out=np.zeros_like(weights), where=largest > 0.0))


def _written(weights: Array, value: float, names: Sequence[str]) -> str:
    """Return a restriction as text."""
    parts = [(weight, name) for weight, name in zip(weights, names, strict=True) if weight]
    text = " ".join(f"{'-' if weight < 0 else '+'} {_times(abs(weight))}{name}" for weight, name in parts)
    return f"{text.removeprefix('+ ') or '0'} = {value:g}"


def _times(weight: float) -> str:
    return "" if math.isclose(weight, 1.0) else f"{weight:g} * "


def _listed(names: Sequence[str]) -> str:
    more = "" if len(names) <= _SHOWN else f" and {len(names) - _SHOWN} more"
    return f"{', '.join(names[:_SHOWN])}{more}"


def _shown(given: Any) -> str:
    text = repr(given)
    return text if len(text) <= 80 else f"{text[:77]}..."
