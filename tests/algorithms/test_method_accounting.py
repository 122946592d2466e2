"""What each method costs: no more than was asked for, hardly less, and never more noise for more budget."""

import itertools
import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from method_problems import ACCOUNTED, METHODS, PUBLISHED, bounded, easy_problem, plan_of

from dpols.algorithms import ALGORITHMS, StagedPlan, follows, planned_epsilon, spent_epsilon
from dpols.algorithms.base import Fit
from dpols.errors import BudgetExceeded
from dpols.privacy import GaussianRelease, MixingRelease, Neighbours, PrivacyBudget, epsilon_of, gaussian_multiplier
from dpols.randomness import streams

STAGED = tuple(method for method in METHODS if isinstance(plan_of(method), StagedPlan))
every_method = pytest.mark.parametrize("method", METHODS)
every_accounting = pytest.mark.parametrize("accounting", ["exact", "paper"])
every_accounted = pytest.mark.parametrize(("method", "accounting"), ACCOUNTED, ids="-".join)
# The choices that a plan would otherwise make from epsilon and delta.
FIXED = {
    "ihm": ({"sketch_size": 60, "eigenvalue": "on"}, {"sketch_size": 60, "eigenvalue": "off"}),
    "linmix": ({"sketch_size": 40, "eigenvalue": "on"}, {"sketch_size": 40, "eigenvalue": "off"}),
    "linmix-dynamic": ({"sketch_size": 40},),
    "sheffet": ({"sketch_size": 40},),
    "adassp": ({}, {"noise": "classical"}),
}


def outcomes_of(plan):
    """The releases of the second stage of every outcome that a staged plan lists."""
    if hasattr(plan, "outcomes"):
        return [(outcome,) for outcome in plan.outcomes]
    return [plan.outcome(t, k).releases for t in plan.iterations for k in plan.sketch_sizes]


def first_stage_of(plan):
    return plan.test if hasattr(plan, "test") else plan.estimates


def test_methods_that_choose_from_a_release_are_staged():
    assert set(STAGED) == {"linmix-dynamic", "ihm-adaptive"}


@every_method
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-5), (1.0, 1e-6), (10.0, 1e-9)])
def test_what_a_run_recorded_costs_nearly_all_of_the_budget(method, epsilon, delta):
    X, y = easy_problem(2000, 5)
    plan = plan_of(method, epsilon, delta, n_rows=2000)
    fit = ALGORITHMS[method].run(bounded(X, y), plan, streams(0, 3))
    assert follows(plan, fit)
    assert 0.9 * epsilon <= spent_epsilon(plan, fit, delta) <= epsilon
    for stages in fit.stages or ():
        for recorded, budget in zip(stages, plan.stage_budgets, strict=True):
            assert 0.9 * budget.epsilon <= epsilon_of(recorded, budget.delta) <= budget.epsilon


@pytest.mark.parametrize("method", PUBLISHED)
@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 10.0, 100.0, 1e3])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
def test_the_published_accounting_never_costs_more_than_it_claims(method, epsilon, delta):
    for options in FIXED.get(method, ({},)):
        if options.get("eigenvalue") == "off":
            continue
        plan = plan_of(method, epsilon, delta, accounting="paper", **options)
        releases = [plan.releases]
        if isinstance(plan, StagedPlan):
            releases = [first_stage_of(plan) + second for second in outcomes_of(plan)]
        assert all(epsilon_of(outcome, delta) <= epsilon for outcome in releases)


@pytest.mark.parametrize("method", ["linmix", "sheffet", "ihm"])
@pytest.mark.parametrize("sketch_size", [6, 20, 200, 5000])
@pytest.mark.parametrize("epsilon", [0.1, 3.0, 30.0])
def test_the_published_accounting_of_sketches_holds_for_every_size(method, sketch_size, epsilon):
    plan = plan_of(method, epsilon, 1e-8, accounting="paper", sketch_size=sketch_size)
    assert epsilon_of(plan.releases, 1e-8) <= epsilon


@every_accounting
@pytest.mark.parametrize("method", STAGED)
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (3.0, 1e-3), (50.0, 1e-9)])
def test_every_outcome_of_a_stage_stays_within_its_part_and_the_parts_within_the_whole(
    method, accounting, epsilon, delta
):
    plan = plan_of(method, epsilon, delta, accounting=accounting)
    first, second = plan.stage_budgets
    assert first.epsilon + second.epsilon <= epsilon
    assert first.delta + second.delta <= delta
    assert epsilon_of(first_stage_of(plan), first.delta) <= first.epsilon
    costs = [epsilon_of(outcome, second.delta) for outcome in outcomes_of(plan)]
    assert max(costs) <= second.epsilon
    if accounting == "exact":
        assert min(costs) >= 0.99 * second.epsilon
    assert 0.999 * epsilon <= planned_epsilon(plan, delta) <= epsilon


@pytest.mark.parametrize("method", STAGED)
def test_a_staged_fit_reports_what_was_reserved_not_what_joint_accounting_would_find(method):
    X, y = easy_problem(2000, 5)
    plan = plan_of(method, n_rows=2000)
    fit = ALGORITHMS[method].run(bounded(X, y), plan, streams(0, 1))
    assert epsilon_of(fit.releases, 1e-6) < 0.95 * spent_epsilon(plan, fit, 1e-6)
    assert spent_epsilon(plan, fit, 1e-6) == planned_epsilon(plan, 1e-6)
    assert spent_epsilon(plan, fit, 0.9e-6) == math.inf


