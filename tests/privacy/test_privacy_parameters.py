"""Every number is checked where it enters: a ParameterError, which is a ValueError, names the argument."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpols.errors import CalibrationError, ParameterError
from dpols.privacy import (
    FailureAllowance,
    GaussianRelease,
    MixingRelease,
    Neighbours,
    OpaqueRelease,
    PrivacyBudget,
    delta_of,
    epsilon_of,
    log_delta_by_direction,
    log_delta_of,
)

NOT_NUMBERS = ["1.0", b"1", None, True, np.bool_(True), 1.0 + 0.0j, [1.0], math.nan, np.float32("nan"), 10**400]
RELEASES = [GaussianRelease(2.0)]
ARGUMENTS = {
    "budget's epsilon": ("epsilon", lambda x: PrivacyBudget(x, 1e-6), [0.0, -1.0, math.inf]),
    "budget's delta": ("delta", lambda x: PrivacyBudget(1.0, x), [0.0, -0.1, 1.0, 2.0, math.inf]),
    "multiplier": ("multiplier", GaussianRelease, [0.0, -1.0, -math.inf]),
    "floor": ("floor", lambda x: MixingRelease(3, x), [1.0, 0.5, 0.0, -2.0, -math.inf]),
    "rows": ("rows", lambda x: MixingRelease(x, 3.0), [0, -1, 1.5, math.inf, 2**54]),
    "probability": ("probability", FailureAllowance, [-1e-9, 1.0000001, math.inf]),
    "box's epsilon": ("epsilon", OpaqueRelease, [-0.1, math.inf]),
    "box's delta": ("delta", lambda x: OpaqueRelease(1.0, x), [-0.1, 1.0, math.inf]),
    "delta_of": ("epsilon", lambda x: delta_of(RELEASES, x), [-0.1, math.inf]),
    "log_delta_of": ("epsilon", lambda x: log_delta_of(RELEASES, x), [-0.1, math.inf]),
    "log_delta_by_direction": ("epsilon", lambda x: log_delta_by_direction(RELEASES, x), [-0.1, math.inf]),
    "epsilon_of": ("delta", lambda x: epsilon_of(RELEASES, x), [0.0, 1.0, -1.0, math.inf]),
    "gaussian multiplier": ("multiplier", lambda x: delta_of([GaussianRelease(x)], 1.0), [0.0, -1.0]),
    "gaussian epsilon": ("epsilon", lambda x: delta_of([GaussianRelease(1.0)], x), [-1.0, math.inf]),
}


@pytest.mark.parametrize(
    ("case", "value"), [(case, value) for case, (_, _, bad) in ARGUMENTS.items() for value in (*bad, *NOT_NUMBERS)]
)
def test_a_bad_number_is_refused_by_name(case, value):
    name, call, _ = ARGUMENTS[case]
    with pytest.raises(ParameterError, match=name) as caught:
        call(value)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("number", [2, np.int64(2), np.float32(2.0), np.float64(2.0), Fraction(2)])
def test_every_kind_of_real_number_is_stored_as_a_float(number):
    assert GaussianRelease(number) == GaussianRelease(2.0)
    assert type(GaussianRelease(number).multiplier) is float
    assert type(PrivacyBudget(number, 0.1).epsilon) is float
    release = MixingRelease(number, number)
    assert (type(release.rows), type(release.floor)) == (int, float)
    assert release == MixingRelease(2, 2.0)
    assert delta_of([release], number) == delta_of([MixingRelease(2, 2.0)], 2.0)


@pytest.mark.parametrize("call", [delta_of, log_delta_of, epsilon_of])
def test_an_unknown_relation_is_refused_by_name(call):
    for relation in ("add-one", "", None, 1):
        with pytest.raises(ParameterError, match=r"relation.*'zero-out' or 'replace-one'"):
            call(RELEASES, 0.5, relation=relation)
    with pytest.raises(ParameterError, match="relation"):
        PrivacyBudget(1.0, 1e-6).for_zero_out("add-one")


@pytest.mark.parametrize("release", ["gaussian", None, 1.0, GaussianRelease])
def test_what_is_no_release_is_refused(release):
    with pytest.raises(ParameterError, match="not a release"):
        delta_of([release], 1.0)


def test_a_budget_too_small_for_two_steps_is_refused():
    with pytest.raises(CalibrationError, match="two zero-out steps"):
        PrivacyBudget(1.0, 5e-324).for_zero_out(Neighbours.REPLACE_ONE)


def test_the_error_says_what_the_rule_is():
    with pytest.raises(ParameterError, match=r"^floor=0.5 must exceed 1\.$"):
        MixingRelease(3, 0.5)
    with pytest.raises(ParameterError, match=r"^multiplier='loud' must be a number, without quotation marks\.$"):
        GaussianRelease("loud")
