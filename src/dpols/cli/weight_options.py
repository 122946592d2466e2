"""The weights of ``dpols fit``: which column holds them, and the largest one, by options or by the bounds file."""

from dataclasses import dataclass
from pathlib import Path

from ..data.files import Dialect
from ..errors import ParameterError
from ..feature_map.toml import declared_weight
from .bounds_file import declared_beside, settled
from .found_bounds import columns_with


@dataclass(frozen=True)
class WeightColumn:
    """The column of weights, and the largest weight that a row may have."""

    name: str
    largest: float


def weight_column(
    data: Path, weight: str | None, max_weight: float | None, bounds: Path | None, dialect: Dialect
) -> WeightColumn | None:
    """Return what options and the bounds file say of weights, None where they say nothing."""
    name, largest = declared_beside(bounds, declared_weight)
    where = f"[weight] in {str(bounds)!r}"
    name, largest = settled("--weight", weight, name, where), settled("--max-weight", max_weight, largest, where)
    if name is None and largest is None:
        return None
    if name is None:
        raise ParameterError("--max-weight goes with --weight, the column that holds the weights of rows.")
    if largest is None:
        raise ParameterError(
            f"--max-weight is missing: say from public knowledge how large a weight in {name!r} can be. Larger ones "
            "are clipped, and the noise grows with it."
        )
    columns_with(name, data, "--weight", dialect)
    return WeightColumn(name, largest)
