"""The certified bound on delta is above the truth, close to it, and above it whatever double precision suggests."""

import math

import oracle
import pytest
from flint import ctx
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

from dpols.algorithms import algorithm
from dpols.errors import BudgetExceeded, ParameterError
from dpols.privacy import (
    FailureAllowance,
    GaussianRelease,
    MixingRelease,
    Neighbours,
    OpaqueRelease,
    PrivacyBudget,
    contour,
    delta_of,
    gaussian_multiplier,
    least_noise,
    log_delta_of,
)
from dpols.privacy import certificate as certificate_module
from dpols.privacy.certificate import Certificate, certified_delta, certify

# epsilon, rows, floor, mu, and delta to twelve digits, the larger of the two directions
KNOWN = [
    (1.0, 60, 40.0, 0.4, 2.18087326945e-3),
    (1.0, 300, 216.7, 0.127, 2.22570245851e-14),
    (0.1, 300, 1991.0, 0.0149, 1.10712701586e-12),
    (10.0, 300, 24.2, 1.04, 3.70990434621e-16),
    (1.0, 1386, 699.4, 0.0777, 1.92853249195e-32),
    (0.5, 1782, 400.0, 0.05, 8.27269971673e-10),
]
EPSILONS = [1e-9, 1e-3, 1.0, 100.0, 1e4]
DELTAS = [0.5, 1e-2, 1e-10, 1e-100, 1e-300]


def assert_just_above(bound, truth, *, within=1e-9):
    with mp.workdps(60):
        assert truth <= mpf(bound) <= truth * (1 + mpf(within))


def exact_mu(multiplier):
    with mp.workdps(60):
        return 1 / mpf(multiplier)


@pytest.mark.parametrize(("epsilon", "rows", "floor", "mu", "delta"), KNOWN)
def test_known_answers(epsilon, rows, floor, mu, delta):
    bound = certified_delta([MixingRelease(rows, floor), GaussianRelease(1.0 / mu)], epsilon)
    assert bound == pytest.approx(delta, rel=1e-11)


@pytest.mark.parametrize(("epsilon", "rows", "floor", "mu", "delta"), KNOWN[:4])
def test_a_sketch_with_gaussian_noise_is_bounded_from_just_above(epsilon, rows, floor, mu, delta):
    multiplier = 1.0 / mu
    truth = max(oracle.joint_deltas(rows, floor, exact_mu(multiplier), epsilon))
    assert_just_above(certified_delta([MixingRelease(rows, floor), GaussianRelease(multiplier)], epsilon), truth)


@pytest.mark.parametrize("delta", [0.99, *DELTAS])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_gaussian_noise_is_bounded_from_just_above(epsilon, delta, monkeypatch):
    monkeypatch.setattr(oracle, "DIGITS", 400)  # two tails of a tiny delta agree in their first 300 digits or more
    multiplier = gaussian_multiplier(PrivacyBudget(epsilon, delta))
    truth = oracle.gaussian_delta(exact_mu(multiplier), epsilon)
    bound = certified_delta([GaussianRelease(multiplier)], epsilon)
    assert_just_above(bound, truth)
    assert bound == pytest.approx(delta, rel=1e-5)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("rows", [1, 6, 101])
def test_a_sketch_alone_is_bounded_from_just_above(rows, epsilon, delta, monkeypatch):
    monkeypatch.setattr(oracle, "DIGITS", 100)
    excess = least_noise(lambda x: [MixingRelease(rows, 1.0 + x)], PrivacyBudget(epsilon, delta))
    floor = 1.0 + excess
    if floor > 1.0:
        truth = max(oracle.sketch_deltas(rows, floor, epsilon))
        assert_just_above(certified_delta([MixingRelease(rows, floor)], epsilon), truth)


