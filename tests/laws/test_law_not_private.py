"""Numbers that were read from the data are not forgotten, whichever way they take from bounds to an output."""

import copy
import dataclasses
import json
import pickle

import numpy as np
import pytest

from dpols import (
    Bounds,
    BudgetLedger,
    CategoricalColumn,
    FeatureMap,
    NumericColumn,
    PaidBounds,
    PrivateGridSearch,
    PrivateLinearRegression,
    PrivatePoissonRegressor,
    release_sketch,
    summary_col,
)
from dpols.data.bounds import ReadFromData
from dpols.verification import verify_file

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(2000, 2))
Y = X @ [0.3, -0.4]
RAW = [[a, b] for a, b in X.tolist()]
BUDGET = {"epsilon": 1.0, "delta": 1e-6}


def bounds_of_data():
    """Ranges that were read from the data, by column name."""
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(X, columns=["a", "b"]).assign(y=Y)
    return Bounds.from_data(table, target="y", unsafe_from_data=True)


def table():
    import pandas as pd

    return pd.DataFrame(X, columns=["a", "b"]).assign(y=Y)


DECLARED = {"a": (-1.0, 1.0), "b": (-1.0, 1.0)}

# What can be done to bounds on their way to a fit, in which they are still there in part.
WAYS_OF_BOUNDS = {
    "as they are": lambda b: b,
    "copied": copy.deepcopy,
    "pickled": lambda b: pickle.loads(pickle.dumps(b)),
    "another target": lambda b: dataclasses.replace(b, target=(-2, 2)),
    "somewhat wider": lambda b: Bounds(
        features={name: (1.1 * low, high + 0.1) for name, (low, high) in b.features.items()}, y_abs=1
    ),
    "rounded": lambda b: Bounds(features=DECLARED, target=(round(b.target[0], 1) - 0.1, -b.target[0] / 1.0)),
    "the larger size": lambda b: Bounds(features=DECLARED, y_abs=max(abs(b.target[0]), abs(b.target[1]))),
    "called declared": lambda b: dataclasses.replace(b, origin="declared"),
    "called a reference": lambda b: Bounds(features=b.features, target=b.target, origin="reference"),
    "ranges put into new bounds": lambda b: Bounds(features=dict(b.features), target=(-1, 1)),
    "one range among declared ones": lambda b: Bounds(features=DECLARED | {"a": b.features["a"]}, target=(-1, 1)),
    "one end among declared ones": lambda b: Bounds(
        features=DECLARED | {"a": (-2, b.features["a"][1])}, target=(-1, 1)
    ),
    "the target alone": lambda b: Bounds(features=DECLARED, target=b.target),
    "the target as a size": lambda b: Bounds(features=DECLARED, y_abs=b.target[1]),
    "a norm": lambda b: Bounds(features=DECLARED, target=(-1, 1), x_norm=b.features["a"][1]),
    "outer limits of paid ones": lambda b: PaidBounds(features=b.features, target=(-9, 9)),
    "outer limits of a paid target": lambda b: PaidBounds(target=b.target),
}


def columns_of(bounds):
    return {name: NumericColumn(*pair) for name, pair in bounds.features.items()}


# Maps of features, with the bounds that go beside them.
WAYS_OF_MAPS = {
    "columns": lambda b: (
        FeatureMap({n: NumericColumn(*pair) for n, pair in b.features.items()}, target=(-1, 1)),
        None,
    ),
    "one end": lambda b: (FeatureMap({"a": NumericColumn(-9, b.features["a"][1])}, target=(-1, 1)), None),
    "its target": lambda b: (FeatureMap({"a": NumericColumn(-1, 1)}, target=b.target), None),
    "powers": lambda b: (FeatureMap({"a": NumericColumn(*b.features["a"])}, [("a", "a")], target=(-1, 1)), None),
    "products": lambda b: (
        FeatureMap({"a": NumericColumn(*b.features["a"]), "b": NumericColumn(-1, 1)}, [("a", "b")], target=(-1, 1)),
        None,
    ),
    "further terms": lambda b: (
        FeatureMap({"a": NumericColumn(*b.features["a"])}, target=(-1, 1)).plus(("a", "a")),
        None,
    ),
    "a target beside it": lambda b: (FeatureMap({"a": NumericColumn(-1, 1)}), Bounds(x_norm=1, target=b.target)),
    "a norm beside it": lambda b: (
        FeatureMap({"a": NumericColumn(-1, 1), "b": NumericColumn(-1, 1)}, target=(-1, 1)),
        Bounds(x_norm=b.features["a"][1]),
    ),
    "written and read": lambda b: (
        FeatureMap.from_dict(
            json.loads(json.dumps(FeatureMap({"a": NumericColumn(*b.features["a"])}, target=(-1, 1)).to_dict()))
        ),
        None,
    ),
}


