"""The paper's own accounting: its published numbers, its bounds, and how much exact accounting saves."""

import math

import numpy as np
import pytest
from scipy.special import ndtr

from dpols.errors import CalibrationError
from dpols.privacy import FailureAllowance, GaussianRelease, MixingRelease, PrivacyBudget, epsilon_of, paper
from dpols.privacy.gap import gap


def mixing_renyi(alpha, rows, floor):
    """phi(alpha; rows, floor), the Renyi divergence of a sketch at an order 1 < alpha < floor."""
    excess, share = 1.0 / (floor - 1.0), (alpha - 1.0) / (floor - 1.0)
    return 0.5 * rows * (gap(excess) + excess * gap(-share) / share)


def renyi_to_epsilon(divergence, alpha, delta):
    """The conversion of Canonne et al., Proposition 12."""
    order = alpha - 1.0
    return divergence - math.log1p(1.0 / order) - (math.log1p(order) + math.log(delta)) / order


def mixing_epsilon_bound(rows, floor, delta):
    """The closed-form bound on eps~ at eigenvalue noise floor / sqrt(rows)."""
    return rows / (2.0 * floor**2) + 2.0 * math.sqrt(2.0 * rows * math.log(4.0 / delta)) / floor


@pytest.mark.parametrize(
    ("n_rows", "n_features", "floor", "gradient_noise", "cost"),
    [
        (404, 13, 216.7, 13.64, 0.538),
        (657, 99, 532.3, 14.35, 0.547),
        (41157, 9, 371.2, 19.59, 0.568),
        (524925, 77, 699.4, 22.30, 0.577),
    ],
)
def test_the_papers_calibration_and_what_it_really_costs(n_rows, n_features, floor, gradient_noise, cost):
    delta, n_iterations = 1.0 / n_rows**2, 3
    sketch_size = int(6 * max(n_features, math.log(40 * n_iterations * n_rows**2)))
    found = paper.ihm_noise(PrivacyBudget(1.0, delta), sketch_size=sketch_size, n_iterations=n_iterations)
    assert found == (pytest.approx(floor, abs=0.05), pytest.approx(gradient_noise, abs=0.005))
    margin = paper.eigenvalue_margin(delta, delta / 10)
    assert margin == pytest.approx(math.sqrt(2.0 * math.log(40.0 / delta)), rel=1e-12)
    releases = [
        GaussianRelease(found[0] / math.sqrt(sketch_size)),
        FailureAllowance(float(ndtr(-margin))),
        MixingRelease(sketch_size * n_iterations, found[0]),
        *[GaussianRelease(found[1])] * n_iterations,
    ]
    assert epsilon_of(releases, delta) == pytest.approx(cost, abs=0.0005)


def test_the_eigenvalue_margin_takes_the_parts_of_each_method():
    # IHM: max(4 / delta, 4 / varrho); LinMix: max(3 / delta, 2 / varrho)
    assert paper.eigenvalue_margin(1e-6, 1e-2) == math.sqrt(2.0 * math.log(4e6))
    assert paper.eigenvalue_margin(1e-2, 1e-6) == math.sqrt(2.0 * math.log(4e6))
    assert paper.eigenvalue_margin(1e-6, 1e-2, parts=3, failure_parts=2) == math.sqrt(2.0 * math.log(3e6))
    assert paper.eigenvalue_margin(1e-2, 1e-6, parts=3, failure_parts=2) == math.sqrt(2.0 * math.log(2e6))


@pytest.mark.parametrize(("alpha", "rows", "floor"), [(1.5, 60, 40.0), (30.0, 7, 40.0), (2.4, 300, 2.5)])
def test_the_renyi_divergence_is_that_of_two_normal_laws(alpha, rows, floor):
    x = np.linspace(-60.0, 60.0, 400_001)
    variance = 1.0 - 1.0 / floor
    log_ratio = alpha * (-0.5 * x**2) + (1.0 - alpha) * (-0.5 * x**2 / variance - 0.5 * math.log(variance))
    integral = np.exp(log_ratio).sum() * (120.0 / 400_000) / math.sqrt(2.0 * math.pi)
    assert mixing_renyi(alpha, rows, floor) == pytest.approx(rows * math.log(integral) / (alpha - 1.0), rel=1e-8)


@pytest.mark.parametrize("rows", [1, 60, 10**6, 10**12])
@pytest.mark.parametrize("excess", [1.5, 200.0, 1e5, 1e12])
@pytest.mark.parametrize("delta", [0.5, 1e-6, 1e-300])
def test_the_renyi_bound_is_least_over_all_orders(rows, excess, delta):
    def bound(position):
        order = excess / (1.0 + math.exp(-position))
        alpha, floor = 1.0 + order, 1.0 + excess
        if not (1.0 + 1e-6 < alpha < floor):
            return math.inf
        return renyi_to_epsilon(mixing_renyi(alpha, rows, floor), alpha, delta)

    least = max(min(map(bound, np.linspace(-30.0, 25.0, 2000))), 0.0)
    found = paper.mixing_renyi_epsilon(rows, 1.0 + excess, delta)
    assert found <= least * (1.0 + 1e-6)
    assert found >= least * (1.0 - 1e-3)


