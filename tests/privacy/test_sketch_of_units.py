"""A unit of several rows in a sketch: one row with the sum of the leverages is the worst case.

The law of a sketch with the unit against the law without it is, in suitable coordinates, k copies of N(0, 1) against
N(0, 1 - p_i) for each i. The divergence of several p_i is integrated here by itself and compared with that of their
sum, which is what the accountant knows.
"""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import chdtrc, gammaln

from dpols.privacy.accountant import log_delta_by_direction
from dpols.privacy.releases import MixingRelease

NODES, WEIGHTS = np.polynomial.legendre.leggauss(200)
EPSILONS = (0.0, 0.05, 0.3, 1.0, 3.0)


def divergence(epsilon: float, k: int, p: float, q: float = 0.0) -> float:
    """E (exp(loss) - exp(epsilon))+ under N(0, 1 - p) x N(0, 1 - q), against standard normals, k copies of both.

    There the loss is k/2 log((1 - p)(1 - q)) + (p V + q W) / 2 for independent chi-squares V and W of k degrees.
    """
    start = 0.5 * k * (math.log1p(-p) + math.log1p(-q))

    def given_other(w):
        # The integral over the first chi-square in closed form, at values of the second one.
        base = start + 0.5 * q * w
        least = np.maximum(2.0 * (epsilon - base) / p, 0.0)
        return np.exp(base - 0.5 * k * math.log1p(-p)) * chdtrc(k, least * (1.0 - p)) - math.exp(epsilon) * chdtrc(
            k, least
        )

    if q == 0.0:
        return float(given_other(0.0))
    # exp(loss) is integrated under the heavier law of W / (1 - q), so that is how far the tail goes.
    longest = (k + 80.0 + 14.0 * math.sqrt(k)) / (1.0 - q)
    kink = (epsilon - start) * 2.0 / q
    ends = [0.0, *([kink] if 0.0 < kink < longest else []), longest]
    total = 0.0
    for low, high in itertools.pairwise(math.sqrt(end) for end in ends):
        root = 0.5 * (high - low) * (NODES + 1.0) + low  # of W, in which the density is smooth at 0
        w = root**2
        density = 2.0 * np.exp((k - 1.0) * np.log(root) - 0.5 * w - 0.5 * k * math.log(2.0) - gammaln(0.5 * k))
        total += 0.5 * (high - low) * float(WEIGHTS @ (given_other(w) * density))
    return total


def reverse(value: float, epsilon: float) -> float:
    """The divergence of the swapped pair at epsilon, from that of the pair at -epsilon."""
    return 1.0 - math.exp(epsilon) + math.exp(epsilon) * value


@pytest.mark.parametrize("k", [2, 3, 10, 60])
@pytest.mark.parametrize("total", [0.02, 0.2, 0.7])
@pytest.mark.parametrize("part", [0.01, 0.2, 0.5])
def test_splitting_a_leverage_never_costs_more(k, total, part):
    p, q = (1.0 - part) * total, part * total
    for epsilon in EPSILONS:
        whole, split = divergence(epsilon, k, total), divergence(epsilon, k, p, q)
        assert split <= whole * (1.0 + 1e-7) + 1e-12
        backward = [reverse(divergence(-epsilon, k, *case), epsilon) for case in ((total,), (p, q))]
        assert backward[1] <= backward[0] * (1.0 + 1e-7) + 1e-10


@given(
    k=st.integers(2, 40),
    total=st.floats(0.01, 0.95),
    part=st.floats(0.01, 0.5),
    epsilon=st.floats(-2.0, 4.0),
)
def test_splitting_a_leverage_never_costs_more_wherever_one_looks(k, total, part, epsilon):
    whole, split = divergence(epsilon, k, total), divergence(epsilon, k, (1.0 - part) * total, part * total)
    assert split <= whole * (1.0 + 1e-7) + 1e-10


@pytest.mark.parametrize("k", [2, 12, 60])
@pytest.mark.parametrize("floor", [1.5, 5.0, 40.0])
def test_the_whole_is_what_the_accountant_charges(k, floor):
    for epsilon in EPSILONS:
        removed, added = (math.exp(value) for value in log_delta_by_direction([MixingRelease(k, floor)], epsilon))
        np.testing.assert_allclose(divergence(epsilon, k, 1.0 / floor), removed, rtol=1e-6, atol=1e-12)
        np.testing.assert_allclose(reverse(divergence(-epsilon, k, 1.0 / floor), epsilon), added, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("k", [2, 4, 9, 40])
def test_the_density_ratio_of_the_losses_is_log_concave(k):
    """The step of the proof that needs two rows of a sketch; with a single row it fails."""
    assert largest_curvature(k) <= 1e-6
    assert largest_curvature(1) > 1e-3


def largest_curvature(k: int) -> float:
    """The largest second derivative of the log ratio of densities of the losses, split over whole, where positive."""
    p, q, shape = 0.3, 0.2, 0.5 * k
    start = shape * (math.log1p(-p) + math.log1p(-q))
    whole = shape * math.log1p(-p - q)

    def log_ratio(x: float) -> float:
        def part(t: float) -> float:
            return (t * (1 - t)) ** (shape - 1) * math.exp(-x * t * (1 / q - 1 / p))

        integral = quad(part, 0.0, 1.0, epsrel=1e-12, limit=300)[0]
        split = (2 * shape - 1) * math.log(x) + math.log(integral) - x / p
        return split - (shape - 1) * math.log(x + start - whole) + x / (p + q)

    step = 1e-2
    places = np.linspace(0.05, 6.0, 40)
    return max((log_ratio(x + step) - 2 * log_ratio(x) + log_ratio(x - step)) / step**2 for x in places)
