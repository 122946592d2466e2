"""Releases as plain data, for reports and for ledgers."""

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ..storage.plain_data import finite_number, text
from .releases import FailureAllowance, GaussianRelease, MixingRelease, OpaqueRelease, Release

_KINDS: dict[str, type[Release]] = {
    "gaussian": GaussianRelease,
    "mixing": MixingRelease,
    "failure": FailureAllowance,
    "opaque": OpaqueRelease,
}


def release_to_data(release: Release) -> dict[str, Any]:
    """Return a release as what JSON can hold.

    >>> release_to_data(GaussianRelease(2.5))
    {'kind': 'gaussian', 'multiplier': 2.5}
    """
    kind = next(name for name, cls in _KINDS.items() if isinstance(release, cls))
    return {"kind": kind, **{name: plain_number(value) for name, value in asdict(release).items()}}


def release_from_data(data: Mapping[str, Any]) -> Release:
    """Read a release; TypeError, ValueError or KeyError is raised where it is none."""
    parameters: dict[str, Any] = {name: number_from(value) for name, value in data.items() if name != "kind"}
    return _KINDS[text(data["kind"])](**parameters)


def number_from(value: Any) -> float | int:
    """Read a number, which may be infinite."""
    if value == "inf":
        return math.inf
    number = finite_number(value)
    return value if isinstance(value, int) else number


def plain_number(value: float) -> float | str:
    """Return a number as JSON can hold it, which knows no infinity."""
    return "inf" if value == math.inf else value
