"""Every calculator against numbers worked out by hand, on settings whose logarithms and roots are whole numbers."""

import math
import warnings

import pytest

from dpols.errors import ParameterError
from dpols.privacy import FailureAllowance, GaussianRelease, MixingRelease, PrivacyBudget, epsilon_of
from dpols.theory import (
    ClosedFormWarning,
    adassp_guarantee,
    best_iterations,
    condition_term,
    ihm_closed_form,
    ihm_guarantee,
    linmix_guarantee,
    no_clipping_ratio,
    shifted_condition_number,
    suggested_sketch_size,
)

# log(1/delta) = 16 and log(1/failure) = 25; then 9 and 4.
FIRST = {"budget": PrivacyBudget(2.0, math.exp(-16.0)), "n_features": 9, "failure_probability": math.exp(-25.0)}
SECOND = {"budget": PrivacyBudget(0.5, math.exp(-9.0)), "n_features": 36, "failure_probability": math.exp(-4.0)}


def close(value):
    return pytest.approx(value, rel=1e-9)


def without_failure(setting):
    return {name: value for name, value in setting.items() if name != "failure_probability"}


@pytest.mark.parametrize(
    ("setting", "smallest", "largest", "expected"),
    [
        (FIRST, 10.0, 16.0, 9.0),  # (2 * 9 / 4 * 6)^(2/3) = 27^(2/3)
        (FIRST, 0.0, 2000.0 / 9.0, 100.0),  # 1000^(2/3)
        (SECOND, 14.0, 50.0, 36.0),  # (0.5 * 36 / 3 * 36)^(2/3) = 216^(2/3)
        (SECOND, 50.0, 50.0, 0.0),
    ],
)
def test_the_condition_term(setting, smallest, largest, expected):
    assert condition_term(**without_failure(setting), smallest=smallest, largest=largest) == close(expected)


@pytest.mark.parametrize(
    ("setting", "smallest", "largest", "expected"),
    [
        (FIRST, 10.0, 16.0, 10.0),  # sqrt(25 * 16) / 2: the failure probability counts
        (FIRST, 0.0, 2000.0 / 9.0, 20.0),  # sqrt(100 * 16) / 2: the condition term counts
        (SECOND, 50.0, 50.0, 36.0),  # sqrt(36 * 9) / 0.5: the dimension counts
    ],
)
def test_the_multiplier_of_ihm(setting, smallest, largest, expected):
    assert ihm_guarantee(**setting, smallest=smallest, largest=largest, theta_norm=1.0).multiplier == close(expected)


@pytest.mark.parametrize(
    ("setting", "smallest", "largest", "theta_norm", "gamma", "scale", "term", "bound"),
    [
        (FIRST, 10.0, 16.0, 2.0, 10.0, 5.0, 1.0, 50.0),
        (FIRST, 100.0, 106.0, 2.0, 10.0, 5.0, 0.1, 5.0),
        (FIRST, 4.0, 10.0, 2.0, 10.0, 5.0, 2.5, 50.0),
        (SECOND, 72.0, 108.0, 3.0, 36.0, 10.0, 0.5, 180.0),
        (SECOND, 0.0, 36.0, 3.0, 36.0, 10.0, math.inf, 360.0),
    ],
)
def test_the_guarantee_of_ihm(setting, smallest, largest, theta_norm, gamma, scale, term, bound):
    found = ihm_guarantee(**setting, smallest=smallest, largest=largest, theta_norm=theta_norm)
    assert (found.multiplier, found.scale, found.eigenvalue_term) == (close(gamma), close(scale), close(term))
    assert (found.additional, found.bound) == (0.0, close(bound))


