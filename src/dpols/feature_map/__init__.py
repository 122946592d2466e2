"""Features from raw columns by public knowledge alone: ranges, categories, functions, products and replacements."""

from . import transforms
from .columns import CategoricalColumn, NumericColumn
from .mapping import FeatureMap
from .recipes import outcomes, recipe_of, with_unit
from .source import finite_features, mapped_bounds, mapped_files, mapped_source
from .terms import Factor

__all__ = [
    "CategoricalColumn",
    "Factor",
    "FeatureMap",
    "NumericColumn",
    "finite_features",
    "mapped_bounds",
    "mapped_files",
    "mapped_source",
    "outcomes",
    "recipe_of",
    "transforms",
    "with_unit",
]
