"""Estimators and sketches that share a ledger: every fit is charged, before it touches the data."""

import json
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from dpols import Bounds, BudgetLedger, PaidBounds, PrivateLinearRegression, release_sketch
from dpols.errors import BudgetExceeded, DataError, LedgerError, NotPrivateWarning, ParameterError
from dpols.privacy import OpaqueRelease, epsilon_of
from dpols.verification import verify_report

BOUNDS = Bounds(features=[(-1, 1)] * 2, target=(-1, 1))
X = np.random.default_rng(3).uniform(-1, 1, size=(900, 2))
Y = X @ [0.5, -0.3]


@pytest.fixture
def ledger(tmp_path):
    return BudgetLedger(tmp_path / "ledger", epsilon=3.0, delta=1e-6)


def model(ledger, epsilon=0.2, **parameters):
    return PrivateLinearRegression(epsilon, 1e-8, BOUNDS, ledger=ledger, **parameters)


class Untouchable:
    """A source of rows that must not be read."""

    n_rows, n_features, columns = 900, 2, None

    def total(self, *_):
        raise AssertionError("the data was touched")


@pytest.mark.parametrize("method", ["ihm", "adassp", "whitened"])
def test_the_entry_holds_what_the_fit_recorded(ledger, method):
    fitted = model(ledger, method=method).fit(X, Y)
    (entry,) = ledger.entries()
    assert fitted.ledger_entry_ == entry
    assert sorted(map(repr, entry.releases)) == sorted(map(repr, fitted.privacy_report_.releases))
    assert f"{method} fit at (epsilon=0.2, delta=1e-08), zero-out" == entry.what
    assert 0.0 < ledger.state().used < 0.02
    assert model(None).fit(X, Y).ledger_entry_ is None


def test_methods_that_plan_in_stages_are_charged_as_black_boxes(tmp_path):
    ledger = BudgetLedger(tmp_path / "ledger", epsilon=1.0, delta=1e-6, black_boxes=(0.5, 5e-8))
    model(ledger, epsilon=0.5, method="ihm-adaptive").fit(X, Y)
    (entry,) = ledger.entries()
    assert all(isinstance(release, OpaqueRelease) for release in entry.releases)
    assert entry.charge.epsilon == pytest.approx(0.5)
    assert entry.charge.gaussian == 0.0
    with pytest.raises(BudgetExceeded):
        model(ledger, epsilon=0.5, method="ihm-adaptive").fit(X, Y)


def test_a_fit_over_the_cap_is_refused_before_the_data_is_touched(ledger):
    model(ledger).fit(X, Y)
    large = model(ledger, epsilon=4.0)
    with pytest.raises(BudgetExceeded, match=r"fit at .* would take .* of the ledger"):
        large.fit(Untouchable())
    assert not hasattr(large, "coef_")
    assert len(ledger.entries()) == 1
    with pytest.raises(AssertionError, match="the data was touched"):
        model(ledger).fit(Untouchable())
    assert [entry.status for entry in ledger.entries()] == ["spent", "void"]


def test_what_is_refused_for_another_reason_is_not_charged(ledger):
    with pytest.raises(ParameterError):
        model(ledger, epsilon=-1.0).fit(X, Y)
    with pytest.raises(DataError):
        model(ledger).fit(X[:, 0], Y)
    with pytest.raises(ValueError, match="one value for each row"):
        model(ledger).fit(X, Y[:-1])
    with pytest.raises(ParameterError, match="ledger=7"):
        model(7).fit(X, Y)
    with pytest.raises(LedgerError, match="there is no ledger"):
        model(str(ledger.path) + "-none").fit(X, Y)
    assert ledger.entries() == ()


def test_one_fit_may_ask_for_all_that_the_ledger_has(tmp_path):
    ledger = BudgetLedger(tmp_path / "ledger", epsilon=1.0, delta=1e-8)
    model(ledger, epsilon=1.0).fit(X, Y)
    with pytest.raises(BudgetExceeded):
        model(ledger, epsilon=0.01).fit(X, Y)