def certified_log_delta(releases, epsilon):
    """The logarithm of the bound, rounded up; it stays tight where the bound itself would underflow."""
    bound = certificate_module._bound(tuple(releases), epsilon, Neighbours.ZERO_OUT)
    with ctx.workprec(bound.precision_bits):
        return -math.inf if bound.delta == 0 else min(certificate_module._rounded_up(bound.delta.upper().log()), 0.0)


def test_both_forms_of_a_sketch_alone_agree(monkeypatch):
    releases = [MixingRelease(60, 40.0)]
    closed = certified_delta(releases, 1.0)
    monkeypatch.setattr(certificate_module, "_FEW_ROWS", 0)
    assert certified_delta(releases, 1.0) == pytest.approx(closed, rel=1e-11)


@pytest.mark.parametrize(("multiplier", "epsilon"), [(100.0, 100.0), (1e5, 1.0), (0.1, 1e4)])
def test_the_logarithm_stays_tight_where_delta_underflows(multiplier, epsilon):
    bound = certified_log_delta([GaussianRelease(multiplier)], epsilon)
    with mp.workdps(60):
        mu, eps = exact_mu(multiplier), mpf(epsilon)
        # phi(x) (M(x) - M(x + mu)) with the asymptotic series of Mills' ratio, good to 20 digits at such x
        x = eps / mu - mu / 2
        mills = [
            mp.nsum(lambda j, y=y: (-1) ** int(j) * mp.fac2(2 * j - 1) / y ** (2 * j + 1), [0, 8]) for y in (x, x + mu)
        ]
        truth = -x * x / 2 - mp.log(2 * mp.pi) / 2 + mp.log(mills[0] - mills[1])
        assert truth <= bound <= truth + mpf(2) ** -52 * abs(truth) + mpf("1e-9")
    assert certified_delta([GaussianRelease(multiplier)], epsilon) == 5e-324


def test_the_logarithm_is_that_of_the_bound():
    releases = [MixingRelease(300, 216.7), GaussianRelease(8.0)]
    assert certified_log_delta(releases, 1.0) == pytest.approx(math.log(certified_delta(releases, 1.0)), rel=1e-15)


@pytest.mark.parametrize("second_floor", [41.0, 300.0])
@pytest.mark.parametrize("multiplier", [math.inf, 30.0])
def test_several_floors_agree_with_the_accountant(second_floor, multiplier):
    releases = [MixingRelease(60, 40.0), MixingRelease(70, second_floor), GaussianRelease(multiplier)]
    for epsilon in (0.0, 1.0, 5.0):
        bound, nearly = certified_delta(releases, epsilon), delta_of(releases, epsilon)
        assert nearly * (1.0 - 1e-11) <= bound <= nearly * (1.0 + 1e-9)


@pytest.mark.parametrize(("floors", "epsilon"), [((3.0, 7.0), 1.0), ((30.0, 70.0), 0.1)])
def test_few_rows_at_several_floors_cost_less_than_all_at_the_smallest(floors, epsilon, monkeypatch):
    monkeypatch.setattr(oracle, "DIGITS", 30)
    bound = certified_delta([MixingRelease(2, floor) for floor in floors], epsilon)
    assert_just_above(bound, max(oracle.row_pair_deltas(floors, 0, epsilon)), within=0.05)
    assert bound < certified_delta([MixingRelease(4, min(floors))], epsilon)


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 2.0, 9.0])
def test_black_boxes_follow_their_definition(epsilon):
    boxes = [(1.0, 1e-3), (1.0, 1e-3), (3.0, 0.0)]
    truth = oracle.with_black_boxes(lambda e: oracle.gaussian_delta(exact_mu(2.5), e), boxes, epsilon)
    releases = [GaussianRelease(2.5), *(OpaqueRelease(*box) for box in boxes)]
    assert_just_above(certified_delta(releases, epsilon), truth)


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 4.0])
def test_black_boxes_beside_a_sketch_agree_with_the_accountant(epsilon):
    releases = [MixingRelease(120, 60.0), GaussianRelease(4.0), OpaqueRelease(1.5, 1e-6), OpaqueRelease(0.0, 1e-9)]
    bound, nearly = certified_delta(releases, epsilon), delta_of(releases, epsilon)
    assert nearly * (1.0 - 1e-11) <= bound <= nearly * (1.0 + 1e-9)


