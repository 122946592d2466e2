"""What is kept of a descent in whitened coordinates: what noise would not show, and what unseen rows cannot spoil."""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincc

from .base import Array
from .whitening import DAMPING, Space

STEP = 0.75  # of a gradient; rows that were shortened may make curvature larger than the Gram matrix says
_PENALTIES = (0.0, 0.25, 1.0, 4.0, 16.0, 64.0, 256.0)  # ridge penalties to try in turn, in units of the damping
_BLIND = 0.01  # of the damping: how much more than the gate says curvature is taken to be overestimated where the sizes
# of a table say that the second Gram matrix is mostly noise
_UNSEEN = 0.2  # of the damping, counted as curvature in every direction when a fit is compared with noise
_ROW_LOSS = (4.0, 16.0)  # noise |theta|^2 over fitted energy: one unseen row loses at most |theta|^2


@dataclass(frozen=True)
class Gate:
    """What a fit must show to be distinguished from noise."""

    false_alarms: float  # share of fits to pure noise that pass
    harm: float  # less where they would do more harm
    times_noise: float  # and so many times the energy that noise is expected to have
    pessimism: float = 0.6  # curvature is taken to be overestimated by so much of the damping when noise is judged


AGAINST_ZERO = Gate(0.03, 1e-3, 2.0)
AGAINST_CONSTANT = Gate(0.2, 1e-2, 1.0)


def responses(weights: Array, curvature: Array, true: Array) -> tuple[Array, Array]:
    """Return how closing point and moment answer to a unit of noise on each gradient, as (steps, trials, d).

    The moment is an estimate of M'X'(y - X base); ``true`` is the curvature that data has, ``curvature`` the released.
    """
    ahead = np.zeros_like(curvature)  # weight of later points
    to_point, to_moment, left = STEP * (1.0 - true), STEP * (curvature - true), 1.0 - STEP * true
    point, moment = [], []
    for weight in weights.T[::-1, :, None]:
        point.append(weight + to_point * ahead)
        moment.append(weight + to_moment * ahead)
        ahead = weight + left * ahead
    return np.array(point[::-1]), np.array(moment[::-1])


def kept(
    space: Space, weights: Array, variances: Array, closing: Array, scale: Array, rest: Array, gate: Gate, sight: Array
) -> Array:
    """Return for each trial the matrix that maps the closing point to what is kept of it.

    Weak directions are shrunk by the first penalty which leaves more than noise; nothing is kept where none does. What
    the projection ``rest`` leaves out, the constant, is kept in any case, and the rest is judged alone.
    """
    damping = 1.0 - space.curvature
    seen = space.curvature + _UNSEEN * damping
    lowered = space.values - np.minimum(1.0 / DAMPING, gate.pessimism + _BLIND / sight)[:, None] * damping
    noise = (variances * responses(weights, space.curvature, np.maximum(lowered, 0.0))[0] ** 2).sum(axis=0)
    found, undecided = np.zeros_like(space.metric), np.ones(len(closing), dtype=bool)
    for penalty in _PENALTIES:
        share = seen / (seen + penalty * damping)
        shrunk = rest * share[:, None, :] @ rest
        point = np.einsum("tij,tj->ti", shrunk, closing)
        root = np.sqrt(seen)[:, :, None] * shrunk * np.sqrt(noise)[:, None, :]
        taken = undecided & _beyond_noise((seen * point**2).sum(axis=1), root @ root.swapaxes(1, 2), scale, gate)
        found[taken] = shrunk[taken]
        undecided &= ~taken
        if not undecided.any():
            break
    return found + np.eye(closing.shape[1]) - rest


def beside_constant(space: Space) -> Array:
    """Return the projection along the intercept's direction, orthogonal to it in the released curvature."""
    constant = np.linalg.inv(space.metric)[:, :, -1]
    weighted = np.maximum(space.curvature, 1e-9) * constant
    weighted /= (weighted * constant).sum(axis=1, keepdims=True)
    return np.eye(constant.shape[1]) - constant[:, :, None] * weighted[:, None, :]


def _beyond_noise(energy: Array, noise: Array, scale: Array, gate: Gate) -> Array:
    """Whether a fit to pure noise would seldom have this much energy: the more harm it does, the more seldom.

    ``noise`` is the covariance of what noise leaves, whose trace is its energy; ``scale`` is that of residuals.
    """
    mean, spread = np.einsum("tii->t", noise), np.square(noise).sum(axis=(1, 2))
    tiny = np.finfo(float).tiny
    # Satterthwaite: a weighted sum of chi-squares is close to a multiple of one with the same two moments.
    chance = gammaincc(0.5 * mean**2 / np.maximum(spread, tiny), 0.5 * energy * mean / np.maximum(spread, tiny))
    seldom = chance < np.minimum(gate.false_alarms, gate.harm * scale / np.maximum(mean, tiny))
    return np.asarray(seldom & (energy > gate.times_noise * mean))


def against_unseen_rows(space: Space, point: Array, *, noise: float) -> Array:
    """Return the ridge regression, as a matrix for each trial, that limits what rows too few to be seen can lose.

    One row adds at most |theta|^2 to the fitted energy, and rows fewer than the noise are not seen. The least penalty
    is taken at which noise |theta|^2 is at most a fixed multiple of the fitted energy.
    """
    low, high = _ROW_LOSS
    most = min(max(low, noise), high) / noise
    root = np.sqrt(np.maximum(space.curvature, 1e-12))
    inside = space.metric.swapaxes(1, 2) @ space.metric / (root[:, :, None] * root[:, None, :])
    sizes, turn = np.linalg.eigh(inside)
    sizes = np.maximum(sizes, 0.0)
    amounts = np.einsum("tij,ti->tj", turn, root * point)

    def excess(penalty: Array) -> Array:
        return np.asarray(((sizes - most) * (amounts / (1.0 + penalty[:, None] * sizes)) ** 2).sum(axis=1))

    lower, upper = np.full(len(point), -21.0), np.full(len(point), 28.0)  # logarithms of the penalty
    for _ in range(45):
        middle = 0.5 * (lower + upper)
        high_enough = excess(np.exp(middle)) <= 0.0
        lower, upper = np.where(high_enough, lower, middle), np.where(high_enough, middle, upper)
    penalty = np.where(excess(np.zeros(len(point))) <= 0.0, 0.0, np.exp(upper))
    shares = 1.0 / (1.0 + penalty[:, None] * sizes)
    shares[excess(penalty) > 0.0] = 0.0
    return np.asarray((turn / root[:, :, None] * shares[:, None, :]) @ (turn * root[:, :, None]).swapaxes(1, 2))
