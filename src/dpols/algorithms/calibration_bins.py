"""Calibration: by prediction, in each bin the number of rows and the sums of outcomes and of predictions.

Bins are tenths of a normal law about the mean linear predictor; its mean and spread follow from what was released
before, and so does the size above which outcomes count as that size, so that none of them depends on a row. One row is
in one bin, where it adds 1, its outcome over that size, and half the share of the bin that lies below its prediction:
predictions of one bin differ little, so that noise in their sum does little harm.
"""

import numpy as np
from scipy.special import ndtri

from ..data.rows import BoundedRows
from ..families import Response
from ..mechanisms import Channel
from ..statistics import calibration_sums, predictor_point
from .base import Array
from .generalised_path import GeneralisedPath

CALIBRATION_NAME = "numbers of rows, sums of outcomes and of predictions, by prediction"
CALIBRATION = 0.03  # share of the squared budget, where it is asked for
_EDGES = ndtri(np.arange(1, 10) / 10.0)  # in standard deviations
_FAR = 4.0  # standard deviations above the mean count, from which on counts are cut


def release_calibration(
    rows: BoundedRows, channel: Channel, path: GeneralisedPath, theta: Array, *, multiplier: float
) -> dict[str, Array]:
    """Release outcomes by prediction; return the ends of bins, counts, sums and their noise."""
    theta, response, known = predictor_point(rows, theta), path.response, path.known
    centre = (known.noisy_features * theta).sum(axis=1) + path.offset
    inner = np.clip(centre + path.spread(theta) * _EDGES[:, None], *response.predictors)
    edges = np.vstack((np.full(channel.trials, -np.inf), inner))
    most = _largest(path, response)
    ends = np.vstack((0.0 * most, np.minimum(response.mean(inner), most), most))
    exact = calibration_sums(rows, theta, response, edges=edges, ends=ends)
    counts, outcomes, places = np.split(channel.gaussian(exact, multiplier=multiplier), 3, axis=1)
    return {
        "calibration_ends": ends.T,
        "calibration_counts": counts,
        "calibration_outcomes": outcomes * most[:, None],
        "calibration_places": 2.0 * places,
        "calibration_noise": np.full(channel.trials, 1.5 * multiplier),
        "calibration_dispersion": np.maximum(known.target_spread**2 / path.slope * response.scale, 1.0),
    }


def _largest(path: GeneralisedPath, response: Response) -> Array:
    """Return the size at which outcomes and predictions are cut: far above typical counts, at most the largest."""
    known = path.known
    if response.family == "binomial":
        return np.full(len(known.used), response.high)
    typical = response.outcome(known.target) + _FAR * response.scale * known.target_spread
    return np.asarray(np.minimum(typical, response.high))