def test_many_fits_of_both_relations_stay_within_the_budget(ledger):
    for _ in range(4):
        model(ledger, epsilon=0.5).fit(X, Y)
        model(ledger, epsilon=0.5, neighbours="replace-one", method="adassp").fit(X, Y)
    releases = [release for entry in ledger.entries() for release in entry.releases]
    assert epsilon_of(releases, 1e-6) <= 3.0
    assert ledger.state().used > 0.1


def test_all_that_a_fit_buys_beside_its_method_is_charged_too(ledger):
    people = np.arange(len(X)) // 3
    bought = PrivateLinearRegression(
        0.5,
        1e-8,
        PaidBounds(),
        inference=True,
        count_clipped=True,
        max_rows_per_unit=3,
        ledger=ledger,
    ).fit(X, Y, groups=people)
    (entry,) = ledger.entries()
    assert (
        entry.what == "whitened-inference fit at (epsilon=0.5, delta=1e-08), zero-out, unit of groups of up to 3 rows"
    )
    assert sorted(map(repr, entry.releases)) == sorted(map(repr, bought.privacy_report_.releases))
    assert len(entry.releases) > 5
    report = json.loads(bought.privacy_report_.to_json())
    assert all(finding.holds for finding in verify_report(report, ledger=ledger))


def test_a_seeded_fit_is_charged_all_the_same(ledger):
    model(ledger, random_state=0).fit(X, Y)
    assert len(ledger.entries()) == 1


def test_clones_copies_and_paths_share_the_ledger(ledger):
    original = model(ledger)
    assert clone(original).ledger is ledger
    for copied in (original, clone(original), pickle.loads(pickle.dumps(original)), model(str(ledger.path))):
        copied.fit(X, Y)
    make_pipeline(FunctionTransformer(), clone(original)).fit(X, Y)
    PrivateLinearRegression(0.2, 1e-8, BOUNDS, method="adassp", ledger=ledger).fit(X, Y)
    assert len(ledger.entries()) == 6


@pytest.mark.filterwarnings("ignore::dpols.errors.NotPrivateWarning")
def test_cross_validation_charges_every_fit(ledger):
    cross_val_score(model(ledger), X, Y, cv=4)
    assert len(ledger.entries()) == 4


def test_grid_search_in_two_processes_charges_every_fit(ledger):
    search = GridSearchCV(model(ledger), {"fit_intercept": [True, False], "epsilon": [0.1, 0.2]}, cv=3, n_jobs=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        search.fit(X, Y)
    assert len(ledger.entries()) == 2 * 2 * 3 + 1
    ledger.check()


@pytest.mark.filterwarnings("ignore::dpols.errors.NotPrivateWarning")
def test_a_cross_validation_stops_at_the_cap(tmp_path):
    ledger = BudgetLedger(tmp_path / "ledger", epsilon=1.0, delta=1e-6, failure_share=0.0)
    greedy = model(ledger, epsilon=0.45, method="adassp")
    affordable = int(1.0 // greedy.fit(X, Y).ledger_entry_.charge.gaussian)
    with pytest.raises(BudgetExceeded):
        cross_val_score(greedy, X, Y, cv=affordable + 1, error_score="raise")
    assert len(ledger.entries()) == affordable


def test_score_warns_that_it_is_not_private_and_that_no_ledger_is_charged(ledger):
    fitted = model(ledger).fit(X, Y)
    with pytest.warns(NotPrivateWarning, match="score is not private.*no ledger is charged"):
        fitted.score(X, Y)
    assert len(ledger.entries()) == 1


def test_sketches_are_charged(ledger):
    arguments = {"bounds": Bounds(features=[(-1, 1)] * 2), "epsilon": 0.3, "delta": 1e-8, "rows": 20}
    sketch = release_sketch(X, ledger=ledger, **arguments)
    (entry,) = ledger.entries()
    assert entry.releases == tuple(line.release for line in sketch.report.lines for _ in range(line.times))
    assert entry.what == "sketch of 20 rows at (epsilon=0.3, delta=1e-08), zero-out"
    with pytest.raises(BudgetExceeded):
        release_sketch(X, ledger=ledger, **arguments | {"epsilon": 4.0})
    assert len(ledger.entries()) == 1
