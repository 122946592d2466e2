"""Terms of a formula: what its operators mean, and which categories lose their first level.

``+`` joins terms and ``-`` takes them away, ``a:b`` is a product, ``a*b`` is a + b + a:b, ``a/b`` is a + a:b, and
``(a + b)**2`` has the terms and all products of two different ones. A column stands once in a product, as in R, so that
a power is written ``I(a**2)``; a formula that multiplies a single term by itself is refused, as its author expects a
square. Only products of columns and of functions of one column by public constants, ``C(...)``, raw ``poly(...)`` and
``bs(...)`` are understood, since only of these the ranges follow from those of the columns.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import product
from math import comb
from typing import Any

from ..errors import ParameterError
from ..feature_map import CategoricalColumn, Factor, NumericColumn
from ..feature_map.transforms import Power
from .functions import chain_of, is_spline, refusal_of, spline_of
from .syntax import KNOWN, Call, Listed, Name, Node, Number, Operation, Sum, Text

_MOST_PRODUCTS = 100_000
_MOST_CATEGORIES = 8  # in one product, of which all parts are looked at
_LARGEST_POWER = 16
_LARGEST_DEGREE = 5


@dataclass(frozen=True)
class Part:
    """One factor of a term: numbers, as alternatives that are products of powers; or the categories of a column."""

    numbers: tuple[tuple[Factor, ...], ...] = ()
    category: str | None = None
    all_levels: bool = False
    text: str = field(default="", compare=False)

    def alternatives(self) -> tuple[tuple[Factor, ...], ...]:
        """Return what the part adds to a product, of which there is one for each alternative."""
        return self.numbers if self.category is None else ((Factor(self.category, all_levels=self.all_levels),),)


Term = tuple[Part, ...]
Piece = tuple[int, ...]  # places of a term's parts, from -1 downwards those of categories with all their levels
Terms = dict[frozenset[Part], Term]  # in the order of the formula, and each once
Columns = Mapping[str, NumericColumn | CategoricalColumn]


def levels_of(call: Call) -> tuple[str, tuple[Any, ...], Any]:
    """Return the column of a ``C(...)``, the levels that it lists, if any, and the one to compare with, if any."""
    named = dict(call.named)
    name = call.arguments[0] if len(call.arguments) == 1 else None
    if not isinstance(name, Name) or set(named) - {"levels", "ref"} or len(named) < len(call.named):
        raise ParameterError(
            f"the formula has {call.text!r}; write C(COLUMN, levels=[...], ref=...) with the public levels and, as far "
            "as wanted, the one that others are compared with."
        )
    listed = named.get("levels")
    levels: tuple[Any, ...] = ()
    if listed is not None:
        levels = tuple(map(_level, listed.items)) if isinstance(listed, Listed) else ()
        if not levels or None in levels:
            raise ParameterError(f"the formula has {call.text!r}; levels must be a list of texts or numbers.")
    reference = _level(named["ref"]) if "ref" in named else None
    if "ref" in named and reference is None:
        raise ParameterError(f"the formula has {call.text!r}; ref must be one of the levels, a text or a number.")
    return name.name, levels, reference


def calls_of(tree: Any) -> Iterable[Call]:
    """Yield every call in a tree, or in a tuple of trees, the outermost first."""
    if isinstance(tree, Call):
        yield tree
    for inner in tree if isinstance(tree, tuple) else getattr(tree, "__dict__", {}).values():
        yield from calls_of(inner)


def names_in(tree: Any) -> Iterable[str]:
    """Yield every name in a tree, or in a tuple of trees, that may be a column's."""
    if isinstance(tree, Name):
        yield tree.name
    for inner in tree if isinstance(tree, tuple) else getattr(tree, "__dict__", {}).values():
        yield from names_in(inner)


def terms_and_intercept(node: Node, columns: Columns) -> tuple[list[Term], bool]:
    """Return the terms of a formula's right side, those of fewer factors first, and whether there is an intercept."""
    _count(node)
    terms: Terms = {}
    intercept = True
    for sign, part in node.parts if isinstance(node, Sum) else (("+", node),):
        if isinstance(part, Number) and part.digits in ("0", "1"):
            intercept = (part.digits == "1") == (sign == "+")
        else:
            _join(terms, sign, _terms(part, columns))
    return sorted(terms.values(), key=len), intercept


def coded(terms: Iterable[Term], intercept: bool) -> list[Term]:
    """Say in which products a category keeps its first level, so that no column is a sum of others.

    A category with all levels is that without the first one and a constant. So each term is taken apart into products
    with reduced categories; those that earlier terms have are left out, and the others are put together again.
    """
    spanned: set[frozenset[Part]] = {frozenset()} if intercept else set()
    result: list[Term] = []
    for term in terms:
        if sum(part.category is not None for part in term) > _MOST_CATEGORIES:
            raise ParameterError(f"the formula has a product of more than {_MOST_CATEGORIES} columns of categories.")
        apart = product(*([i] if part.category is None else [i, None] for i, part in enumerate(term)))
        pieces = [tuple(i for i in chosen if i is not None) for chosen in apart]
        parts = {piece: frozenset(term[i] for i in piece) for piece in pieces}
        added = tuple(piece for piece in pieces if parts[piece] not in spanned)
        spanned |= {parts[piece] for piece in added}
        wide = [replace(part, all_levels=True) for part in term]
        result += [tuple(term[i] if i >= 0 else wide[~i] for i in piece) for piece in _put_together(added)]
    return result


