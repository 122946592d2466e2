"""The map from raw columns to features: one frozen object of public constants, applied to each row alone."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from ..data.bounds import Bounds, Interval, Origin, ReadFromData, checked_interval, range_text, read_from_data
from ..data.source import Array
from ..errors import BoundsError, ModelFileError, quoted
from ..storage.plain_data import finite_number, mapping, text, tuple_of
from .cells import Cells
from .columns import CategoricalColumn, Column, NumericColumn, column_from_dict, repeated
from .terms import Output, Term, as_term, factor_from_dict, output_of, term_to_list, values_of, width_of
from .transforms import (
    as_transform,
    bare,
    described,
    interval_of,
    inverse_of_transform,
    label_of,
    numbers_of,
    require_invertible,
    transform_from_list,
    values_of_transform,
)

_MOST_FEATURES = 100_000
_FIELDS = {"columns", "terms", "target", "target_name", "formula", "target_transform", "origin"}


@dataclass(frozen=True)
class FeatureMap:
    """How raw columns become features, by public knowledge alone.

    Parameters
    ----------
    columns : mapping of column name to NumericColumn or CategoricalColumn
        What is publicly known of each raw column. Other columns of a table are not used.
    terms : sequence, optional
        The features: a column name, or a sequence of names for a product, in which a name that is repeated is a power.
        ``("age", "age")`` is the square of age; ``("age", "region")`` has one column for each category of region. By
        default each column is a term of its own.
    target : (low, high), optional
        The public range of the target. A fit needs it, a transformation does not.
    target_name : str, optional
        The column whose range ``target`` is. A fit of another column is refused.
    formula : str, optional
        The formula that the terms were read from, for summaries and reports.
    target_transform : str, Power, Standardize, or a list of these, optional
        What is fitted in place of the clipped target, such as its "log". Predictions are in the target's own units.
    declared_by : str
        Where the ranges come from, for reports: set by ``from_reference``.

    A row's features depend on that row and on what is declared here, never on another row.

    >>> from dpols import CategoricalColumn, FeatureMap, NumericColumn
    >>> columns = {"age": NumericColumn(18, 90, missing=45), "region": CategoricalColumn(["north", "south", "west"])}
    >>> feature_map = FeatureMap(columns, target=(0, 100)).plus(("age", "age"))
    >>> feature_map.names
    ('age', 'region[south]', 'region[west]', 'age^2')
    >>> feature_map.transform([[30, "west"], [None, "north"], [120, "abroad"]]).tolist()
    [[30.0, 0.0, 1.0, 900.0], [45.0, 0.0, 0.0, 2025.0], [90.0, 0.0, 0.0, 8100.0]]
    >>> feature_map.bounds().features["age^2"]
    (324.0, 8100.0)
    """

    columns: Mapping[str, Column]
    terms: Sequence[Any] | None = None
    target: Interval | None = None
    target_name: str | None = None
    formula: str | None = field(default=None, compare=False)  # equal maps may be written in several ways
    target_transform: Any = None
    declared_by: Literal["declared", "reference"] = "declared"

    def __post_init__(self) -> None:
        if not isinstance(self.columns, Mapping) or not self.columns:
            raise BoundsError(
                "columns must map at least one column name to a dpols.NumericColumn or dpols.CategoricalColumn."
            )
        for name, column in self.columns.items():
            if not isinstance(name, str) or not isinstance(column, Column):
                raise BoundsError(
                    f"columns[{name!r}] must be a dpols.NumericColumn or dpols.CategoricalColumn under a text."
                )
        object.__setattr__(self, "columns", dict(self.columns))
        terms = list(self.columns) if self.terms is None else self.terms
        if isinstance(terms, str) or not isinstance(terms, Sequence) or not terms:
            raise BoundsError(f"terms={quoted(terms)} must be a sequence of column names and of sequences of them.")
        object.__setattr__(self, "terms", tuple(as_term(term, self.columns) for term in terms))
        count = sum(width_of(term, self.columns) for term in self._terms)
        if count > _MOST_FEATURES:
            raise BoundsError(f"the terms give {count} features; more than {_MOST_FEATURES} are not supported.")
        twice = repeated(self.names)
        if twice is not None:
            raise BoundsError(f"two features are named {twice!r}; each needs a name of its own.")
        if self.target is not None:
            object.__setattr__(self, "target", checked_interval("target", self.target))
        if self.target_name is not None and (not isinstance(self.target_name, str) or self.target is None):
            raise BoundsError(
                f"target_name={quoted(self.target_name)} must be the name of the column whose range target=(low, high) "
                "is."
            )
        if not isinstance(self.formula, str | None):
            raise BoundsError(f"formula={self.formula!r} must be the text that the terms were read from.")
        self._check_target_transform()
        self.bounds()

    def __repr__(self) -> str:
        given = [(each.name, getattr(self, each.name), each.default) for each in fields(self)]
        shown = [f"{name}={value!r}" for name, value, default in given if value != default]
        shown += ["origin='data'"] * (self.origin == "data")
        return f"FeatureMap({', '.join(shown)})"

    @classmethod
    def from_reference(cls, table: Any, *, target: str | None = None, margin: float = 0.1) -> "FeatureMap":
        """Return the ranges and the categories of a table that is public by the caller's word, such as a census.

        Parameters
        ----------
        table : pandas, polars or pyarrow table
            The reference: never the data that is to be protected, nor a part of it.
        target : str, optional
            Name of the target's column. A yes/no outcome needs no range; leave its column out of the table.
        margin : float, default=0.1
            By how much of its width each range is extended on either side.
        """
        from .reference import reference_columns

        columns, interval = reference_columns(table, target, margin)
        return cls(columns, target=interval, target_name=target, declared_by="reference")

    def plus(self, *terms: Any) -> "FeatureMap":
        """Return a map with further terms."""
        return replace(self, terms=(*self._terms, *terms), formula=None)

    def check_target(self, name: str) -> None:
        """Refuse a target whose range is not the declared one."""
        if self.target_name not in (None, name):
            raise BoundsError(
                f"the target is {name!r}, but its declared range is that of {self.target_name!r}; fit "
                f"{self.target_name!r}, or declare target and target_name of {name!r}."
            )

    def _check_target_transform(self) -> None:
        steps = as_transform(self.target_transform)
        object.__setattr__(self, "target_transform", steps)
        if not steps:
            return
        if self.target is None:
            raise BoundsError("target_transform needs the public range of the target: give target=(low, high), too.")
        require_invertible(steps, self.target, self._target_label)

    @property
    def _target_label(self) -> str:
        return self.target_name or "target"

    @property
    def fitted_range(self) -> Interval | None:
        """The range of what is fitted: of the target, or of its transform."""
        if self.target is None:
            return None
        return interval_of(self.target_transform, self.target, self._target_label)

    @property
    def fitted_name(self) -> str:
        """What is fitted: the name of the target, within its transform where there is one."""
        return self.fitted_label(self._target_label)

    def fitted_label(self, name: str) -> str:
        """Return what is fitted where the target has this name: it, or its transform."""
        return bare(label_of(self.target_transform, name))

    def fitted_target(self, values: Array) -> Array:
        """Return what is fitted in place of targets: these, or the transform of them within their range."""
        if not self.target_transform:
            return values
        assert self.target is not None
        clipped = np.clip(values, *self.target)
        clipped[~np.isfinite(values)] = np.nan
        return values_of_transform(self.target_transform, clipped)

    def target_units(self, fitted: Array, *, raw: bool = False) -> Array:
        """Return predictions of what is fitted in the target's own units, within its range unless ``raw``."""
        if not self.target_transform:
            return fitted
        assert self.target is not None
        assert self.fitted_range is not None
        if raw:
            return inverse_of_transform(self.target_transform, fitted)
        inverse = inverse_of_transform(self.target_transform, np.clip(fitted, *self.fitted_range))
        return np.asarray(np.clip(inverse, *self.target))

    @property
    def raw_columns(self) -> tuple[str, ...]:
        """Names of the raw columns that the terms use."""
        used = {factor.column for term in self._terms for factor in term}
        return tuple(name for name in self.columns if name in used)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(name for output in self._outputs for name in output.names)

    @property
    def categories(self) -> dict[str, tuple[str, str] | None]:
        """Features that categories are part of, with column and category of those that stand for a declared one."""
        found: dict[str, tuple[str, str] | None] = {}
        for term, output in zip(self._terms, self._outputs, strict=True):
            column = self.columns[term[0].column]
            if len(term) == 1 and isinstance(column, CategoricalColumn):
                declared = column.levels[-len(output.names) :]
                pairs = [(term[0].column, level) if level in column.categories else None for level in declared]
                found |= zip(output.names, pairs, strict=True)
            elif any(isinstance(self.columns[factor.column], CategoricalColumn) for factor in term):
                found |= dict.fromkeys(output.names)
        return found

    @property
    def reference_levels(self) -> dict[str, str]:
        """Columns of categories with the category that the others are compared with, where there is one."""
        factors = [(factor, self.columns[factor.column]) for term in self._terms for factor in term]
        return {
            factor.column: column.levels[0]
            for factor, column in factors
            if isinstance(column, CategoricalColumn) and not factor.all_levels
        }

    @property
    def origin(self) -> Origin:
        """Where the numbers come from: "data" if any of them was read from the data, else "declared"."""
        columns = [column for column in self.columns.values() if isinstance(column, NumericColumn)]
        numbers = [(*column.interval, column.missing) for column in columns]
        factors = [factor for term in self._terms for factor in term]
        constants = [(factor.origin, *numbers_of(factor.transform or ())) for factor in factors]
        own = numbers_of(self.target_transform)
        return "data" if read_from_data(*numbers, *constants, self.target, own) else self.declared_by

    def bounds(self, *, x_norm: float | None = None) -> Bounds:
        """Return the bounds of the features and of the target that follow from what is declared.

        ``x_norm`` bounds the norm of a row further, in units where each feature is mapped to [-1, 1].
        """
        features = {name: output.interval for output in self._outputs for name in output.names}
        squared = math.fsum(output.squared_norm for output in self._outputs)
        # A hair more, so that rounding shrinks no row; where this says no more than the ranges do, leave it out.
        implied = math.sqrt(squared) * (1.0 + 1e-12) if squared < len(features) * (1.0 - 1e-9) else math.inf
        norm = min(implied, math.inf if x_norm is None else x_norm)
        x_norm = None if norm == math.inf else norm
        return Bounds(features=features, target=self.fitted_range, x_norm=x_norm, origin=self.origin)

    def describe(self) -> tuple[tuple[str, str], ...]:
        """Return each raw column with what is declared of it."""
        used: dict[str, list[str]] = {}
        for factor in (factor for term in self._terms for factor in term if factor.transform):
            used.setdefault(factor.column, []).append(described(factor.transform, factor.column))
        shown = {name: f"; used as {', '.join(dict.fromkeys(labels))}" for name, labels in used.items()}
        return tuple((name, self.columns[name].describe() + shown.get(name, "")) for name in self.raw_columns)

    def transform(self, block: Any) -> Array:
        """Return the features of some rows as an array of floats, one column for each of ``names``.

        ``block`` is a pandas, polars or pyarrow table with at least the raw columns, or an array whose columns are
        ``columns`` in their order. Numbers outside their range are clipped. A row with an empty cell for which nothing
        is declared, or with an infinite number, has features that are nan.
        """
        cells = Cells(block, self.columns)
        features = [values_of(term, self.columns, cells.of) for term in self._terms]
        result = np.concatenate(features, axis=1)
        result[np.isnan(result).any(axis=1)] = np.nan
        return result

    def _repr_html_(self) -> str:
        from ..pages.parts import Section, Table, notebook_part

        ranges = self.bounds().features
        assert isinstance(ranges, Mapping)
        features = tuple((name, range_text(pair)) for name, pair in ranges.items())
        target = "none declared" if self.target is None else range_text(self.target)
        facts = [(f"target {self.target_name or ''}".strip(), target)]
        facts += [("formula", self.formula)] if self.formula is not None else []
        facts += [(f"reference of {column}", level) for column, level in self.reference_levels.items()]
        return notebook_part(
            "Feature map",
            [
                Section("", (Table(("", ""), tuple(facts)),)),
                Section("Columns, as declared", (Table(("", ""), self.describe()),)),
            ],
            more=[Section("Features, with the ranges that follow", (Table(("", ""), features),))],
            alarm="NOT PRIVATE: the ranges were read from the data." if self.origin == "data" else None,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that ``from_dict`` reads back."""
        return {
            "columns": {name: column.to_dict() for name, column in self.columns.items()},
            "terms": [term_to_list(term) for term in self._terms],
            "target": None if self.target is None else list(self.target),
            "target_name": self.target_name,
            "formula": self.formula,
            "target_transform": [step.to_list() for step in self.target_transform],
            "origin": self.origin,
        }

    @classmethod
    def from_dict(cls, data: Any) -> "FeatureMap":
        """Rebuild a map from plain data."""
        try:
            fields = mapping(data)
            if set(fields) != _FIELDS:
                raise ValueError(f"it has the fields {', '.join(sorted(_FIELDS))}")
            if fields["origin"] not in ("declared", "reference", "data"):
                raise ValueError("its origin is declared, reference or data")
            number = ReadFromData if fields["origin"] == "data" else float
            columns = {name: column_from_dict(column, number) for name, column in mapping(fields["columns"]).items()}
            terms = tuple_of(tuple_of(factor_from_dict))(fields["terms"])
            target = None if fields["target"] is None else tuple(map(number, tuple_of(finite_number)(fields["target"])))
            name = None if fields["target_name"] is None else text(fields["target_name"])
            formula = None if fields["formula"] is None else text(fields["formula"])
            transform = transform_from_list(fields["target_transform"])
            by = "reference" if fields["origin"] == "reference" else "declared"
            return cls(columns, terms, target, name, formula, transform, by)  # type: ignore[arg-type]
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileError(f"the feature map is incomplete or malformed: {error}.") from None

    @property
    def _terms(self) -> tuple[Term, ...]:
        return self.terms  # type: ignore[return-value]

    @cached_property
    def _outputs(self) -> tuple[Output, ...]:
        return tuple(output_of(term, self.columns) for term in self._terms)
