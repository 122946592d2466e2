"""Formulas for yes/no outcomes and counts: what is declared of the outcome, and what only linear models have."""

import numpy as np
import pytest

import dpols
from dpols import Bounds, CategoricalColumn, Constraints, FeatureMap, NumericColumn, PrivatePoissonRegressor
from dpols.errors import BoundsError, ParameterError

pandas = pytest.importorskip("pandas")
pytestmark = pytest.mark.extras

BUDGET = {"epsilon": 4.0, "delta": 1e-6, "random_state": 0}
LABELS = {"classes": ("no", "yes")}
COUNTS = Bounds(features={"x": (0, 1)}, target=(1, 20))


def rows():
    rng = np.random.default_rng(2)
    x = rng.uniform(0, 1, 4000)
    late = np.where(rng.random(4000) < 1.0 / (1.0 + np.exp(2.0 - 4.0 * x)), "yes", "no")
    return pandas.DataFrame({"x": x, "late": late, "visits": np.clip(rng.poisson(np.exp(1.0 + x)), 1, 20)})


@pytest.mark.parametrize(
    "declared",
    [
        Bounds(features={"x": (0, 1)}),
        Bounds(features={"x": (0, 1)}, target=(5, 9)),  # of another target
        FeatureMap({"x": NumericColumn(0, 1)}),
        FeatureMap({"x": NumericColumn(0, 1)}, target=(1, 20), target_name="visits"),
        FeatureMap({"x": NumericColumn(0, 1)}, target=(1, 20), target_name="visits", target_transform="log"),
        FeatureMap({"x": NumericColumn(0, 1), "late": CategoricalColumn(["no", "yes"])}),
    ],
)
def test_a_yes_or_no_outcome_may_be_declared_in_any_way(declared):
    model = dpols.logit("late ~ x", rows(), bounds=declared, **LABELS, **BUDGET)
    assert model.coef_[0] == pytest.approx([4.0], abs=0.8)
    assert (model.feature_map_.target_name, model.feature_map_.target) == ("late", (0.0, 1.0))
    assert model.privacy_report_.target_name == "late"


def test_a_transform_of_the_outcome_is_refused():
    declared = FeatureMap({"x": NumericColumn(0, 1)}, target=(1, 20), target_name="visits", target_transform="log")
    with pytest.raises(BoundsError, match=r"log\(visits\).* leave the transform out"):
        dpols.poisson("log(visits) ~ x", rows(), bounds=COUNTS, **BUDGET)
    with pytest.raises(BoundsError, match="leave the transform out"):
        PrivatePoissonRegressor(feature_map=declared, **BUDGET).fit(rows(), "visits")
    with pytest.raises(BoundsError, match="leave the transform out"):
        dpols.PrivateLogisticRegression(feature_map=declared, **LABELS, **BUDGET).fit(rows(), "late")
    with pytest.raises(ParameterError, match="yes/no outcome, which has no transform"):
        dpols.logit("log(late) ~ x", rows(), bounds=COUNTS, **LABELS, **BUDGET)
    own = FeatureMap({"x": NumericColumn(0, 1)}, target=(1, 2), target_name="late", target_transform="log")
    with pytest.raises(ParameterError, match="yes/no outcome, which has no transform"):
        dpols.logit("late ~ x", rows(), bounds=own, **LABELS, **BUDGET)


@pytest.mark.parametrize("fit", [dpols.logit, dpols.poisson])
@pytest.mark.parametrize("only", [{"constraints": Constraints(lower=0)}, {"method": "ihm"}])
def test_what_only_linear_models_have_is_refused(fit, only):
    with pytest.raises(ParameterError, match=rf"{next(iter(only))} is for linear models.*dpols\.ols"):
        fit("visits ~ x", rows(), bounds=COUNTS, **only, **BUDGET)
