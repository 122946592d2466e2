"""The grammar of formulas: a text becomes a tree of seven kinds of nodes, or is refused. Nothing in it is evaluated.

    formula = sum "~" sum
    sum     = ["+" | "-"] product {("+" | "-") product}
    product = cross {("*" | "/") cross}
    cross   = power {":" power}
    power   = operand [("**" | "^") power]
    operand = name | number | text | "(" sum ")" | "{" sum "}" | "[" items "]" | name "(" items ")"
    items   = [item {"," item} [","]]
    item    = [name "="] sum

A name has letters, digits, ``_`` and ``.``; any other name stands in backticks. What a call means is decided by who
reads the tree, among the few that there are.
"""

import re
from dataclasses import dataclass, field
from typing import Any

from ..errors import ParameterError

KNOWN = (
    "a formula may have column names, products such as a:b and a*b, I(a**2), I((a - 5)**2), poly(a, 2, raw=True), "
    "log(a), log1p(a), sqrt(a), exp(a), scale(a, center=40, scale=10), bs(a, knots=[...]) and C(a, levels=[...])"
)
_TOKEN = re.compile(
    r"""\s*(?:(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    | (?P<name>[^\W\d][\w.]*) | `(?P<quoted>[^`]+)`
    | (?P<text>'(?:[^'\\]|\\[\\'"])*'|"(?:[^"\\]|\\[\\'"])*")
    | (?P<sign>\*\*|[-+*/:^(){}\[\],=~|.])
    | (?P<end>\Z))""",
    re.VERBOSE,
)
_NUMPY = re.compile(r"^(?:np|numpy)\.")  # np.log(a) is log(a)
_ESCAPED = re.compile(r"\\(.)")
_LEVELS = ({"*", "/"}, {":"})  # of operators between sums and powers, the loosest first
_MOST_LEVELS = 320
_CLOSING = {"(": ")", "{": "}", "[": "]"}


@dataclass(frozen=True)
class Name:
    """A column, or a word such as ``True``."""

    name: str


@dataclass(frozen=True)
class Number:
    """A number as it is written, without a sign."""

    digits: str


@dataclass(frozen=True)
class Text:
    """A text in quotation marks."""

    value: str


@dataclass(frozen=True)
class Listed:
    """Items in square brackets."""

    items: tuple["Node", ...]


@dataclass(frozen=True)
class Call:
    """A name with arguments; ``I`` for braces, and no name for parentheses."""

    function: str
    arguments: tuple["Node", ...]
    named: tuple[tuple[str, "Node"], ...] = ()
    text: str = field(default="", compare=False)


@dataclass(frozen=True)
class Operation:
    """Two operands with one of ``* / : **`` between them."""

    sign: str
    left: "Node"
    right: "Node"


@dataclass(frozen=True)
class Sum:
    """Operands, each with its sign."""

    parts: tuple[tuple[str, "Node"], ...]


Node = Name | Number | Text | Listed | Call | Operation | Sum


@dataclass(frozen=True)
class Sides:
    """A formula: what is on the left and on the right of ``~``."""

    text: str
    left: Node
    right: Node


def parsed(formula: Any) -> Sides:
    """Return the tree of a formula."""
    if not isinstance(formula, str):  # it may hold rows, and is not quoted
        raise ParameterError(
            f"formula is of type {type(formula).__name__}; the formula comes first, and then the table, as in "
            'dpols.ols("income ~ age + hours", table, ...).'
        )
    if "~" not in formula:
        raise ParameterError(f'formula={formula!r} must be a text such as "income ~ age + hours".')
    reader = _Reader(formula)
    if reader.sees("~"):
        raise ParameterError(f"formula={formula!r} must have one target on the left of ~.")
    try:
        left = reader.sum()
        reader.take("~")
        right = reader.sum()
    except RecursionError:
        raise reader.refusal("it is nested too deeply") from None
    if _is_deep((left, right)):
        raise reader.refusal("it is nested too deeply")
    if reader.sees("|"):
        raise ParameterError(f"formula={formula!r} must have one part on the right of ~, without |.")
    if reader.kind != "end":
        raise reader.refusal()
    return Sides(formula, left, right)


