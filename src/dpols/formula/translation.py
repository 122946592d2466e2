"""Formulas as feature maps: what is on the right of ``~`` becomes terms, by public ranges and levels alone.

formulaic parses a formula and decides which categories keep their first level, so that no column is a sum of others. It
is shown a made-up table for this, never the data. Only products of powers of columns, ``C(...)`` and raw ``poly(...)``
are understood, since only of these the ranges follow from those of the columns; nothing else is evaluated.
"""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, cast

from ..data import Bounds
from ..data.bounds import Interval
from ..errors import BoundsError, MissingExtraError, ParameterError
from ..feature_map import CategoricalColumn, Factor, FeatureMap, NumericColumn

Column = NumericColumn | CategoricalColumn
_KNOWN = (
    "a formula may have column names, products such as a:b and a*b, I(a**2), I((a - 5)**2), poly(a, 2, raw=True) and "
    "C(a, levels=[...])"
)


@dataclass(frozen=True)
class Translated:
    """A formula in the terms of a regression: its target, its features, and whether there is an intercept."""

    target: str
    feature_map: FeatureMap
    fit_intercept: bool


def translated(formula: str, declared: "Bounds | FeatureMap") -> Translated:
    """Translate a formula, given the public ranges of its columns and of its target.

    ``declared`` are bounds by column name, or a feature map, of which only the columns and the target are used. A
    target that has a range under its own name, among the features, has that one.
    """
    parsed = _parsed(formula)
    target = _target(formula, parsed)
    columns = _columns(declared)
    known = [name for name, column in columns.items() if isinstance(column, CategoricalColumn)]
    target_range = _target_range(declared, columns, target)
    # A formula's own levels stand before those that were declared.
    meanings = {factor.expr: _meaning(factor) for term in parsed.rhs for factor in term.factors}
    for meaning in meanings.values():
        for name, levels in meaning.levels:
            _declare(columns, name, levels, "in the bounds" if name in known else "in another of its C(...)")
        for name in meaning.columns:
            if name not in columns:
                raise BoundsError(
                    f"column {name!r} of the formula has no public range; add it to the bounds, or write "
                    f"C({name}, levels=[...]) with its public levels."
                )
    used = [name for name in columns if any(name in meaning.columns for meaning in meanings.values())]
    if target in used:
        raise ParameterError(f"the formula has {target!r} on both sides of ~.")
    try:
        scoped = _scoped_terms(parsed, meanings, columns)
    except Exception as error:  # as above; the table that it saw is made up
        raise _unreadable(formula, error) from None
    terms, intercept = _terms(scoped, meanings, columns)
    if not terms:
        raise ParameterError(f"formula={formula!r} has no features; name at least one column on the right of ~.")
    feature_map = FeatureMap({name: columns[name] for name in used}, terms, target_range, target)
    return Translated(target, feature_map, intercept)


@dataclass(frozen=True)
class _Meaning:
    """What a factor of a formula stands for: alternatives, each a product, or categories."""

    products: tuple[tuple[Factor, ...], ...] = ()
    categories: str | None = None
    levels: tuple[tuple[str, tuple[Any, ...]], ...] = ()

    @property
    def columns(self) -> set[str]:
        named = {factor.column for factors in self.products for factor in factors}
        return named if self.categories is None else {*named, self.categories}


def target_of(formula: str) -> str:
    """Return the name on the left of ``~``."""
    return _target(formula, _parsed(formula))


def _parsed(formula: Any) -> Any:
    try:
        from formulaic import Formula
    except ImportError:
        raise MissingExtraError("formulaic", "formula") from None
    if not isinstance(formula, str) or formula.count("~") != 1:
        raise ParameterError(f'formula={formula!r} must be a text such as "income ~ age + hours".')
    try:
        parsed = Formula(formula)
    except Exception as error:  # formulaic raises whatever comes up
        raise _unreadable(formula, error) from None
    if not hasattr(parsed, "lhs") or not hasattr(parsed.rhs, "__iter__") or isinstance(parsed.rhs, tuple):
        raise ParameterError(f"formula={formula!r} must have one target on the left of ~, and one part on its right.")
    return parsed