def test_failures_add_up():
    failures = [1e-7, 2e-7]
    truth = oracle.gaussian_delta(exact_mu(4.0), 1.0)
    with mp.workdps(60):
        truth += sum(map(mpf, failures))
    assert_just_above(certified_delta([GaussianRelease(4.0), *map(FailureAllowance, failures)], 1.0), truth)
    assert certified_delta([FailureAllowance(0.7), FailureAllowance(0.7)], 1.0) == 1.0


def test_replacing_a_row_is_two_steps():
    bound = certified_delta([GaussianRelease(4.0)], 2.0, relation=Neighbours.REPLACE_ONE)
    truth = (1 + mp.exp(1)) * oracle.gaussian_delta(exact_mu(4.0), 1.0)
    assert_just_above(bound, truth)
    assert certified_delta([GaussianRelease(4.0)], 2.0, relation="replace-one") == bound
    budget = PrivacyBudget(2.0, bound)
    assert certify([GaussianRelease(4.0)], budget, relation=Neighbours.REPLACE_ONE).delta_bound == bound


def test_releasing_nothing_costs_nothing():
    for releases in ([], [GaussianRelease(math.inf)], [MixingRelease(3, math.inf)]):
        assert certified_delta(releases, 0.0) == 0.0
        assert certified_log_delta(releases, 0.0) == -math.inf


def test_hardly_any_noise_costs_everything():
    for releases in (
        [GaussianRelease(1e-200)],
        [MixingRelease(500, math.nextafter(1.0, 2.0))],
        [GaussianRelease(1e-3)],
    ):
        assert certified_delta(releases, 1.0) == 1.0


def test_noise_beyond_measure_is_still_certified():
    assert 0.0 < certified_delta([GaussianRelease(1e300)], 0.0) < 1e-70
    assert certified_delta([MixingRelease(400, 1e300), GaussianRelease(1e300)], 1e-9) == 5e-324


def test_a_sketch_cannot_lose_more_than_its_greatest_loss():
    # When a row is added the loss is at most -(m / 2) log(1 - p), about 1.01; then removing alone counts.
    releases = [MixingRelease(100, 50.0), MixingRelease(2, 60.0)]
    assert certified_delta(releases, 2.0) == pytest.approx(delta_of(releases, 2.0), rel=1e-9)


def wrong_place(factor):
    right = contour._saddle
    return lambda *args: right(*args) * factor


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("_saddle", wrong_place(0.1)),
        ("_saddle", wrong_place(0.7)),
        ("_saddle", wrong_place(1.3)),
        ("_saddle", wrong_place(40.0)),
        ("_saddle", lambda *args: math.nan),
        ("_saddle", lambda *args: 1e300),
        ("_saddle", lambda *args: -0.5),
        ("_STEPS_PER_WIDTH", 0.3),
        ("_STEPS_PER_WIDTH", 1.0),
        ("_NEGLIGIBLE", -1.0),
        ("_NEGLIGIBLE", -8.0),
        ("_MOST_NODES", 2),
        ("_MOST_NODES", 12),
        ("_FIRST_PRECISION", 8),
    ],
)
def test_whatever_doubles_suggest_the_bound_holds(name, value, monkeypatch):
    cases = [([MixingRelease(rows, floor), GaussianRelease(1.0 / mu)], e, d) for e, rows, floor, mu, d in KNOWN]
    honest = [certified_delta(releases, epsilon) for releases, epsilon, _ in cases]
    monkeypatch.setattr(certificate_module if hasattr(certificate_module, name) else contour, name, value)
    for (releases, epsilon, delta), tight in zip(cases, honest, strict=True):
        bound = certified_delta(releases, epsilon)
        assert bound >= delta * (1.0 - 1e-11)
        assert bound >= tight * (1.0 - 1e-11)


