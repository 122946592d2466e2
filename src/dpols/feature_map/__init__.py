"""Features from raw columns by public knowledge alone: ranges, categories, powers, products and replacements."""

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
]
