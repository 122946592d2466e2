"""Plans for weighted fits: the noise that the mean weight makes, and rows that count for fewer."""

import numpy as np
import pytest

from dpols import plan_accuracy
from dpols.errors import ParameterError
from dpols.planning.samples import weighted
from dpols.planning.shapes import Shape
from dpols.randomness import streams


def planned(n=20_000, **assumed):
    plan = plan_accuracy(n=n, d=3, epsilon=0.3, methods=["whitened"], intervals=False, trials=12, **assumed)
    return plan.rows[0]


def test_weights_have_the_mean_that_is_asked_for_and_nothing_to_do_with_rows():
    sample = weighted(Shape(2).sample(30_000, streams(0, 1)[0]), 0.3)
    assert sample.shares.mean() == pytest.approx(0.3, abs=1e-3)
    assert (sample.shares >= 0.0).all()
    assert (sample.shares <= 1.0).all()
    assert abs(np.corrcoef(sample.shares, sample.source.target)[0, 1]) < 0.03


def test_errors_grow_as_the_mean_weight_falls():
    plain, light = planned(), planned(mean_weight=0.25)
    assert 2.0 < light.excess_risk / plain.excess_risk < 40.0  # noise is four times as large for the rows' sums
    assert light.coefficient_error > 1.2 * plain.coefficient_error


def test_rows_of_different_weight_count_for_fewer():
    sample = Shape(2).sample(5_000, streams(0, 1)[0])
    light = weighted(sample, 0.5)
    shares = light.shares
    effective = shares.sum() ** 2 / (shares @ shares)
    ratio = light.sampling_variances() / sample.sampling_variances()
    np.testing.assert_allclose(ratio, 5_000 / effective, rtol=0.1)


@pytest.mark.parametrize("bad", [0.0, -1, 1.5, "half", True, float("nan")])
def test_a_mean_weight_that_is_none_is_refused(bad):
    with pytest.raises(ParameterError, match="mean_weight="):
        planned(mean_weight=bad)


def test_the_plan_says_that_rows_are_weighted():
    plan = plan_accuracy(n=2_000, d=2, epsilon=1.0, methods=["whitened"], intervals=False, trials=2, mean_weight=0.5)
    assert "weights have a mean of 0.5 of the largest" in plan.assumed
