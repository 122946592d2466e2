"""Checks of the public numbers that plans are made from."""

import math
from collections.abc import Sequence
from typing import Any

from ..errors import ParameterError
from ..privacy.budget import PrivacyBudget


def plan_inputs(budget: PrivacyBudget, n_rows: int, n_features: int) -> tuple[int, int]:
    """Check the budget and the public sizes that every plan starts from."""
    if not isinstance(budget, PrivacyBudget):
        raise ParameterError(f"budget={budget!r} must be a PrivacyBudget.")
    return whole("n_rows", n_rows), whole("n_features", n_features)


def whole(name: str, value: Any, *, least: int = 1) -> int:
    """Return a whole number of at least ``least``."""
    number = _number(name, value)
    if not (number >= least and number < math.inf and int(number) == number):
        raise ParameterError(f"{name}={value!r} must be a whole number of at least {least}.")
    return int(number)


def positive(name: str, value: Any) -> float:
    """Return a positive, finite number."""
    number = _number(name, value)
    if not 0.0 < number < math.inf:
        raise ParameterError(f"{name}={value!r} must be positive and finite.")
    return number


def share(name: str, value: Any) -> float:
    """Return a number strictly between 0 and 1."""
    number = _number(name, value)
    if not 0.0 < number < 1.0:
        raise ParameterError(f"{name}={value!r} must lie strictly between 0 and 1.")
    return number


def one_of(name: str, value: Any, choices: Sequence[Any]) -> Any:
    """Return the value if it is one of the choices."""
    if value not in choices:
        texts = ", ".join(f'"{choice}"' for choice in choices if choice is not None)
        raise ParameterError(f"{name}={value!r} must be one of {texts}.")
    return value


def _number(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(f"{name}={value!r} must be a number.") from None