@given(
    epsilon=st.floats(-6.0, 4.0).map(lambda x: 10.0**x),
    multipliers=st.lists(st.floats(-1.0, 4.0).map(lambda x: 10.0**x), max_size=3),
    sketches=st.lists(st.tuples(st.integers(1, 500), st.floats(0.05, 4.0).map(lambda x: 10.0**x)), max_size=3),
)
def test_the_bound_is_never_below_the_accountant(epsilon, multipliers, sketches):
    releases = [*map(GaussianRelease, multipliers), *(MixingRelease(*sketch) for sketch in sketches)]
    nearly = log_delta_of(releases, epsilon)
    assert certified_log_delta(releases, epsilon) >= nearly - 1e-9 * max(1.0, abs(nearly))


def test_certify_accepts_the_bound_and_nothing_below():
    releases = (MixingRelease(300, 216.7), GaussianRelease(8.0), FailureAllowance(1e-15))
    bound = certified_delta(releases, 1.0)
    assert certify(releases, PrivacyBudget(1.0, bound)) == Certificate(1.0, bound, 128, "contour integral")
    with pytest.raises(BudgetExceeded, match="proved private"):
        certify(releases, PrivacyBudget(1.0, math.nextafter(bound, 0.0)))


@pytest.mark.parametrize(("epsilon", "delta"), [(1e-3, 1e-12), (1.0, 1e-6), (10.0, 1e-100)])
def test_noise_that_is_a_hair_too_small_is_rejected(epsilon, delta):
    budget = PrivacyBudget(epsilon, delta)
    multiplier = gaussian_multiplier(budget)
    assert certify([GaussianRelease(multiplier)], budget).delta_bound <= delta
    with pytest.raises(BudgetExceeded):
        certify([GaussianRelease(multiplier * (1.0 - 1e-8))], budget)
    rows = 300
    floor = 1.0 + least_noise(lambda x: [MixingRelease(rows, 1.0 + x)], budget)
    assert certify([MixingRelease(rows, floor)], budget).delta_bound <= delta
    with pytest.raises(BudgetExceeded):
        certify([MixingRelease(rows, 1.0 + (floor - 1.0) * (1.0 - 1e-8))], budget)


@pytest.mark.parametrize("eigenvalue", ["on", "off"])
@pytest.mark.parametrize("n_features", [2, 11, 77])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-10, 1e-18])
@pytest.mark.parametrize("epsilon", [0.05, 0.5, 1.0, 4.0, 20.0])
def test_calibrated_plans_are_certified(epsilon, delta, n_features, eigenvalue):
    budget = PrivacyBudget(epsilon, delta)
    plan = algorithm("ihm").plan(budget, n_rows=100_000, n_features=n_features, eigenvalue=eigenvalue)
    certificate = certify(plan.releases, budget)
    assert certificate.delta_bound == pytest.approx(delta, rel=1e-6)
    assert (certificate.precision_bits, certificate.method) == (128, "contour integral")


def test_a_plan_takes_few_nodes():
    budget = PrivacyBudget(1.0, 1e-10)
    total = certificate_module._Total.of(algorithm("ihm").plan(budget, n_rows=100_000, n_features=10).releases)
    for loss in total.directions:
        assert contour.contour_through_saddle(loss.mu_squared, loss.terms, 1.0).nodes < 50


def test_bad_arguments_are_refused():
    for epsilon in (-1.0, math.inf, math.nan):
        with pytest.raises(ParameterError, match="epsilon"):
            certified_delta([GaussianRelease(1.0)], epsilon)
    with pytest.raises(ParameterError, match="not a release"):
        certified_delta(["gaussian"], 1.0)
    with pytest.raises(ValueError, match="neighbour"):
        certified_delta([GaussianRelease(1.0)], 1.0, relation="neighbour")
