"""How often an attacker is right: the formulas against an oracle, and against attacks that are carried out."""

import math

import numpy as np
import pytest
from scipy.stats import binom, chi2, norm

from dpols.privacy import GaussianRelease, MixingRelease, Neighbours, OpaqueRelease, PrivacyBudget
from dpols.privacy.attacker import success_against, success_under


@pytest.mark.parametrize("multiplier", [0.3, 1.0, 4.0, 50.0])
def test_of_a_gaussian_release_the_best_attack_is_a_threshold(multiplier):
    """With N(0, 1) against N(1 / multiplier, 1) the best decision is by which mean is nearer."""
    right = norm.cdf(0.5 / multiplier)
    assert success_against((GaussianRelease(multiplier),)) == pytest.approx(right, rel=1e-8)


@pytest.mark.parametrize(("rows", "floor"), [(1, 3.0), (10, 5.0), (200, 60.0)])
def test_of_a_sketch_the_best_attack_is_a_threshold_on_its_length(rows, floor):
    """Chi-square against a shrunk one: the likelihood ratio is monotone in the squared length."""
    shrink = 1.0 - 1.0 / floor
    edge = rows * math.log(1.0 / shrink) / (1.0 / shrink - 1.0)
    right = 0.5 + 0.5 * (chi2.cdf(edge / shrink, rows) - chi2.cdf(edge, rows))
    assert success_against((MixingRelease(rows, floor),)) == pytest.approx(right, rel=1e-7)


def test_carried_out_attacks_come_near_and_do_not_exceed():
    rng = np.random.default_rng(0)
    releases, trials = (GaussianRelease(1.5), GaussianRelease(2.0)), 200_000
    present = rng.random(trials) < 0.5
    seen = present[:, None] / np.array([1.5, 2.0]) + rng.standard_normal((trials, 2))
    decided = seen @ (1.0 / np.array([1.5, 2.0])) > 0.5 * (1.0 / 1.5**2 + 1.0 / 2.0**2)
    right = int((decided == present).sum())
    bound = success_against(releases)
    assert binom.sf(right - 1, trials, bound) > 1e-3
    assert binom.cdf(right, trials, bound) > 1e-3


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-9), (1.0, 1e-6), (3.0, 0.01)])
def test_the_promise_is_met_with_equality_by_a_black_box(epsilon, delta):
    assert success_against((OpaqueRelease(epsilon, delta),)) == pytest.approx(
        success_under(PrivacyBudget(epsilon, delta)), rel=1e-8
    )


def test_two_steps_allow_more_than_one_and_less_than_two():
    release = (GaussianRelease(2.0),)
    one, two = success_against(release), success_against(release, relation=Neighbours.REPLACE_ONE)
    assert one < two <= 2.0 * one - 0.5 + 1e-9