def _unreadable(formula: Any, error: Exception) -> ParameterError:
    reason = str(error).partition("\n")[0].rstrip(".")  # what follows is drawn for a terminal
    if "__formulaic_variables" in reason:  # how formulaic says it
        reason = "a . stands for all other columns, and these must be named"
    return ParameterError(f"formula={formula!r} cannot be read: {reason or type(error).__name__}.")


def _target(formula: str, parsed: Any) -> str:
    terms = list(parsed.lhs)
    if len(terms) != 1 or len(terms[0].factors) != 1 or terms[0].factors[0].eval_method.value != "lookup":
        raise ParameterError(f"formula={formula!r} must have the name of one column on the left of ~.")
    return str(terms[0].factors[0].expr)


def _columns(declared: Any) -> dict[str, Column]:
    if isinstance(declared, FeatureMap):
        return dict(declared.columns)
    if isinstance(declared, Bounds) and isinstance(declared.features, Mapping):
        return {name: NumericColumn(low, high) for name, (low, high) in declared.features.items()}
    raise BoundsError(
        "a formula needs bounds by column name: pass bounds=dpols.Bounds(features={'age': (18, 90), ...}, target=...), "
        "or a feature map whose columns are declared."
    )


def _target_range(declared: Any, columns: Mapping[str, Column], name: str) -> Interval:
    """Return the range of a target: the one that is declared under its name, or else that of the target."""
    of_target = getattr(declared, "target_name", None)
    if name in columns and name != of_target:
        column = columns[name]
        if not isinstance(column, NumericColumn):
            raise BoundsError(f"the formula's target {name!r} is declared as categories; it must be one of numbers.")
        return column.interval
    y_abs = getattr(declared, "y_abs", None)
    pair = declared.target if y_abs is None else (-y_abs, y_abs)
    if pair is None or of_target not in (None, name):
        other = "" if of_target is None else f", and that of the target is of {of_target!r}"
        raise BoundsError(
            f"the formula's target {name!r} has no public range{other}; add {name!r} to the features of the bounds."
        )
    return cast(Interval, pair)


def _declare(columns: dict[str, Column], name: str, levels: Sequence[Any], elsewhere: str) -> None:
    """Note the levels of a column, which must be the same wherever they are given: here and ``elsewhere``."""
    if not levels:
        if not isinstance(columns.get(name), CategoricalColumn):
            raise BoundsError(f"C({name}) needs its public levels: write C({name}, levels=[...]).")
        return
    before = columns.get(name)
    made = CategoricalColumn(levels, missing=before.missing if isinstance(before, CategoricalColumn) else None)
    if isinstance(before, CategoricalColumn) and before.categories != made.categories:
        raise BoundsError(
            f"column {name!r} has the levels {list(made.categories)} in C({name}, levels=[...]) of the formula, but "
            f"{list(before.categories)} {elsewhere}; give the same in both, or levels in the bounds alone."
        )
    columns[name] = before if isinstance(before, CategoricalColumn) else made


def _meaning(factor: Any) -> _Meaning:
    """Return what a factor stands for, without evaluating it."""
    kind = factor.eval_method.value
    if kind == "literal":
        if factor.expr != "1":
            raise ParameterError(f"the formula has the number {factor.expr}; {_KNOWN}.")
        return _Meaning()
    if kind == "lookup":
        return _Meaning(((Factor(factor.expr),),))
    try:
        tree = ast.parse(factor.expr, mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        raise ParameterError(f"the formula has {factor.expr!r}, which cannot be read; {_KNOWN}.") from None
    name = tree.func.id if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) else None
    if name == "C":
        return _category(factor.expr, tree)
    if name == "poly":
        return _polynomial(factor.expr, tree)
    return _Meaning((tuple(_product(factor.expr, tree)),))


def _category(text: str, call: Any) -> _Meaning:
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    if len(call.args) != 1 or not isinstance(call.args[0], ast.Name) or set(keywords) - {"levels"}:
        raise ParameterError(f"the formula has {text!r}; write C(COLUMN, levels=[...]) with the public levels.")
    levels: Any = ()
    if "levels" in keywords:
        try:
            levels = ast.literal_eval(keywords["levels"])
        except (ValueError, TypeError):
            levels = None
        if not isinstance(levels, list | tuple) or not levels:
            raise ParameterError(f"the formula has {text!r}; levels must be a list of texts or numbers.")
    column = call.args[0].id
    return _Meaning(categories=column, levels=((column, tuple(levels)),))


