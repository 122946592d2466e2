"""Features from raw columns by public knowledge alone: ranges, categories, functions, products and replacements."""

from . import transforms
from .columns import CategoricalColumn, NumericColumn
from .labelled import labelled_files, outcomes
from .mapping import FeatureMap
from .source import finite_features, mapped_bounds, mapped_files, mapped_source
from .terms import Factor

__all__ = [
    "CategoricalColumn",
    "Factor",
    "FeatureMap",
    "NumericColumn",
    "finite_features",
    "labelled_files",
    "mapped_bounds",
    "mapped_files",
    "mapped_source",
    "outcomes",
    "transforms",
]
