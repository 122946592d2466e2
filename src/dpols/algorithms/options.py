"""Checks of the public numbers that plans are made from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..errors import CalibrationError, ParameterError, quoted
from ..linalg import Array
from ..privacy.budget import PrivacyBudget
from ..privacy.calibration import gaussian_multiplier
from ..privacy.paper import concentrated_multiplier

Accounting = Literal["exact", "paper"]

# Beyond these the noise, its square or a logarithm of the budget leaves the range of doubles.
_EPSILONS = (1e-30, 1e9)
_SMALLEST_DELTA = 1e-304
# A plan lists its releases one by one, and a sketch draws its rows.
_MOST_STEPS = 10**6
_MOST_ROWS = 10**9
_SMALLEST, _LARGEST = 1e-12, 1e12


@dataclass(frozen=True)
class PlannedFor:
    """What every plan is made for, and holds."""

    budget: PrivacyBudget  # what a run may cost, for zero-out neighbours
    accounting: Accounting
    n_rows: int | None  # None where it is not public
    n_features: int  # the intercept counts as one

    @property
    def public_rows(self) -> int:
        """The number of rows, for methods that are never planned where it is not public."""
        assert self.n_rows is not None
        return self.n_rows

    def rows_or(self, counted: Array) -> Array:
        """Return the public number of rows for each trial, or what was counted with noise where it is not public."""
        return counted if self.n_rows is None else np.full(len(counted), float(self.n_rows))

    def noise_of_all(self) -> float:
        """Return the multiplier of one Gaussian release that would cost all of the budget."""
        of_budget = gaussian_multiplier if self.accounting == "exact" else concentrated_multiplier
        return of_budget(self.budget)

    @staticmethod
    def checked(budget: PrivacyBudget, n_rows: int | None, n_features: int, accounting: Accounting) -> "PlannedFor":
        """Check what every method is given."""
        n_rows, n_features = plan_inputs(budget, n_rows, n_features)
        return PlannedFor(budget, one_of("accounting", accounting, ("exact", "paper")), n_rows, n_features)


def plan_inputs(budget: PrivacyBudget, n_rows: int | None, n_features: int) -> tuple[int | None, int]:
    """Check the budget and the public sizes that every plan starts from."""
    if not isinstance(budget, PrivacyBudget):
        raise ParameterError(f"budget={budget!r} must be a PrivacyBudget.")
    if not (_EPSILONS[0] <= budget.epsilon <= _EPSILONS[1] and budget.delta >= _SMALLEST_DELTA):
        raise CalibrationError(
            f"no noise can be found for {budget}: epsilon must lie between {_EPSILONS[0]:g} and {_EPSILONS[1]:g}, and "
            f"delta must be at least {_SMALLEST_DELTA:g}."
        )
    return None if n_rows is None else whole("n_rows", n_rows), whole("n_features", n_features)


def whole(name: str, value: Any, *, least: int = 1, most: float = 2.0**53) -> int:
    """Return a whole number between ``least`` and ``most``."""
    number = _number(name, value)
    if not (least <= number <= most and int(number) == number):
        raise ParameterError(f"{name}={value!r} must be a whole number from {least} to {most:.0f}.")
    return int(number)


def steps(name: str, value: Any, *, least: int = 1) -> int:
    """Return a number of iterations."""
    return whole(name, value, least=least, most=_MOST_STEPS)


def sketch_rows(name: str, value: Any, *, least: int) -> int:
    """Return a number of rows of a sketch."""
    return whole(name, value, least=least, most=_MOST_ROWS)


def positive(name: str, value: Any) -> float:
    """Return a positive number of ordinary size; it multiplies bounded numbers and is squared."""
    number = _number(name, value)
    if not _SMALLEST <= number <= _LARGEST:
        raise ParameterError(f"{name}={value!r} must be positive, from {_SMALLEST:g} to {_LARGEST:g}.")
    return number


def share(name: str, value: Any) -> float:
    """Return a number strictly between 0 and 1."""
    number = _number(name, value)
    if not 0.0 < number < 1.0:
        raise ParameterError(f"{name}={value!r} must lie strictly between 0 and 1.")
    return number


def failure_or_default(budget: PrivacyBudget, failure_probability: float | None) -> float:
    """Return the paper's failure probability, delta / 10 unless it is given."""
    return budget.delta / 10.0 if failure_probability is None else share("failure_probability", failure_probability)


def one_of(name: str, value: Any, choices: Sequence[Any]) -> Any:
    """Return the value if it is one of the choices."""
    if value not in choices:
        texts = ", ".join(f'"{choice}"' for choice in choices if choice is not None)
        raise ParameterError(f"{name}={quoted(value)} must be one of {texts}.")
    return value


def _number(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(f"{name}={value!r} must be a number.") from None
