"""The exposure of ``dpols fit --family poisson``: its column and its range, by options or by the bounds file."""

from dataclasses import dataclass
from pathlib import Path

from ..data.files import Dialect
from ..errors import ParameterError
from ..feature_map.toml import declared_exposure
from .bounds_file import declared_beside, settled
from .found_bounds import columns_with

_Range = tuple[float, float]


@dataclass(frozen=True)
class ExposureColumn:
    """The column of exposures, and their range."""

    name: str
    ends: _Range


def exposure_column(
    data: Path, exposure: str | None, ends: str | None, bounds: Path | None, dialect: Dialect, *, family: str
) -> ExposureColumn | None:
    """Return what options and the bounds file say of exposure, None where they say nothing."""
    own, (name, declared) = None if ends is None else _parsed(ends), declared_beside(bounds, declared_exposure)
    where = f"[exposure] in {str(bounds)!r}"
    name, declared = settled("--exposure", exposure, name, where), settled("--exposure-range", own, declared, where)
    if name is None and declared is None:
        return None
    if family != "poisson":
        raise ParameterError("exposure goes with --family poisson; leave out --exposure, and [exposure] of the bounds.")
    if name is None:
        raise ParameterError("--exposure-range goes with --exposure, the column that holds the exposure of rows.")
    if declared is None:
        raise ParameterError(
            f"--exposure-range LOW:HIGH is missing: say from public knowledge how small and how large an exposure in "
            f"{name!r} can be, both above 0. Others are clipped."
        )
    columns_with(name, data, "--exposure", dialect)
    return ExposureColumn(name, declared)


def _parsed(ends: str) -> _Range:
    try:
        low, high = (float(end) for end in ends.split(":"))
    except ValueError:
        raise ParameterError(f"--exposure-range {ends!r} must be LOW:HIGH, such as 0.1:1.") from None
    return low, high