def _polynomial(text: str, call: Any) -> _Meaning:
    keywords = {keyword.arg: getattr(keyword.value, "value", None) for keyword in call.keywords}
    arguments = [*call.args[1:], *(keyword.value for keyword in call.keywords if keyword.arg == "degree")]
    degree = getattr(arguments[0], "value", None) if len(arguments) == 1 else None
    if keywords.get("raw") is not True:
        raise ParameterError(
            f"the formula has {text!r}; orthogonal polynomials are computed from the data, so write raw=True."
        )
    if not call.args or not isinstance(call.args[0], ast.Name) or type(degree) is not int or not 1 <= degree <= 5:
        raise ParameterError(f"the formula has {text!r}; write poly(COLUMN, DEGREE, raw=True) with a degree up to 5.")
    return _Meaning(tuple((Factor(call.args[0].id, power),) for power in range(1, degree + 1)))


def _product(text: str, node: Any) -> list[Factor]:
    """Return the factors of a product of powers of columns, each minus a constant or not."""
    match node:
        case ast.Call(func=ast.Name(id="I"), args=[inner], keywords=[]):
            return _product(text, inner)
        case ast.Name(id=name):
            return [Factor(name)]
        case ast.BinOp(left=ast.Name(id=name), op=ast.Sub() | ast.Add() as sign, right=ast.Constant(value=value)):
            if isinstance(value, int | float) and not isinstance(value, bool):
                return [Factor(name, origin=float(value) if isinstance(sign, ast.Sub) else -float(value))]
        case ast.BinOp(left=base, op=ast.Pow(), right=ast.Constant(value=int(power))) if 1 <= power <= 16:
            inner_factors = _product(text, base)
            return [Factor(factor.column, factor.power * power, factor.origin) for factor in inner_factors]
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return [*_product(text, left), *_product(text, right)]
    raise ParameterError(f"the formula has {text!r}, whose range does not follow from those of its columns; {_KNOWN}.")


def _terms(
    scoped_terms: Sequence[Any], meanings: Mapping[str, _Meaning], columns: Mapping[str, Column]
) -> tuple[list[list[Factor]], bool]:
    """Return the products of a formula, and whether it has an intercept."""
    terms: list[list[Factor]] = []
    intercept = False
    for scoped in scoped_terms:
        factors = [(meanings[part.factor.expr], part) for part in scoped.factors if part.factor.expr != "1"]
        intercept |= not factors
        alternatives = [_alternatives(meaning, part, columns) for meaning, part in factors]
        terms += [[factor for factors in chosen for factor in factors] for chosen in product(*alternatives) if chosen]
    return terms, intercept


def _alternatives(meaning: _Meaning, part: Any, columns: Mapping[str, Column]) -> list[list[Factor]]:
    if meaning.categories is not None:
        return [[Factor(meaning.categories, all_levels=not part.reduced)]]
    if len(meaning.products) == 1 and len(meaning.products[0]) == 1:
        (factor,) = meaning.products[0]
        if isinstance(columns[factor.column], CategoricalColumn) and factor == Factor(factor.column):
            return [[Factor(factor.column, all_levels=not part.reduced)]]
    return [list(factors) for factors in meaning.products]


def _scoped_terms(parsed: Any, meanings: Mapping[str, _Meaning], columns: Mapping[str, Column]) -> list[Any]:
    """Let formulaic decide which categories lose their first level, by a made-up table that has every level."""
    import pandas
    from formulaic import Formula

    levels = {name: column.levels for name, column in columns.items() if isinstance(column, CategoricalColumn)}
    written = {name: given for meaning in meanings.values() for name, given in meaning.levels if given}
    levels |= written  # as the formula has them, numbers as numbers
    n_rows = max(2, *map(len, levels.values())) if levels else 2
    made_up = {
        name: pandas.Categorical([levels[name][i % len(levels[name])] for i in range(n_rows)], categories=levels[name])
        if name in levels
        else [float(i % 2) for i in range(n_rows)]
        for name in columns
    }
    matrix = Formula(list(parsed.rhs)).get_model_matrix(pandas.DataFrame(made_up), context={})
    return [scoped for structure in matrix.model_spec.structure for scoped in structure.scoped_terms]
