"""Features from raw columns by public knowledge alone: ranges, categories, functions, products and replacements."""

from . import transforms
from .columns import CategoricalColumn, NumericColumn
from .mapping import FeatureMap
from .recipes import outcomes, recipe_of, with_unit
from .source import finite_features, mapped_bounds, mapped_files, mapped_source
from .terms import Factor
from .unclipped import bounds_of_columns, unclipped

__all__ = [
    "CategoricalColumn",
    "Factor",
    "FeatureMap",
    "NumericColumn",
    "bounds_of_columns",
    "finite_features",
    "mapped_bounds",
    "mapped_files",
    "mapped_source",
    "outcomes",
    "recipe_of",
    "transforms",
    "unclipped",
    "with_unit",
]
