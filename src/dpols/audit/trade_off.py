"""Trade-off curves: the least type II error of any test at a given type I error."""

from collections.abc import Sequence

import numpy as np

from ..privacy import Release, delta_of

Curve = list[tuple[float, float]]


def curve_of_releases(releases: Sequence[Release], type_one: Sequence[float]) -> Curve:
    """Return the exact curve of releases, in the worse of both directions, from the deltas of all epsilons.

    (epsilon, delta)-privacy allows no test below max(1 - delta - e^epsilon a, e^-epsilon (1 - delta - a)) at type I
    error a; releases are as good as all their pairs together (Dong, Roth and Su, 2022, Proposition 2.12).
    """
    pairs = [(epsilon, delta_of(releases, epsilon)) for epsilon in np.linspace(0.0, 12.0, 241)]
    return [(a, max(_allowed(a, epsilon, delta) for epsilon, delta in pairs)) for a in type_one]


def curve_of_guarantee(epsilon: float, delta: float, type_one: Sequence[float]) -> Curve:
    """Return the curve below which (epsilon, delta)-privacy allows no test."""
    return [(a, _allowed(a, epsilon, delta)) for a in type_one]


def _allowed(type_one: float, epsilon: float, delta: float) -> float:
    steep = 1.0 - delta - np.exp(epsilon) * type_one
    return float(max(0.0, steep, np.exp(-epsilon) * (1.0 - delta - type_one)))
