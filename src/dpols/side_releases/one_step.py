"""What statistics around a fit are computed from: one Newton step from the released theta, and the residuals there.

Beside any method, and paid from the same budget, five Gaussian releases at the theta that the method released:

1. X'X;
2. counts of absolute residuals between fixed edges, from which a clip level C with room above them is chosen;
3. the sums of the targets and of their squares;
4. the gradient X'clip(y - X theta), clipped at C;
5. the sum of the squared residuals, clipped at C.

Their multipliers are fixed in advance. The clip level depends on a release, but the ratio of noise to it does not. With
G the released matrix and g the released gradient, theta + G^-1 g is least squares but for noise of known covariance,
whatever regularisation the method used; `docs/proofs/inference.md` has the derivation.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..algorithms.base import Array
from ..algorithms.options import plan_inputs, share
from ..data.rows import BoundedRows
from ..mechanisms import Channel
from ..privacy.budget import PrivacyBudget
from ..privacy.calibration import gaussian_multiplier
from ..privacy.releases import GaussianRelease
from ..randomness import Bits
from ..statistics import clipped_gradient_and_squares, counts_and_moments, gram

DEFAULT_SHARE = 0.5  # of the squared budget
EDGES = 2.0 ** np.arange(-8.0, 1.25, 0.5)  # of absolute residuals, in units of the target's bound
QUIET = 3.0  # a count within so many standard deviations of its noise is taken for none
_PARTS = {  # of the stage's share, and what is released
    "gram_multiplier": (0.30, "X'X, for intervals"),
    "count_multiplier": (0.10, "counts of absolute residuals at the fit"),
    "moment_multiplier": (0.08, "sums of targets and of their squares"),
    "gradient_multiplier": (0.40, "gradient X'clip(y - X theta) at the fit"),
    "square_multiplier": (0.12, "sum of squared residuals at the fit"),
}
# Clip level over the lowest edge above which no residuals are seen. Where they thin out like x^-3, which is as slow as
# a variance allows, those beyond it that were not seen bias the gradient by less than half a standard deviation of its
# noise.
_ROOM = 2.0**1.5


@dataclass(frozen=True)
class OneStepPlan:
    """Every public number of the releases beside a fit."""

    n_features: int
    gram_multiplier: float
    count_multiplier: float
    moment_multiplier: float
    gradient_multiplier: float
    square_multiplier: float

    @property
    def releases(self) -> tuple[GaussianRelease, ...]:
        """What a run releases, in order."""
        return tuple(GaussianRelease(getattr(self, name)) for name in _PARTS)

    @property
    def release_names(self) -> tuple[str, ...]:
        """What each release is of, in the same order."""
        return tuple(what for _, what in _PARTS.values())


@dataclass(frozen=True)
class Measured:
    """What a run of the plan released. All arrays have a leading trial axis; nothing in it is exact."""

    releases: tuple[GaussianRelease, ...]  # as recorded
    theta: Array  # where it was measured: what the method released
    gram: Array
    counts: Array
    moments: Array  # sum of targets, sum of their squares
    residual_bound: Array
    gradient: Array
    squares: Array


def plan(budget: PrivacyBudget, *, n_rows: int, n_features: int, budget_share: float) -> OneStepPlan:
    """Give the releases a share of the squared (zero-out) budget."""
    _, n_features = plan_inputs(budget, n_rows, n_features)
    whole = gaussian_multiplier(budget) / math.sqrt(share("budget_share", budget_share))
    return OneStepPlan(n_features, **{name: whole / math.sqrt(part) for name, (part, _) in _PARTS.items()})


def run(rows: BoundedRows, plan: OneStepPlan, theta: Array, bits: Sequence[Bits]) -> Measured:
    """Follow the plan at each trial's released theta, in three passes over the data."""
    channel = Channel(bits)
    noisy_gram = channel.symmetric_gaussian(gram(rows), multiplier=plan.gram_multiplier)
    exact_counts, exact_moments = counts_and_moments(rows, theta, edges=EDGES)
    counts = channel.gaussian(exact_counts, multiplier=plan.count_multiplier)
    moments = channel.gaussian(exact_moments, multiplier=plan.moment_multiplier)
    bound = _ROOM * EDGES[quiet_edge(counts, plan.count_multiplier)]
    exact_gradient, exact_squares = clipped_gradient_and_squares(rows, theta, residual_bound=bound)
    gradient = channel.gaussian(exact_gradient, multiplier=plan.gradient_multiplier)
    squares = channel.gaussian(exact_squares, multiplier=plan.square_multiplier)[:, 0]
    recorded = tuple(release for release in channel.releases if isinstance(release, GaussianRelease))
    return Measured(recorded, theta, noisy_gram, counts, moments, bound, gradient, squares)


def quiet_edge(counts: Array, multiplier: float) -> Array:
    """Return for each trial the place of the lowest edge from which on no residuals are seen; the last if all are."""
    seen = seen_above(counts, multiplier)
    beyond = len(EDGES) - np.argmax(seen[:, ::-1], axis=1)
    return np.asarray(np.where(seen.any(axis=1), np.minimum(beyond, len(EDGES) - 1), 0))


def seen_above(counts: Array, multiplier: float) -> Array:
    """Return for each trial and edge whether the noisy number of residuals above it is more than noise."""
    above = np.cumsum(counts[:, ::-1], axis=1)[:, ::-1]
    return np.asarray(above > unseen_above(multiplier))


def unseen_above(multiplier: float) -> Array:
    """Return how many residuals above each edge would pass for noise."""
    return np.asarray(QUIET * multiplier * np.sqrt(np.arange(len(EDGES), 0.0, -1.0)))