@pytest.mark.parametrize("method", STAGED)
@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_a_staged_plan_under_replace_one_neighbours_costs_what_was_asked(method, epsilon):
    asked = PrivacyBudget(epsilon, 1e-6)
    zero_out = asked.for_zero_out(Neighbours.REPLACE_ONE)
    plan = plan_of(method, zero_out.epsilon, zero_out.delta)
    cost = planned_epsilon(plan, asked.delta, relation=Neighbours.REPLACE_ONE)
    assert 0.999 * epsilon <= cost <= epsilon * (1.0 + 1e-12)


@pytest.mark.parametrize("method", STAGED)
def test_a_stage_that_exceeds_its_part_is_refused_and_not_an_outcome(method):
    X, y = easy_problem(2000, 5)
    plan = plan_of(method, n_rows=2000)
    fit = ALGORITHMS[method].run(bounded(X, y), plan, streams(0, 1))
    first, second = fit.stages[0]
    cheaper_noise = (GaussianRelease(0.5 * first[0].multiplier), *first[1:])
    for stages in ((cheaper_noise, second), (first, second * 2)):
        wrong = Fit(fit.theta, fit.releases, {}, None, (stages,))
        assert not follows(plan, wrong)
        with pytest.raises(BudgetExceeded):
            spent_epsilon(plan, wrong, 1e-6)
    assert not follows(plan, Fit(fit.theta, fit.releases))


def test_trials_of_a_staged_plan_may_choose_differently_and_each_is_recorded():
    X, y = easy_problem(20_000, 5)
    plan = plan_of("linmix-dynamic", epsilon=3.0)
    fit = ALGORITHMS["linmix-dynamic"].run(bounded(X, y), plan, streams(1, 30))
    sizes = [stages[1][0].rows for stages in fit.stages]
    assert sizes == fit.transcript["sketch_size"].tolist()
    assert len(set(sizes)) > 1
    assert min(sizes) > plan.outcomes[0].rows
    assert follows(plan, fit)


def noise_of(plan):
    """Every multiplier and floor of a plan, in order."""
    if isinstance(plan, StagedPlan):
        releases = first_stage_of(plan) + tuple(itertools.chain(*outcomes_of(plan)[:6]))
    else:
        releases = plan.releases
    noisy = [r for r in releases if isinstance(r, GaussianRelease | MixingRelease)]
    return [r.multiplier if isinstance(r, GaussianRelease) else r.floor for r in noisy]


@every_accounted
@settings(max_examples=12)
@given(
    epsilons=st.tuples(st.floats(-2.0, 2.0), st.floats(0.0, 2.0)),
    deltas=st.tuples(st.floats(-12.0, -3.0), st.floats(0.0, 4.0)),
)
def test_more_epsilon_or_delta_never_means_more_noise(method, accounting, epsilons, deltas):
    less = (10.0 ** epsilons[0], 10.0 ** deltas[0])
    more = (10.0 ** sum(epsilons), min(10.0 ** sum(deltas), 1e-3))
    assume(more[1] >= less[1])
    for options in FIXED.get(method, ({},)):
        if accounting == "paper" and options.get("eigenvalue") == "off":
            continue
        if accounting == "exact" and "noise" in options:
            continue
        if method == "ihm-adaptive":
            little, much = (plan_of(method, *budget, accounting=accounting) for budget in (less, more))
            pairs = [(little.eigenvalue_multiplier, much.eigenvalue_multiplier)]
            for choice in ((2, 100), (4, 400)):
                pairs += zip(noise_of(little.outcome(*choice)), noise_of(much.outcome(*choice)), strict=False)
        else:
            little, much = (plan_of(method, *budget, accounting=accounting, **options) for budget in (less, more))
            pairs = list(zip(noise_of(little), noise_of(much), strict=False))
        assert pairs
        assert all(b <= a * (1.0 + 1e-8) for a, b in pairs)


def test_the_published_boosted_program_would_fail_that():
    """It uses mu itself for the noise standard deviation."""
    published = [1.0 / gaussian_multiplier(PrivacyBudget(epsilon, 1e-6)) for epsilon in (0.1, 1.0, 10.0)]
    assert published == sorted(published)
    ours = [plan_of("boosted-adassp", epsilon).gradient_multiplier for epsilon in (0.1, 1.0, 10.0)]
    assert ours == sorted(ours, reverse=True)


@pytest.mark.parametrize("n_iterations", [1, 10, 100])
def test_boosting_composes_over_its_rounds(n_iterations):
    plan = plan_of("boosted-adassp", 1.0, 1e-6, n_iterations=n_iterations)
    assert len(plan.releases) == 2 + n_iterations
    mu_squared = sum(release.multiplier**-2.0 for release in plan.releases)
    assert math.sqrt(mu_squared) == pytest.approx(1.0 / gaussian_multiplier(PrivacyBudget(1.0, 1e-6)), rel=1e-6)
    assert plan.gradient_multiplier == pytest.approx(plan.gram_multiplier * math.sqrt(n_iterations), rel=1e-12)
