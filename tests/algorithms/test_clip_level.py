"""The limit of gradients: what counts of their lengths show of the tail, and what is assumed of it."""

import numpy as np
import pytest

from dpols.algorithms.clip_level import HEAVY, clip_levels, late_edges, tail_allowance
from dpols.algorithms.whitening import Totals

ROWS = 100_000


def totals():
    one = np.ones(1)
    return Totals(
        count=ROWS * one,
        used=ROWS * one,
        mass=ROWS * one,
        exposure=one,
        target=0.0 * one,
        target_spread=0.1 * one,
        features=np.zeros((1, 2)),
        squares=one,
        target_squares=0.01 * one,
        noisy_target=0.0 * one,
        noisy_features=np.zeros((1, 2)),
        noise=1e-4 * one,
        mass_noise=0.0 * one,
    )


def levels_of(above, *, multiplier=20.0, noise=5.0, rule="tail", rare_may_be_large=True):
    """Limits where so many rows are longer than each edge, counts of which have little noise unless it is given."""
    longest, most = np.array([50.0]), np.array([1e4])
    edges = late_edges(np.ones(1), longest)
    numbers = np.where(edges[:, 0] < np.inf, above(edges[:, 0]), 0.0)
    counts = (numbers - np.append(numbers[1:], 0.0))[None]
    given = counts, edges, multiplier, noise, totals(), np.ones(1), longest, most, np.ones(1)
    return clip_levels(*given, rule=rule, n_rows=ROWS, rare_may_be_large=rare_may_be_large)


def levels(power, **how):
    """Limits where lengths thin out like a power of their size from 1 on."""
    return levels_of(lambda x: ROWS * np.minimum(np.maximum(x, 1e-9) ** -power, 1.0), **how)


@pytest.mark.parametrize("rule", ["tail", "auto"])
def test_a_slow_tail_that_is_seen_is_taken_to_go_on(rule):
    found = levels(1.3, rule=rule)
    assert found.power[0] == 1.5 < HEAVY
    # More than the range rule expects of rows within its limit, so that it is not that rule's.
    assert found.limit[0] > 50.0
    assert not found.by_range[0]
    assert found.score_limit[0] == found.limit[0]
    last = late_edges(np.ones(1), np.array([50.0]))[:, 0]
    last = last[last < np.inf].max()
    loss = ROWS * last**-1.3 * last**1.5 * found.limit[0] ** -0.5 / 0.5  # the integral of the numbers from there on
    assert loss <= 0.5 * 5.0 * found.limit[0]


@pytest.mark.parametrize("multiplier", [20.0, 200.0, 1000.0, 2000.0, 3500.0])
def test_an_exponential_tail_loses_no_more_than_half_of_the_noise(multiplier):
    """However large the share of rows is beyond which noise hides them; and it is not taken for a slow one."""
    found = levels_of(lambda x: ROWS * np.exp(-2.0 * x), multiplier=multiplier, noise=2000.0)
    assert found.power[0] > HEAVY
    loss = ROWS * np.exp(-2.0 * found.limit[0]) / 2.0
    assert loss <= 0.5 * 2000.0 * found.limit[0]
    assert found.limit[0] < 50.0


def test_a_fast_tail_is_taken_for_the_fourth_power():
    found = levels(6.0)
    assert found.power[0] == 4.0
    assert found.limit[0] < 20.0


def test_counts_have_tails_of_their_own():
    found = levels(1.6, rare_may_be_large=False)
    assert found.power[0] >= 4.0 > HEAVY
    assert found.limit[0] == 128.0  # an edge above which none are seen


def test_rows_that_counts_show_above_the_range_rules_limit_raise_it():
    """Up to the first edge above which none are seen, and no further than the longest row that there can be."""
    within = levels_of(lambda x: ROWS * (x < 20.0), rule="range")
    assert within.by_range[0]
    assert within.limit[0] == 50.0
    beyond = levels_of(lambda x: np.where(x < 20.0, ROWS, 3_000.0 * (x < 120.0)), rule="range")
    assert beyond.by_range[0]
    assert beyond.limit[0] >= 120.0
    assert beyond.limit[0] <= 240.0
    hidden = levels_of(lambda x: np.where(x < 20.0, ROWS, 30.0 * (x < 120.0)), rule="range")
    assert hidden.limit[0] == 50.0


@pytest.mark.parametrize(("noise", "n_features"), [(0.5, 2), (0.5, 10), (5.0, 4)])
def test_the_tail_rule_allows_for_the_chance_of_which_rows_are_shortened(noise, n_features):
    """Sums of excesses over 1 of rows that thin out like the fourth power, so many that half of the noise is lost."""
    rng = np.random.default_rng(0)
    rows = 3.0 * 0.5 * noise  # above the limit, so that (x - 1)+ sums to half of the noise in the mean
    counts = rng.poisson(rows, 20_000)
    directions = rng.standard_normal((counts.sum(), n_features))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    lost = (rng.random(counts.sum()) ** -0.25 - 1.0) * directions[:, 0]
    sums = np.bincount(np.repeat(np.arange(len(counts)), counts), weights=lost, minlength=len(counts))
    chance = tail_allowance(noise, n_features) - 0.25
    assert chance * noise**2 == pytest.approx(np.var(sums), rel=0.15)


@pytest.mark.parametrize(
    ("above", "doubtful"),
    [
        (lambda x: ROWS * np.minimum(np.maximum(x, 1e-9) ** -2.0, 1.0), True),
        (lambda x: ROWS * np.minimum(np.maximum(x, 1e-9) ** -6.0, 1.0), False),
        (lambda x: ROWS * np.exp(-2.0 * x), False),
        (lambda x: ROWS * np.exp(-(x**2)), False),
    ],
    ids=["second power", "sixth power", "exponential", "normal"],
)
def test_counts_that_fall_more_slowly_than_assumed_are_noticed(above, doubtful):
    assert levels_of(above).doubtful[0] == doubtful
    assert not levels_of(above, rule="range").doubtful[0]
