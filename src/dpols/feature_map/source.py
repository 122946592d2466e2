"""Raw rows as a source of features: each block is mapped when it is read, and none is kept."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..data import Bounds, FileSource, RowSource, TableSource
from ..data.engines import ENGINES
from ..data.kinds import is_source, is_table, library_of, refuse_one_shot
from ..data.memory import real_numbers
from ..data.recipe import is_raw, made_source, named_target, unnamed
from ..data.source import Array, Block
from ..data.weights import refuse_feature, refuse_name, weights_of, with_weights
from ..errors import BoundsError, DataError
from .cells import as_matrix, numbers, raw_column
from .mapping import FeatureMap
from .recipes import made_block, recipe_of


def mapped_source(feature_map: FeatureMap, table: Any, target: Any, weights: Any = None) -> RowSource:
    """Return the features of a table or an array as a source of rows; ``target`` is a column name or the values.

    ``weights`` of rows are a column name, values, or None.
    """
    refuse_one_shot(table)
    weights = weights_of(table, weights)
    if is_raw(table):
        return made_source(table, recipe_of(feature_map, (), named_target(table, target), weights=weights))
    if is_source(table) or library_of(table) in ENGINES:
        raise unnamed(table)
    refuse_feature(weights, feature_map.raw_columns)
    if target is None:
        raise DataError(
            "a fit requires y to be passed, but the target y is None. Pass the targets, or the name of their column."
        )
    rows = table if is_table(table) else as_matrix(table)
    n_rows = rows.num_rows if hasattr(rows, "num_rows") else len(rows)
    feature_map.transform(_slice(rows, 0, 0))  # refuses wrong columns before anything is planned
    if isinstance(target, str):
        if isinstance(rows, np.ndarray):
            raise DataError(f"y={target!r} names a column, but X is not a table.")
        if target in feature_map.raw_columns:
            raise DataError(f"y={target!r} is also a feature; leave it out of the feature map.")
        feature_map.check_target(target)
    own = _own_weights(rows, weights)
    if isinstance(target, str):
        return TableSource(
            n_rows,
            feature_map.names,
            lambda a, b: own(made_block(feature_map, (), target, _slice(rows, a, b)), a, b),
        )
    vector = feature_map.fitted_target(real_numbers(target, "y"))
    if vector.shape != (n_rows,):
        raise DataError("y must be a vector with one value for each row of X, and their numbers differ.")
    return TableSource(
        n_rows,
        feature_map.names,
        lambda a, b: own((feature_map.transform(_slice(rows, a, b)), vector[a:b]), a, b),
    )


def _own_weights(rows: Any, weights: Any) -> Callable[[Block, int, int], Block]:
    """Return what puts the weights of some rows of a table beside their targets."""
    if weights is None:
        return lambda block, start, stop: block
    if not isinstance(weights, str):
        return lambda block, start, stop: with_weights(block, weights[start:stop])
    if isinstance(rows, np.ndarray):
        refuse_name(weights)
    numbers(weights, raw_column(_slice(rows, 0, 0), weights))  # refuses a wrong column before anything is planned
    return lambda block, start, stop: with_weights(
        block, numbers(weights, raw_column(_slice(rows, start, stop), weights))
    )


def mapped_files(feature_map: FeatureMap, source: FileSource) -> FileSource:
    """Return the features of raw rows in files; only their own columns are read, categories as text."""
    recipe = recipe_of(feature_map, (), source.target)
    return source.mapped(recipe.raw, recipe.names, recipe.make, recipe.text)


def finite_features(feature_map: FeatureMap, rows: Any) -> Array:
    """Return the features of some rows, or say that a cell is missing."""
    features = feature_map.transform(rows)
    need = "a prediction needs every cell for which the feature map has no replacement"
    if np.isnan(features).any():
        raise DataError(f"X has missing or infinite values; {need}. Leave such rows out, or fill them in.")
    if not len(features):
        raise DataError(f"X has no rows; {need}.")
    return features


def mapped_bounds(feature_map: FeatureMap, bounds: Bounds | None) -> Bounds:
    """Return the bounds of the features, with the target's range and the norm that ``bounds`` may add."""
    if bounds is not None and not isinstance(bounds, Bounds):
        raise BoundsError(f"bounds={bounds!r} must be a dpols.Bounds.")
    if bounds is not None and bounds.features is not None:
        raise BoundsError("bounds has ranges of features, but these come from feature_map; give them there only.")
    derived = feature_map.bounds(x_norm=None if bounds is None else bounds.x_norm)
    if bounds is None or (bounds.target is None and bounds.y_abs is None):
        if derived.target is None:
            raise BoundsError(
                "the range of the target is required: pass target=(low, high) to the feature map, of public knowledge."
            )
        return derived
    if derived.target is not None or feature_map.target_transform:
        raise BoundsError("the target's range is given by bounds and by feature_map; give it once.")
    return replace(derived, target=bounds.target, y_abs=bounds.y_abs)


def _slice(rows: Any, start: int, stop: int) -> Any:
    if hasattr(rows, "iloc"):
        return rows.iloc[start:stop]
    if isinstance(rows, np.ndarray):
        return rows[start:stop]
    return rows.slice(start, stop - start)
