"""Releases as a report lists them: equal ones once, with how often they were made."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..privacy import FailureAllowance, GaussianRelease, MixingRelease, OpaqueRelease, Release
from ..privacy.plain import release_from_data, release_to_data
from ..storage.plain_data import mapping, text, whole

_MOST_TIMES = 10**6  # releases are listed one by one


@dataclass(frozen=True)
class ReleaseLine:
    """One or more equal releases of a run."""

    what: str
    release: Release
    times: int

    def describe(self) -> str:
        match self.release:
            case GaussianRelease(multiplier):
                return f"Gaussian noise, standard deviation {multiplier:.5g} x sensitivity"
            case MixingRelease(rows, floor):
                return f"Gaussian mixing, {rows} sketch rows, floor {floor:.5g}"
            case FailureAllowance(probability):
                return f"fails with probability {probability:.3g}"
            case OpaqueRelease(epsilon, delta):
                return f"black box of ({epsilon:.5g}, {delta:.3g})"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"what": self.what, "times": self.times, **release_to_data(self.release)}


def release_lines(names: Sequence[str], releases: Sequence[Release]) -> tuple[ReleaseLine, ...]:
    """Group equal releases under their names, in the order in which they first occur."""
    counted = Counter(zip(names, releases, strict=True))
    return tuple(ReleaseLine(what, release, times) for (what, release), times in counted.items())


def line_from_dict(data: Any) -> ReleaseLine:
    """Read a line from plain data."""
    release = {name: value for name, value in mapping(data).items() if name not in ("what", "times")}
    times = whole(data["times"])
    if times > _MOST_TIMES:
        raise ValueError(f"a release is listed more than {_MOST_TIMES} times")
    return ReleaseLine(text(data["what"]), release_from_data(release), times)