@pytest.mark.parametrize(
    ("setting", "smallest", "theta_norm", "gamma", "scale", "term", "bound"),
    [
        (FIRST, 100.0, 2.0, 30.0, 5.0, 0.3, 45.0),  # sqrt(9 * 25 * 16) / 2
        (FIRST, 15.0, 2.0, 30.0, 5.0, 2.0, 150.0),
        (SECOND, 144.0, 3.0, 72.0, 10.0, 0.5, 360.0),  # sqrt(36 * 4 * 9) / 0.5
    ],
)
def test_the_guarantee_of_adassp(setting, smallest, theta_norm, gamma, scale, term, bound):
    found = adassp_guarantee(**setting, smallest=smallest, theta_norm=theta_norm)
    assert (found.multiplier, found.scale, found.eigenvalue_term) == (close(gamma), close(scale), close(term))
    assert (found.additional, found.bound) == (0.0, close(bound))


@pytest.mark.parametrize(
    ("setting", "smallest", "loss", "theta_norm", "target_bound", "gamma", "scale", "term", "additional", "bound"),
    [
        # lambda = 15 is below gamma (1 + 1) = 20: 10 * 10 + 200 - 15 * 5.
        (FIRST, 15.0, 200.0, 2.0, 1.0, 10.0, 10.0, 200.0 / 75.0, 125.0, 225.0),
        # lambda = 40 is above it: 10 * 10 * 300 / (40 * 5).
        (FIRST, 40.0, 300.0, 2.0, 1.0, 10.0, 10.0, 1.5, 100.0, 150.0),
        # gamma (1 + 4) = 180 with a target bound of 2.
        (SECOND, 100.0, 3000.0, 3.0, 2.0, 36.0, 50.0, 3.0, 2000.0, 3800.0),
        (SECOND, 200.0, 4000.0, 3.0, 2.0, 36.0, 50.0, 2.0, 2000.0, 3600.0),
    ],
)
def test_the_guarantee_of_linmix(
    setting, smallest, loss, theta_norm, target_bound, gamma, scale, term, additional, bound
):
    found = linmix_guarantee(
        **setting, smallest_joint=smallest, loss=loss, theta_norm=theta_norm, target_bound=target_bound
    )
    assert (found.multiplier, found.scale, found.eigenvalue_term) == (close(gamma), close(scale), close(term))
    assert (found.additional, found.bound) == (close(additional), close(bound))


@pytest.mark.parametrize(
    ("smallest", "largest", "floor", "expected"),
    [(5.0, 95.0, 10.0, 10.0), (5.0, 95.0, 4.0, 19.0), (0.0, 30.0, 10.0, 4.0)],
)
def test_the_condition_number_after_the_shift(smallest, largest, floor, expected):
    assert shifted_condition_number(smallest=smallest, largest=largest, floor=floor) == close(expected)


@pytest.mark.parametrize(
    ("n_features", "sketch_size", "condition_number", "expected"),
    [(25, 100, 9.0, 1.0), (4, 64, 49.0, 1.0), (9, 81, 4.0, 0.4), (16, 16, 1.0, 1.0)],  # chi = 1/2, 1/4, 1/3, 1
)
def test_the_no_clipping_ratio(n_features, sketch_size, condition_number, expected):
    found = no_clipping_ratio(n_features=n_features, sketch_size=sketch_size, condition_number=condition_number)
    assert found == close(expected)


@pytest.mark.parametrize(
    ("n_features", "term", "expected"),
    [(50, 0.0, 300), (5, 0.0, 60), (50, 80.5, 483)],
)
def test_the_suggested_sketch_size(n_features, term, expected):
    failure = 12.0 * math.exp(-10.0 - 1e-12)  # log(4 T / failure) = 10 for T = 3
    found = suggested_sketch_size(
        n_features=n_features, n_iterations=3, failure_probability=failure, condition_term=term
    )
    assert found == expected


