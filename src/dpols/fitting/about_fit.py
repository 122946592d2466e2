"""What a ledger is told of a fit: columns, declared ranges, formula and file, all of them public."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..data import Bounds
from ..data.bounds import ranges_of
from ..feature_map import NumericColumn
from ..ledger.about import About, Range
from .preparing import Prepared


def about_fit(prepared: Prepared) -> About:
    """Return what a fit is about."""
    request, source = prepared.request, prepared.source
    feature_map, bounds = request.feature_map, prepared.bounds
    columns: list[tuple[str, Range]] = []
    if feature_map is not None:
        columns += [(name, _range(feature_map.columns[name])) for name in feature_map.raw_columns]
    elif source.columns is not None:  # columns of arrays have no names to be known by
        known: dict[str, Range] = {}
        if isinstance(bounds, Bounds) and isinstance(bounds.features, Mapping):
            known = dict(zip(map(str, bounds.features), ranges_of(bounds.features), strict=True))
        columns += [(str(name), known.get(str(name))) for name in source.columns]
    if columns and request.target_name is not None:
        columns.append((request.target_name, _target_range(prepared)))
    path: Any = getattr(source, "path", None)
    return About(
        tuple((name, None if pair is None else (float(pair[0]), float(pair[1]))) for name, pair in columns),
        formula=None if feature_map is None else feature_map.formula,
        file=Path(path).name if isinstance(path, str) else None,
    )


def _target_range(prepared: Prepared) -> Range:
    """Return the declared range of the target in its own units, whatever transform of it is fitted."""
    feature_map = prepared.request.feature_map
    if feature_map is not None and feature_map.target_transform:
        return feature_map.target
    return prepared.bounds.target if isinstance(prepared.bounds, Bounds) else None


def _range(column: Any) -> Range:
    return (column.low, column.high) if isinstance(column, NumericColumn) else None
