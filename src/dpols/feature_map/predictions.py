"""Predictions of a transformed target in the target's own units: medians, or means over normal errors."""

from typing import Literal, get_args

import numpy as np

from ..data.source import Array
from ..errors import ParameterError
from .mapping import FeatureMap

PredictionOf = Literal["median", "mean", "transformed"]
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(40)


def check_prediction_of(of: object) -> None:
    """Refuse what predictions cannot be of."""
    if of not in get_args(PredictionOf):
        raise ParameterError(f"of={of!r} must be {', '.join(map(repr, get_args(PredictionOf)))}.")


def in_target_units(
    feature_map: FeatureMap, fitted: Array, *, of: PredictionOf, raw: bool, residual_variance: float | None
) -> Array:
    """Return what predictions of a transformed target say of the target.

    A monotone function maps the median to the median, so that the "median" needs nothing but errors as often above as
    below 0. The "mean" is over normal errors of the released residual variance, as far as the target's range goes.
    """
    assert feature_map.fitted_range is not None
    if of == "transformed":
        return fitted if raw else np.clip(fitted, *feature_map.fitted_range)
    if of == "median":
        return feature_map.target_units(fitted, raw=raw)
    if residual_variance is None:
        raise ParameterError(
            "of='mean' needs the variance of the errors, which this fit did not release or the noise hides; fit with "
            "inference=True, or take of='median', which needs none."
        )
    spread = np.sqrt(max(residual_variance, 0.0))
    values = [feature_map.target_units(fitted + spread * node, raw=raw) for node in _NODES]
    return np.asarray(np.tensordot(_WEIGHTS / _WEIGHTS.sum(), np.array(values), axes=1))
