"""OpenDP's regression on one predictor, a private Theil-Sen line, with the noise that an epsilon allows.

It is purely epsilon-private for tables that differ by one row more or less. It takes a noise scale, which a binary
search finds from epsilon. The candidates for medians are evenly spaced over the range of the target.
"""

import time
from functools import lru_cache
from typing import Any

import numpy as np

from ..datasets import UnavailableError
from .definitions import Range
from .rows import Rows

Array = np.ndarray[Any, np.dtype[Any]]

OPENDP = "opendp"
_CANDIDATES = 500


def opendp_coefficients(train: Rows, epsilon: float) -> tuple[Array, float]:
    """Return slope and intercept, and the seconds of the fit, without those of the search for a scale."""
    measurement = _measurement(train.ranges[0], train.target_range, epsilon)
    start = time.perf_counter()
    with np.errstate(divide="ignore", invalid="ignore"):  # pairs with equal predictors, which it then drops
        slope, intercept = measurement(np.column_stack((train.features[:, 0], train.target)))
    return np.array([slope, intercept]), time.perf_counter() - start


@lru_cache(maxsize=64)
def _measurement(x_bounds: Range, y_bounds: Range, epsilon: float) -> Any:
    try:
        import opendp.prelude as dp
        from opendp.extras.sklearn.linear_model import LinearRegression
    except ImportError:
        raise UnavailableError("this comparison needs OpenDP; pip install opendp.") from None
    dp.enable_features("contrib", "honest-but-curious", "idealized-numerics")

    def with_scale(scale: float) -> Any:
        line = LinearRegression(dp.max_divergence(), [x_bounds], y_bounds, scale, candidates_count=_CANDIDATES)
        return line.measurement

    scale = dp.binary_search_param(with_scale, d_in=1, d_out=epsilon, T=float)
    return with_scale(scale)
