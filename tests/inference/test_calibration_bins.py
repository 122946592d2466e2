"""Calibration that a fit pays for: numbers, pictures, reports and what is refused."""

import numpy as np
import pytest

from dpols import Bounds, PrivateLogisticRegression, PrivatePoissonRegressor
from dpols.algorithms import algorithm
from dpols.algorithms.calibration_bins import CALIBRATION_NAME
from dpols.audit import replay
from dpols.errors import ParameterError
from dpols.privacy import PrivacyBudget, epsilon_of
from dpols.report import PrivacyReport

pytestmark = pytest.mark.filterwarnings("ignore")
ASKED = {"calibration": True}
METHODS = ("logistic", "poisson", "logistic-inference", "poisson-inference")


def drawn(n_rows=8000, seed=0, bend=0.0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n_rows, 2))
    eta = -0.5 + X @ [1.6, -0.8] + bend * X[:, 0] ** 2
    yes = (rng.random(n_rows) < 1.0 / (1.0 + np.exp(-eta))).astype(float)
    return X, yes, np.minimum(rng.poisson(np.exp(0.5 * eta + 1.0)), 15).astype(float)


def model_of(family, **more):
    how = {"epsilon": 4.0, "delta": 1e-6, "options": ASKED, "random_state": 1} | more
    if family == "binomial":
        return PrivateLogisticRegression(**how, bounds=Bounds(features=[(-1, 1)] * 2), classes=(0, 1))
    return PrivatePoissonRegressor(**how, bounds=Bounds(features=[(-1, 1)] * 2, target=(0, 15)))


@pytest.mark.parametrize("inference", [False, True])
@pytest.mark.parametrize("family", ["binomial", "poisson"])
def test_bins_hold_what_was_predicted_and_observed(family, inference):
    pytest.importorskip("pandas")
    X, yes, counts = drawn()
    y = yes if family == "binomial" else counts
    model = model_of(family, inference=inference).fit(X, y)
    predicted = model.predict_proba(X)[:, 1] if family == "binomial" else model.predict(X)
    frame = model.calibration()
    assert list(frame.columns) == ["low", "high", "rows", "predicted", "observed", "lower", "upper"]
    bins = np.digitize(predicted, frame["high"][:-1])
    covered = []
    for place, row in frame.iterrows():
        own = bins == place
        assert row["rows"] == pytest.approx(own.sum(), abs=150)
        assert row["predicted"] == pytest.approx(predicted[own].mean(), abs=0.05 * predicted.max())
        covered.append(row["lower"] <= y[own].mean() <= row["upper"])
    assert sum(covered) >= 9


@pytest.mark.parametrize("method", METHODS)
def test_it_is_paid_for_within_the_budget(method):
    budget = PrivacyBudget(1.0, 1e-6)
    plain, asked = (algorithm(method).plan(budget, n_rows=20_000, n_features=4, **options) for options in ({}, ASKED))
    assert epsilon_of(asked.releases, 1e-6) == pytest.approx(1.0, rel=1e-6)
    assert [*plain.release_names, CALIBRATION_NAME] == list(asked.release_names)
    assert asked.passes == plain.passes + 1
    multiplier = asked.releases[-1].multiplier
    assert multiplier == pytest.approx(asked.noise / np.sqrt(0.03))


@pytest.mark.parametrize("arithmetic", ["exact", "float"])
@pytest.mark.parametrize("method", METHODS)
def test_one_row_moves_no_release_by_more_than_declared(method, arithmetic):
    X, yes, _ = drawn(60)
    for row in (0, 7):
        report = replay(
            method,
            (X, yes),
            row,
            bounds=Bounds(features=[(-1, 1)] * 2, target=(0, 1)),
            budget=PrivacyBudget(1.0, 1e-6),
            arithmetic=arithmetic,
            options=ASKED,
        )
        assert report.same_path
        assert report.same_output
        assert report.accounted
        assert all(call.within for call in report.calls)


@pytest.mark.parametrize("family", ["binomial", "poisson"])
def test_reports_and_model_files_keep_it(family, tmp_path):
    X, yes, counts = drawn()
    model = model_of(family).fit(X, yes if family == "binomial" else counts)
    report = model.privacy_report_
    assert len(report.calibration) == 10
    assert "Predicted and observed outcomes, by prediction" in report.to_text()
    for page in (report.to_html(), report.to_markdown()):
        assert "Calibration" in page
    assert PrivacyReport.from_dict(report.to_dict()).calibration == report.calibration
    model.save(tmp_path / "model.json")
    assert type(model).load(tmp_path / "model.json").privacy_report_.calibration == report.calibration
    without = model_of(family, options=None).fit(X, yes if family == "binomial" else counts)
    assert "Calibration" not in without.privacy_report_.to_html()


def test_a_missing_bend_is_seen():
    X, yes, _ = drawn(30_000, bend=2.5)
    bins = model_of("binomial", epsilon=8.0).fit(X, yes).privacy_report_.calibration
    off = [each for each in bins if not each.lower <= each.predicted <= each.upper]
    assert len(off) >= 3
    right, counts, _ = drawn(30_000)
    bins = model_of("binomial", epsilon=8.0).fit(right, counts).privacy_report_.calibration
    assert sum(not each.lower <= each.predicted <= each.upper for each in bins) <= 1


def test_noise_hides_means_where_rows_are_few():
    X, yes, _ = drawn(100)
    model = model_of("binomial", epsilon=0.3).fit(X, yes)
    hidden = [each for each in model.privacy_report_.calibration if each.observed is None]
    assert hidden
    assert "hidden by the noise" in hidden[0].describe()


def test_it_can_be_drawn():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    X, yes, _ = drawn()
    ax = model_of("binomial").fit(X, yes).plot_calibration()
    assert len(ax.containers) == 10
    matplotlib.pyplot.close(ax.figure)


def test_what_is_refused():
    X, yes, _ = drawn(300)
    model = model_of("binomial", options=None).fit(X, yes)
    for asked in (model.calibration, model.plot_calibration):
        with pytest.raises(ParameterError, match="calibration"):
            asked()
    with pytest.raises(ParameterError, match="does not go with weights"):
        model_of("binomial", max_weight=2.0).fit(X, yes, sample_weight=np.ones(300))
    with pytest.raises(ParameterError, match="calibration"):
        model_of("binomial", options={"calibration": "yes"}).fit(X, yes)