def _is_deep(tree: Any) -> bool:
    """Return whether a tree has too many levels to be walked; a chain such as a:b:c has one for each sign."""
    level = [tree]
    for _ in range(_MOST_LEVELS):
        parts = [each if isinstance(each, tuple) else getattr(each, "__dict__", {}).values() for each in level]
        level = [inner for part in parts for inner in part]
    return bool(level)


class _Reader:
    """A formula and the place up to which it is read: one token, of a kind and with a value, lies ahead."""

    def __init__(self, formula: str) -> None:
        self._formula = formula
        self._stop = 0
        self.advance()

    def advance(self) -> None:
        """Go to the next token."""
        self._read = self._stop  # where the token before it ends
        found = _TOKEN.match(self._formula, self._stop)
        if found is None:
            rest = self._formula[self._stop :].lstrip()
            raise self.refusal(f"{rest[:1]!r} stands where no such sign can be")
        self.kind, self.value = str(found.lastgroup), found.group(str(found.lastgroup))
        self._start, self._stop = found.start(self.kind), found.end()

    def sees(self, *signs: str) -> bool:
        """Return whether one of these signs lies ahead."""
        return self.kind == "sign" and self.value in signs

    def take(self, *signs: str) -> str:
        """Go past one of these signs and return it."""
        if not self.sees(*signs):
            raise self.refusal()
        value = self.value
        self.advance()
        return value

    def refusal(self, reason: str = "") -> ParameterError:
        """Return an error that says why a formula is no formula: by default, that the next token has no place there."""
        if not reason:
            reason = "it ends too early" if self.kind == "end" else f"{self.value!r} stands where it has no meaning"
        return ParameterError(f"formula={self._formula!r} cannot be read: {reason}; {KNOWN}.")

    def sum(self) -> Node:
        """Read operands with signs, or one without."""
        first = None if self.sees("+", "-") else self._joined(*_LEVELS)
        parts = [] if first is None else [("+", first)]
        while self.sees("+", "-"):
            parts.append((self.take("+", "-"), self._joined(*_LEVELS)))
        return Sum(tuple(parts)) if first is None or len(parts) > 1 else first

    def _joined(self, *levels: set[str]) -> Node:
        """Read operands of the next level with operators of this one between them."""
        if not levels:
            return self._power()
        node = self._joined(*levels[1:])
        while self.sees(*levels[0]):
            node = Operation(self.take(*levels[0]), node, self._joined(*levels[1:]))
        return node

    def _power(self) -> Node:
        base = self._operand()
        if not self.sees("**", "^"):
            return base
        self.advance()
        return Operation("**", base, self._power())

    def _operand(self) -> Node:
        start, kind, value = self._start, self.kind, self.value
        if self.sees("."):
            raise self.refusal("a . stands for all other columns, and these must be named")
        if kind == "end" or (kind == "sign" and value not in _CLOSING):
            raise self.refusal()
        self.advance()
        match kind:
            case "number":
                return Number(value)
            case "text":
                return Text(_ESCAPED.sub(lambda found: found[1], value[1:-1]))
            case "quoted":
                return Name(value)
            case "name":
                return self._call(start, _NUMPY.sub("", value)) if self.sees("(") else Name(value)
        if value == "[":
            return Listed(tuple(node for _, node in self._items(value, names=False)))
        inner = self.sum()
        self.take(_CLOSING[value])
        return Call("I" if value == "{" else "", (inner,), text=self._since(start))

    def _call(self, start: int, function: str) -> Call:
        items = self._items(self.take("("), names=True)
        unnamed = tuple(node for name, node in items if name is None)
        named = tuple((name, node) for name, node in items if name is not None)
        return Call(function, unnamed, named, self._since(start))

    def _items(self, opening: str, *, names: bool) -> list[tuple[str | None, Node]]:
        items: list[tuple[str | None, Node]] = []
        while not self.sees(_CLOSING[opening]):
            name, node = None, self.sum()
            if names and isinstance(node, Name) and self.sees("="):
                self.advance()
                name, node = node.name, self.sum()
            items.append((name, node))
            if not self.sees(_CLOSING[opening]):
                self.take(",")
        self.advance()
        return items

    def _since(self, start: int) -> str:
        """Return what was read from a place on."""
        return self._formula[start : self._read]
