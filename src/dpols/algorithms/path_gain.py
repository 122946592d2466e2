"""What a path of gradients gains in a convex function, from the gradients alone.

Let f be convex, with gradients -g(p), and let p_0, p_1, ... be points where noisy g were released one after the other.
By convexity f(p_j-1) - f(p_j) >= g(p_j)'(p_j - p_j-1). The noise of each g is independent of the points up to its own,
which earlier releases gave, so these products have mean-zero noise of known variance, and no curvature enters. Where
the step was along the gradient at its start, the mean of both gradients takes the place of the second: what is left out
then is of third order, and the noise of the first one feigns a gain of known mean, which is taken off. The mean of
points gains at least the mean of what each has gained.

All of this is of one f. The first gradients of a path are shortened so much that theirs is another, and do not count:
the first step that does leads from the start to where they have led. Shortening moves the constant above all, so the
way along it does not count either.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from .base import Array, Evidence
from .newton_step import inverse_of


@dataclass
class PathGain:
    """Products of steps and the gradients at their ends, for all trials."""

    last: Array  # the point of the last gradient, in the coordinates of the path
    beside: Array  # the projection beside the constant, for each trial
    gradient: Array | None = None  # there, where the step from it is along it
    stddev: Array | None = None  # of its noise
    along: Array | None = None  # at most by how many gradients the step leads
    gains: list[Array] = field(default_factory=list)
    variances: list[Array] = field(default_factory=list)

    def add(self, point: Array, gradient: Array, stddev: Array, along: Array | None) -> None:
        """Count a gradient that was released at a point, with noise of this standard deviation.

        ``along`` is at most how many times this gradient the next step is, and None where it is another way.
        """
        way, d = np.einsum("tij,tj->ti", self.beside, point - self.last), point.shape[1]
        gain, size, variance = (gradient * way).sum(axis=1), np.square(way).sum(axis=1), np.square(stddev)
        if self.gradient is None or self.stddev is None or self.along is None:
            self.variances.append(variance * size)
        else:
            before, feigned = np.square(self.stddev), self.along * np.square(self.stddev)
            gain = 0.5 * (gain + (self.gradient * way).sum(axis=1) - d * feigned)
            # A gradient is in the products before and after it: (a + b)^2 <= 2 a^2 + 2 b^2.
            self.variances.append(0.5 * (variance + before) * size + 0.5 * d * feigned**2)
        self.gains.append(gain)
        self.last, self.gradient, self.stddev, self.along = point, gradient, stddev, along

    def mapped(self, change: Array, beside: Array) -> "PathGain":
        """Return the same path in other coordinates, to which a matrix for each trial leads."""
        last = np.einsum("tij,tj->ti", change, self.last)
        return PathGain(last, beside, gains=list(self.gains), variances=list(self.variances))

    def of_mean(self, weights: Array) -> tuple[Array, Array]:
        """Return about what the mean of the last points has gained at least, and the variance of its noise.

        ``weights`` are those of the last points, of shape (trials, points), and add up to one.
        """
        earlier = np.ones((len(weights), len(self.gains) - weights.shape[1]))
        tails = np.column_stack((earlier, np.cumsum(weights[:, ::-1], axis=1)[:, ::-1]))
        # One by one, so that trials of a batch add up in the same order as a single one.
        gain = sum(tail * each for tail, each in zip(tails.T, self.gains, strict=True))
        variance = sum(tail**2 * each for tail, each in zip(tails.T, self.variances, strict=True))
        return np.asarray(gain), np.asarray(variance)


def surest(
    found: Sequence[tuple[float, float]], slopes: int, dispersion: float, base_loss: float
) -> tuple[float, float]:
    """Return of estimates of a change in deviance, with their variances, the surest gain, with its standard deviation.

    They are changes from a base rate that is off by noise, which costs a chi-square of one degree of freedom of mean
    ``base_loss`` against the best constant. A fit gains from chance alone, too: a chi-square of as many degrees of
    freedom as there are slopes, times the dispersion.
    """
    more, spread = slopes * dispersion + base_loss, 2.0 * (slopes * dispersion**2 + base_loss**2)
    judged = [(change + more, math.sqrt(variance + spread)) for change, variance in found]
    return min(judged, key=lambda pair: pair[0] / pair[1])


def with_paid_deviance(judged: Evidence, of: dict[str, Array], slopes: int, square_multiplier: float) -> Evidence:
    """Return the evidence of a fit with intervals, by the estimate of the change in deviance that shows a gain surest.

    It is by the deviances that were released at the mean of the last points and of the base rate, by the gradients
    along the path to there, or by the released curvature, as was ``judged``.
    """
    gradient, way, noise = of["gradient"], of["last_way"], float(of["gradient_noise"])
    inverse, _ = inverse_of(of["gram"], float(of["gram_noise"]))
    # From the mean of the points to the fit, by the quadratic; the noise of a gradient feigns a gain along itself.
    last = float(way @ of["gram"] @ way) - 2.0 * float(gradient @ way) + 2.0 * noise**2 * float(np.trace(inverse))
    along, size = noise * math.sqrt(float(way @ way)), (float(of["gram_noise"]) * float(way @ way)) ** 2
    deviance = (float(of["squares"]) - float(of["null_squares"])) / float(of["scale"])
    stddev = square_multiplier * float(of["deviance_bound"]) / float(of["scale"])
    estimates = (
        (last + deviance, 4.0 * (stddev**2 + along**2) + size),
        (last - 2.0 * float(of["path_gain"]), 4.0 * (math.sqrt(of["path_variance"]) + along) ** 2 + size),
    )
    loss = float(of["base_loss"])
    found = surest(estimates, slopes, float(of["chance"]), loss)
    by_curvature = surest([(judged.risk_change, judged.risk_change_stddev**2)], 0, 0.0, loss)
    change, spread = min(found, by_curvature, key=lambda pair: pair[0] / pair[1])
    return replace(judged, risk_change=change, risk_change_stddev=spread)