@pytest.mark.parametrize("rows", [1, 12, 300, 5000])
@pytest.mark.parametrize("floor", [1.2, 2.5, 40.0, 700.0, 1e5])
@pytest.mark.parametrize("delta", [0.1, 1e-6, 1e-30, 1e-200])
def test_renyi_bounds_are_never_below_exact(rows, floor, delta):
    sketch = MixingRelease(rows, floor)
    assert paper.mixing_renyi_epsilon(rows, floor, delta) >= epsilon_of([sketch], delta)
    multiplier = 0.3 * floor / math.sqrt(rows)
    both = min(
        renyi_to_epsilon(mixing_renyi(alpha, rows, floor) + alpha / (2.0 * multiplier**2), alpha, delta)
        for alpha in 1.0 + (floor - 1.0) * np.geomspace(1e-4, 0.999, 60)
    )
    assert max(both, 0.0) >= epsilon_of([sketch, GaussianRelease(multiplier)], delta)


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
@pytest.mark.parametrize("rows", [300, 1386, 20_000])
def test_the_closed_form_bound_holds_for_hundreds_of_rows(rows, delta):
    for epsilon in (0.1, 0.5, 1.0):
        floor = paper.mixing_floor(PrivacyBudget(epsilon, delta), sketch_size=rows, parts=4)
        exact = epsilon_of(
            [GaussianRelease(floor / math.sqrt(rows)), FailureAllowance(delta / 4), MixingRelease(rows, floor)], delta
        )
        assert mixing_epsilon_bound(rows, floor, delta) >= exact


@pytest.mark.parametrize(
    ("rows", "floor", "delta"), [(3, 40.0, 1e-30), (6, 5.0, 1e-12), (1, 1000.0, 1e-12), (1386, 2.5, 1e-6)]
)
def test_the_closed_form_bound_fails_for_few_rows_or_a_low_floor(rows, floor, delta):
    releases = [GaussianRelease(floor / math.sqrt(rows)), FailureAllowance(delta / 4), MixingRelease(rows, floor)]
    assert mixing_epsilon_bound(rows, floor, delta) < epsilon_of(releases, delta)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("delta", [1e-4, 1e-10])
@pytest.mark.parametrize("sketch_size", [12, 60, 462])
def test_a_budget_split_by_the_paper_costs_less_than_it_says(epsilon, delta, sketch_size):
    budget, n_iterations = PrivacyBudget(epsilon, delta), 3
    floor, gradient_noise = paper.ihm_noise(budget, sketch_size=sketch_size, n_iterations=n_iterations)
    releases = [
        GaussianRelease(floor / math.sqrt(sketch_size)),
        FailureAllowance(delta / 4),
        MixingRelease(sketch_size * n_iterations, floor),
        *[GaussianRelease(gradient_noise)] * n_iterations,
    ]
    assert epsilon_of(releases, delta) < epsilon


def test_floors_are_the_least_that_meet_the_budget():
    budget = PrivacyBudget(0.5, 1e-8)
    floor = paper.mixing_floor(budget, sketch_size=100, sketches=3, parts=4)
    for factor, meets in ((1.0, True), (1.0 - 1e-9, False)):
        noise = factor * floor / 10.0
        cost = paper.mixing_epsilon(300, factor * floor, 1e-8, eigenvalue_noise=noise, parts=4)
        assert (cost <= 0.5) is meets
    floor = paper.sketch_floor(budget, rows=300)
    assert (
        paper.mixing_renyi_epsilon(300, floor, 1e-8) <= 0.5 < paper.mixing_renyi_epsilon(300, floor * (1 - 1e-9), 1e-8)
    )
    assert paper.sketch_floor(PrivacyBudget(1e4, 1e-8), rows=2) == math.nextafter(2.5, 3.0)


def test_the_closed_form_of_the_theorem():
    budget = PrivacyBudget(1.0, 1e-6)
    floor, gradient_noise, margin = paper.ihm_closed_form(
        budget, sketch_size=200, n_iterations=3, failure_probability=1e-3
    )
    log_term = 8.0 * math.log(5e6)
    assert floor == pytest.approx(math.sqrt(600 / log_term) / (math.sqrt(1.0 + 1.0 / log_term) - 1.0), rel=1e-12)
    log_term = 2.0 * math.log(4e6)
    assert gradient_noise == pytest.approx(math.sqrt(3 / log_term) / (math.sqrt(1.0 + 1.0 / log_term) - 1.0), rel=1e-12)
    assert margin == paper.eigenvalue_margin(1e-6, 1e-3)


def test_hopeless_budgets_are_refused():
    with pytest.raises(CalibrationError, match="no floor"):
        paper.mixing_floor(PrivacyBudget(1e-80, 1e-6), sketch_size=60)
