"""Each method's published calibration, written out again from its source."""

import math

import numpy as np
import pytest
from method_problems import bounded, easy_problem, plan_of
from scipy.optimize import brentq
from scipy.special import ndtr

from dpols.algorithms import ALGORITHMS
from dpols.privacy import PrivacyBudget, epsilon_of
from dpols.privacy.paper import mixing_epsilon, mixing_renyi_epsilon
from dpols.randomness import streams

SETTINGS = [(0.5, 1e-5, 5), (2.0, 1e-8, 12)]
every_setting = pytest.mark.parametrize(("epsilon", "delta", "d"), SETTINGS)


def analytic_gaussian(epsilon, delta):
    def excess(mu):
        return ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu) - delta

    return 1.0 / brentq(excess, 1e-4, 100.0, xtol=1e-15)


def paper_plan(method, epsilon, delta, d, **options):
    return plan_of(method, epsilon, delta, accounting="paper", n_features=d, **options)


@every_setting
def test_adassp_gives_each_release_a_third(epsilon, delta, d):
    plan = paper_plan("adassp", epsilon, delta, d)
    expected = analytic_gaussian(epsilon / 3, delta / 3)
    assert {plan.eigenvalue_multiplier, plan.gram_multiplier, plan.target_multiplier} == {plan.gram_multiplier}
    assert plan.gram_multiplier == pytest.approx(expected, rel=1e-6)


@every_setting
def test_adassp_has_the_classical_constants_of_its_listing(epsilon, delta, d):
    failure = 0.01
    plan = paper_plan("adassp", epsilon, delta, d, noise="classical", failure_probability=failure)
    log_term = math.log(6.0 / delta)
    assert plan.gram_multiplier == pytest.approx(math.sqrt(2.0 * log_term) / (epsilon / 3.0), rel=1e-12)
    assert plan.eigenvalue_margin == pytest.approx(math.sqrt(2.0 * log_term), rel=1e-12)
    ridge = math.sqrt(2.0 * d * log_term * math.log(2.0 * d**2 / failure)) / (epsilon / 3.0)
    assert plan.ridge_target == pytest.approx(ridge, rel=1e-12)


def test_adassp_takes_analytic_noise_where_the_classical_constants_would_not_do():
    plan = paper_plan("adassp", 900.0, 1e-6, 5, noise="classical")
    assert plan.gram_multiplier > math.sqrt(2.0 * math.log(6e6)) / 300.0
    assert epsilon_of(plan.releases, 1e-6) <= 900.0


@every_setting
def test_dp_gd_has_the_papers_noise_for_replaced_rows(epsilon, delta, d):
    n, T, C = 20_000, 4, 0.7
    plan = paper_plan("dp-gd", epsilon, delta, d, n_iterations=T, norm_bound=C)
    log_term = math.log(1.0 / delta)
    sigma = math.sqrt(2.0 * T) * C / (n * (math.sqrt(epsilon + log_term) - math.sqrt(log_term)))
    assert plan.gradient_multiplier * C / n == pytest.approx(sigma, rel=1e-9)
    # At half the standard deviation, which is what zero-out neighbours need, the bound still holds.
    rho = T / (2.0 * (0.5 * plan.gradient_multiplier) ** 2)
    assert rho + 2.0 * math.sqrt(rho * log_term) == pytest.approx(epsilon, rel=1e-9)


@every_setting
def test_linmix_finds_the_floor_of_the_mixing_formula(epsilon, delta, d):
    failure = 0.02
    plan = paper_plan("linmix", epsilon, delta, d, failure_probability=failure)
    k = max(int(2.5 * max(d, math.log(2.0 / failure))), d + 1)
    assert plan.sketch_size == k
    assert plan.eigenvalue_multiplier == pytest.approx(plan.floor / math.sqrt(k), rel=1e-12)
    assert mixing_epsilon(k, plan.floor, delta, eigenvalue_noise=plan.eigenvalue_multiplier) <= epsilon
    smaller = 0.999 * plan.floor
    assert mixing_epsilon(k, smaller, delta, eigenvalue_noise=smaller / math.sqrt(k)) > epsilon
    assert plan.eigenvalue_margin == pytest.approx(math.sqrt(2.0 * math.log(max(3.0 / delta, 100.0))), rel=1e-12)


@every_setting
def test_dynamic_linmix_keeps_the_eigenvalue_noise_that_it_used(epsilon, delta, d):
    plan = paper_plan("linmix-dynamic", epsilon, delta, d, failure_probability=0.02)
    fixed = paper_plan("linmix", epsilon, delta, d, failure_probability=0.02)
    assert plan.outcomes[0].rows == fixed.sketch_size
    assert plan.outcomes[0].floor == pytest.approx(fixed.floor, rel=1e-6)
    assert plan.eigenvalue_multiplier == pytest.approx(fixed.eigenvalue_multiplier, rel=1e-12)
    assert plan.eigenvalue_margin == pytest.approx(math.sqrt(8.0 * math.log(3.0 / delta)), rel=1e-12)
    test_cost = math.sqrt(2.0 * math.log(3.75 / delta)) / plan.eigenvalue_multiplier
    for sketch in plan.outcomes:
        assert test_cost + mixing_renyi_epsilon(sketch.rows, sketch.floor, delta / 3.0) <= epsilon


