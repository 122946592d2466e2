"""What a check found, and what all checks allow for."""

from dataclasses import dataclass
from typing import Any, Literal

from ..versions import __version__

ROUNDING = 1e-6  # relative; versions of libraries differ in less


@dataclass(frozen=True)
class Finding:
    """One thing that was checked, or could not be, and what differs; or whether the fit is private as configured."""

    what: str
    holds: bool
    detail: str
    about: Literal["accounting", "privacy", "unchecked"] = "accounting"


def other_version(data: dict[str, Any]) -> str | None:
    """Return the version of dpols that wrote a report, by its own word, where it is not this one."""
    try:
        version = {str(name): str(version) for name, version in data["versions"]}["dpols"]
    except (KeyError, TypeError, ValueError):
        return None
    return None if version == __version__ else version


def unreadable(version: str) -> str:
    return f"cannot be checked: it was written by dpols {version!r}, and this is {__version__}; verify it with that one"
