"""Limits on slopes from the texts of ``dpols fit --constraint``."""

from typing import TYPE_CHECKING

from ..errors import ParameterError

if TYPE_CHECKING:
    from ..constraints import Constraints

_FORMS = "nonnegative, norm=NUMBER, or NAME=LOW:HIGH such as age=0: or dose=-1:1"


def parsed_constraints(texts: list[str] | None) -> "Constraints | None":
    """Return constraints from texts, None from none.

    >>> parsed_constraints(["age=0:", "dose=-1:1"])
    Constraints(lower={'age': 0.0, 'dose': -1.0}, upper={'dose': 1.0}, norm=None)
    """
    from ..constraints import Constraints

    if not texts:
        return None
    if texts == ["nonnegative"]:
        return Constraints(lower=0.0)
    if len(texts) == 1 and texts[0].startswith("norm=") and ":" not in texts[0]:
        return Constraints(norm=_number(texts[0], texts[0].removeprefix("norm=")))
    lower: dict[str, float | None] = {}
    upper: dict[str, float | None] = {}
    for text in texts:
        name, low, high = _range(text)
        if name in lower or name in upper:
            raise ParameterError(f"--constraint limits {name!r} twice; give both ends at once, NAME=LOW:HIGH.")
        if low:
            lower[name] = _number(text, low)
        if high:
            upper[name] = _number(text, high)
    return Constraints(lower=lower or None, upper=upper or None)


def _range(text: str) -> tuple[str, str, str]:
    """Return name, low and high as text, one of the two possibly empty."""
    name, _, limit = text.rpartition("=")
    low, colon, high = limit.partition(":")
    if text == "nonnegative" or (name == "norm" and not colon):
        raise ParameterError(f"--constraint {text!r} must stand alone; for single slopes give NAME=LOW:HIGH.")
    if not (name and colon and (low or high)):
        raise ParameterError(f"--constraint {text!r} is not understood; give {_FORMS}.")
    return name, low, high


def _number(text: str, number: str) -> float:
    try:
        return float(number)
    except ValueError:
        raise ParameterError(f"--constraint {text!r}: {number!r} is not a number; give {_FORMS}.") from None
