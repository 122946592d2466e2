"""Plans of yes/no outcomes and counts: what they expect is what fits of such tables have."""

from dataclasses import replace

import numpy as np
import pytest

from dpols import CategoricalColumn, FeatureMap, NumericColumn, PrivateLogisticRegression, PrivatePoissonRegressor
from dpols.errors import BoundsError, ParameterError
from dpols.planning.outcomes import SCORES, MadeUpOutcomes
from dpols.privacy import PrivacyBudget

COLUMNS = {"age": NumericColumn(18, 90), "hours": NumericColumn(0, 60), "region": CategoricalColumn(["n", "s", "w"])}
FEATURES = FeatureMap(COLUMNS, target=(0, 40))


@pytest.mark.parametrize("family", SCORES)
def test_accuracy_grows_with_epsilon_towards_the_best(family):
    features = FEATURES if family == "poisson" else FeatureMap(COLUMNS)  # a yes/no outcome needs no range
    table = MadeUpOutcomes.of(features, family, 3000, r_squared=0.3, seed=0)
    small, large = (table.planned(PrivacyBudget(epsilon, 1e-7), trials=4, seed=0) for epsilon in (0.03, 10.0))
    assert small.score < large.score <= large.best + 0.01
    assert large.score > large.best - 0.02


def test_features_that_explain_more_are_expected_to_predict_better():
    weak, strong = (MadeUpOutcomes.of(FEATURES, "binomial", 3000, r_squared=r, seed=0) for r in (0.05, 0.7))
    assert 0.5 < weak.score(weak.best) < 0.65 < 0.85 < strong.score(strong.best)


def test_a_plan_agrees_with_a_fit_of_the_same_rows():
    table = MadeUpOutcomes.of(FEATURES, "binomial", 4000, r_squared=0.4, seed=1)
    planned = table.planned(PrivacyBudget(1.0, 1e-6), trials=4, seed=0)
    bounds = replace(table.bounds, features=list(table.bounds.features.values()), target=None)
    model = PrivateLogisticRegression(1.0, 1e-6, bounds, random_state=0)
    model.fit(table.source.features, table.source.target)
    score = table.score(table.source.features @ np.ravel(model.coef_) + model.intercept_)
    assert score == pytest.approx(planned.score, abs=0.02)


@pytest.mark.parametrize("family", SCORES)
def test_planned_widths_are_those_of_a_fit_of_the_same_rows(family):
    table = MadeUpOutcomes.of(FEATURES, family, 20_000, r_squared=0.3, seed=1)
    none, some, all_of_them = (
        table.planned(PrivacyBudget(epsilon, 1e-6), trials=4, seed=0, intervals=True) for epsilon in (0.003, 1.0, 10.0)
    )
    assert (none.interval_share, none.interval_width) == (0.0, None)
    assert some.interval_share == all_of_them.interval_share == 1.0
    assert some.interval_width > all_of_them.interval_width
    features = list(table.bounds.features.values())
    kind = {"binomial": PrivateLogisticRegression, "poisson": PrivatePoissonRegressor}[family]
    bounds = replace(table.bounds, features=features, target=None if family == "binomial" else table.bounds.target)
    model = kind(1.0, 1e-6, bounds, inference=True, random_state=0)
    limits = model.fit(table.source.features, table.source.target).inference_.conf_int()[:-1]
    widths = (limits[:, 1] - limits[:, 0]) * table.source.features.std(axis=0)
    assert some.interval_width == pytest.approx(np.median(widths), rel=0.2)


def test_a_plan_without_intervals_says_nothing_of_them():
    table = MadeUpOutcomes.of(FEATURES, "binomial", 3000, r_squared=0.3, seed=0)
    planned = table.planned(PrivacyBudget(1.0, 1e-6), trials=2, seed=0)
    assert (planned.interval_share, planned.interval_width) == (None, None)


def test_what_cannot_be_planned_is_refused():
    with pytest.raises(ParameterError, match="family='gaussian'"):
        MadeUpOutcomes.of(FEATURES, "gaussian", 100, r_squared=0.3, seed=0)
    with pytest.raises(ParameterError, match="r_squared=1"):
        MadeUpOutcomes.of(FEATURES, "binomial", 100, r_squared=1.0, seed=0)
    with pytest.raises(BoundsError, match="public range of the target"):
        MadeUpOutcomes.of(FeatureMap(COLUMNS), "poisson", 100, r_squared=0.3, seed=0)
