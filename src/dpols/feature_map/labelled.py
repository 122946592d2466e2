"""Rows in files whose outcomes are labels: each block's labels become 0 and 1 when it is read."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ..data import FileSource
from ..data.source import Array
from .cells import Cells, numbers, raw_column
from .columns import CategoricalColumn
from .mapping import FeatureMap


def labelled_files(source: FileSource, feature_map: FeatureMap | None, labels: Sequence[Any]) -> FileSource:
    """Return features and outcomes of rows in files, 0 for the first label and 1 for the second; nan for others."""
    assert source.target is not None
    raw = source.columns if feature_map is None else feature_map.raw_columns
    names = source.columns if feature_map is None else feature_map.names
    columns = {} if feature_map is None else feature_map.columns
    text = [name for name in raw if isinstance(columns.get(name), CategoricalColumn)]
    if feature_map is not None:
        feature_map.check_target(source.target)
    make = partial(labelled_block, feature_map, tuple(raw), source.target, tuple(labels))
    return source.mapped(raw, names, make, [*text, source.target])


def labelled_block(
    feature_map: FeatureMap | None, raw: tuple[str, ...], target: str, labels: tuple[Any, Any], block: Any
) -> tuple[Array, Array]:
    """Return features and outcomes of a block of raw rows. Pure, and importable where a block is read elsewhere."""
    if feature_map is None:
        features = np.column_stack([numbers(name, raw_column(block, name)) for name in raw])
    else:
        features = feature_map.transform(block)
    return features, outcomes(target, labels, block)


def outcomes(target: str, labels: Sequence[Any], block: Any) -> Array:
    """Return 0 for the first label, 1 for the second and nan for other cells of a table's column."""
    codes = Cells(block, {target: CategoricalColumn(tuple(labels))}).of(target)
    return np.where(codes >= 0, codes.astype(np.float64), np.nan)
