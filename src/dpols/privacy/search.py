"""Search for the least number that passes; it ends on the passing side or says that there is none."""

import math
from collections.abc import Callable
from functools import cache

from scipy.optimize import brentq

from ..errors import CalibrationError
from .budget import PrivacyBudget

_TOLERANCE = 1e-13
_HIGHEST = 1e60
# Relative margin on delta that covers the rounding errors of the delta that is searched; a little more than that of
# `epsilon_of`, whose answer for calibrated noise then never exceeds the budget.
_ROUNDING = 2e-9
# A bracket that grew faster could reach where a family of releases is no longer defined, such as a floor of 1.
_LONGEST_STRIDE = math.log(1e4)


def least_passing(excess: Callable[[float], float], *, start: float, highest: float) -> float:
    """Return the least positive x with ``excess(x) <= 0``, from above and to a relative 1e-12.

    ``excess`` must not increase in x, and ``start``, which may be infinite, should be of the answer's order. The answer
    is infinite where no x up to ``highest`` passes, and zero where every x down to ``1 / highest`` does.
    """

    @cache
    def height(log_x: float) -> float:
        return min(max(excess(math.exp(log_x)), -1e6), 1e6)  # brentq wants finite numbers

    end = math.log(highest)
    low = high = math.log(min(max(start, 1.0 / highest), highest))
    stride = 0.5
    while height(high) > 0.0:
        if high >= end:
            return math.inf
        low, high, stride = high, min(high + stride, end), min(2.0 * stride, _LONGEST_STRIDE)
    while height(low) <= 0.0:
        if low <= -end:
            return 0.0
        low, high, stride = max(low - stride, -end), low, min(2.0 * stride, _LONGEST_STRIDE)
    root, nudge = float(brentq(height, low, high, xtol=_TOLERANCE, rtol=1e-15)), _TOLERANCE
    while root < high:
        root, nudge = root + nudge, 2.0 * nudge
        if height(root) <= 0.0:
            return math.exp(root)
    return math.exp(high)


def least_noise_for(log_delta_at: Callable[[float], float], budget: PrivacyBudget, *, start: float = 1.0) -> float:
    """Return the least positive x with ``log_delta_at(x)`` at most the log of the budget's delta.

    ``log_delta_at`` must not increase in x. The answer meets the budget and exceeds the exact solution by at most a
    relative 1e-8; where no x up to 1e60 meets the budget, CalibrationError is raised.
    """
    target = math.log(budget.delta) - _ROUNDING
    noise = least_passing(lambda x: log_delta_at(x) - target, start=start, highest=_HIGHEST)
    if noise == math.inf:
        raise CalibrationError(
            f"no noise up to {_HIGHEST:.3g} meets {budget}. Raise epsilon or delta, or release less."
        )
    if noise == 0.0:
        raise CalibrationError(f"{budget} is met by any noise down to {1 / _HIGHEST:.3g}; lower the budget.")
    return noise
