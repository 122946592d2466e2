"""Search for the least noise of a family; it ends on the private side or raises."""

import math
from collections.abc import Callable

from scipy.optimize import brentq

from ..errors import CalibrationError
from .budget import PrivacyBudget

_TOLERANCE = 1e-10
# Relative margin on delta that covers the rounding errors of the delta that is searched; a little more than that of
# `epsilon_of`, whose answer for calibrated noise then never exceeds the budget.
_ROUNDING = 2e-9


def least_noise_for(
    log_delta_at: Callable[[float], float], budget: PrivacyBudget, *, start: float = 1.0, highest: float = 1e60
) -> float:
    """Return the least positive x with ``log_delta_at(x)`` at most the log of the budget's delta.

    ``log_delta_at`` must not increase in x. The answer meets the budget and exceeds the exact solution by at most
    a relative 1e-9; where no x up to ``highest`` meets the budget, CalibrationError is raised.
    """
    target = math.log(budget.delta) - _ROUNDING

    def excess(log_x: float) -> float:
        # Far from private, delta rounds to 1 and its logarithm to 0 or a little above: any positive number will do.
        return min(log_delta_at(math.exp(log_x)), 0.0) - target

    low = high = math.log(start)
    stride = math.log(4.0)
    if excess(high) > 0.0:
        while excess(high) > 0.0:
            low, high, stride = high, high + stride, 2.0 * stride
            if high > math.log(highest):
                raise CalibrationError(
                    f"no noise up to {highest:.3g} meets {budget}. Raise epsilon or delta, or release less."
                )
    else:
        while excess(low) <= 0.0:
            low, high, stride = low - stride, low, 2.0 * stride
            if low < -math.log(highest):
                raise CalibrationError(f"{budget} is met by any noise down to {1 / highest:.3g}; lower the budget.")
    root = brentq(excess, low, high, xtol=_TOLERANCE, rtol=1e-15)
    nudge = 2.0 * _TOLERANCE
    while excess(root) > 0.0:
        root, nudge = root + nudge, 2.0 * nudge
        if root > high:
            return math.exp(high)
    return math.exp(root)