def check_outputs(model, tmp_path):
    """Look for the alarm in everything that says something of a fit."""
    report = model.privacy_report_
    assert report.private is False
    assert report.bounds_origin == "data"
    columns, summary = summary_col([model]), model.summary()
    for text in (report.to_text(), report.to_markdown(), report.to_html(), str(report), repr(report)):
        assert "NOT PRIVATE" in text
    for text in (str(summary), summary.as_latex(), summary.as_html(), summary.to_frame().attrs["warning"]):
        assert "NOT PRIVATE" in text
    for text in (str(columns), columns.as_latex(), columns.as_html(), columns.to_frame().to_string()):
        assert "NOT PRIVATE" in text
    assert report.to_text().startswith("NOT PRIVATE")
    assert json.loads(report.to_json())["private"] is False
    model.save(tmp_path / "model.json")
    (tmp_path / "report.html").write_text(report.to_html())
    (tmp_path / "report.json").write_text(report.to_json())
    for name in ("model.json", "report.html", "report.json"):
        found = {finding.what: finding for finding in verify_file(tmp_path / name)}
        assert [what for what, finding in found.items() if not finding.holds] == ["private as configured"]
        assert "NOT PRIVATE" in found["private as configured"].detail
    again = PrivateLinearRegression.load(tmp_path / "model.json")
    assert again.privacy_report_.private is False
    assert pickle.loads(pickle.dumps(model)).privacy_report_.private is False


@pytest.mark.extras
@pytest.mark.parametrize("way", WAYS_OF_BOUNDS)
def test_bounds_that_were_read_from_the_data_are_not_private_in_any_output(way, tmp_path):
    bounds = WAYS_OF_BOUNDS[way](bounds_of_data())
    check_outputs(PrivateLinearRegression(**BUDGET, bounds=bounds).fit(table(), "y"), tmp_path)


@pytest.mark.extras
@pytest.mark.parametrize("way", WAYS_OF_MAPS)
def test_nor_in_any_feature_map(way, tmp_path):
    feature_map, beside = WAYS_OF_MAPS[way](bounds_of_data())
    model = PrivateLinearRegression(**BUDGET, bounds=beside, feature_map=feature_map).fit(table(), "y")
    check_outputs(model, tmp_path)
    loaded = PrivateLinearRegression.load(tmp_path / "model.json")
    if feature_map.origin == "data":
        assert loaded.feature_map_.origin == "data"


@pytest.mark.extras
@pytest.mark.parametrize("formula", ["y ~ a + b", "y ~ I(a**2)", "y ~ a:b", "y ~ 0 + a", "a ~ b"])
def test_nor_by_a_formula(formula, tmp_path):
    pytest.importorskip("formulaic")
    from dpols import ols

    bounds = bounds_of_data()
    check_outputs(ols(formula, table(), **BUDGET, bounds=bounds), tmp_path)
    feature_map = FeatureMap(
        {name: NumericColumn(*pair) for name, pair in bounds.features.items()}, target=(-1, 1), target_name="y"
    )
    check_outputs(ols(formula, table(), **BUDGET, bounds=feature_map), tmp_path)