@pytest.mark.parametrize(
    ("setting", "smallest", "largest", "best", "suggested"),
    [
        (FIRST, 100.0, 106.0, math.log(100.0), 5),  # (2 * 100)^2 / (25 * 16)
        (FIRST, 10.0, 16.0, 1.0, 1),  # log 1 = 0
        (FIRST, 0.0, 6.0, 1.0, 1),
        (SECOND, 720.0, 756.0, math.log(400.0), 6),  # (0.5 * 720)^2 / (36 * 9)
    ],
)
def test_the_number_of_iterations(setting, smallest, largest, best, suggested):
    assert best_iterations(**setting, smallest=smallest, largest=largest) == close(best)
    assert math.ceil(best_iterations(**setting, smallest=smallest, largest=largest)) == suggested


@pytest.mark.parametrize(
    ("sketch_size", "n_iterations", "floor", "gradient"),
    # 8 log(5/delta) = 64 and epsilon = 36: floor = sqrt(k T) / (8 (sqrt(1.5625) - 1)) = sqrt(k T) / 2;
    # 2 log(4/delta) = 15.55371290: sigma / C = sqrt(T) / (3.94381958 (1.82059328 - 1)) = sqrt(T) / 3.23627184.
    [(100, 4, 10.0, 0.61799506), (400, 1, 10.0, 0.30899753), (300, 3, 15.0, 0.53519942)],
)
def test_the_closed_form_of_the_theorem(sketch_size, n_iterations, floor, gradient):
    budget = PrivacyBudget(36.0, 5.0 * math.exp(-8.0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ClosedFormWarning)
        found = ihm_closed_form(budget, sketch_size=sketch_size, n_iterations=n_iterations)
    assert found.floor == pytest.approx(floor, rel=1e-9)
    assert found.gradient_multiplier == pytest.approx(gradient, rel=1e-7)
    assert found.eigenvalue_margin == pytest.approx(4.48986448, rel=1e-7)  # sqrt(2 log(40/delta))


def test_the_closed_form_states_what_it_costs():
    budget = PrivacyBudget(1.0, 1e-6)
    found = ihm_closed_form(budget, sketch_size=60, n_iterations=3)
    assert found.valid
    assert found.exact_epsilon < found.bound_epsilon <= found.claimed_epsilon == 1.0
    failure = FailureAllowance(0.5 * math.erfc(found.eigenvalue_margin / math.sqrt(2.0)))
    steps = (MixingRelease(60, found.floor), GaussianRelease(found.gradient_multiplier)) * 3
    exact = epsilon_of((GaussianRelease(found.floor / math.sqrt(60.0)), failure, *steps), 1e-6)
    assert found.exact_epsilon == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize(
    ("epsilon", "delta", "sketch_size", "private"),
    [(1.0, 1e-6, 10, True), (10.0, 1e-12, 10, True), (100.0, 1e-12, 10, False), (100.0, 1e-3, 2, False)],
)
def test_the_closed_form_warns_where_few_sketch_rows_break_its_proof(epsilon, delta, sketch_size, private):
    with pytest.warns(ClosedFormWarning, match="not valid for so few sketch rows"):
        found = ihm_closed_form(PrivacyBudget(epsilon, delta), sketch_size=sketch_size, n_iterations=1)
    assert not found.valid
    assert found.bound_epsilon > epsilon
    assert (found.exact_epsilon <= epsilon) == private
    assert ("proof does not hold" if private else "not private as claimed") in found.note


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-6), (10.0, 1e-6), (1.0, 1e-3)])
def test_the_closed_form_does_not_warn_for_the_papers_own_sizes(epsilon, delta):
    assert ihm_closed_form(PrivacyBudget(epsilon, delta), sketch_size=100, n_iterations=3).note == ""


def test_impossible_eigenvalues_and_probabilities_are_refused():
    with pytest.raises(ParameterError, match="eigenvalues"):
        condition_term(**without_failure(FIRST), smallest=3.0, largest=2.0)
    with pytest.raises(ParameterError, match="eigenvalues"):
        shifted_condition_number(smallest=-1.0, largest=2.0, floor=1.0)
    with pytest.raises(ParameterError, match="failure_probability"):
        adassp_guarantee(**{**FIRST, "failure_probability": 1.0}, smallest=3.0, theta_norm=1.0)
