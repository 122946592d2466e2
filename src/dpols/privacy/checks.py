"""Every number that enters the accountant passes here once, and words that choose among a few."""

import math
from collections.abc import Iterable
from numbers import Real
from typing import Any

from ..errors import ParameterError, quoted


def real(name: str, value: object) -> float:
    """Return ``value`` as a float if it is a real number other than nan; bools and strings are not numbers."""
    if type(value) is float and not math.isnan(value):
        return value
    if isinstance(value, bool) or not isinstance(value, Real):
        remedy = ", without quotation marks" if isinstance(value, str) else ""
        raise ParameterError(f"{name}={quoted(value)} must be a number{remedy}.")
    try:
        number = float(value)
    except OverflowError:
        raise ParameterError(f"{name} is larger than any float; it must be a number up to 1e308.") from None
    if math.isnan(number):
        raise ParameterError(f"{name}=nan must be a number that is not nan.")
    return number


def require(holds: bool, name: str, value: object, rule: str) -> None:
    """Raise ParameterError that says which rule ``value`` breaks, unless it ``holds``."""
    if not holds:
        raise ParameterError(f"{name}={quoted(value)} must {rule}.")


def one_of(name: str, value: Any, allowed: Iterable[Any]) -> Any:
    """Return ``value`` as a member of ``allowed``, or say what is."""
    for member in allowed:
        if value == member:
            return member
    raise ParameterError(f"{name}={quoted(value)} must be one of {', '.join(repr(str(member)) for member in allowed)}.")