@every_setting
@pytest.mark.parametrize("accounting", ["exact", "paper"])
def test_dynamic_linmix_compares_eigenvalues_in_units_of_the_squared_row_norm(epsilon, delta, d, accounting):
    plan = plan_of("linmix-dynamic", epsilon, delta, accounting=accounting, n_features=d, n_rows=10**6)
    assert len(plan.outcomes) > 5
    floors = [sketch.floor for sketch in plan.outcomes]
    assert floors == sorted(floors)
    for previous, sketch in zip(plan.outcomes, plan.outcomes[1:], strict=False):
        assert plan.choose(2.0 * sketch.floor) == sketch
        assert plan.choose(2.0 * sketch.floor * (1.0 - 1e-12)) == previous
        assert sketch.rows <= math.ceil(1.25 * previous.rows)
    assert plan.choose(0.0) == plan.outcomes[0]
    assert plan.choose(2e6) == plan.outcomes[-1]


def test_dynamic_linmix_adds_no_shift_where_the_eigenvalue_suffices_and_some_where_not():
    X, y = easy_problem()
    plan = plan_of("linmix-dynamic", 10.0)
    rich = ALGORITHMS["linmix-dynamic"].run(bounded(X, y), plan, streams(0, 1))
    assert rich.transcript["shift"][0] == 0.0
    assert rich.transcript["sketch_size"][0] > 10 * plan.outcomes[0].rows
    poor = ALGORITHMS["linmix-dynamic"].run(bounded(X, np.zeros(len(y))), plan, streams(0, 1))
    assert poor.transcript["sketch_size"][0] == plan.outcomes[0].rows
    certain = poor.transcript["certain_smallest_eigenvalue"][0]
    assert poor.transcript["shift"][0] == pytest.approx(2.0 * plan.outcomes[0].floor - certain, rel=1e-12)


@every_setting
def test_sheffet_appends_the_published_ridge(epsilon, delta, d):
    k = 50
    plan = paper_plan("sheffet", epsilon, delta, d, sketch_size=k)
    L = math.log(8.0 / delta)
    w_squared = 8.0 * 2.0 / epsilon * (math.sqrt(2.0 * k * L) + 2.0 * L)  # B^2 = 2
    fit = ALGORITHMS["sheffet"].run(bounded(*easy_problem(200, d)), plan, streams(0, 1))
    assert fit.transcript["shift"][0] == pytest.approx(w_squared, rel=1e-9)


@every_setting
def test_the_published_calibrations_are_looser_than_exact_accounting(epsilon, delta, d):
    """At least a third of epsilon is given away; Boosted AdaSSP's own accounting is exact already."""
    for method in ("ihm", "linmix", "adassp", "dp-gd", "sheffet"):
        plan = paper_plan(method, epsilon, delta, d)
        assert epsilon_of(plan.releases, delta) < 0.67 * epsilon
    boosted = paper_plan("boosted-adassp", epsilon, delta, d)
    assert 0.999 * epsilon < epsilon_of(boosted.releases, delta) <= epsilon


def test_adaptive_ihm_chooses_more_iterations_for_a_larger_eigenvalue_and_more_rows_for_a_worse_condition():
    plan = plan_of("ihm-adaptive", 1.0, 1e-6, n_rows=10**6, n_features=5)
    few, many = plan.choose(10.0, 20.0), plan.choose(50_000.0, 50_500.0)
    assert few.n_iterations == plan.iterations[0] < many.n_iterations == plan.iterations[-1]
    good, bad = plan.choose(5_000.0, 5_500.0), plan.choose(0.0, 900_000.0)
    assert good.sketch_size == plan.sketch_sizes[0] < bad.sketch_size
    assert plan.choose(-1e9, -2e9) == plan.choose(0.0, 0.0)
    assert plan.choose(1e12, 1e12) == plan.choose(200_000.0, 10**6)


def test_the_sketch_size_follows_the_papers_formula_where_that_is_asked_for():
    # log(1/delta) = 16: g^X = (2 * 9 / 4 * 6000)^(2/3) = 27000^(2/3) = 900, so that k = 6 * 900.
    budget = PrivacyBudget(2.0, math.exp(-16.0))
    plan = ALGORITHMS["ihm-adaptive"].plan(budget, n_rows=10**6, n_features=9, sketch_rule="condition-term")
    chosen = plan.choose(1000.0, 7000.0)
    assert chosen.sketch_size == next(size for size in plan.sketch_sizes if size >= 5400)
    assert chosen.sketch_size < 1.25 * 5400 + 1
    # Without any spread the other parts of the formula decide: 6 log(4 T / failure).
    level = plan.choose(1000.0, 1000.0)
    wanted = int(6.0 * (math.log(4.0 * level.n_iterations) + 16.0 + math.log(10.0)))
    assert level.sketch_size == next(size for size in plan.sketch_sizes if size >= wanted)
    # The list reaches what the widest spread of n rows of norm 1 asks for.
    assert plan.choose(0.0, 1e6).sketch_size == plan.sketch_sizes[-1] >= 6 * (2.0 * 9 / 4.0 * 1e6) ** (2 / 3) - 1
    steps = [after / before for before, after in zip(plan.sketch_sizes, plan.sketch_sizes[1:], strict=False)]
    assert max(steps) < 1.27


@pytest.mark.parametrize(("epsilon", "n_rows", "n_features"), [(1e9, 10**9, 300), (1e-6, 1, 1), (1.0, 3, 20)])
def test_the_list_of_sketch_sizes_ends(epsilon, n_rows, n_features):
    budget = PrivacyBudget(epsilon, 1e-10)
    plan = ALGORITHMS["ihm-adaptive"].plan(budget, n_rows=n_rows, n_features=n_features, sketch_rule="condition-term")
    assert n_features <= plan.sketch_sizes[0] <= plan.sketch_sizes[-1] <= 2**20
    assert len(plan.sketch_sizes) < 100
