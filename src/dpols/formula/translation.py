"""Formulas as feature maps: what is on the right of ``~`` becomes terms, by public ranges and levels alone."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any, cast

from ..data import Bounds
from ..data.bounds import Interval
from ..errors import BoundsError, ParameterError, did_you_mean
from ..feature_map import CategoricalColumn, Factor, FeatureMap, NumericColumn
from ..feature_map.transforms import Transform, label_of
from .functions import Chain, chain_of
from .syntax import Node, Sides, parsed
from .terms import Term, calls_of, coded, levels_of, names_in, require_few, terms_and_intercept

Column = NumericColumn | CategoricalColumn


@dataclass(frozen=True)
class Translated:
    """A formula in the terms of a regression: its target, its features, and whether there is an intercept."""

    target: str
    feature_map: FeatureMap
    fit_intercept: bool


def translated(formula: str, declared: "Bounds | FeatureMap", table: Collection[Any] = ()) -> Translated:
    """Translate a formula, given the public ranges of its columns and of its target.

    ``declared`` are bounds by column name, or a feature map, of which only the columns and the target are used. A
    target that has a range under its own name, among the features, has that one. ``table`` has the names of the
    table's columns, where they are known, for messages on names that it does not have.
    """
    sides = parsed(formula)
    target, transform = _target(sides)
    if target in set(names_in(sides.right)):
        raise ParameterError(f"the formula has {target!r} on both sides of ~.")
    columns = _columns(declared)
    _require_column(target, table)
    target_range = _target_range(declared, columns, target)
    _declare_levels(columns, sides.right)
    terms, intercept = terms_and_intercept(sides.right, columns)
    products = _products(coded(terms, intercept))
    _require_declared_transforms(declared, products, target, transform)
    used = [factor.column for factors in products for factor in factors]
    for name in used:
        _require_column(name, table)
        if name not in columns:
            raise BoundsError(
                f"column {name!r} of the formula has no public range{did_you_mean(name, columns)}; add it to the "
                f"bounds, or write C({name}, levels=[...]) with its public levels."
            )
    if not products:
        raise ParameterError(f"formula={formula!r} has no features; name at least one column on the right of ~.")
    kept = {name: column for name, column in columns.items() if name in used}
    by: Any = "reference" if getattr(declared, "origin", None) == "reference" else "declared"
    made = FeatureMap(kept, products, target_range, target, " ".join(formula.split()), transform, by)
    return Translated(target, made, intercept)


def _require_column(name: str, table: Collection[Any]) -> None:
    """Refuse a name that a table does not have, where its columns are known."""
    if table and name not in table:
        raise ParameterError(
            f"the table has no column {name!r}, which the formula names{did_you_mean(name, table)}; its columns are "
            f"{list(table)}."
        )


def target_of(formula: str) -> str:
    """Return the name of the column on the left of ``~``."""
    return left_side(formula)[0]


def left_side(formula: str) -> Chain:
    """Return the name of the column on the left of ``~``, and the functions that it stands in."""
    return _target(parsed(formula))


def names_of(formula: str) -> set[str]:
    """Return the names in a formula, among them all columns on the right of ``~``."""
    return set(names_in(parsed(formula).right))


def _target(sides: Sides) -> Chain:
    """Return the column on the left, and what is fitted in its place."""
    chain = chain_of(sides.left)
    if chain is None:
        raise ParameterError(
            f"formula={sides.text!r} must have the name of one column on the left of ~, or a function of one such as "
            "log(pay)."
        )
    return chain


def _require_declared_transforms(
    declared: Any, products: Sequence[Sequence[Factor]], target: str, transform: Transform
) -> None:
    """Refuse a formula that leaves out a declared transform, since it is not clear which of them is meant."""
    if not isinstance(declared, FeatureMap):
        return
    plain = {factor.column for factors in products for factor in factors if not factor.transform}
    transforms = {
        name: column.steps
        for name, column in declared.columns.items()
        if isinstance(column, NumericColumn) and name in plain
    }
    if not transform and declared.target_name in (None, target):
        transforms[target] = declared.target_transform
    for name, steps in transforms.items():
        if steps:
            raise BoundsError(
                f"the formula has {name!r}, which is declared as {label_of(steps, name)}; write the function in the "
                "formula, which says all of what is fitted, or leave out the transform where the column is declared."
            )


def _products(terms: Sequence[Term]) -> list[list[Factor]]:
    """Return the products of columns that terms stand for: of a polynomial one for each power."""
    require_few(sum(prod(len(part.alternatives()) for part in term) for term in terms))
    chosen = [choice for term in terms for choice in product(*(part.alternatives() for part in term))]
    return [[factor for factors in choice for factor in factors] for choice in chosen]


def _columns(declared: Any) -> dict[str, Column]:
    if isinstance(declared, FeatureMap):
        return dict(declared.columns)
    if isinstance(declared, Bounds) and isinstance(declared.features, Mapping):
        return {name: NumericColumn(low, high) for name, (low, high) in declared.features.items()}
    given = "no bounds" if declared is None else f"bounds of type {type(declared).__name__}"
    if isinstance(declared, Bounds):
        given = "bounds without names of columns"
    raise BoundsError(
        f"a formula needs bounds by column name, and was given {given}: pass bounds=dpols.Bounds(features={{'age': "
        "(18, 90), ...}, target=...), or a feature map whose columns are declared, or bounds=dpols.PaidBounds() where "
        "ranges are not known."
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
        remedy = "give the bounds target=(low, high)"
        if of_target is not None:
            remedy = f"add {name!r} to the features of the bounds"
        meant = did_you_mean(name, [*columns, of_target])
        raise BoundsError(f"the formula's target {name!r} has no public range{meant}{other}; {remedy}.")
    return cast(Interval, pair)


def _declare_levels(columns: dict[str, Column], node: Node) -> None:
    """Note the levels that a formula lists; they must be those that were declared, where some were."""
    known = {name for name, column in columns.items() if isinstance(column, CategoricalColumn)}
    references: dict[str, set[Any]] = {}
    for call in calls_of(node):
        if call.function == "C":
            name, levels, reference = levels_of(call)
            _declare(columns, name, levels, "in the bounds" if name in known else "in another of its C(...)")
            if reference is not None:
                references.setdefault(name, set()).add(reference)
    for name, chosen in references.items():
        column = columns[name]
        assert isinstance(column, CategoricalColumn)
        if len(chosen) > 1:
            raise ParameterError(f"the formula compares {name!r} with {sorted(map(repr, chosen))}; give one ref.")
        columns[name] = replace(column, reference=chosen.pop())


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