@lru_cache(maxsize=256)
def _put_together(pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
    """Join what differs by one reduced category: (anything) + (anything):(reduced) is (anything):(all levels)."""
    kept: tuple[Piece, ...] = ()
    for piece in sorted(pieces, key=len):
        for smaller in kept:
            new = set(piece).difference(smaller) if len(smaller) == len(piece) - 1 else ()
            if len(new) == 1 and min(new) >= 0:
                wider = tuple(~part if part in new else part for part in piece)
                kept = _put_together((*(other for other in kept if other != smaller), wider))
                break
        else:
            kept = (*kept, piece)
    return kept


def _terms(node: Node, columns: Columns) -> Terms:
    match node:
        case Sum(parts=parts):
            terms: Terms = {}
            for sign, part in parts:
                _join(terms, sign, _terms(part, columns))
            return terms
        case Call(function="", arguments=(inner,)):
            return _terms(inner, columns)
        case Operation(sign="**", left=base, right=power):
            return _power(_terms(base, columns), power)
        case Operation(sign=sign, left=first, right=second):
            return _product(sign, _terms(first, columns), _terms(second, columns))
        case Number(digits="0" | "1" as digits):
            raise ParameterError(f"the formula has a {digits} inside of a term; add 0 or 1 outside of parentheses.")
        case Number(digits=digits):
            raise ParameterError(f"the formula has the number {digits}; {KNOWN}.")
        case Text() | Listed():
            raise ParameterError(f"the formula has a text or a list outside of C(...); {KNOWN}.")
    single = _part(node, columns)
    return {frozenset((single,)): (single,)}


def _join(terms: Terms, sign: str, others: Terms) -> None:
    """Add terms, or take them away. One that is there already stays as it was first written."""
    for key, term in others.items():
        if sign == "+":
            terms.setdefault(key, term)
        else:
            terms.pop(key, None)


def _all(*sums: Terms) -> Terms:
    result: Terms = {}
    for terms in sums:
        _join(result, "+", terms)
    return result


def _product(sign: str, left: Terms, right: Terms) -> Terms:
    if not left or not right:
        raise ParameterError("the formula multiplies by parentheses that take away every term in them.")
    if sign == ":":
        return _times(left, right)
    if sign == "*":
        return _all(left, right, _times(left, right))
    every: Term = tuple(dict.fromkeys(part for term in left.values() for part in term))
    return _all(left, _times({frozenset(every): every}, right))


def _times(left: Terms, right: Terms) -> Terms:
    """Return the products of two sums, in which a part that both factors have stands once."""
    if len(left) == len(right) == 1:
        _refuse_square(part for term in left.values() for part in term if {part} <= next(iter(right)))
    pairs = product(left.values(), right.values())
    joined = (tuple(dict.fromkeys((*first, *second))) for first, second in pairs)
    return _all(*({frozenset(term): term} for term in joined))


def require_few(products: int) -> int:
    """Return a number of products; refuse more than can be worked with, before any of them is made."""
    if products > _MOST_PRODUCTS:
        raise ParameterError(f"the formula has more than {_MOST_PRODUCTS} products; write out the terms that you need.")
    return products


def _count(node: Node) -> int:
    """Return how many terms a tree has at most, before any of them is made; none of its parts may have too many."""
    match node:
        case Sum(parts=parts):
            counts = [(sign, _count(part)) for sign, part in parts]
            return require_few(sum(count for sign, count in counts if sign == "+"))
        case Call(function="", arguments=(inner,)):
            return _count(inner)
        case Operation(sign="**", left=base, right=exponent):
            count = n = _count(base)
            for size in range(2, min(_whole(exponent) or 1, _LARGEST_POWER) + 1):
                require_few(count * n)  # pairs that are looked at
                count += comb(n, size)  # of the products of two or more terms each is one of so many different ones
            return count
        case Operation(sign=sign, left=left, right=right):
            a, b = _count(left), _count(right)
            return require_few({":": a * b, "*": a + b + a * b, "/": a + b}[sign])
    return 1


def _power(base: Terms, node: Node) -> Terms:
    power = _whole(node)
    if power is None or not 1 <= power <= _LARGEST_POWER:
        raise ParameterError(f"the formula has a power that is no whole number from 1 to {_LARGEST_POWER}.")
    if power > 1 and len(base) == 1:
        _refuse_square(*base.values())
    result = base
    for _ in range(power - 1):
        result = _all(result, _times(result, base))
    return result


def _refuse_square(parts: Iterable[Part]) -> None:
    """Refuse a power of numbers outside of ``I(...)``, which operators of formulas do not give."""
    for part in parts:
        if part.category is not None:
            continue
        raise ParameterError(
            f"the formula multiplies {part.text!r} by itself, which gives no square: a column stands once in a product "
            f"of a formula. Write I({part.text}**2), or poly(COLUMN, 2, raw=True) for a column and its square."
        )


def _part(node: Node, columns: Columns) -> Part:
    match node:
        case Name(name):
            text = name
        case Call(function="C"):
            return Part(category=levels_of(node)[0], text=node.text)
        case Call(function="poly"):
            return _polynomial(node, columns)
        case Call() if is_spline(node):
            name, steps = spline_of(node)
            pieces = (Factor(name, transform=steps),)
            _require_numbers(pieces, columns, node.text)
            return Part((pieces,), text=node.text)
        case Call():
            text = node.text
        case _:
            raise _no_range(node)
    factors = tuple(_factors(node, node))
    first = factors[0].column
    if factors == (Factor(first, transform=()),) and isinstance(columns.get(first), CategoricalColumn):
        return Part(category=first, text=text)
    _require_numbers(factors, columns, text)
    return Part((factors,), text=text)


def _polynomial(call: Call, columns: Columns) -> Part:
    named = dict(call.named)
    degrees = [*call.arguments[1:], *([named["degree"]] if "degree" in named else [])]
    degree = _whole(degrees[0]) if len(degrees) == 1 else None
    if named.get("raw") != Name("True"):
        raise ParameterError(
            f"the formula has {call.text!r}; orthogonal polynomials are computed from the data, so write raw=True."
        )
    column = call.arguments[0] if call.arguments else None
    wrong = len(named) < len(call.named) or set(named) - {"raw", "degree"}
    if wrong or not isinstance(column, Name) or degree is None or not 1 <= degree <= _LARGEST_DEGREE:
        raise ParameterError(
            f"the formula has {call.text!r}; write poly(COLUMN, DEGREE, raw=True) with a degree up to "
            f"{_LARGEST_DEGREE}."
        )
    powers = tuple((Factor(column.name, power, transform=()),) for power in range(1, degree + 1))
    _require_numbers(powers[0], columns, call.text)
    return Part(powers, text=call.text)


def _factors(node: Node, whole: Node) -> list[Factor]:
    """Return the factors of a product of powers of columns, or of functions of them, each minus a constant or not."""
    match node:
        case Call(function="I" | "", arguments=(inner,), named=()):
            return _factors(inner, whole)
        case Sum(parts=(("+", inner), (sign, Number(digits)))) if (chain := chain_of(inner)) is not None:
            origin = float(digits) if sign == "-" else -float(digits)
            return [Factor(chain[0], origin=origin, transform=chain[1])]
        case Operation(sign="**", left=base, right=exponent):
            power = _whole(exponent)
            if power is not None and 1 <= power <= _LARGEST_POWER:
                return [replace(factor, power=factor.power * power) for factor in _factors(base, whole)]
    if (chain := chain_of(node)) is not None:
        return [Factor(chain[0], transform=chain[1])]
    match node:
        case Operation(sign="*", left=left, right=right):
            return [*_factors(left, whole), *_factors(right, whole)]
        case Operation(sign="/", left=left, right=right) if (chain := chain_of(right)) is not None:
            return [*_factors(left, whole), Factor(chain[0], transform=(*chain[1], Power(-1.0)))]
    raise _no_range(whole)


def _no_range(node: Node) -> ParameterError:
    for call in calls_of(node):
        if (refusal := refusal_of(call)) is not None:
            return refusal
    text = getattr(node, "text", "")
    return ParameterError(f"the formula has {text!r}, whose range does not follow from those of its columns; {KNOWN}.")


def _require_numbers(factors: Iterable[Factor], columns: Columns, text: str) -> None:
    for factor in factors:
        if isinstance(columns.get(factor.column), CategoricalColumn):
            raise ParameterError(
                f"the formula has {text!r}, but {factor.column!r} holds categories; write products with it as "
                f"{factor.column}:a."
            )


def _whole(node: Node) -> int | None:
    """Return a whole number of at most a few digits."""
    short = isinstance(node, Number) and node.digits.isdecimal() and len(node.digits) <= 4
    return int(node.digits) if short and isinstance(node, Number) else None


def _level(node: Node) -> str | int | float | bool | None:
    """Return a level that is written as a text, a number or a truth value, None for anything else."""
    match node:
        case Text(value):
            return value
        case Name("True" | "False" as word):
            return word == "True"
        case Number(digits):
            return _number(digits)
        case Sum(parts=(("-", Number(digits)),)):
            return -_number(digits)
    return None


def _number(digits: str) -> int | float:
    if not digits.isdecimal():
        return float(digits)
    try:
        return int(digits)
    except ValueError:  # of thousands of digits
        raise ParameterError("the formula has a whole number of too many digits.") from None