@pytest.mark.extras
def test_nor_with_inference_counts_or_units_or_an_estimator_of_one_method(tmp_path):
    bounds = bounds_of_data()
    check_outputs(PrivateLinearRegression(**BUDGET, bounds=bounds, inference=True).fit(table(), "y"), tmp_path)
    check_outputs(PrivateLinearRegression(**BUDGET, bounds=bounds, count_clipped=True).fit(table(), "y"), tmp_path)
    units = PrivateLinearRegression(**BUDGET, bounds=bounds, max_rows_per_unit=2)
    check_outputs(units.fit(table(), "y", groups=np.arange(len(Y)) // 2), tmp_path)
    check_outputs(PrivateLinearRegression(**BUDGET, bounds=bounds, method="adassp").fit(table(), "y"), tmp_path)


@pytest.mark.extras
def test_nor_in_a_sketch(tmp_path):
    read = bounds_of_data().features
    ledger = BudgetLedger(tmp_path / "ledger", epsilon=9.0, delta=1e-4)
    for bounds in (
        Bounds.from_data(X, unsafe_from_data=True),
        Bounds(features=list(read.values())),
        Bounds(x_norm=read["a"][1]),
    ):
        report = release_sketch(X, bounds=bounds, **BUDGET, rows=20, ledger=ledger).report
        assert report.private is False
        assert report.to_text().startswith("NOT PRIVATE: the bounds were read from the data")
        assert "Declared bounds" not in report.to_text()
        assert json.loads(report.to_json())["bounds_origin"] == "data"
        assert json.loads(report.to_json())["private"] is False
        assert ledger.entries()[-1].what.endswith("NOT PRIVATE: bounds read from the data")


SEARCHES = {
    "of the estimator": lambda b: ({"bounds": b}, {"fit_intercept": [True, False]}, {}),
    "of one candidate": lambda b: (
        {"bounds": Bounds(features=DECLARED, target=(-1, 1))},
        {"bounds": [Bounds(features=DECLARED, target=(-1, 1)), b]},
        {},
    ),
    "the range of the target": lambda b: (
        {"bounds": Bounds(features=DECLARED, target=(-1, 1))},
        {"fit_intercept": [True, False]},
        {"target_range": b.target},
    ),
    "a feature map": lambda b: (
        {"feature_map": FeatureMap({"a": NumericColumn(*b.features["a"])}, target=(-1, 1))},
        {"fit_intercept": [True, False]},
        {"target_range": (-1, 1)},
    ),
    "paid bounds": lambda b: (
        {"bounds": PaidBounds(features=b.features)},
        {"fit_intercept": [True, False]},
        {"target_range": (-1, 1)},
    ),
}


@pytest.mark.extras
@pytest.mark.parametrize("way", SEARCHES)
def test_nor_in_a_search(way, tmp_path):
    parameters, grid, more = SEARCHES[way](bounds_of_data())
    ledger = BudgetLedger(tmp_path / "ledger", epsilon=9.0, delta=1e-4)
    search = PrivateGridSearch(PrivateLinearRegression(**parameters), grid, **BUDGET, ledger=ledger, **more)
    search.fit(table()[["a", "b"]], Y)
    assert search.search_report_.private is False
    assert search.search_report_.alarm.startswith("NOT PRIVATE: the bounds were read")
    for shown in (str(search.search_report_), repr(search.search_report_), repr([search.search_report_])):
        assert shown.removeprefix("[").startswith("NOT PRIVATE: the bounds were read")
    assert "NOT PRIVATE" in ledger.entries()[-1].what
    check_outputs(search.best_estimator_, tmp_path)


# Of the estimator, which every candidate has others in place of: only the range of scores is that of the data.
REPLACED = {
    "bounds": lambda b: ({"bounds": b}, {"bounds": [Bounds(features=DECLARED, target=(-k, k)) for k in (1, 2)]}),
    "a size": lambda b: (
        {"bounds": Bounds(features=DECLARED, y_abs=b.target[1])},
        {"bounds": [Bounds(features=DECLARED, target=(-k, k)) for k in (1, 2)]},
    ),
}


@pytest.mark.extras
@pytest.mark.parametrize("way", REPLACED)
def test_nor_in_a_search_whose_scores_alone_have_the_range_of_the_data(way, tmp_path):
    parameters, grid = REPLACED[way](bounds_of_data())
    ledger = BudgetLedger(tmp_path / "ledger", epsilon=9.0, delta=1e-4)
    search = PrivateGridSearch(PrivateLinearRegression(**parameters), grid, **BUDGET, ledger=ledger)
    search.fit(table()[["a", "b"]], Y)
    assert search.search_report_.alarm.startswith("NOT PRIVATE: the bounds were read")
    assert "NOT PRIVATE" in ledger.entries()[-1].what


@pytest.mark.extras
def test_nor_in_a_search_of_counts_whose_map_has_the_range_of_the_data():
    counts = np.random.default_rng(1).poisson(2.0, len(X)).astype(float)
    top = Bounds.from_data(X, target=counts, unsafe_from_data=True).target[1]
    maps = [FeatureMap({"a": NumericColumn(-k, k)}, target=(0, high)) for k, high in ((1, top), (1, 20.0), (2, 20.0))]
    search = PrivateGridSearch(PrivatePoissonRegressor(feature_map=maps[0]), {"feature_map": maps[1:]}, **BUDGET)
    assert not search.fit(table()[["a"]], counts).search_report_.private


@pytest.mark.extras
@pytest.mark.parametrize(
    ("bounds", "origin"),
    [(PaidBounds(), "paid"), (Bounds.from_reference(X, target=Y), "reference")],
    ids=["paid", "reference"],
)
def test_a_search_says_where_the_bounds_of_its_candidates_come_from(bounds, origin):
    search = PrivateGridSearch(
        PrivateLinearRegression(bounds=bounds), {"fit_intercept": [True, False]}, **BUDGET, target_range=(-1, 1)
    )
    report = search.fit(X, Y).search_report_
    assert (report.bounds_origin, report.private) == (origin, True)
    assert "Declared bounds" not in report.to_text()


@pytest.mark.extras
def test_nor_in_tests_predictions_and_pictures():
    pytest.importorskip("matplotlib").use("Agg")
    fit = PrivateLinearRegression(20.0, 1e-6, inference=True, options={"residual_plot": True})
    read = fit.set_params(bounds=bounds_of_data()).fit(table(), "y")
    said = said_of(read)
    assert all("NOT PRIVATE" in text for text in said.values()), said
    declared = fit.set_params(bounds=Bounds(features=DECLARED, target=(-1, 1))).fit(table(), "y")
    said = said_of(declared)
    assert not any("NOT PRIVATE" in text for text in said.values()), said


def said_of(model):
    """What stands on or beside each output of a fit."""
    rows = table()[["a", "b"]]
    test, joint, prediction = model.t_test("a = 0"), model.f_test("a = 0, b = 0"), model.get_prediction(rows[:3])
    frames = {
        "params": model.params,
        "errors": model.bse,
        "limits": model.conf_int(),
        "covariance": model.cov_params(),
        "limits of predictions": model.predict_interval(rows[:3]),
        "predictions": model.predict_frame(rows[:3]),
        "a frame of tests": test.summary_frame(),
        "limits of tests": test.conf_int(),
        "a frame of predictions": prediction.summary_frame(),
        "tidy": model.tidy(),
        "glance": model.glance(),
    }
    texts = {
        "a test": repr(test),
        "a test in a notebook": test._repr_html_(),
        "a joint test": repr(joint),
        "a prediction": repr(prediction),
        "a nested test": repr(model.wald_test("a = b", use_f=False)),
    }
    pictures = (model.plot_coefficients, model.plot_residuals, model.plot_residual_sizes)
    drawn = {picture.__name__: picture().get_title(loc="right") for picture in pictures}
    return {name: str(frame.attrs.get("warning")) for name, frame in frames.items()} | texts | drawn


@pytest.mark.extras
def test_a_plan_with_bounds_from_the_data_says_so():
    from dpols import plan_accuracy

    few = {"n": 1000, "epsilon": 1.0, "methods": ["adassp"], "intervals": False, "trials": 2}
    bounds = bounds_of_data()
    feature_map = FeatureMap({"a": NumericColumn(*bounds.features["a"])}, target=(-1, 1))
    for given in (bounds, feature_map):
        assert "NOT PRIVATE: the bounds were read from the data" in str(plan_accuracy(**few, bounds=given))
    of_table = plan_accuracy(**few, bounds=bounds, public_table=table(), target="y")
    assert "NOT PRIVATE: the bounds were read from the data" in str(of_table)
    assert "NOT PRIVATE" not in str(plan_accuracy(**few, bounds=Bounds(features=DECLARED, target=(-1, 1))))


@pytest.mark.extras
def test_a_ledger_says_which_charges_are_not_private(tmp_path):
    ledger = BudgetLedger(tmp_path / "ledger", epsilon=9.0, delta=1e-4)
    PrivateLinearRegression(**BUDGET, bounds=bounds_of_data(), ledger=ledger).fit(table(), "y")
    declared = Bounds(features=DECLARED, target=(-1, 1))
    PrivateLinearRegression(**BUDGET, bounds=declared, ledger=ledger).fit(table(), "y")
    PrivateLinearRegression(**BUDGET, bounds=declared, ledger=ledger, random_state=0).fit(table(), "y")
    first, second, third = (entry.what for entry in ledger.entries())
    assert first.endswith("NOT PRIVATE: bounds read from the data")
    assert "NOT PRIVATE" not in second
    assert third.endswith("NOT PRIVATE: a seed")


def test_what_is_declared_stays_declared():
    declared = Bounds(features=[(-1, 1)] * 2, target=(-1, 1))
    assert declared.origin == "declared"
    assert (
        FeatureMap({"a": NumericColumn(0, 1), "c": CategoricalColumn(["x", "y"])}, target=(0, 1)).origin == "declared"
    )
    assert PaidBounds(features=[(0, 1)]).origin == "paid"
    assert Bounds.from_reference(X, target=Y).origin == "reference"
    report = PrivateLinearRegression(**BUDGET, bounds=declared).fit(X, Y).privacy_report_
    assert report.private
    assert "NOT PRIVATE" not in report.to_text()


def test_a_number_from_the_data_behaves_as_any_other():
    number = ReadFromData(0.25)
    assert repr(number) == "0.25"
    assert json.dumps(number) == "0.25"
    assert np.array([number]).dtype == np.float64
    assert f"{number:g}" == "0.25"
