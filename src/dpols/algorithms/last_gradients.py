"""The gradients that close a generalised fit with intervals: at one limit, with Newton steps in between."""

import math
from typing import NamedTuple

import numpy as np

from ..mechanisms import Channel
from ..statistics import WhitenedRows, mean_gradient, predictor_point
from .base import Array
from .closing_inference import CLOSING, InferencePlan
from .generalised_path import GeneralisedPath
from .newton_step import newton_step

_FAR = 3.0  # standard deviations by which the square of a gradient exceeds that of noise


class Closing(NamedTuple):
    """What the last gradients say."""

    point: Array  # means of the points that count, and of their gradients
    gradient: Array
    noise: Array  # standard deviation of the noise in the latter
    start: Array  # where the curvature was released
    weights: Array  # of the last points in their mean, of shape (trials, points)
    misfit: Array  # mean square by which the gradients differ more from each other than curvature and noise explain


def last_gradients(
    white: WhitenedRows,
    plan: InferencePlan,
    channel: Channel,
    path: GeneralisedPath,
    limit: Array,
    gram: Array,
    gram_noise: Array,
) -> Closing:
    """Release the last gradients at one limit, with Newton steps in between.

    Where the first of them shows that the first point is off by more than noise, that point does not count: the others
    are nearer, and the term of second order with them.
    """
    path.limit = limit
    stddev, d = plan.closing_multiplier * limit, plan.n_features
    far, one = np.zeros(channel.trials, dtype=bool), np.ones(channel.trials)
    for count in range(1, CLOSING + 1):
        theta = path.at(predictor_point(white.bounded, path.theta))
        exact = mean_gradient(white, theta, path.response, limit=limit)
        noisy = channel.gaussian(exact, multiplier=plan.closing_multiplier)
        path.move(noisy, 0.0 * theta, multiplier=plan.closing_multiplier)
        if count == 1:
            far = np.square(path.gradients[-1] / stddev[:, None]).sum(axis=1) > d + _FAR * math.sqrt(2.0 * d)
        weights = np.array([np.where(far & (count > 1), 0.0, one), *[one] * (count - 1)])
        point, gradient = (
            ((weights / weights.sum(axis=0))[:, :, None] * np.array(each[-count:])).sum(axis=0)
            for each in (path.points, path.gradients)
        )
        # What all points with their Newton steps say together has less noise than the last of them.
        path.point = path.near(path.points[-count], point + newton_step(gram, gram_noise, gradient))
    last = zip(path.points[-CLOSING:], path.gradients[-CLOSING:], weights, strict=True)
    # One by one, so that trials of a batch add up in the same order as a single one.
    rest = [(weight, g - gradient + np.einsum("tij,tj->ti", gram, p - point)) for p, g, weight in last]
    freedom = (weights.sum(axis=0) - 1.0) * d
    squares = np.sum([weight * np.square(each).sum(axis=1) for weight, each in rest], axis=0)
    explained = np.square(stddev) * (freedom + _FAR * np.sqrt(2.0 * freedom))
    misfit, shares = np.maximum(squares - explained, 0.0) / freedom, (weights / weights.sum(axis=0)).T
    return Closing(point, gradient, stddev / np.sqrt(weights.sum(axis=0)), path.points[-CLOSING], shares, misfit)
