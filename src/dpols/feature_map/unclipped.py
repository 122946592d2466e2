"""The columns of a feature map as they are before it clips them, so that values beyond their ranges can be counted."""

from ..data import Bounds
from .columns import CategoricalColumn, NumericColumn
from .mapping import FeatureMap

_NO_END = 1e100  # the largest end that a range may have


def unclipped(feature_map: FeatureMap) -> FeatureMap:
    """Return a map to the columns that another one uses: numbers with no limits, and a feature for each category."""
    return FeatureMap({name: _without_ends(feature_map.columns[name]) for name in feature_map.raw_columns})


def bounds_of_columns(feature_map: FeatureMap) -> Bounds:
    """Return the declared ranges of these features."""
    numbers = {
        name: column.interval for name, column in feature_map.columns.items() if isinstance(column, NumericColumn)
    }
    return Bounds(features={name: numbers.get(name, (0.0, 1.0)) for name in unclipped(feature_map).names})


def _without_ends(column: NumericColumn | CategoricalColumn) -> NumericColumn | CategoricalColumn:
    return NumericColumn(-_NO_END, _NO_END, column.missing) if isinstance(column, NumericColumn) else column
