"""The first step of ``dpols fit``: the target, the columns that are read, and where their bounds come from."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..data import Bounds
from ..data.files import Dialect
from ..errors import BoundsError, ParameterError
from ..feature_map import FeatureMap
from .bounds_file import plain_bounds, read_declared, read_feature_map
from .found_bounds import BoundsWays, check_reference, feature_columns, from_table, map_of_reference, paid

if TYPE_CHECKING:
    from ..side_releases.paid_bounds import PaidBounds


@dataclass(frozen=True)
class DeclaredTable:
    """What a fit is on, and what is known of it."""

    data: Path
    target: str
    columns: list[str]
    declared: FeatureMap | None
    bounds: "Bounds | PaidBounds | None"  # None: those of the feature map
    unit: str | None
    weight: str | None  # the column of weights
    exposure: str | None  # the column of exposures
    dialect: Dialect  # of a text file
    fit_intercept: bool

    @property
    def feature_map(self) -> FeatureMap | None:
        """What is declared, where it is more than ranges."""
        return None if self.declared is None or plain_bounds(self.declared) is not None else self.declared


def declared_table(
    data: Path,
    ways: BoundsWays,
    target: str | None,
    formula: str | None,
    features: str | None,
    unit: str | None,
    weight: str | None,
    exposure: str | None,
    dialect: Dialect,
    *,
    fit_intercept: bool,
    family: str = "gaussian",
) -> DeclaredTable:
    """Settle target, columns and bounds; whatever contradicts itself is refused."""
    if ways.reference is not None:
        check_reference(ways.reference, data)
    if formula is None:
        declared = None if ways.file is None else _declared(ways.file, target, family)
    else:
        if ways.file is None and ways.share is None:
            raise ParameterError(
                "--formula needs a --bounds file, whose ranges and categories it refers to, or --paid-bounds 0.1."
            )
        target, declared, fit_intercept = by_formula(formula, ways.file, target, fit_intercept, family)
    if target is None:
        raise ParameterError("--target is missing: name the column to predict, or give a --formula.")
    if declared is not None and features is not None:
        raise ParameterError(
            "--features and --bounds both list columns; delete the tables of others in the bounds file."
        )
    columns = (
        feature_columns(data, target, features, (unit, weight, exposure), dialect)
        if declared is None
        else list(declared.raw_columns)
    )
    options = (("--target", target), ("--unit", unit), ("--weight", weight), ("--exposure", exposure))
    for option, name in options:
        if name in columns:
            raise BoundsError(
                f"{option} {name!r} is also a feature in {str(ways.file)!r}; delete its [features] table there."
            )
    ranged = None if family == "binomial" else target  # a yes/no target needs no range
    if ways.reference is not None:
        declared = map_of_reference(ways.reference, ranged, columns)
    bounds = _bounds(data, ways, ranged, columns, declared, dialect)
    return DeclaredTable(data, target, columns, declared, bounds, unit, weight, exposure, dialect, fit_intercept)


def _declared(file: Path, target: str | None, family: str) -> FeatureMap:
    """Return what a file declares; a yes/no target needs no range."""
    return read_declared(file, target, family=family) if family == "binomial" else read_feature_map(file, target)


def _bounds(
    data: Path, ways: BoundsWays, target: str | None, columns: list[str], declared: FeatureMap | None, dialect: Dialect
) -> "Bounds | PaidBounds | None":
    """Return the bounds by the way that was chosen; None where a feature map holds more than ranges."""
    plain = None if declared is None else plain_bounds(declared)
    if ways.share is not None:
        if declared is not None and plain is None:
            return paid(ways.share)
        return paid(ways.share, plain, columns)
    if declared is None:
        if ways.reference is not None:
            return from_table(ways.reference, target, columns, Dialect(), unsafe=False)
        return from_table(data, target, columns, dialect, unsafe=ways.from_data)
    return plain


def by_formula(
    formula: str, bounds: Path | None, target: str | None, fit_intercept: bool, family: str = "gaussian"
) -> "tuple[str, FeatureMap, bool]":
    """Return target, features and whether to fit an intercept, as a formula says; what clashes is refused.

    Without a file of bounds, all ranges are as wide as bounds that are paid for may be.
    """
    from ..formula import outer_limits, target_of, translated, with_outcome
    from ..side_releases.paid_bounds import PaidBounds

    named = target_of(formula)
    if target not in (None, named):
        raise ParameterError(f"--target {target!r} is not that of the formula, {named!r}; leave out --target.")
    declared = (
        outer_limits(family, formula, PaidBounds()) if bounds is None else read_declared(bounds, named, family=family)
    )
    made = translated(formula, with_outcome(family, formula, declared))
    if made.fit_intercept and not fit_intercept:
        raise ParameterError("--no-intercept contradicts the formula; write 0 + ... on the right of ~ instead.")
    return made.target, made.feature_map, made.fit_intercept
