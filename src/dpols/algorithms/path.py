"""Gradient steps in whitened coordinates, and how short the gradient of a row must be."""

import math

import numpy as np

from .base import Array
from .closing import STEP
from .whitening import SMALLEST, Space, WhiteningPlan, level_of

_FIRST, _LOWEST = 0.25, 0.125  # limit of a gradient before the counts, and the lowest, in units of a typical one
_BALANCE = 5.0  # rows that may be shortened, in units of the norm of the noise on a gradient of limit 1
_REACH = 0.4  # by how much of its limit a typical gradient may change, for rows that stay below it to be distinguished
_AHEAD, _FAR = 1.5, 6.0  # how far the next point and later ones are expected to be away, in steps as long as the last
_CELLS = 1 << 18  # of tables for which it is worthwhile
_COUNT_EDGES = 2.0 ** np.concatenate((np.arange(-6.0, 3.5), np.arange(5.0, 31.0, 2.0)))  # in units of a typical one


class Path:
    """Points and gradients of all trials in whitened coordinates, relative to the start."""

    def __init__(self, plan: WhiteningPlan, space: Space, base: Array, size: Array) -> None:
        self.public, self.space, self.base, self.size = plan, space, base, size
        self.limit = np.maximum(_FIRST * size, SMALLEST)
        self.edges = np.vstack((np.zeros(len(base)), _COUNT_EDGES[:, None] * size))  # of lengths of gradients
        self.point = np.zeros_like(base)
        self.points: list[Array] = []
        self.gradients: list[Array] = []
        self.limits: list[Array] = []
        self.is_chosen = False  # whether counts have chosen the limit, so that few rows are shortened

    @property
    def theta(self) -> Array:
        """The current point in the coordinates of the rows."""
        return self.theta_at(self.point)

    def theta_at(self, point: Array) -> Array:
        """Return a point in the coordinates of the rows."""
        return np.asarray(self.base + np.einsum("tij,tj->ti", self.space.metric, point))

    def at(self, theta: Array) -> Array:
        """Move to a nearby point at which gradients can be computed, and return it."""
        self.point = np.linalg.solve(self.space.metric, (theta - self.base)[:, :, None])[:, :, 0]
        return theta

    def move(self, gradient: Array) -> None:
        """Take a step along a released gradient."""
        self.points.append(self.point)
        self.gradients.append(gradient)
        self.limits.append(self.limit)
        self.point = self.point + STEP * gradient

    def reach(self) -> Array | None:
        """Return how far points may be away for most rows to stay below the limit; None where the next is farther.

        It follows from releases and public numbers, and with it which points take a pass over all rows.
        """
        # Where the number of rows is not public, they are taken to be many; every way gives the same bits.
        n_rows = math.inf if self.public.n_rows is None else self.public.n_rows
        if not self.is_chosen or n_rows * self.public.n_features < _CELLS:
            return None
        reach = _REACH * self.limit / self.space.rms**2
        before, step = (STEP * np.linalg.norm(each, axis=1) for each in (self.gradients[-2:][0], self.gradients[-1]))
        # Steps that become shorter go on to do so; those of noise do not.
        shorter = np.minimum(step, before) / np.maximum(before, SMALLEST)
        return np.minimum(reach, _FAR * step) if (_AHEAD * step * shorter <= reach).all() else None

    def level(self, counts: Array, multiplier: float, margin: float, used: Array, mu: float) -> Array:
        """Return the limit above which few gradients lie, by counts of their lengths at the last point.

        ``mu`` is what all gradients together cost, which says how much noise a higher limit brings.
        """
        space, d = self.space, self.public.n_features
        # A row has norm at most 1, so |v| is at most the norm of M.
        most = space.longest * self.largest_residual()
        allowed = np.full(len(used), _BALANCE * math.sqrt(d) / mu)
        return level_of(counts, self.edges, multiplier, margin, allowed, used, most, self.public.n_rows)

    def largest_residual(self) -> Array:
        """Return how large a residual at the last point can be: a row has norm at most 1, and so has a target."""
        return np.asarray(1.0 + np.linalg.norm(self.theta_at(self.points[-1]), axis=1))

    def first_level(self, counts: Array, multiplier: float, used: Array, mu: float) -> Array:
        """Return the limit that the first counts choose; before it is raised to the lowest one, it is the scale."""
        self.is_chosen = True
        self.scale = np.maximum(self.level(counts, multiplier, 1.0, used, mu), SMALLEST)
        return np.maximum(_LOWEST * self.size, self.scale)
