"""What is read of raw rows, and how it becomes features and a target: by a feature map or as it stands."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ..data import FileSource
from ..data.id_types import require_one_type
from ..data.kinds import library_of
from ..data.recipe import Recipe
from ..data.source import Array
from ..data.weights import refuse_feature, require_column, with_weights
from ..errors import DataError
from .cells import Cells, numbers, raw_column
from .columns import CategoricalColumn
from .mapping import FeatureMap


def recipe_of(
    feature_map: FeatureMap | None,
    columns: Sequence[str],
    target: str | None,
    labels: Sequence[Any] | None = None,
    weights: Any = None,
) -> Recipe:
    """Return how raw rows become the features of a map, or without one the columns themselves, and their target.

    With ``labels`` the target is 0 for the first of two labels, 1 for the second and nan for all else. ``weights``
    names a column that stands beside the target.
    """
    if feature_map is not None and target is not None:
        feature_map.check_target(target)
    raw = tuple(columns) if feature_map is None else feature_map.raw_columns
    if target in raw:
        raise DataError(f"y={target!r} is also a feature; leave it out of the feature map.")
    require_column(weights, "not in memory")
    refuse_feature(weights, raw)
    names = raw if feature_map is None else feature_map.names
    declared = {} if feature_map is None else feature_map.columns
    text = [name for name in raw if isinstance(declared.get(name), CategoricalColumn)]
    two = None if labels is None else tuple(labels)
    if two is not None and target is not None:
        text.append(target)
    make = partial(made_block, feature_map, raw, target, labels=two, weights=weights)
    return Recipe(raw, tuple(text), names, target, make, () if weights is None else (weights,))


def with_unit(recipe: Recipe, table: Any, unit: str) -> Recipe:
    """Return a recipe that also reads to which unit each row belongs."""
    if unit in recipe.columns:
        raise DataError(f"unit={unit!r} is also the target or a feature; leave it out there.")
    if isinstance(table, FileSource):
        table.require_ids(unit)
        return recipe.with_unit(unit, _ids_in_files)
    declared = {str(name): kind for name, kind in table.dtypes.items()} if library_of(table) == "dask" else {}
    known = unit in declared
    return recipe.with_unit(unit, partial(_ids_in_partitions, declared[unit]) if known else raw_column)


def made_block(
    feature_map: FeatureMap | None,
    raw: tuple[str, ...],
    target: str | None,
    block: Any,
    *,
    labels: tuple[Any, ...] | None = None,
    weights: str | None = None,
) -> tuple[Array, Array]:
    """Return features and target of a block of raw rows. Pure, and importable where a block is read elsewhere."""
    if feature_map is None:
        features = np.column_stack([numbers(name, raw_column(block, name)) for name in raw])
    else:
        features = feature_map.transform(block)
    if target is None:
        return features, np.zeros(len(features))
    if labels is not None:
        values = outcomes(target, labels, block)
    else:
        values = numbers(target, raw_column(block, target))
        values = values if feature_map is None else feature_map.fitted_target(values)
    if weights is None:
        return features, values
    return with_weights((features, values), numbers(weights, raw_column(block, weights)))


def outcomes(target: str, labels: Sequence[Any], block: Any) -> Array:
    """Return 0 for the first label, 1 for the second and nan for other cells of a table's column.

    The labels 0 and 1 are also those of truth values, as they are in vectors.
    """
    two = tuple(labels)
    if set(two) == {0, 1}:
        two = (*map(int, two), *map(bool, two))
    codes = Cells(block, {target: CategoricalColumn(two)}).of(target)
    return np.where(codes >= 0, (codes % 2).astype(np.float64), np.nan)


def _ids_in_files(block: Any, name: str) -> Any:
    """Return a column of ids; an empty text, which is how text files write a missing one, is missing."""
    import pyarrow
    from pyarrow import compute, types

    column = raw_column(block, name)
    if types.is_dictionary(column.type) and column.type.value_type in (pyarrow.string(), pyarrow.large_string()):
        column = column.cast(column.type.value_type)
    if not (types.is_string(column.type) or types.is_large_string(column.type)):
        return column
    return compute.if_else(compute.equal(column, ""), pyarrow.scalar(None, column.type), column)


def _ids_in_partitions(declared: Any, block: Any, name: str) -> Any:
    """Return a column of ids; a partition may have another type than Dask was told, which is refused."""
    column = raw_column(block, name)
    require_one_type(name, declared, column.dtype, "partitions")
    return column
