"""The curvature of the squared error that each method releases: the metric in which a fit is brought within limits."""

import numpy as np

from .base import Array, Fit


def of_whitening(fit: Fit) -> Array:
    """Return the released, damped curvature of whitened descent, which is one in all of its coordinates.

    The damping keeps directions that the noise hides from moving freely, as it does in the fit itself.
    """
    back = np.linalg.inv(fit.transcript["metric"])
    return np.asarray(back.swapaxes(1, 2) @ back)


def of_gram(fit: Fit) -> Array:
    """Return the released X'X plus ridge of AdaSSP and its boosted form."""
    gram = fit.transcript["gram"]
    return np.asarray(gram + fit.transcript["ridge"][:, None, None] * np.eye(gram.shape[-1]))


def of_sketch(fit: Fit) -> Array:
    """Return the sketched X'X of methods that release a sketch of [X, y], up to a factor."""
    return np.asarray(fit.transcript["sketch"][:, :-1, :-1])
