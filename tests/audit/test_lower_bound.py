"""Lower bounds on epsilon: right as often as they say, near the truth, below every claim and above every wrong one.

The score is the log-likelihood ratio; its parts are compared with scipy's densities.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import multivariate_normal, wishart

from dpols import mechanisms
from dpols.algorithms import algorithm, ihm
from dpols.audit import audit, epsilon_lower_bound
from dpols.audit.evidence import error_rates
from dpols.audit.likelihood import log_likelihood_ratio
from dpols.audit.subjects import BUDGET, Subject, data_a, end_to_end, primitives
from dpols.audit.tape import run_on_tape
from dpols.audit.trade_off import curve_of_guarantee, curve_of_releases
from dpols.errors import ParameterError
from dpols.mechanisms import Channel
from dpols.privacy import GaussianRelease, MixingRelease, PrivacyBudget, delta_of
from dpols.randomness import SeededBits
from dpols.statistics import clipped_gradient, gram

SUBJECTS = {subject.name: subject for subject in (*primitives(), *end_to_end("ihm"))}


def normal_scores(mu, runs, rng):
    """Log-likelihood ratios of N(mu, 1) over N(0, 1) under the first and under the second."""
    return tuple(mu * (centre + rng.standard_normal(runs)) - mu**2 / 2 for centre in (mu, 0.0))


def test_a_bound_exceeds_the_truth_no_more_often_than_its_confidence_allows():
    rng, mu, epsilon = np.random.default_rng(0), 1.2, 1.5
    delta = delta_of([GaussianRelease(1.0 / mu)], epsilon)
    bounds = [epsilon_lower_bound(*normal_scores(mu, 2000, rng), delta, confidence=0.8).lower_bound for _ in range(400)]
    # 20% may exceed it; 25.5% would be 2.7 standard errors more.
    assert np.mean(np.array(bounds) > epsilon) < 0.255
    assert np.mean(bounds) > 0.7 * epsilon


def test_with_many_runs_a_bound_comes_near_the_truth():
    rng, mu, epsilon = np.random.default_rng(1), 1.2, 1.5
    delta = delta_of([GaussianRelease(1.0 / mu)], epsilon)
    found = epsilon_lower_bound(*normal_scores(mu, 1_000_000, rng), delta)
    assert 0.96 * epsilon < found.lower_bound <= epsilon


def test_half_of_the_runs_count():
    rng = np.random.default_rng(2)
    first, second = normal_scores(2.0, 1001, rng)
    found = epsilon_lower_bound(first, second, 1e-2)
    assert found.runs == 501
    assert found.right == np.sum(first[500:] > found.threshold)
    assert found.wrong == np.sum(second[500:] > found.threshold)


@pytest.mark.parametrize("runs", [2, 3, 10])
def test_few_runs_say_nothing(runs):
    assert epsilon_lower_bound(np.arange(runs) * 1.0, -np.arange(runs) * 1.0, 1e-2).lower_bound < 1.0


def test_equal_data_say_nothing():
    rng = np.random.default_rng(3)
    assert epsilon_lower_bound(rng.standard_normal(5000), rng.standard_normal(5000), 0.0).lower_bound < 0.1
    assert epsilon_lower_bound(np.zeros(5000), np.zeros(5000), 0.0).lower_bound < 0.1


@pytest.mark.parametrize(("first", "second"), [(1, 1), (10, 9), (0, 0)])
def test_too_few_or_unequal_runs_are_refused(first, second):
    with pytest.raises(ValueError, match="runs"):
        epsilon_lower_bound(np.zeros(first), np.zeros(second), 1e-2)


def density(call, side, trial):
    """The log density of one release by scipy, with the data of one side."""
    value, step = side.statistic.value.astype(float), side.statistic.step
    if call.mechanism == "mix_gram":
        parameter = value * step + call.shift[trial] * np.eye(len(value))
        return wishart.logpdf(call.released[trial], call.declared["rows"], parameter)
    stddev = call.declared["multiplier"] * side.statistic.sensitivity * step
    centre, released = value * step, call.released[trial]
    if call.mechanism == "symmetric_gaussian":
        upper = np.triu_indices(len(value))
        variances = np.where(upper[0] == upper[1], 1.0, 0.5) * stddev**2
        return multivariate_normal.logpdf(released[upper], centre[upper], np.diag(variances))
    return multivariate_normal.logpdf(released, centre.reshape(-1, released.size)[0], stddev**2 * np.eye(released.size))


@pytest.mark.parametrize("arithmetic", ["exact", "float"])
def test_the_score_is_the_log_likelihood_ratio(arithmetic):
    def program(rows, bits):
        channel = Channel(bits)
        hessian = gram(rows)
        certain = channel.certain_smallest_eigenvalue(hessian, multiplier=2.0, margin=0.1)
        channel.mix_gram(hessian, rows=5, floor=3.0, certain=certain)
        channel.symmetric_gaussian(hessian, multiplier=0.7)
        channel.gaussian(clipped_gradient(rows, np.array([[0.3, -0.2]]), residual_bound=0.5), multiplier=1.5)

    rows, others = Subject("", program, BUDGET, data_a()).neighbours(arithmetic)
    first = run_on_tape(program, rows, [SeededBits(0)] * 3)
    second = run_on_tape(program, others, [SeededBits(0)] * 3, following=first)
    pairs = list(zip(first.calls, second.calls, strict=True))
    expected = [sum(density(a, a, trial) - density(a, b, trial) for a, b in pairs) for trial in range(3)]
    np.testing.assert_allclose(log_likelihood_ratio(first, second), expected, rtol=1e-9)


def test_error_rates_are_those_of_the_likelihood_ratio_test():
    rng, mu = np.random.default_rng(4), 1.5
    rates = np.array(error_rates(*normal_scores(mu, 200_000, rng)))
    # The best test of N(0, 1) against N(mu, 1) has type II error Phi(Phi^-1(1 - a) - mu) at type I error a.
    inner = rates[(rates[:, 0] > 1e-3) & (rates[:, 0] < 0.999)]
    np.testing.assert_allclose(inner[:, 1], ndtr(ndtri(1.0 - inner[:, 0]) - mu), atol=0.005)
    assert rates[0, 0] < 1e-4
    assert rates[-1, 0] > 0.9999


def test_the_exact_curve_is_that_of_the_best_test():
    mu, type_one = 1.5, [1e-4, 1e-2, 0.1, 0.5]
    exact = np.array(curve_of_releases([GaussianRelease(1.0 / mu)], type_one))
    np.testing.assert_allclose(exact[:, 1], ndtr(ndtri(1.0 - exact[:, 0]) - mu), atol=2e-4)
    releases = [MixingRelease(12, 4.0), GaussianRelease(2.0)]
    for epsilon in (0.5, 3.0):
        allowed = np.array(curve_of_guarantee(epsilon, delta_of(releases, epsilon), type_one))
        assert (np.array(curve_of_releases(releases, type_one))[:, 1] >= allowed[:, 1] - 1e-12).all()


@pytest.mark.parametrize(
    ("name", "arithmetic"),
    [(name, n) for name, subject in SUBJECTS.items() for n in ("exact", "float")[: 1 if subject.exact_only else 2]],
)
def test_no_claim_is_refuted(name, arithmetic):
    subject = SUBJECTS[name]
    runs = (6000 if arithmetic == "float" else 1000) if subject.share == 1.0 else 500
    found = audit(subject, runs=runs, arithmetic=arithmetic)
    assert found.holds
    assert found.claimed_epsilon == 4.0
    assert found.lower_bound <= found.exact_epsilon <= found.claimed_epsilon * (1.0 + 1e-9)
    assert found.lower_bound > {6000: 0.55, 1000: 0.25, 500: 0.2}[runs] * found.exact_epsilon


def test_data_a_and_b_are_the_worst_for_what_they_are_meant_for():
    tight = {name: audit(SUBJECTS[name], runs=100).exact_epsilon for name in ("gaussian", "eigenvalue", "mix_gram")}
    tight["mix_rows"] = audit(SUBJECTS["mix_rows"], runs=100, arithmetic="exact").exact_epsilon
    assert tight == pytest.approx(dict.fromkeys(tight, 4.0), abs=1e-4)
    assert audit(SUBJECTS["ihm, data A, no test"], runs=100).exact_epsilon == pytest.approx(4.0, abs=1e-6)
    assert 3.2 < audit(SUBJECTS["ihm, data A"], runs=100).exact_epsilon < 3.6
    kinds = [type(r) for r in audit(SUBJECTS["ihm, data B"], runs=100).pair_releases]
    assert kinds.count(GaussianRelease) == 3


@pytest.mark.parametrize(
    ("name", "arithmetic", "runs"),
    [
        ("gaussian", "exact", 4000),
        ("gaussian", "float", 6000),
        ("eigenvalue", "exact", 4000),
        ("eigenvalue", "float", 6000),
    ],
)
def test_half_the_noise_is_found_out(name, arithmetic, runs, monkeypatch):
    normal, rounded = mechanisms.standard_normal, mechanisms.rounded_gaussian
    monkeypatch.setattr(mechanisms, "standard_normal", lambda bits, shape: 0.5 * normal(bits, shape))
    monkeypatch.setattr(
        mechanisms, "rounded_gaussian", lambda scale, shape, *, bits: rounded(scale / 2, shape, bits=bits)
    )
    assert not audit(SUBJECTS[name], runs=runs, arithmetic=arithmetic).holds


@pytest.mark.parametrize(("arithmetic", "runs"), [("exact", 2000), ("float", 4000)])
def test_a_whole_fit_with_half_of_all_its_noise_is_found_out(arithmetic, runs):
    plan = algorithm("ihm").plan(BUDGET, n_rows=9, n_features=2, sketch_size=12, n_iterations=2, residual_bound=0.1)
    halved = replace(plan, floor=plan.floor / 2, gradient_multiplier=plan.gradient_multiplier / 2)
    subject = Subject("halved", lambda rows, bits: ihm.run(rows, halved, bits), BUDGET, data_a())
    assert not audit(subject, runs=runs, arithmetic=arithmetic).holds


def test_half_the_shift_is_found_out(monkeypatch):
    mix = Channel.mix_gram
    monkeypatch.setattr(
        Channel,
        "mix_gram",
        lambda self, gram, *, rows, floor, certain=None: mix(self, gram, rows=rows, floor=floor / 2),
    )
    assert not audit(SUBJECTS["mix_gram"], runs=6000).holds


def test_a_budget_of_ones_own_is_audited():
    budget = PrivacyBudget(1.0, 0.05)
    subject = primitives(budget)[0]
    found = audit(subject, runs=20_000)
    assert found.claimed_epsilon == 1.0
    assert 0.6 < found.lower_bound <= 1.0
    assert found.delta == 0.05


def test_the_same_seed_finds_the_same():
    found = [audit(SUBJECTS["gaussian"], runs=500, seed=seed).lower_bound for seed in (1, 1, 2)]
    assert found[0] == found[1]
    assert found[0] != found[2]


def test_processes_find_what_one_process_finds():
    alone, shared = (audit(SUBJECTS["gaussian"], runs=2500, seed=1, processes=count) for count in (1, 2))
    assert alone.to_dict() | {"seconds": None} == shared.to_dict() | {"seconds": None}
    assert alone.pair_releases == shared.pair_releases


def test_all_runs_are_reported_as_they_are_made():
    done = []
    audit(SUBJECTS["gaussian"], runs=4500, progress=done.append)
    assert sum(done) == 2 * 4500


def test_a_method_in_stages_is_refused():
    with pytest.raises(ParameterError, match="ihm-adaptive"):
        end_to_end("ihm-adaptive")


@pytest.mark.parametrize("method", ["adassp", "linmix", "dp-gd", "sheffet", "logistic"])
def test_other_methods_are_audited_too(method):
    found = audit(end_to_end(method)[0], runs=3000)
    assert found.holds
    assert math.isfinite(found.exact_epsilon)
    assert found.exact_epsilon <= 4.0 * (1.0 + 1e-9)
    assert found.lower_bound > 0.3 * found.exact_epsilon
