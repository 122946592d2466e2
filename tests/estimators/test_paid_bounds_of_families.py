"""Bounds that fits of yes/no outcomes and counts pay for."""

import numpy as np
import pytest

import dpols
from dpols import (
    Bounds,
    CategoricalColumn,
    FeatureMap,
    NumericColumn,
    PaidBounds,
    PrivateLogisticRegression,
    PrivatePoissonRegressor,
)
from dpols.errors import BoundsError
from dpols.side_releases import paid_bounds
from dpols.side_releases.counting import value_counts
from dpols.side_releases.paid_bounds import PASSES

pytestmark = pytest.mark.filterwarnings("ignore")
HOW = {"epsilon": 3.0, "delta": 1e-6, "random_state": 2}


def drawn(n_rows=8000):
    rng = np.random.default_rng(1)
    X = np.column_stack((rng.uniform(20.0, 80.0, n_rows), rng.normal(0.0, 3.0, n_rows)))
    eta = 0.04 * (X[:, 0] - 50.0) + 0.1 * X[:, 1]
    yes = (rng.random(n_rows) < 1.0 / (1.0 + np.exp(-eta))).astype(float)
    return X, yes, rng.poisson(np.exp(0.5 + 0.5 * eta)).astype(float)


def test_a_yes_no_outcome_costs_nothing_and_says_nothing_of_the_bounds():
    X, yes, _ = drawn()
    model = PrivateLogisticRegression(**HOW, bounds=PaidBounds()).fit(X, yes)
    np.testing.assert_allclose(model.coef_[0], [0.04, 0.1], atol=0.02)
    report = model.privacy_report_
    assert [line.what for line in report.lines][:3] == list(PASSES)
    assert report.bounds_origin == "paid"
    assert report.spent_epsilon <= 3.0 * (1.0 + 1e-9)
    assert dict(report.bounds)["target"] == "[0, 1]"
    other = PrivateLogisticRegression(**HOW, bounds=PaidBounds()).fit(X, 1.0 - yes)
    assert other.privacy_report_.bounds == report.bounds


@pytest.mark.parametrize("estimator", [PrivateLogisticRegression, PrivatePoissonRegressor])
def test_only_a_count_is_counted_beside_the_features(estimator, monkeypatch):
    X, yes, counts = drawn(500)
    logistic = estimator is PrivateLogisticRegression
    seen = []

    def watched(rows, edges):
        found = value_counts(rows, edges)
        seen.append((edges[-1] is None, round((found.sensitivity * found.step) ** 2)))
        return found

    monkeypatch.setattr(paid_bounds, "value_counts", watched)
    estimator(**HOW, bounds=PaidBounds()).fit(X, yes if logistic else counts)
    assert seen == [(logistic, 2 if logistic else 3)] * 2


def test_the_range_of_counts_starts_at_zero_and_is_found():
    X, _, counts = drawn()
    for paid in (PaidBounds(), PaidBounds(target=(0, 500))):
        model = PrivatePoissonRegressor(**HOW, bounds=paid).fit(X, counts + 3.0)
        low, high = model.target_range_
        assert low == 0.0
        assert 0.8 * np.quantile(counts + 3.0, 0.98) < high < 2.0 * counts.max()
    model = PrivatePoissonRegressor(**HOW, bounds=PaidBounds()).fit(X, counts)
    np.testing.assert_allclose(model.coef_, [0.02, 0.05], atol=0.015)
    nothing = PrivatePoissonRegressor(**HOW, bounds=PaidBounds()).fit(X, 0.0 * counts)
    assert nothing.target_range_[1] >= 1.0


@pytest.mark.extras
@pytest.mark.parametrize("inference", [False, True])
def test_categories_units_and_sources_go_with_them(inference, tmp_path):
    pandas = pytest.importorskip("pandas")
    parquet = pytest.importorskip("pyarrow.parquet")
    pyarrow = pytest.importorskip("pyarrow")
    X, yes, counts = drawn(3000)
    frame = pandas.DataFrame({"age": X[:, 0], "kind": np.where(X[:, 1] > 0.0, "b", "a"), "yes": yes, "visits": counts})
    frame["who"] = np.arange(len(frame)) // 2
    parquet.write_table(pyarrow.Table.from_pandas(frame), tmp_path / "rows.parquet")
    declared = {"age": NumericColumn(0, 150), "kind": CategoricalColumn(("a", "b"))}
    for estimator, target in ((PrivateLogisticRegression, "yes"), (PrivatePoissonRegressor, "visits")):
        more = {"classes": (0, 1)} if target == "yes" else {}
        how = {**HOW, **more, "bounds": PaidBounds(), "feature_map": FeatureMap(declared), "inference": inference}
        how |= {"unit": "who", "max_rows_per_unit": 2}
        here = estimator(**how).fit(frame[["age", "kind", "who", target]], target)
        there = estimator(**how).fit(dpols.read(tmp_path / "rows.parquet", target, ["age", "kind", "who"]))
        np.testing.assert_array_equal(here.coef_, there.coef_)
        bounds = dict(here.privacy_report_.bounds)
        assert "age, found" in bounds
        assert "kind, found" not in bounds


def test_what_is_refused():
    X, yes, counts = drawn(100)
    with pytest.raises(BoundsError, match="range of the target"):
        PrivateLogisticRegression(**HOW, bounds=PaidBounds(target=(0, 5))).fit(X, yes)
    with pytest.raises(BoundsError, match="starts at 0"):
        PrivatePoissonRegressor(**HOW, bounds=PaidBounds(target=(-1, 5))).fit(X, counts)
    with pytest.raises(BoundsError, match="starts at 0"):
        PrivatePoissonRegressor(**HOW, bounds=Bounds(features=[(0, 1)] * 2)).fit(X, counts)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"kind": np.where(yes > 0.5, "b", "a"), "yes": yes})
    only = FeatureMap({"kind": CategoricalColumn(("a", "b"))})
    with pytest.raises(BoundsError, match="nothing to find"):
        PrivateLogisticRegression(**HOW, bounds=PaidBounds(), feature_map=only).fit(frame, "yes")
