"""Whether a fit will have intervals, before it spends: by public numbers, and as simulated fits have them."""

import warnings

import numpy as np
import pytest

from dpols import Bounds, PrivateLinearRegression
from dpols.errors import InferenceWarning
from dpols.planning import interval_outlook, plan_accuracy


@pytest.mark.parametrize(
    ("n", "d", "epsilon", "level"),
    [
        (500, 2, 0.3, "none"),
        (500, 10, 1.0, "none"),
        (5_000, 30, 1.0, "none"),
        (1_000, 5, 1.0, "some"),
        (500, 2, 3.0, "all"),
        (5_000, 10, 1.0, "all"),
    ],
)
def test_the_outlook_agrees_with_simulated_fits(n, d, epsilon, level):
    outlook = interval_outlook(n=n, d=d, epsilon=epsilon)
    assert outlook.level == level
    (row,) = plan_accuracy(n=n, d=d, epsilon=epsilon, methods="whitened", trials=4, condition=2.0).rows
    limits = {"none": (0.0, 0.1), "some": (0.2, 1.0), "all": (0.9, 1.0)}[level]
    assert limits[0] <= row.interval_share <= limits[1]


@pytest.mark.parametrize(("n", "d", "epsilon"), [(500, 10, 1.0), (20_000, 30, 0.3)])
def test_what_is_named_as_enough_is_enough(n, d, epsilon):
    outlook = interval_outlook(n=n, d=d, epsilon=epsilon, delta=1e-6)
    for better in ({"n": n, "epsilon": outlook.enough_epsilon}, {"n": outlook.enough_rows, "epsilon": epsilon}):
        (row,) = plan_accuracy(d=d, delta=1e-6, methods="whitened", trials=4, condition=2.0, **better).rows
        assert row.interval_share > 0.9


def test_units_count_as_units():
    per_row, per_unit = (interval_outlook(n=5_000, d=5, epsilon=1.0, max_rows_per_unit=m) for m in (1, 20))
    assert (per_row.level, per_unit.level) == ("all", "none")
    assert "at epsilon = 1, with units of up to 20 rows, these rows are few for 6 coefficients" in per_unit.words
    assert "250" not in per_unit.words  # there may be more units, or fewer of more rows each
    assert per_unit.enough_rows > 10_000


def fitted(n, epsilon=1.0, **given):
    X = np.random.default_rng(0).uniform(-1.0, 1.0, (n, 10))
    bounds = Bounds(features=[(-1.0, 1.0)] * 10, target=(-1.0, 1.0))
    return PrivateLinearRegression(epsilon, 1e-6, bounds, random_state=0, **given).fit(X, 0.5 * X[:, 0])


def test_a_fit_that_will_print_none_says_so_before_it_spends(tmp_path):
    from dpols.ledger import BudgetLedger

    ledger = BudgetLedger(tmp_path / "ledger", epsilon=3.0, delta=1e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("error", InferenceWarning)
        with pytest.raises(InferenceWarning, match="probably no coefficient will have an interval: 500 rows at"):
            fitted(500, inference=True, ledger=ledger)
        assert ledger.entries() == ()
        fitted(500)  # without intervals nothing is lost
        fitted(20_000, inference=True)
    with pytest.warns(InferenceWarning, match=r"About epsilon = [\d.]+, or [\d,]+ rows, or fewer features would do"):
        model = fitted(500, inference=True)
    assert np.isnan(model.inference_.standard_errors()).all()
